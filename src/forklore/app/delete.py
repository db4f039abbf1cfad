"""Deleting a timeline, and cleaning up what nobody names: everything goes to the trash, nothing is lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from forklore.app.applying import apply_alone
from forklore.app.context import Context
from forklore.app.undo import links_to
from forklore.checks.references import references
from forklore.disk.disk import fingerprint_at
from forklore.disk.files import ContextChanged, OpenFile
from forklore.disk.gather import OpenTimeline, in_place, open_timeline
from forklore.disk.naming import gather_naming
from forklore.disk.transaction.staging import content_of_file
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError, Kind
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.gathered.timeline import MISSING, TimelineState
from forklore.gathered.workspace import BookFile, MapEntry, WorkspaceIndex
from forklore.model import names
from forklore.model.address import ChatAddress
from forklore.model.plan import EditFile, Fingerprint, Plan, TrashFile
from forklore.planning.deleting import (
    Deletion,
    group_entry_removal,
    link_removals,
    plan_cleanup,
    plan_delete,
)
from forklore.planning.undo import when_sent

_SETTINGS = "settings.json"
_DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Deleted:
    """A timeline that went to the trash."""

    chat: str
    book: str | None
    """The lorebook that went with it."""
    kept_because: tuple[str, ...]
    """Why its lorebook stayed."""
    children: tuple[str, ...]
    """Its forks, which stay as they are."""
    operation: str
    kept_book: str | None = None
    pending: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the deletion as the contract shows it."""
        return {
            "chat": self.chat,
            "book": self.book,
            "kept_because": list(self.kept_because),
            "children": list(self.children),
            "operation": self.operation,
        }


@dataclass(frozen=True, slots=True)
class FreeBook:
    """A clone that nobody names."""

    name: str
    path: str
    size: int
    age_days: int
    origin: str
    """The lorebook it was cloned from and, where the log knows it, the operation that made it."""

    def to_json(self) -> dict[str, Any]:
        """Return the book as ``cleanup`` shows it."""
        return {"name": self.name, "size": self.size, "age_days": self.age_days, "from": self.origin}


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What is left over and may go, or has gone."""

    books: tuple[FreeBook, ...]
    map_entries: tuple[MapEntry, ...]
    kept_because: tuple[str, ...] = ()
    """Why no lorebook is known to be free."""
    operation: str | None = None
    """The operation that moved it all to the trash, None when it was only listed."""
    pending: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the leftovers as the contract shows them."""
        return {
            "books": [book.to_json() for book in self.books],
            "map_entries": [{"chat": each.chat, "fork": each.fork, "book": each.book} for each in self.map_entries],
            "kept_because": list(self.kept_because),
            "operation": self.operation,
        }


class ChatHasForks(ForkloreError):
    """The chat that is to be deleted has forks."""

    code = "CHAT_HAS_FORKS"
    kind = Kind.BLOCKED
    action = "Its forks stay whole without it: to delete it all the same, say --yes. Nothing was changed."

    def __init__(self, chat: str, children: tuple[str, ...]) -> None:
        """Name the forks of *chat*."""
        super().__init__(f"{chat!r} has {len(children)} fork{'s' * (len(children) > 1)}:", choices=children)


# --- deleting a timeline ------------------------------------------------------------------------------------------


def delete(address: ChatAddress, context: Context, *, yes: bool = False) -> Deleted:
    """Move a chat to the trash, with its lorebook if nothing else names it; raises ``ChatHasForks`` unless *yes*."""
    made: list[_Deletion] = []

    def make_plan() -> Plan:
        made[:] = [_planned(address, context, yes=yes)]
        return made[0].plan

    applied = apply_alone(make_plan, context)
    deletion = made[0]
    return Deleted(
        chat=str(address),
        book=deletion.book if deletion.takes_book else None,
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
    kept_because: tuple[str, ...]
    children: tuple[str, ...]


def _planned(address: ChatAddress, context: Context, *, yes: bool) -> _Deletion:
    workspace, index = context.workspace, context.index(of=address)
    story = index.story(address)
    children = tuple(each.chat for each in story.timelines if each.parent == str(address)) if story else ()
    if children and not yes:
        raise ChatHasForks(str(address), children)
    with open_timeline(workspace, address, with_book=False) as opened:
        timeline = in_place(opened, index)
        kept, book = _kept_because(timeline, index, workspace), timeline.book_file
        goes = book is not None and not kept
        parent, sent = _parent_edit(timeline, index, workspace)
        deletion = Deletion(
            chat=TrashFile(timeline.path, content_of_file(timeline.chat_file)),
            book=TrashFile(timeline.lorebook.path, content_of_file(book))
            if goes and timeline.lorebook and book
            else None,
            group=_group_entry(address, workspace),
            parent=parent,
            children=children,
            kept_book=timeline.lorebook.path if kept and timeline.lorebook else None,
            sent=sent,
        )
        # What was looked at to tell that the book is free must still be so when the chat goes.
        unchanged = tuple(_seen(workspace, _SETTINGS)) if goes else ()
        plan = plan_delete(str(address), deletion, unchanged)
    return _Deletion(plan, timeline.book_name, goes, kept, children)


def _kept_because(timeline: OpenTimeline, index: WorkspaceIndex, workspace: Workspace) -> tuple[str, ...]:
    """Return why the chat's lorebook has to stay; what cannot be read may name it, so it stays then too."""
    book = timeline.lorebook
    if timeline.damage:
        return (f"Which lorebook the chat names cannot be told. {timeline.damage}",)
    if book is None or book.fault == MISSING:
        return ()
    if timeline.book_file is None:
        return (book.details,)
    found = references(index.chats, gather_naming(workspace, index.chats))
    return found.of(book.name, besides=str(timeline.address)) or found.unreadable


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


def _seen(workspace: Workspace, path: str) -> Iterator[tuple[str, Fingerprint]]:
    found = fingerprint_at(Path(workspace.file(path)))
    if found is not None:
        yield path, found


# --- cleaning up --------------------------------------------------------------------------------------------------


def cleanup(context: Context, *, apply: bool = False, books: Collection[str] | None = None) -> Cleanup:
    """List clones that nobody names and map entries of vanished chats; with *apply* they go, as one operation.

    With *books* only these of the clones are meant, and no chat is edited.
    """
    if not apply:
        return _leftovers(context, context.index(), books)
    gone: list[Cleanup] = []

    def make_plan() -> Plan:
        gone[:] = [_leftovers(context, context.index(), books)]
        if not (gone[0].books or gone[0].map_entries):
            raise _NothingLeft
        return _cleanup_plan(gone[0], context.workspace)

    try:
        applied = apply_alone(make_plan, context)
    except _NothingLeft:
        return gone[0]
    return replace(gone[0], operation=applied.operation.id, pending=applied.pending)


class _NothingLeft(Exception):
    """There is nothing to clean up."""


def _leftovers(context: Context, index: WorkspaceIndex, wanted: Collection[str] | None) -> Cleanup:
    found, kept_because = free_clones(context, index)
    books = tuple(_free_book(book, index, context) for book in found)
    if wanted is not None:
        return Cleanup(tuple(book for book in books if book.name in wanted), (), kept_because)
    return Cleanup(books, index.stale_map_entries, kept_because)


def free_clones(context: Context, index: WorkspaceIndex) -> tuple[tuple[BookFile, ...], tuple[str, ...]]:
    """Return the clones of ours that nobody names; where that cannot be told, none, and why."""
    clones = list(_clones(context, index))
    if not clones:
        return (), ()
    found = references(index.chats, gather_naming(context.workspace, index.chats))
    if found.unreadable:
        return (), found.unreadable
    return tuple(book for book in clones if not found.of(book.name)), ()


def _clones(context: Context, index: WorkspaceIndex) -> Iterator[BookFile]:
    """Yield every lorebook that we made, as the log knows; a name like those we give proves nothing."""
    unfinished = frozenset(path for operation in context.transactions.unfinished() for path in operation.paths)
    for _, book in sorted(index.books.items()):
        # One of an unfinished operation is about to be named, or to go.
        if book.path in index.made_books and book.path not in unfinished:
            yield book


def _free_book(book: BookFile, index: WorkspaceIndex, context: Context) -> FreeBook:
    """Return a clone as ``cleanup`` shows it."""
    operation = index.made_books[book.path]
    made_at = seconds_of(operation.when)
    age = context.now_ms() / 1000 - (made_at if made_at is not None else book.written)
    made = f"{operation.kind} {operation.chat!r}, operation {operation.id}"
    base = names.clone_base(book.name)
    return FreeBook(book.name, book.path, book.size, max(0, int(age // _DAY)), f"{base} ({made})" if base else made)


def seconds_of(when: str) -> float | None:
    """Return when an operation was made, in seconds since 1970, None when its time cannot be read."""
    try:
        return datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _cleanup_plan(found: Cleanup, workspace: Workspace) -> Plan:
    books = []
    for book in found.books:
        with OpenFile(workspace.file(book.path)) as file:
            books.append(TrashFile(book.path, content_of_file(file)))
    entries: dict[str, list[MapEntry]] = {}
    for entry in found.map_entries:
        address = ChatAddress.parse(entry.chat)
        if address is not None:
            entries.setdefault(workspace.chat_path(address), []).append(entry)
    if not books and not entries:
        raise ContextChanged("What nobody named is named again, or gone.", action="Nothing was changed.")
    return plan_cleanup(books, entries, tuple(_seen(workspace, _SETTINGS)) if books else ())
