"""Deleting a timeline, and cleaning up what nobody names: everything goes to the trash, nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forklore.app.applying import apply_alone
from forklore.app.means import Means
from forklore.app.reading import Reading, reading
from forklore.app.results_life import Cleanup, Deleted, FreeBook
from forklore.app.undoing import links_to
from forklore.disk.disk import fingerprint_at
from forklore.disk.files import ContextChanged, OpenFile
from forklore.disk.referrers import referrers
from forklore.disk.scan import scan_chats, scan_stories
from forklore.disk.staging import content_of_file
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError, Kind
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.log.operations import Operation
from forklore.model import names
from forklore.model.address import ChatAddress
from forklore.model.plan import EditFile, Fingerprint, Plan, TrashFile
from forklore.model.timeline import ChatFacts, Timeline
from forklore.planning.deleting import (
    Deletion,
    MapEntry,
    group_entry_removal,
    link_removals,
    plan_cleanup,
    plan_delete,
    stale_map_entries,
)
from forklore.planning.undo import is_book, when_sent

_SETTINGS = "settings.json"
_DAY = 24 * 60 * 60


class ChatHasForks(ForkloreError):
    """The chat that is to be deleted has forks."""

    code = "CHAT_HAS_FORKS"
    kind = Kind.BLOCKED
    action = "Its forks stay whole without it: to delete it all the same, say --yes. Nothing was changed."

    def __init__(self, chat: str, children: tuple[str, ...]) -> None:
        """Name the forks of *chat*."""
        super().__init__(f"{chat!r} has {len(children)} fork{'s' * (len(children) > 1)}:", choices=children)


# --- deleting a timeline ------------------------------------------------------------------------------------------


def delete(address: ChatAddress, means: Means, *, yes: bool = False) -> Deleted:
    """Move a chat to the trash, with its lorebook if nothing else names it; raises ``ChatHasForks`` unless *yes*."""
    _children(address, means, yes=yes)  # refused before anything is locked
    draft: list[_Draft] = []

    def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
        draft.append(_draft(address, means, yes=yes))
        return draft[-1].plan, {}

    applied = apply_alone(make_plan, means)
    made = draft[-1]
    return Deleted(
        chat=str(address),
        book=made.book if made.takes_book else None,
        kept_because=made.kept_because,
        children=made.children,
        operation=applied.operation.id,
        kept_book=None if made.takes_book else made.book,
        pending=applied.pending,
    )


class _Draft:
    """A deletion that has been planned."""

    def __init__(self, plan: Plan, book: str | None, kept_because: tuple[str, ...], children: tuple[str, ...]) -> None:
        self.plan, self.book, self.kept_because, self.children = plan, book, kept_because, children
        self.takes_book = any(isinstance(change, TrashFile) and is_book(change.path) for change in plan.changes)


def _draft(address: ChatAddress, means: Means, *, yes: bool) -> _Draft:
    workspace = means.workspace
    children = _children(address, means, yes=yes)
    with reading(workspace, address, with_book=False) as read:
        kept = _kept_because(read, means)
        goes = read.book_path is not None and not kept
        parent, sent = _parent_edit(address, means)
        deletion = Deletion(
            chat=TrashFile(read.chat_path, content_of_file(read.files[read.chat_path])),
            book=_book(read) if goes else None,
            group=_group_entry(address, workspace),
            parent=parent,
            children=children,
            kept_book=read.book_path if kept else None,
            sent=sent,
        )
        # What was looked at to tell that the book is free must still be so when the chat goes.
        unchanged = tuple(_seen(workspace, _SETTINGS)) if goes else ()
        return _Draft(plan_delete(str(address), deletion, unchanged), read.book_name, kept, children)


def _children(address: ChatAddress, means: Means, *, yes: bool) -> tuple[str, ...]:
    children = tuple(each.chat for each in _timelines(means) if each.parent == str(address))
    if children and not yes:
        raise ChatHasForks(str(address), children)
    return children


def _timelines(means: Means) -> Iterator[Timeline]:
    for story in scan_stories(means.workspace, means.cache()):
        yield from story.timelines


def _kept_because(read: Reading, means: Means) -> tuple[str, ...]:
    """Return why the chat's lorebook has to stay; what cannot be read may name it, so it stays then too."""
    if read.damage:
        return (f"Which lorebook the chat names cannot be told. {read.damage}",)
    if read.book_name is None or read.book_missing:
        return ()
    if read.book_path is None:
        return (read.book_damage or read.book_outside,)
    found = referrers(means.workspace, means.cache())
    return found.of(read.book_name, besides=str(read.address)) or found.unreadable


def _book(read: Reading) -> TrashFile | None:
    if read.book_path is None:
        return None
    return TrashFile(read.book_path, content_of_file(read.files[read.book_path]))


def _group_entry(address: ChatAddress, workspace: Workspace) -> EditFile | None:
    for group in workspace.groups() if address.is_group else ():
        if address.name in group.chats:
            return group_entry_removal(workspace.group_path(group.group_id), group, address.name)
    return None


def _parent_edit(address: ChatAddress, means: Means) -> tuple[EditFile | None, dict[str, Any]]:
    """Return the edit that makes the chat's parent forget it, and when the messages it is about were sent.

    There is none when there is no parent, or none that can be read.
    """
    parents = (each.parent for each in _timelines(means) if each.chat == str(address))
    parent = ChatAddress.parse(next(parents, None) or "")
    if parent is None:
        return None, {}
    path = means.workspace.chat_path(parent)
    with suppress(OSError, ForkloreError, ChatDamaged), OpenFile(means.workspace.file(path)) as file:
        links = links_to(address.name, path, file, list(means.transactions.log), means.workspace)
        edits = link_removals(file.chat, address.name, links)
        return (
            (EditFile(path, edits, role="link"), when_sent(file.chat, [each.line for each in edits]))
            if edits
            else (None, {})
        )
    return None, {}


def _seen(workspace: Workspace, path: str) -> Iterator[tuple[str, Fingerprint]]:
    found = fingerprint_at(Path(workspace.file(path)))
    if found is not None:
        yield path, found


# --- cleaning up --------------------------------------------------------------------------------------------------


def cleanup(means: Means, *, apply: bool = False, books: Collection[str] | None = None) -> Cleanup:
    """List clones that nobody names and map entries of vanished chats; with *apply* they go, as one operation.

    With *books* only these of the clones are meant, and no chat is edited.
    """
    found = _leftovers(means, books)
    if not apply or not (found.books or found.map_entries):
        return found
    latest = [found]

    def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
        latest.append(_leftovers(means, books))
        return _cleanup_plan(latest[-1], means.workspace), {}

    applied = apply_alone(make_plan, means)
    gone = latest[-1]
    return Cleanup(gone.books, gone.map_entries, gone.kept_because, applied.operation.id, applied.pending)


def _leftovers(means: Means, wanted: Collection[str] | None) -> Cleanup:
    chats = scan_chats(means.workspace, means.cache())
    there = [(address.folder, address.name) for address in means.workspace.chats()]
    entries = tuple(stale_map_entries(chats, there))
    books, kept_because = free_clones(means, chats)
    if wanted is not None:
        return Cleanup(tuple(book for book in books if book.name in wanted), (), kept_because)
    return Cleanup(books, entries, kept_because)


def free_clones(means: Means, chats: Sequence[ChatFacts]) -> tuple[tuple[FreeBook, ...], tuple[str, ...]]:
    """Return the clones that nobody names; where that cannot be told, none, and why."""
    found, clones = referrers(means.workspace, means.cache(), chats), list(_clones(means))
    if found.unreadable:
        return (), found.unreadable if clones else ()
    free = (_free_book(entry, operation, means) for entry, operation in clones if not found.of(_book_name(entry)))
    return tuple(book for book in free if book is not None), ()


def _clones(means: Means) -> Iterator[tuple[os.DirEntry[str], Operation | None]]:
    """Yield every lorebook that is recognisable as a clone of ours: by its name, or because the log has it."""
    made = _made_books(list(means.transactions.log))
    unfinished = frozenset(path for operation in means.transactions.unfinished() for path in operation.paths)
    for entry in means.workspace.book_files():
        if f"worlds/{entry.name}" in unfinished:
            continue  # somebody is about to name it, or to take it away
        operation = made.get(f"worlds/{entry.name}")
        if operation is not None or names.clone_base(_book_name(entry)) is not None:
            yield entry, operation


def _book_name(entry: os.DirEntry[str]) -> str:
    return entry.name.removesuffix(".json")


def _free_book(entry: os.DirEntry[str], operation: Operation | None, means: Means) -> FreeBook | None:
    """Return a clone as ``cleanup`` shows it; None when it is gone."""
    name = _book_name(entry)
    try:
        stat = entry.stat()
    except OSError:
        return None
    made_at = seconds_of(operation.when) if operation else None
    age = means.now_ms() / 1000 - (made_at if made_at is not None else stat.st_mtime)
    origin = _origin(names.clone_base(name), operation)
    return FreeBook(name, f"worlds/{entry.name}", stat.st_size, max(0, int(age // _DAY)), origin)


def _made_books(log: list[Operation]) -> dict[str, Operation]:
    """Return the operation that first made each lorebook of the log, by the book's path."""
    return {
        change["path"]: operation
        for operation in log  # newest first: the oldest one stays
        for change in operation.changes
        if change["do"] == "create" and is_book(change["path"])
    }


def _origin(base: str | None, operation: Operation | None) -> str:
    made = f"{operation.kind} {operation.chat!r}, operation {operation.id}" if operation else ""
    return f"{base} ({made})" if base and made else base or made


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
