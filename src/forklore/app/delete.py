"""Deleting a timeline: it goes to the trash, with its lorebook if nobody else names that."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore import texts
from forklore.app.applying import apply_alone
from forklore.app.context import Context
from forklore.app.links import links_to
from forklore.checks.references import References, references
from forklore.disk.files import OpenFile
from forklore.disk.gather import OpenTimeline, in_place, open_timeline, with_more
from forklore.disk.naming import gather_naming, naming_as_seen
from forklore.disk.transaction.staging import content_of_file
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError, Kind
from forklore.formats.chat_facts import when_sent
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.gathered.timeline import MISSING, BookState, TimelineState
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.address import ChatAddress
from forklore.model.fact import Fact, fact
from forklore.model.plan import EditFile, Plan, TrashFile
from forklore.planning.deleting import (
    Deletion,
    group_entry_removal,
    link_removals,
    plan_delete,
)


@dataclass(frozen=True, slots=True)
class Deleted:
    """A timeline that went to the trash."""

    chat: str
    book: str | None
    """The lorebook that went with it."""
    more_books: tuple[str, ...]
    """The other lorebooks that it had for itself, and that went with it."""
    kept_because: tuple[Fact, ...]
    """Why its lorebook stayed."""
    children: tuple[str, ...]
    """Its forks, which stay as they are."""
    operation: str
    kept_book: str | None = None
    pending: tuple[Fact, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the deletion as the contract shows it."""
        return {
            "chat": self.chat,
            "book": self.book,
            "more_books": list(self.more_books),
            "kept_because": [texts.words(each) for each in self.kept_because],
            "kept_facts": list(self.kept_because),
            "children": list(self.children),
            "operation": self.operation,
        }


class ChatHasForks(ForkloreError):
    """The chat that is to be deleted has forks."""

    code = "CHAT_HAS_FORKS"
    kind = Kind.BLOCKED

    def __init__(self, chat: str, children: tuple[str, ...]) -> None:
        """Name the forks of *chat*."""
        super().__init__(chat=chat, count=len(children), choices=children)


# --- deleting a timeline ------------------------------------------------------------------------------------------


def delete(address: ChatAddress, context: Context, *, yes: bool = False) -> Deleted:
    """Move a chat to the trash, with its lorebook if nothing else names it; raises ``ChatHasForks`` unless *yes*."""
    made: list[_Deletion] = []

    def make_plan() -> Plan:
        made[:] = [_planned(address, context, yes=yes)]
        return made[0].plan

    applied = apply_alone(make_plan, context, what="delete")
    deletion = made[0]
    return Deleted(
        chat=str(address),
        book=deletion.book if deletion.takes_book else None,
        more_books=deletion.more_books,
        kept_because=deletion.kept_because,
        children=deletion.children,
        operation=applied.operation.id,
        kept_book=None if deletion.takes_book else deletion.book,
        pending=applied.pending,
    )


class _Deletion(NamedTuple):
    """A deletion that has been planned."""

    plan: Plan
    book: str | None
    takes_book: bool
    more_books: tuple[str, ...]
    kept_because: tuple[Fact, ...]
    children: tuple[str, ...]


def _planned(address: ChatAddress, context: Context, *, yes: bool) -> _Deletion:
    workspace, index = context.workspace, context.index(of=address)
    story = index.story(address)
    children = tuple(each.chat for each in story.timelines if each.parent == str(address)) if story else ()
    if children and not yes:
        raise ChatHasForks(str(address), children)
    with open_timeline(workspace, address, with_books=False) as opened:
        timeline = in_place(with_more(opened, workspace), index)
        named = references(index.chats, gather_naming(workspace, index.chats)) if timeline.books else None
        kept, book = _kept_because(timeline, named), timeline.book_file
        goes = book is not None and not kept
        more = _more_that_go(timeline, index, named)
        parent, sent = _parent_edit(timeline, index, workspace)
        deletion = Deletion(
            chat=TrashFile(timeline.path, content_of_file(timeline.chat_file)),
            books=tuple(
                TrashFile(each.path, content_of_file(timeline.files[each.path]))
                for each in (*((timeline.lorebook,) if goes and timeline.lorebook else ()), *more)
            ),
            group=_group_entry(address, workspace),
            parent=parent,
            children=children,
            kept_book=timeline.lorebook.path if kept and timeline.lorebook else None,
            sent=sent,
        )
        # What was looked at to tell that the book is free must still be so when the chat goes.
        unchanged = naming_as_seen(workspace) if goes or more else ()
        plan = plan_delete(str(address), deletion, unchanged)
    return _Deletion(plan, timeline.book_name, goes, tuple(each.name for each in more), kept, children)


def _more_that_go(timeline: OpenTimeline, index: WorkspaceIndex, named: References | None) -> tuple[BookState, ...]:
    """Return the other lorebooks that were made for the chat and that nothing else names; any other one stays."""
    ours = {index.key(str(each["name"])) for each in timeline.recorded_books}
    return tuple(
        book
        for book in timeline.more
        if book.path in timeline.files
        and index.key(book.name) in ours
        and named is not None
        and not named.why_kept(book.name, besides=str(timeline.address))
    )


def _kept_because(timeline: OpenTimeline, named: References | None) -> tuple[Fact, ...]:
    """Return why the chat's lorebook has to stay; what cannot be read may name it, so it stays then too."""
    book = timeline.lorebook
    if timeline.damage:
        return (fact("lorebook_not_told", reason=timeline.damage),)
    if book is None or book.fault == MISSING:
        return ()
    if timeline.book_file is None:
        return (fact("lorebook_not_read", lorebook=book.name, reason=book.reason),)
    return named.why_kept(book.name, besides=str(timeline.address)) if named is not None else ()


def _group_entry(address: ChatAddress, workspace: Workspace) -> EditFile | None:
    for group in workspace.groups() if address.is_group else ():
        if address.name in group.chats:
            return group_entry_removal(workspace.group_path(group.group_id), group, address.name)
    return None


def _parent_edit(
    timeline: TimelineState, index: WorkspaceIndex, workspace: Workspace
) -> tuple[EditFile | None, dict[str, Any]]:
    """Return the edit that makes the chat's parent forget it, and when the messages it is about were sent.

    There is none when there is no parent, or none that can be read.
    """
    parent = ChatAddress.parse(timeline.parent or "")
    if parent is None:
        return None, {}
    path = workspace.chat_path(parent)
    with suppress(OSError, ForkloreError, ChatDamaged), OpenFile(workspace.file(path)) as file:
        links = links_to(timeline.name, path, file, list(index.operations), workspace)
        edits = link_removals(file.chat, timeline.name, links)
        if edits:
            return EditFile(path, edits, role="link"), when_sent(file.chat, [each.line for each in edits])
    return None, {}
