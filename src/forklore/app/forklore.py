"""The whole product: one method a command. Command line, service and extension only translate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from forklore.app.check import ForkRequest, check_fork
from forklore.app.context import ChatMeant, Context, Outside, text_of
from forklore.app.progress import Progress, Silent
from forklore.checks.requirements import Policy
from forklore.checks.settings import Settings
from forklore.disk.disk import Disk
from forklore.disk.settings import read_settings
from forklore.disk.workspace import Workspace
from forklore.errors import BadRequest, ForkloreError
from forklore.model.fact import Fact
from forklore.model.finding import Report

if TYPE_CHECKING:
    from forklore.app.cleanup import Cleanup
    from forklore.app.contamination import Contamination
    from forklore.app.delete import Deleted
    from forklore.app.doctor import Examined
    from forklore.app.dry_run import DryRun
    from forklore.app.extension import Extension
    from forklore.app.follow import Followed
    from forklore.app.fork import ForkMade
    from forklore.app.isolate import Isolated
    from forklore.app.isolate_all import IsolatedAll
    from forklore.app.log import LogShown, OperationNews
    from forklore.app.queue import QueueShown
    from forklore.app.repair import Repairs
    from forklore.app.settings import SettingsShown
    from forklore.app.show import Status, Stories, TimelineShown
    from forklore.app.trash import Restored, TrashShown
    from forklore.app.undo import Undone
    from forklore.app.verify import Verified
    from forklore.app.views import Views
    from forklore.model.timeline import Story


class Result(Protocol):
    """What a use case returns."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape of the result."""


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
        self._is_policy_given = policy is not None
        self._context = Context(
            workspace=self._workspace,
            settings=settings,
            policy=policy or settings.policy,
            progress=progress or Silent(),
            disk=disk or Disk(),
            request=request,
            **{field.name: getattr(outside, field.name) for field in fields(outside)},
        )

    # --- looking --------------------------------------------------------------------------------------------------

    def stories(self) -> Stories:
        """Return every story of the workspace."""
        from forklore.app.show import stories

        return stories(self._context)

    def tree(self, chat: ChatMeant | None = None) -> Story:
        """Return one story: the one *chat* belongs to, or the only one."""
        from forklore.app.show import tree

        return tree(chat, self._context)

    def show(self, chat: ChatMeant) -> TimelineShown:
        """Return one timeline in detail: its place, its lorebook, its recap versions and its scene breaks."""
        from forklore.app.show import show

        return show(self._context.resolve(chat), self._context)

    def check(self, chat: ChatMeant, *, at: int | None = None, kind: str = "checkpoint") -> Report:
        """Return what stands in the way of a fork, all of it at once."""
        return check_fork(ForkRequest(kind, self._context.resolve(chat), at), self._context)

    def verify(self, chat: ChatMeant) -> Verified:
        """Compare a timeline with its record and with the rest of its story."""
        from forklore.app.verify import verify

        return verify(self._context.resolve(chat), self._context)

    def status(self, chat: ChatMeant) -> Status:
        """Return the diagnostic object of a timeline: what was recorded, and whether it is still so."""
        from forklore.app.show import status

        return status(self._context.resolve(chat), self._context)

    @property
    def view(self) -> Views:
        """What only a page needs: the overview, the drawing of a story, windows of a chat."""
        from forklore.app.views import Views

        return Views(self._context)

    # --- forking --------------------------------------------------------------------------------------------------

    def checkpoint(
        self,
        chat: ChatMeant,
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
            self._context.resolve(chat),
            at,
            name,
            wait=wait,
            show_last_scene=show_last_scene,
            leave_parent=leave_parent,
        )
        from forklore.app.fork import fork

        return fork(request, self._context)

    def branch(
        self,
        chat: ChatMeant,
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
            self._context.resolve(chat),
            at,
            swipe=swipe,
            wait=wait,
            show_last_scene=show_last_scene,
            leave_parent=leave_parent,
        )
        from forklore.app.fork import fork

        return fork(request, self._context)

    def plan(
        self,
        kind: str,
        chat: ChatMeant,
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
            self._context.resolve(chat),
            at,
            name,
            swipe,
            show_last_scene=show_last_scene,
            leave_parent=leave_parent,
        )
        from forklore.app.dry_run import dry_run

        return dry_run(request, self._context)

    # --- mending --------------------------------------------------------------------------------------------------

    def repair(self, chat: ChatMeant, code: str, *, repair: str | None = None, book: str | None = None) -> Repairs:
        """Return what could be done about a finding of ``verify``; with *repair*, make that one.

        *book* tells what a missing lorebook is called now, where somebody knows that it was renamed.
        """
        from forklore.app.folder import find_in_folder, repair_folder
        from forklore.app.repair import offer_repairs
        from forklore.app.repair import repair as make_repair

        located = find_in_folder(text_of(chat), code, self._context)
        if located is not None:
            return repair_folder(located, self._context, repair=repair)
        address = self._context.resolve(chat)
        if repair is None:
            return offer_repairs(address, code, self._context, book=book)
        return make_repair(address, code, repair, self._context, book=book)

    def doctor(self, *, fix: bool = False) -> Examined:
        """Examine the whole workspace; with *fix*, mend what can be mended without losing anything."""
        from forklore.app.doctor import doctor

        return doctor(self._context, fix=fix)

    def follow_chats(self, renamed: ChatMeant | None = None) -> Followed:
        """Let whatever names a chat follow its new name; what *renamed* says of itself follows, too."""
        from forklore.app.follow import follow_chats

        return follow_chats(None if renamed is None else self._context.resolve(renamed), self._context)

    def follow_book(self, old: str, new: str) -> Followed:
        """Let every timeline follow a lorebook that was called *old* and is called *new* now."""
        from forklore.app.follow import follow_book

        return follow_book(old, new, self._context)

    # --- deleting -------------------------------------------------------------------------------------------------

    def delete(self, chat: ChatMeant, *, yes: bool = False) -> Deleted:
        """Move a timeline to the trash; raises ``ChatHasForks`` when it has forks, unless *yes*."""
        from forklore.app.delete import delete

        return delete(self._context.resolve(chat), self._context, yes=yes)

    def cleanup(self, *, apply: bool = False, books: Collection[str] | None = None) -> Cleanup:
        """Return the clones that nobody names and the map entries of vanished chats, after removing them if *apply*.

        With *books* it is about these lorebooks alone: whoever was shown a list agrees to that list.
        """
        from forklore.app.cleanup import cleanup

        return cleanup(self._context, apply=apply, books=books)

    def trash(self) -> TrashShown:
        """Return what is in the trash."""
        from forklore.app import trash as trashing

        return trashing.trash(self._context)

    def restore(self, item: str) -> Restored:
        """Put one item of the trash back; raises ``NameTaken`` when something stands in its place."""
        from forklore.app import trash as trashing

        return trashing.restore(item, self._context)

    def empty_trash(self, older_than: float) -> TrashShown:
        """Delete for good what has been in the trash for *older_than* days, and return what that was."""
        from forklore.app import trash as trashing

        return trashing.empty_trash(older_than, self._context)

    # --- isolating ------------------------------------------------------------------------------------------------

    def isolate(self, chat: ChatMeant, *, share: bool = False) -> Isolated:
        """Give a fork that SillyTavern made a lorebook of its own; with *share*, declare its book shared on purpose."""
        from forklore.app.isolate import isolate
        from forklore.app.isolate import share as share_book

        address = self._context.resolve(chat)
        return share_book(address, self._context) if share else isolate(address, self._context)

    def plan_isolation(self, chat: ChatMeant, *, share: bool = False) -> DryRun:
        """Return the plan of an isolation and change nothing."""
        from forklore.app.isolate import dry_run as dry_run_isolation

        return dry_run_isolation(self._context.resolve(chat), self._context, share=share)

    def isolate_all(self, chat: ChatMeant | None = None) -> IsolatedAll:
        """Give every timeline that shares a lorebook one of its own: in the story of *chat*, or in all stories."""
        from forklore.app.isolate_all import isolate_all

        return isolate_all(self._story_meant(chat), self._context)

    def plan_isolations(self, chat: ChatMeant | None = None) -> IsolatedAll:
        """Return what ``isolate_all`` would do for each timeline, and change nothing."""
        from forklore.app.isolate_all import foresee_all

        return foresee_all(self._story_meant(chat), self._context)

    def _story_meant(self, chat: ChatMeant | None) -> Story | None:
        return None if chat is None else self.tree(chat)

    def contamination(self, chat: ChatMeant, *, start: int = 0, count: int | None = None) -> Contamination:
        """Return whose messages can have produced each entry of the timeline's lorebook; nothing is changed.

        Of the entries it is *count* from *start* on, at most 200, or all without a *count*.
        """
        from forklore.app.contamination import contamination

        return contamination(self._context.resolve(chat), self._context, start=start, count=count)

    def is_shared_on_purpose(self, book: str) -> bool:
        """Whether the user said that several timelines are meant to share this lorebook."""
        return self._context.is_shared_on_purpose(book)

    # --- the queue ------------------------------------------------------------------------------------------------

    def queue(self, chat: ChatMeant, *, cancel: Sequence[str] = ()) -> QueueShown:
        """Return the operation queue of a timeline, after cancelling the operations *cancel*."""
        from forklore.app.queue import queue

        return queue(self._context.resolve(chat), self._context, cancel=cancel)

    # --- the settings ---------------------------------------------------------------------------------------------

    def settings(self) -> SettingsShown:
        """Return what the user decided for the workspace, and what there is to decide."""
        from forklore.app.settings import show_settings

        return show_settings(self._context)

    def change_settings(
        self,
        *,
        policy: str | None = None,
        names: Mapping[str, str | None] | None = None,
        requirements: Mapping[str, str | None] | None = None,
        shared_books: Sequence[str] | None = None,
    ) -> SettingsShown:
        """Decide otherwise: what is not given stays, and None for a name or an effect makes it the usual one."""
        from forklore.app.settings import SettingsChange, change_settings

        change = SettingsChange(policy, names, requirements, shared_books)
        shown = change_settings(change, self._context)
        self._use_current_settings()
        return shown

    def _use_current_settings(self) -> None:
        """Go on with the settings as they are now; a policy that was asked for on opening stays."""
        settings = read_settings(self._workspace.places)
        chosen = settings.policy
        if self._is_policy_given:
            chosen = chosen._replace(strict=self._context.policy.strict)
        self._context = replace(self._context, settings=settings, policy=chosen)

    # --- the log --------------------------------------------------------------------------------------------------

    def log(self, *, request: str | None = None) -> LogShown:
        """Return every operation, newest first; with *request*, those that it asked for."""
        from forklore.app.log import read_log

        return read_log(self._context, request=request)

    def new_operations(self, known: frozenset[str] | None) -> tuple[frozenset[str], list[OperationNews]]:
        """Return the ids of all operations, and the news of those that are not *known*, the first one first.

        Without *known*, for whoever begins to listen, there are no news.
        """
        from forklore.app.log import new_operations

        return new_operations(known, self._context)

    def undo(self, operation: str | None = None, *, leave_parent: bool = False) -> Undone:
        """Undo an operation, the latest one by default; raises ``UndoRefused`` when something was built on it.

        With *leave_parent* what points to a fork stays: SillyTavern's page has the parent open and makes the edits that
        are ``left``.
        """
        from forklore.app.undo import undo

        undone = undo(operation, self._context, leave_parent=leave_parent)
        self._use_current_settings()
        return undone

    # --- the extension --------------------------------------------------------------------------------------------

    def extension(self, action: str = "status") -> Extension:
        """Return which version of the extension is in SillyTavern, after *action*: install, status or uninstall."""
        from forklore.app import extension

        actions = {"status": extension.status, "install": extension.install, "uninstall": extension.uninstall}
        if action not in actions:
            raise BadRequest("extension_action", action=action, actions=sorted(actions))
        return actions[action](self.root, self._context.state(), now=self._context.now_ms() / 1000)

    # --- common ---------------------------------------------------------------------------------------------------

    def recover(self) -> list[Fact]:
        """Finish or take back what a crash left, unless somebody is at work; return what was done about each."""
        try:
            if not self._context.transactions.leftovers():
                return []
            from forklore.disk.lock import workspace_lock

            with workspace_lock(self.root, what="recovery"):
                return self._context.transactions.recover()
        except (ForkloreError, OSError):
            return []  # somebody is at work, or we may only read; whoever writes next will see to it

    def listening(self, progress: Progress) -> Forklore:
        """Return the same workspace with another listener for progress."""
        other = object.__new__(Forklore)
        other.__dict__.update(self.__dict__)
        other._context = replace(self._context, progress=progress)  # a copy of ourselves
        return other
