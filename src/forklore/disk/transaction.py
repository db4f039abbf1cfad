"""A plan as one transaction: staged, journalled, published, logged; and finished or taken back after a crash.

Order, and why (the invariants are in docs/design/crash-safety.md):

1. new content is written into ``.forklore/staging/<operation>/`` and synced: invisible, worthless if we die here;
2. ``journal.json`` beside it says what will be done: from here on a crash can be told from a success;
3. changes up to the commit are published one by one; a failure takes them back;
4. the commit itself is one rename;
5. what follows the commit is made on the files as they are then, and never taken back;
6. ``operations/<operation>.json`` closes the operation, and the staging folder goes.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk, fingerprint_at
from forklore.disk.files import ContextChanged, OpenFile
from forklore.disk.publishing import Publisher
from forklore.disk.staging import Staged, Stager, prepare_edit
from forklore.errors import DiskFailed, ForkloreError, Kind, ReadOnly
from forklore.formats.json_text import NotJson
from forklore.log.operations import Operation, OperationLog
from forklore.model.plan import (
    Change,
    CreateFile,
    EditFile,
    Fingerprint,
    LineEdit,
    Plan,
    RestoreFile,
    TrashFile,
)

FOLDER = ".forklore"
_JOURNAL = "journal.json"
_ATTEMPTS = 5  # a writer that replaces a file five times while we look is not going to pause for us
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


class FileDamaged(ForkloreError):
    """A file that an operation has to edit is not what it should be."""

    code = "FILE_DAMAGED"
    kind = Kind.DAMAGED
    action = "Restore the file from a backup, then try again. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying a plan came to."""

    operation: Operation

    @property
    def pending(self) -> tuple[str, ...]:
        """What could not be written after the commit."""
        return self.operation.pending


class Transactions:
    """Applies plans to one workspace and finishes what a crash left. The caller holds the workspace's lock."""

    def __init__(self, root: Path, disk: Disk | None = None) -> None:
        """Work on the workspace at *root*; nothing is touched yet."""
        self.root = root
        self.disk = disk or Disk()
        self.staging = root / FOLDER / "staging"
        self.log = OperationLog(root / FOLDER / "operations")

    # --- applying -------------------------------------------------------------------------------------------------

    def apply(
        self,
        plan: Plan,
        *,
        operation_id: str,
        when: str,
        sources: Mapping[str, OpenFile] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Applied:
        """Carry out *plan* wholly or not at all; *sources* are the files it was made from, still open."""
        run = _Run(self, plan.commit, operation_id)
        journal: dict[str, Any] | None = None
        try:
            with ExitStack() as open_files:
                staged = run.stage(plan, when, dict(sources or {}), open_files, progress)
            for file in (sources or {}).values():
                file.close()  # Windows replaces no file that somebody has open
            run.write_journal(staged)
            journal = staged
            run.publish(journal, plan.unchanged)
        except BaseException as error:
            if journal is not None and run.is_committed(journal):
                applied = run.finish(journal)  # past the commit nothing is taken back, whatever happened
                if isinstance(error, OSError):
                    return applied
                raise
            run.take_back()
            if isinstance(error, OSError):
                raise _translated(error, plan, run.working_on) from error
            if isinstance(error, NotJson):
                raise FileDamaged(f"{run.working_on!r} is not readable JSON ({error}).") from error
            raise
        return run.finish(journal)

    # --- recovery -------------------------------------------------------------------------------------------------

    def has_leftovers(self) -> bool:
        """Whether an operation is running, or was interrupted."""
        try:
            return any(self.staging.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def recover(self) -> list[str]:
        """Finish or take back every interrupted operation; return a sentence about each."""
        told = []
        for folder in sorted(self.staging.iterdir()) if self.staging.is_dir() else []:
            run = _Run(self, 0, folder.name)
            journal = run.read_journal()
            if journal is None:
                run.remove_staging()
                continue
            run.commit = journal["commit"]
            if run.is_committed(journal):
                run.finish(journal)
                told.append(f"Finished the interrupted {journal['kind']} of {journal['chat']}.")
            else:
                run.take_back()
                told.append(f"Took back the interrupted {journal['kind']} of {journal['chat']}.")
        return told


class _Run:
    """One operation on its way: its staging folder and what it has published so far."""

    def __init__(self, home: Transactions, commit: int, operation_id: str) -> None:
        self._root, self._disk, self._log = home.root, home.disk, home.log
        self._publisher = Publisher(home.root, home.root / FOLDER / "trash", home.disk)
        self.folder = home.staging / operation_id
        self.id = operation_id
        self.commit = commit
        self.working_on = ""

    # --- staging --------------------------------------------------------------------------------------------------

    def stage(
        self,
        plan: Plan,
        when: str,
        sources: dict[str, OpenFile],
        open_files: ExitStack,
        progress: Callable[[int], None] | None,
    ) -> dict[str, Any]:
        """Write all new content aside and return the journal that describes the operation."""
        self._disk.make_folder(self.folder)
        stager = Stager(self._disk, progress)
        waiting: list[tuple[dict[str, Any], Any]] = []
        try:
            for number, change in enumerate(plan.changes):
                self.working_on = change.path
                waiting.append(self._stage_change(stager, number, change, sources, open_files))
        finally:
            stager.close()  # also when one failed: nothing may still be writing when we take back
        changes = []
        for written, future in waiting:
            if future is not None:
                self.working_on = written["path"]
                staged: Staged = future.result()
                written |= {
                    "staged": self._relative(staged.path),
                    "mine": staged.fingerprint.to_json(),
                    "content": [list(segment) for segment in staged.content],
                }
            changes.append(written)
        return {
            "id": self.id,
            "kind": plan.kind,
            "chat": plan.chat,
            "when": when,
            "undoes": plan.undoes,
            "commit": plan.commit,
            "notes": plan.notes,
            "changes": changes,
        }

    def _stage_change(
        self, stager: Stager, number: int, change: Change, sources: dict[str, OpenFile], open_files: ExitStack
    ) -> tuple[dict[str, Any], Any]:
        written: dict[str, Any] = {"do": _DOES[type(change)], "path": change.path}
        target = self._publisher.target(change.path)
        if isinstance(change, CreateFile):
            model = next(iter(sources.values()), None)
            mode = model.stat.st_mode if model else 0o644
            return written, stager.begin(self._aside(target, number), change.pieces, sources, mode)
        if isinstance(change, EditFile):
            file = sources.get(change.path)
            if file is None:
                file = sources[change.path] = open_files.enter_context(OpenFile(target))
            prepared = prepare_edit(change, file)
            written |= {"role": change.role, "edits": [edit.to_json() for edit in change.edits]}
            if prepared is None:
                return written | {"inverse": []}, None
            written |= {
                "inverse": [edit.to_json() for edit in prepared.inverse],
                "expected": file.fingerprint.to_json(),
            }
            return written, stager.begin(self._aside(target, number), prepared.pieces, sources, file.stat.st_mode)
        written["content"] = [list(segment) for segment in change.content]
        written["item"] = change.item if isinstance(change, RestoreFile) else f"{self.id}/{number}-{target.name}"
        return written, None

    def _aside(self, target: Path, number: int) -> Path:
        """Return where to stage: our folder, or beside the target where that lies on another disk."""
        try:
            if os.stat(target.parent).st_dev == os.stat(self.folder).st_dev:
                return self.folder / str(number)
        except FileNotFoundError:
            return self.folder / str(number)
        beside = target.parent / f".forklore-{self.id}-{number}.tmp"
        (self.folder / f"{number}.elsewhere").write_text(self._relative(beside), encoding="utf-8")
        return beside

    # --- the journal ----------------------------------------------------------------------------------------------

    def write_journal(self, journal: dict[str, Any]) -> None:
        """Make the journal durable: what is in the folder counts from here on."""
        self._write_small(self.folder / _JOURNAL, journal)
        self._disk.sync_folder(self.folder)
        self._disk.sync_folder(self.folder.parent)

    def read_journal(self) -> dict[str, Any] | None:
        """Return the journal; None when the operation never got that far."""
        try:
            journal = json.loads((self.folder / _JOURNAL).read_bytes())
        except (OSError, ValueError):
            return None
        return journal if isinstance(journal, dict) and "commit" in journal else None

    def _write_small(self, path: Path, value: dict[str, Any]) -> None:
        """Write a small file in one step: it is there whole, or not at all."""
        temporary = path.with_name(path.name + ".tmp")
        self._disk.remove(temporary)
        descriptor = self._disk.create(temporary)
        try:
            self._disk.write(descriptor, json.dumps(value, indent=1).encode())
            self._disk.sync(descriptor)
        finally:
            os.close(descriptor)
        self._disk.replace(temporary, path)

    # --- publishing and taking back -------------------------------------------------------------------------------

    def publish(self, journal: dict[str, Any], unchanged: tuple[tuple[str, Fingerprint], ...]) -> None:
        """Publish the changes up to the commit; the commit itself only while nothing that was read has changed."""
        for number, change in enumerate(journal["changes"][: self.commit + 1]):
            if number == self.commit:
                for path, expected in unchanged:
                    if fingerprint_at(self._publisher.target(path)) != expected:
                        name = path.rpartition("/")[2]
                        raise ContextChanged(f"{name!r} changed while the {journal['kind']} was being made.")
            self._publisher.publish(change)

    def is_committed(self, journal: dict[str, Any]) -> bool:
        """Whether the operation got past its commit before it was interrupted."""
        return self._publisher.is_published(journal["changes"][self.commit])

    def take_back(self) -> None:
        """Leave no trace: remove what was published before the commit, then what was staged."""
        journal = self.read_journal()
        for change in reversed(journal["changes"][: self.commit + 1] if journal else []):
            if self._publisher.is_published(change):
                self._publisher.unpublish(change)
        self.remove_staging()

    def remove_staging(self) -> None:
        """Remove the operation's folder and what it staged elsewhere."""
        for note in self.folder.glob("*.elsewhere"):
            self._disk.remove(self._root / note.read_text(encoding="utf-8"))
        self._disk.remove_tree(self.folder)

    # --- after the commit -----------------------------------------------------------------------------------------

    def finish(self, journal: dict[str, Any]) -> Applied:
        """Make what follows the commit on the files as they are now, and close the operation."""
        pending = []
        for change in journal["changes"][self.commit + 1 :]:
            try:
                self._follow(change)
            except (OSError, ForkloreError, NotJson, IndexError, ValueError) as error:
                change["inverse"] = []
                pending.append(f"{change.get('role', change['do'])}: {error}")
        done = [_kept(change) for change in journal["changes"]]
        operation = Operation(
            id=self.id,
            kind=journal["kind"],
            chat=journal["chat"],
            when=journal["when"],
            changes=tuple(done),
            undoes=journal["undoes"],
            pending=tuple(pending),
            notes=journal["notes"],
        )
        self._disk.make_folder(self._log.folder)
        self._write_small(self._log.path(self.id), operation.to_json())
        self._disk.sync_folder(self._log.folder)
        self.remove_staging()
        return Applied(operation)

    def _follow(self, change: dict[str, Any]) -> None:
        if change["do"] != "edit":
            if not self._publisher.is_published(change):
                self._publisher.publish(change)
            return
        target = self._publisher.target(change["path"])
        if "staged" in change:
            self._publisher.settle(change, target)
            if self._swap_if_staged(change, target):
                self._disk.sync_folder(target.parent)
                return
        for attempt in range(_ATTEMPTS):
            if self._edit_anew(change, target, attempt):
                return
        raise ContextChanged(f"{target.name!r} is being written all the time.")

    def _swap_if_staged(self, change: dict[str, Any], target: Path) -> bool:
        mine = Fingerprint.from_json(change["mine"])
        return fingerprint_at(self._root / change["staged"]) == mine and self._publisher.swap(change, target)

    def _edit_anew(self, change: dict[str, Any], target: Path, attempt: int) -> bool:
        """Work the edit out on the file as it is now and publish it; return False when it changed once more."""
        edits = tuple(LineEdit.from_json(edit) for edit in change["edits"])
        with OpenFile(target) as file, closing(Stager(self._disk)) as stager:
            prepared = prepare_edit(EditFile(change["path"], edits), file)
            if prepared is None:
                return True  # done already; the inverse in the journal stands
            aside = self._aside(target, 1000 + attempt)
            self._disk.remove(aside)
            staged = stager.begin(aside, prepared.pieces, {change["path"]: file}, file.stat.st_mode).result()
            expected = file.fingerprint
        change |= {
            "staged": self._relative(staged.path),
            "mine": staged.fingerprint.to_json(),
            "expected": expected.to_json(),
        }
        if not self._publisher.swap(change, target):
            return False
        change["inverse"] = [edit.to_json() for edit in prepared.inverse]
        self._disk.sync_folder(target.parent)
        return True

    # --- paths ----------------------------------------------------------------------------------------------------

    def _relative(self, path: Path) -> str:
        return os.path.relpath(path, self._root)


_DOES: dict[type[Change], str] = {CreateFile: "create", EditFile: "edit", TrashFile: "trash", RestoreFile: "restore"}
_KEPT = ("do", "path", "role", "edits", "inverse", "content", "item")


def _kept(change: dict[str, Any]) -> dict[str, Any]:
    """Return what the log keeps of a change: what takes it back, not where it was staged."""
    kept = {key: change[key] for key in _KEPT if key in change}
    if change["do"] == "edit":
        kept.pop("content", None)
    return kept


def _translated(error: OSError, plan: Plan, path: str) -> ForkloreError:
    """Return an error that says what could not be done, and that nothing was changed."""
    if error.errno == errno.ESTALE:
        return ContextChanged(f"A file changed while the {plan.kind} was being made.")
    if isinstance(error, FileNotFoundError):
        return ContextChanged(f"A file vanished while the {plan.kind} was being made ({error.filename}).")
    reason = error.strerror or str(error)
    failed = f"Failed to create {plan.kind}"
    if path.startswith("worlds/"):
        failed = (
            f"Failed to clone lorebook for {plan.kind} isolation. "
            f"{plan.kind.capitalize()} creation aborted to prevent data corruption"
        )
    if error.errno in _READ_ONLY:
        return ReadOnly(f"{failed}: the folder cannot be written ({reason}).")
    return DiskFailed(f"{failed}: {reason}.")


def interrupted(root: Path) -> Iterator[str]:
    """Yield the ids of operations that run or were interrupted."""
    with suppress(FileNotFoundError, NotADirectoryError):
        yield from sorted(entry.name for entry in (root / FOLDER / "staging").iterdir())
