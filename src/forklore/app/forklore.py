"""The whole product: one method a command. Command line, service and extension only translate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.app.applying import apply_alone
from forklore.app.forking import ForkRequest, check_fork, dry_run, fork
from forklore.app.means import Means, Outside
from forklore.app.progress import Progress, Silent
from forklore.app.reading import Reading, reading
from forklore.app.results import (
    DryRun,
    ForkMade,
    LeftToPage,
    LogShown,
    QueueShown,
    SceneShown,
    Status,
    Stories,
    TimelineShown,
    Undone,
)
from forklore.app.settings import Settings, read_settings
from forklore.channels.checkpoint_map import STATE_KEY
from forklore.channels.queue import QueuedOperation, QueueUnreadable, read_queue
from forklore.channels.running_recap import read_running_recap
from forklore.channels.scenes import scene_breaks
from forklore.checks.requirements import Policy
from forklore.checks.scenes import missing_at_scene
from forklore.disk.disk import Disk
from forklore.disk.files import OpenFile
from forklore.disk.lock import workspace_lock
from forklore.disk.operation_log import Unread
from forklore.disk.scan import scan_stories
from forklore.disk.transaction import Transactions
from forklore.disk.workspace import ChatAmbiguous, ChatNotFound, ChatUnreadable, Workspace
from forklore.errors import BadRequest, ForkloreError, Kind, LinkOutside
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.log.operations import Operation, undone_ids
from forklore.model.finding import Report
from forklore.model.plan import EditFile, Plan
from forklore.model.timeline import Story, Timeline
from forklore.planning.cancelling import cancellation
from forklore.planning.undo import UndoRefused

if TYPE_CHECKING:
    from forklore.app.contamination import Contamination
    from forklore.app.deciding import SettingsShown
    from forklore.app.doctor import Examined
    from forklore.app.extension import Extension
    from forklore.app.isolating import Isolated
    from forklore.app.isolating_all import IsolatedAll
    from forklore.app.opening import Verified
    from forklore.app.repairs import Repairs
    from forklore.app.results_life import Cleanup, Deleted, Restored, TrashShown
    from forklore.app.views import Views


class OperationNotFound(ForkloreError):
    """There is no such operation in the log."""

    code = "OPERATION_NOT_FOUND"
    kind = Kind.NOT_FOUND
    action = "Run `forklore log` to see the operations."


class LorebookMissing(ForkloreError):
    """The chat names a lorebook that is not there."""

    code = "LOREBOOK_MISSING"
    kind = Kind.NOT_FOUND
    action = "Put the lorebook back, or attach another one to the chat in SillyTavern."


class LorebookDamaged(ForkloreError):
    """The chat's lorebook cannot be read."""

    code = "LOREBOOK_UNREADABLE"
    kind = Kind.DAMAGED
    action = "Restore the lorebook from a backup."


class QueueDamaged(ForkloreError):
    """The operation queue cannot be read."""

    code = "QUEUE_UNREADABLE"
    kind = Kind.DAMAGED
    action = "Let ST-Auto-Recap write its queue anew."


class Forklore:
    """A workspace, and everything Forklore can do with it."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        outside: Outside,
        *,
        policy: Policy | None = None,
        progress: Progress | None = None,
        disk: Disk | None = None,
        exact_addresses: bool = False,
        request: str | None = None,
    ) -> None:
        """Work on the user folder *root*; use ``forklore.open`` to find it and wire everything."""
        self.root = root
        self._workspace = Workspace(root, exact_addresses=exact_addresses, state=outside.state)
        self._transactions = Transactions(self._workspace, outside.state, disk, outside.cache)
        self._is_policy_given = policy is not None
        self._means = Means(
            workspace=self._workspace,
            transactions=self._transactions,
            settings=settings,
            policy=policy or settings.policy,
            progress=progress or Silent(),
            request=request,
            **{field.name: getattr(outside, field.name) for field in fields(outside)},
        )

    # --- looking --------------------------------------------------------------------------------------------------

    def stories(self) -> Stories:
        """Return every story of the workspace."""
        return Stories(self._stories())

    def tree(self, chat: str | None = None) -> Story:
        """Return one story: the one *chat* belongs to, or the only one."""
        stories = self._stories()
        if chat is None:
            if len(stories) == 1:
                return stories[0]
            if not stories:
                raise ChatNotFound("There are no stories yet.", action="Write a chat in SillyTavern first.")
            raise ChatAmbiguous(
                f"There are {len(stories)} stories:",
                action="Name a chat of the story to draw.",
                choices=[story.main for story in stories],
            )
        return self._story_of(str(self._workspace.resolve(chat)), stories)

    def show(self, chat: str) -> TimelineShown:
        """Return one timeline in detail: its place, its lorebook, its recap versions and its scene breaks."""
        address = self._workspace.resolve(chat)
        with reading(self._workspace, address) as read:
            read.needs_header()
            running = read_running_recap(read.parent.metadata)
            text = read.parent.chat
            try:
                scenes = tuple(
                    SceneShown(scene.message, scene.name, missing_at_scene(scene, running))
                    for scene in scene_breaks(text, upto=text.message_count - 1)
                )
            except ChatDamaged as error:
                raise ChatUnreadable(f"{str(address)!r} is damaged. {error}") from error
            book = read.parent.book
        story = self._story_of(str(address), self._stories())
        timeline = next(t for t in story.timelines if t.chat == str(address))
        return TimelineShown(
            **{name: getattr(timeline, name) for name in Timeline._fields},
            entries=len(book.outline) if book else None,
            running_current=running.current_version if running.current is not None else None,
            running_versions=tuple(
                {key: version.get(key) for key in ("version", "scene_count", "new_scene_index", "timestamp")}
                for version in running.versions
            ),
            scenes=scenes,
            children=tuple(t.chat for t in story.timelines if t.parent == str(address)),
        )

    def check(self, chat: str, *, at: int | None = None) -> Report:
        """Return what stands in the way of a fork, all of it at once."""
        return check_fork(ForkRequest("checkpoint", self._workspace.resolve(chat), at), self._means)

    def verify(self, chat: str) -> Verified:
        """Compare a timeline with its record and with the rest of its story."""
        from forklore.app.opening import verify

        return verify(self._workspace.resolve(chat), self._means)

    def status(self, chat: str) -> Status:
        """Return the diagnostic object of a timeline: what was recorded, and whether it is still so."""
        address = self._workspace.resolve(chat)
        with reading(self._workspace, address, with_book=False) as read:
            read.needs_header()
            metadata = read.parent.metadata
        stored = metadata.get(STATE_KEY)
        record = stored if isinstance(stored, dict) else None
        main_chat = metadata.get("main_chat")
        running = read_running_recap(metadata)
        current = running.current_version if running.current is not None else None
        return Status(
            is_checkpoint=bool(main_chat) or record is not None,
            main_chat=main_chat if isinstance(main_chat, str) else None,
            current_chat=address.name,
            checkpoint_state=record,
            current_lorebook=read.book_name,
            lorebook_match=_has_recorded_book(record, read) if record else None,
            running_recap_current_version=current,
            running_recap_version_match=record.get("running_recap_version") == current if record else None,
        )

    @property
    def view(self) -> Views:
        """What only a page needs: the overview, the drawing of a story, windows of a chat."""
        from forklore.app.views import Views

        return Views(self._means)

    # --- forking --------------------------------------------------------------------------------------------------

    def checkpoint(
        self,
        chat: str,
        *,
        at: int | None = None,
        name: str | None = None,
        wait: float | None = None,
        show_last_scene: bool = False,
        leave_parent: bool = False,
    ) -> ForkMade:
        """Make a checkpoint: a complete, isolated point in time that stays beside its parent.

        With *leave_parent* the new files are made alone: SillyTavern's page has the parent open and points to them.
        """
        request = ForkRequest(
            "checkpoint",
            self._workspace.resolve(chat),
            at,
            name,
            wait=wait,
            show_last_scene=show_last_scene,
            leave_parent=leave_parent,
        )
        return fork(request, self._means)

    def branch(
        self,
        chat: str,
        *,
        at: int | None = None,
        swipe: int | None = None,
        wait: float | None = None,
        show_last_scene: bool = False,
        leave_parent: bool = False,
    ) -> ForkMade:
        """Make a branch: a complete, isolated timeline to go on in, from any swipe of its last message.

        *leave_parent* is that of ``checkpoint``.
        """
        request = ForkRequest(
            "branch",
            self._workspace.resolve(chat),
            at,
            swipe=swipe,
            wait=wait,
            show_last_scene=show_last_scene,
            leave_parent=leave_parent,
        )
        return fork(request, self._means)

    def plan(
        self,
        kind: str,
        chat: str,
        *,
        at: int | None = None,
        name: str | None = None,
        swipe: int | None = None,
        show_last_scene: bool = False,
        leave_parent: bool = False,
    ) -> DryRun:
        """Return the plan of a checkpoint or branch and change nothing."""
        request = ForkRequest(
            kind,
            self._workspace.resolve(chat),
            at,
            name,
            swipe,
            show_last_scene=show_last_scene,
            leave_parent=leave_parent,
        )
        return dry_run(request, self._means)

    # --- mending --------------------------------------------------------------------------------------------------

    def repair(self, chat: str, code: str, *, repair: str | None = None, book: str | None = None) -> Repairs:
        """Return what could be done about a finding of ``verify``; with *repair*, make that one.

        *book* tells what a missing lorebook is called now, where somebody knows that it was renamed.
        """
        from forklore.app.around import Around
        from forklore.app.folder import find_in_folder, repair_folder
        from forklore.app.repairing import offer_repairs
        from forklore.app.repairing import repair as make_repair

        located = find_in_folder(chat, code, self._means)
        if located is not None:
            return repair_folder(located, self._means, repair=repair)
        address = self._workspace.resolve(chat)
        if repair is None:
            return offer_repairs(address, code, self._means, Around(self._means, book=book))
        return make_repair(address, code, repair, self._means, book=book)

    def doctor(self, *, fix: bool = False) -> Examined:
        """Examine the whole workspace; with *fix*, mend what can be mended without losing anything."""
        from forklore.app.doctor import doctor

        return doctor(self._means, fix=fix)

    # --- deleting -------------------------------------------------------------------------------------------------

    def delete(self, chat: str, *, yes: bool = False) -> Deleted:
        """Move a timeline to the trash; raises ``ChatHasForks`` when it has forks, unless *yes*."""
        from forklore.app import deleting

        return deleting.delete(self._workspace.resolve(chat), self._means, yes=yes)

    def cleanup(self, *, apply: bool = False, books: Collection[str] | None = None) -> Cleanup:
        """Return the clones that nobody names and the map entries of vanished chats, after removing them if *apply*.

        With *books* it is about these lorebooks alone: whoever was shown a list agrees to that list.
        """
        from forklore.app import deleting

        return deleting.cleanup(self._means, apply=apply, books=books)

    def trash(self) -> TrashShown:
        """Return what is in the trash."""
        from forklore.app import trash as trashing

        return trashing.trash(self._means)

    def restore(self, item: str) -> Restored:
        """Put one item of the trash back; raises ``NameTaken`` when something stands in its place."""
        from forklore.app import trash as trashing

        return trashing.restore(item, self._means)

    def empty_trash(self, older_than: float) -> TrashShown:
        """Delete for good what has been in the trash for *older_than* days, and return what that was."""
        from forklore.app import trash as trashing

        return trashing.empty_trash(older_than, self._means)

    # --- isolating ------------------------------------------------------------------------------------------------

    def isolate(self, chat: str, *, share: bool = False) -> Isolated:
        """Give a fork that SillyTavern made a lorebook of its own; with *share*, declare its book shared on purpose."""
        from forklore.app.isolating import isolate
        from forklore.app.isolating import share as share_book

        address = self._workspace.resolve(chat)
        return share_book(address, self._means) if share else isolate(address, self._means)

    def plan_isolation(self, chat: str, *, share: bool = False) -> DryRun:
        """Return the plan of an isolation and change nothing."""
        from forklore.app.isolating import dry_run as dry_run_isolation

        return dry_run_isolation(self._workspace.resolve(chat), self._means, share=share)

    def isolate_all(self, chat: str | None = None) -> IsolatedAll:
        """Give every timeline that shares a lorebook one of its own: in the story of *chat*, or in all stories."""
        from forklore.app.isolating_all import isolate_all

        return isolate_all(self._story_meant(chat), self._means)

    def plan_isolations(self, chat: str | None = None) -> IsolatedAll:
        """Return what ``isolate_all`` would do for each timeline, and change nothing."""
        from forklore.app.isolating_all import foresee_all

        return foresee_all(self._story_meant(chat), self._means)

    def _story_meant(self, chat: str | None) -> Story | None:
        return None if chat is None else self.tree(chat)

    def contamination(self, chat: str) -> Contamination:
        """Return whose messages can have produced each entry of the timeline's lorebook; nothing is changed."""
        from forklore.app.contamination import contamination

        return contamination(self._workspace.resolve(chat), self._means)

    def is_shared_on_purpose(self, book: str) -> bool:
        """Whether the user said that several timelines are meant to share this lorebook."""
        from forklore.app.sharing import is_shared_on_purpose

        return is_shared_on_purpose(book, self._means)

    # --- the queue ------------------------------------------------------------------------------------------------

    def queue(self, chat: str, *, cancel: Sequence[str] = ()) -> QueueShown:
        """Return the operation queue of a timeline, after cancelling the operations *cancel*."""
        address = self._workspace.resolve(chat)
        if not cancel:
            with reading(self._workspace, address) as read:
                return self._queue(read, None)
        with reading(self._workspace, address) as read:
            self._cancellation(read, frozenset(cancel))  # what makes no sense is refused before anything is locked

        def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
            with reading(self._workspace, address) as read:
                return self._cancellation(read, frozenset(cancel)), {}

        operation = apply_alone(make_plan, self._means).operation
        with reading(self._workspace, address) as read:
            return self._queue(read, operation.id)

    def _queue(self, read: Reading, operation: str | None) -> QueueShown:
        return QueueShown(str(read.address), read.book_name, _operations(read), operation)

    def _cancellation(self, read: Reading, ids: frozenset[str]) -> Plan:
        known = {operation.operation_id for operation in _operations(read)}
        if missing := ids - known:
            raise BadRequest(f"The queue has no operation {', '.join(sorted(missing))}.")
        book, path = read.parent.book, read.book_path
        if book is None or path is None:
            raise BadRequest("The chat has no lorebook, so it has no queue.")
        edit = cancellation(book, path, ids)
        return Plan("cancel", str(read.address), (edit,), 0, unchanged=((path, read.files[path].fingerprint),))

    # --- the settings ---------------------------------------------------------------------------------------------

    def settings(self) -> SettingsShown:
        """Return what the user decided for the workspace, and what there is to decide."""
        from forklore.app.deciding import show_settings

        return show_settings(self._means)

    def change_settings(
        self,
        *,
        policy: str | None = None,
        names: Mapping[str, str | None] | None = None,
        requirements: Mapping[str, str | None] | None = None,
        shared_books: Sequence[str] | None = None,
    ) -> SettingsShown:
        """Decide otherwise: what is not given stays, and None for a name or an effect makes it the usual one."""
        from forklore.app.deciding import SettingsChange, change_settings

        change = SettingsChange(policy, names, requirements, shared_books)
        shown = change_settings(change, self._means)
        self._heed_settings()
        return shown

    def _heed_settings(self) -> None:
        """Go on with the settings as they are now; a policy that was asked for on opening stays."""
        settings = read_settings(self._workspace.places)
        chosen = settings.policy
        if self._is_policy_given:
            chosen = replace(chosen, strict=self._means.policy.strict)
        self._means = replace(self._means, settings=settings, policy=chosen)

    # --- the log --------------------------------------------------------------------------------------------------

    def log(self, *, request: str | None = None) -> LogShown:
        """Return every operation, newest first; with *request*, those that it asked for."""
        entries = list(self._transactions.log.entries())
        operations = tuple(entry for entry in entries if isinstance(entry, Operation))
        shown = tuple(each for each in operations if request in (None, each.turn.request))
        from forklore.app.folder import log_findings

        findings = log_findings([entry for entry in entries if isinstance(entry, Unread)])
        return LogShown(shown, undone_ids(operations), tuple(findings))

    def new_operations(self, known: frozenset[str]) -> tuple[frozenset[str], list[Operation]]:
        """Return the ids of all operations, and those operations that are not *known*, the first one first."""
        ids = self._transactions.log.ids()
        return ids, self._transactions.log.some(ids - known)

    def undo(self, operation: str | None = None, *, leave_parent: bool = False) -> Undone:
        """Undo an operation, the latest one by default; raises ``UndoRefused`` when something was built on it.

        With *leave_parent* what points to a fork stays: SillyTavern's page has the parent open and makes the edits that
        are ``left``.
        """
        if operation is not None:
            self._transactions.log.refuse_unread(operation)
        _to_undo(operation, list(self._transactions.log))  # without such an operation nothing is even locked
        from forklore.app.undoing import undo_plan

        target: list[Operation] = []
        left: list[EditFile] = []

        def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
            operations = list(self._transactions.log)
            target.append(_to_undo(operation, operations))
            cache = self._means.cache()
            plan, beside = undo_plan(target[0], operations, self._workspace, cache, leave_parent=leave_parent)
            left.extend(beside)
            return plan, {}

        applied = apply_alone(make_plan, self._means).operation
        self._heed_settings()
        to_page = tuple(LeftToPage.of(change, target[0].chat) for change in left)
        return Undone(target[0].id, applied.id, applied.pending, to_page)

    # --- the extension --------------------------------------------------------------------------------------------

    def extension(self, action: str = "status") -> Extension:
        """Return which version of the extension is in SillyTavern, after *action*: install, status or uninstall."""
        from forklore.app import extension

        actions = {"status": extension.status, "install": extension.install, "uninstall": extension.uninstall}
        if action not in actions:
            raise BadRequest(f"{action!r} is none of install, status, uninstall.")
        return actions[action](self.root, self._means.state(), now=self._means.now_ms() / 1000)

    # --- common ---------------------------------------------------------------------------------------------------

    def recover(self) -> list[str]:
        """Finish or take back what a crash left, unless somebody is at work; return a sentence about each."""
        try:
            if not self._transactions.leftovers():
                return []
            with workspace_lock(self.root, what="operation"):
                return self._transactions.recover()
        except (ForkloreError, OSError):
            return []  # somebody is at work, or we may only read; whoever writes next will see to it

    def listening(self, progress: Progress) -> Forklore:
        """Return the same workspace with another listener for progress."""
        other = object.__new__(Forklore)
        other.__dict__.update(self.__dict__)
        other._means = replace(self._means, progress=progress)  # a copy of ourselves
        return other

    def _stories(self) -> tuple[Story, ...]:
        self._workspace.needs_chats()
        return scan_stories(self._workspace, self._means.cache(), self._means.advance)

    def _story_of(self, address: str, stories: tuple[Story, ...]) -> Story:
        for story in stories:
            if any(timeline.chat == address for timeline in story.timelines):
                return story
        raise ChatUnreadable(f"{address!r} cannot be read.")


def _has_recorded_book(record: Mapping[str, Any], read: Reading) -> bool:
    return record.get("cloned_lorebook_name") == read.book_name and not read.book_missing


def _operations(read: Reading) -> tuple[QueuedOperation, ...]:
    """Return the timeline's queue; raises an error that names what cannot be read."""
    read.needs_header()
    if read.book_missing:
        raise LorebookMissing(f"The lorebook {read.book_name!r} is missing.")
    if read.book_outside:
        raise LinkOutside(f"The lorebook {read.book_name!r} is not read. {read.book_outside}")
    if read.book_damage:
        raise LorebookDamaged(f"The lorebook {read.book_name!r} cannot be read. {read.book_damage}")
    try:
        return read_queue(read.parent.book)
    except QueueUnreadable as error:
        raise QueueDamaged(str(error)) from error


def _to_undo(wanted: str | None, operations: list[Operation]) -> Operation:
    undone = undone_ids(operations)
    if wanted is None:
        for operation in operations:
            if operation.undoes is None and operation.id not in undone:
                return operation
        raise OperationNotFound("There is nothing to undo.", action="Nothing was changed.")
    fits = [operation for operation in operations if operation.id == wanted]
    fits = fits or [operation for operation in operations if str(operation.turn.number) == wanted]
    if len(fits) > 1:
        raise BadRequest(
            f"There are {len(fits)} operations with the number {wanted}:",
            action="Give the whole id of the operation.",
            choices=[operation.id for operation in fits],
        )
    if not fits:
        raise OperationNotFound(f"There is no operation {wanted!r}.")
    if fits[0].id in undone:
        raise UndoRefused(f"The operation {wanted!r} is undone already.", action="Nothing was changed.")
    return fits[0]
