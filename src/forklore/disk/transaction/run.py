"""One operation on its way: its plan is staged, journalled, published and logged, or leaves no trace.

Order, and why (the invariants are in docs/design/crash-safety.md):

1. new content is written into ``.forklore/staging/<operation>/`` and synced: invisible, worthless if we die here;
2. ``journal.json`` beside it says what will be done: from here on a crash can be told from a success;
3. changes up to the commit are published one by one; a failure takes them back;
4. the commit itself is one rename;
5. what follows the commit is made on the files as they are then, and never taken back;
6. ``operations/<operation>.json`` closes the operation, and the staging folder goes, its journal first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forklore.checks.references import references
from forklore.disk.disk import Disk, fingerprint_at, is_there
from forklore.disk.failures import left_over, raise_translated
from forklore.disk.files import ContextChanged, OpenFile
from forklore.disk.naming import gather_naming
from forklore.disk.operation_log import OperationLog
from forklore.disk.scan import scan_chats
from forklore.disk.state import State
from forklore.disk.transaction.folder import FORMAT, OperationFolder
from forklore.disk.transaction.preparing import Preparation
from forklore.disk.transaction.publishing import Publisher
from forklore.disk.transaction.staging import Stager, prepare_edit
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError
from forklore.formats.json_text import NotJson
from forklore.gathered.folder import Journal, Unfinished
from forklore.log.changes import not_written
from forklore.log.operations import Operation, Turn
from forklore.log.telling import tell
from forklore.model.fact import Fact, fact
from forklore.model.plan import Change, EditFile, Fingerprint, LineEdit, Plan
from forklore.model.stored import TRASH

_ATTEMPTS = 5  # a writer that replaces a file five times while we look is not going to pause for us


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying a plan came to."""

    operation: Operation

    @property
    def pending(self) -> tuple[Fact, ...]:
        """What could not be written after the commit."""
        return self.operation.pending


@dataclass(frozen=True, slots=True)
class Site:
    """Where operations are carried out, and with what."""

    workspace: Workspace
    log: OperationLog
    state: Callable[[], State]
    """Has the user's key."""
    disk: Disk
    cache: Callable[[], Path | None]
    """Where the index of chats may be kept."""


class Run:
    """One operation on its way: its staging folder and what it has published so far."""

    def __init__(
        self,
        site: Site,
        operation_id: str,
        turn: Turn | None = None,
        progress: Callable[[int], None] | None = None,
        *,
        is_foreign: bool = False,
    ) -> None:
        """Speak of the operation *operation_id*; nothing is touched yet.

        Of one that *is_foreign* nothing is removed but to the trash.
        """
        places, disk = site.workspace.places, site.disk
        self._workspace, self._disk, self._log, self._cache = site.workspace, disk, site.log, site.cache
        self._places = places
        self._is_foreign = is_foreign
        self._publisher = Publisher(places, operation_id, disk, is_foreign=is_foreign)
        self._folder = OperationFolder(places, operation_id, disk, site.state, is_foreign=is_foreign)
        self._preparation = Preparation(self._folder, self._publisher, disk, progress)
        self._is_over = self._is_recovering = False
        self.id = operation_id
        self._turn = turn or Turn()
        self.working_on = ""

    # --- applying -------------------------------------------------------------------------------------------------

    def stage_ahead(self, changes: Sequence[Change], sources: dict[str, OpenFile]) -> None:
        """Begin to write what the plan is likely to ask for, while it is still being made and checked."""
        with suppress(OSError, ForkloreError, NotJson):  # whatever fails will fail again, and be told, with the plan
            self._preparation.stage_ahead(changes, sources)

    def apply(self, plan: Plan, *, when: str, sources: dict[str, OpenFile] | None = None) -> Applied:
        """Carry out *plan* wholly or not at all; *sources* are the files it was made from, still open."""
        self._is_over = True
        journal: dict[str, Any] | None = None
        try:
            staged = self._stage(plan, when, dict(sources or {}))
            self._folder.write_journal(staged)
            journal = staged
            self._publish(journal, plan.unchanged)
        except BaseException as error:
            try:
                committed = self._settle(journal)
            except OSError as second:
                if not isinstance(error, Exception):
                    raise error from second  # whoever interrupts us is not told about disks
                raise left_over(second) from error
            if committed is None:
                raise_translated(error, plan, self.working_on)
            if not isinstance(error, OSError):
                raise
            return committed  # past the commit nothing is taken back, whatever the disk said
        return self._finish(journal)

    def abandon(self) -> None:
        """Forget what was staged ahead for a plan that did not come."""
        if not self._is_over:
            self._is_over = True
            self._preparation.close()
            with suppress(OSError):  # it goes with the next operation
                self._folder.remove(is_logged=False)

    def _stage(self, plan: Plan, when: str, sources: dict[str, OpenFile]) -> dict[str, Any]:
        """Write all new content aside and return the journal that describes the operation."""
        try:
            changes = self._preparation.stage(plan, sources)
        finally:
            self.working_on = self._preparation.working_on
        return {
            "format": FORMAT,
            "id": self.id,
            **self._turn.to_json(),
            "kind": plan.kind,
            "chat": plan.chat,
            "when": when,
            "undoes": plan.undoes,
            "commit": plan.commit,
            "notes": dict(plan.notes),
            "changes": changes,
        }

    # --- publishing and taking back -------------------------------------------------------------------------------

    def _publish(self, journal: dict[str, Any], unchanged: tuple[tuple[str, Fingerprint], ...]) -> None:
        """Publish the changes up to the commit; the commit itself only while nothing that was read has changed."""
        for number, change in enumerate(journal["changes"][: journal["commit"] + 1]):
            self.working_on = change["path"]
            if number == journal["commit"]:
                for path, expected in unchanged:
                    if fingerprint_at(Path(self._places.file(path))) != expected:
                        name = path.rpartition("/")[2]
                        raise ContextChanged("making", file=name, kind=journal["kind"])
            self._publisher.publish(change)

    def _is_committed(self, journal: dict[str, Any]) -> bool:
        """Whether the operation got past its commit before it was interrupted."""
        return self._publisher.is_published(journal["changes"][journal["commit"]])

    def _settle(self, journal: dict[str, Any] | None) -> Applied | None:
        """Finish the operation if it got past its commit, else take it back and return None."""
        if journal is not None and self._is_committed(journal):
            return self._finish(journal)
        self._take_back(journal)
        return None

    def _take_back(self, journal: dict[str, Any] | None) -> None:
        """Leave no trace: take back what was published, then remove what was staged.

        Something after the commit can be published too: on a disk that numbers its files anew, an exchange that was the
        commit cannot be told from a save that came out of it, and is given back.
        """
        for change in reversed(journal["changes"] if journal else []):
            self._publisher.take_back(change)
        self._dispose(journal, is_logged=False)
        tell("operation %s is taken back", self.id)

    # --- after the commit -----------------------------------------------------------------------------------------

    def _finish(self, journal: dict[str, Any]) -> Applied:
        """Make what follows the commit on the files as they are now, and close the operation."""
        commit, pending, made = journal["commit"], [], []
        for number, change in enumerate(journal["changes"]):
            try:
                if number > commit:
                    self._follow(change, journal)
                self._publisher.complete(change)
            except (OSError, ForkloreError, NotJson, IndexError, ValueError) as error:
                pending.append(not_written(change.get("role", change["do"]), _reason(error)))
                if number > commit and not self._was_made_after_all(change):
                    if change["do"] != "edit":
                        continue  # there is nothing to take back
                    change["inverse"] = []
            made.append(_kept(change))
        operation = Operation(
            id=self.id,
            kind=journal["kind"],
            chat=journal["chat"],
            when=journal["when"],
            changes=tuple(made),
            undoes=journal["undoes"],
            pending=tuple(pending),
            notes=journal["notes"],
            turn=Turn.from_json(journal),
        )
        try:
            self._folder.write_log(self._log.path(self.id), operation.to_json())
        except OSError as error:
            # The journal stays, so the next operation closes this one; it is done all the same.
            return Applied(operation.with_pending(not_written("log", _reason(error))))
        with suppress(OSError):  # the log counts; what is left is removed by the next operation
            self._dispose(journal, is_logged=True)
        tell("%s of %s is done: %s", operation.kind, operation.chat, operation.id)
        return Applied(operation)

    def _follow(self, change: dict[str, Any], journal: dict[str, Any]) -> None:
        if change["do"] != "edit":
            if not self._publisher.is_published(change):
                if change["do"] == "trash" and (self._is_recovering or journal["undoes"] is None):
                    self._refuse_if_named(change["path"], is_undo=journal["undoes"] is not None)
                self._publisher.publish(change)
            return
        swapper = self._publisher.swapper
        is_ours = not self._is_foreign and "staged" in change
        is_made = self._is_recovering and is_ours and swapper.is_swapped(change)
        if is_ours and not is_made and swapper.is_staged(change) and swapper.swap(change):
            return
        for attempt in range(_ATTEMPTS):
            if self._edit_anew(change, journal, attempt):
                return
        raise ContextChanged("busy", file=Path(change["path"]).name)

    def _refuse_if_named(self, path: str, *, is_undo: bool) -> None:
        """Keep a lorebook that was free when we looked, and may be in use by now."""
        folder, _, name = path.rpartition("/")
        if folder == "worlds":
            chats = scan_chats(self._workspace, self._cache())
            found = references(chats, gather_naming(self._workspace, chats))
            reasons = found.why_kept(name.removesuffix(".json"), is_ours=is_undo)  # a fork's clone, if it is an undo
            if reasons:
                raise ContextChanged("named", file=name, reason=reasons[0])

    def _edit_anew(self, change: dict[str, Any], journal: dict[str, Any], attempt: int) -> bool:
        """Work the edit out on the file as it is now and publish it; return False when it changed once more."""
        edits = tuple(LineEdit.from_json(edit) for edit in change["edits"])
        target = self._publisher.target(change)
        with OpenFile(target) as file, closing(Stager(self._disk)) as stager:
            prepared = prepare_edit(EditFile(change["path"], edits), file)
            if prepared is None:
                return True  # done already; the inverse in the journal stands
            place = next(at for at, each in enumerate(journal["changes"]) if each is change)
            aside = self._folder.aside(target, 1000 + _ATTEMPTS * place + attempt)
            self._disk.remove(aside)
            staged = stager.finish(stager.begin(aside, prepared.pieces, {change["path"]: file}, file.stat, prove=False))
            expected = file.fingerprint
        if self._is_recovering and not self._is_foreign:
            self._publisher.keep_aside(change)
        change |= {
            "staged": self._folder.name_of(staged.path),
            "mine": staged.fingerprint.to_json(),
            "content": [list(segment) for segment in staged.content],
            "expected": expected.to_json(),
            "inverse": [edit.to_json() for edit in prepared.inverse],
        }
        # Should we die right after the swap, the inverse must be the one of this swap, and a save must be found.
        self._folder.write_journal(journal)
        return self._publisher.swapper.swap(change)

    def _was_made_after_all(self, change: dict[str, Any]) -> bool:
        """Whether a change that failed after the commit failed only after it was visible; if not, tidy up after it."""
        with suppress(OSError):
            if self._publisher.is_published(change):
                return True
        with suppress(OSError):
            self._publisher.take_back(change)
        return False

    # --- after a crash --------------------------------------------------------------------------------------------

    def look(self) -> Unfinished:
        """Return what is known of an operation that is running, or was interrupted; nothing is changed."""
        return self._folder.look()

    def resume(self, journal: Journal | None) -> Fact | None:
        """Finish or take back what was interrupted; return what was done, or nothing where nothing was left."""
        self._folder.find_elsewhere()
        self._is_recovering = True
        if journal is None or is_there(self._log.path(self.id)):
            self._dispose(journal, is_logged=True)  # never begun, or over: only the tidying was interrupted
            return None
        about = {"kind": journal["kind"], "chat": journal["chat"]}
        if self._publisher.is_lost(journal["changes"][journal["commit"]]):
            self._dispose(journal, is_logged=False)
            return fact("recovered", case="dropped", **about)
        return fact("recovered", case="taken_back" if self._settle(journal) is None else "finished", **about)

    def discard(self) -> None:
        """Move everything that was staged to the trash; the files of the story stay as they are."""
        self._folder.discard(Path(self._places.folder(TRASH)))

    def _dispose(self, journal: Journal | None, *, is_logged: bool) -> None:
        """Remove what was staged; what somebody else may still want goes to the trash.

        That is everything of a foreign operation, and after a crash a save that came out of an exchange of ours.
        """
        if self._is_foreign:
            self.discard()
            return
        for change in journal["changes"] if journal and self._is_recovering else ():
            self._publisher.keep_aside(change)
        self._folder.remove(is_logged=is_logged)


def _reason(error: Exception) -> str | Fact:
    if isinstance(error, ForkloreError):
        return error.fact
    return getattr(error, "strerror", None) or str(error)


_KEPT = ("do", "path", "role", "edits", "inverse", "content", "item")


def _kept(change: dict[str, Any]) -> dict[str, Any]:
    """Return what the log keeps of a change: what takes it back, not where it was staged."""
    kept = {key: change[key] for key in _KEPT if key in change}
    if change["do"] == "edit":
        kept.pop("content", None)
    return kept
