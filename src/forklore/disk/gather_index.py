"""Gathering the workspace: who is there, who uses which lorebook, what was done, read in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from forklore.disk.disk import is_there
from forklore.disk.files import OpenFile
from forklore.disk.operation_log import OperationLog
from forklore.disk.scan import facts_at, scan_chats
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError
from forklore.formats.chat_facts import beginning_of
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.gathered.workspace import BookFile, WorkspaceIndex
from forklore.log.operations import Operation, Unread
from forklore.model.address import ChatAddress, place_of
from forklore.model.names import book_key
from forklore.model.timeline import ChatFacts, Story, grow_stories

_GROUPS = place_of("group:")


def gather_index(
    workspace: Workspace,
    cache: Path | None,
    *,
    shared_books: Iterable[str] = (),
    log: OperationLog | None = None,
    of: ChatAddress | None = None,
    told_book: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WorkspaceIndex:
    """Look through the workspace once.

    *log* is read when it is given. What takes long to find out is found out for the chat *of* alone, or for every
    chat: who is a copy of whom, and which lorebook was renamed. *told_book* is what somebody says a missing lorebook
    is called now.
    """
    folds = workspace.folds_names
    chats = tuple(scan_chats(workspace, cache, progress))
    entries = tuple(log.entries()) if log is not None else ()
    shared = frozenset(book_key(book, folds=folds) for book in shared_books)
    index = WorkspaceIndex(
        chats=chats,
        stories=grow_stories(chats, shared_on_purpose=shared, folds_names=folds),
        present=frozenset((place_of(chat.folder), chat.name) for chat in workspace.chats()),
        books={book_key(book.name, folds=folds): book for book in _books(workspace)},
        shared_on_purpose=shared,
        folds_names=folds,
        operations=tuple(entry for entry in entries if isinstance(entry, Operation)),
        unread=tuple(entry for entry in entries if isinstance(entry, Unread)),
        told_book=told_book,
    )
    wanted = chats if of is None else tuple(chat for chat in chats if chat.address == str(of))
    return replace(
        index,
        trash=frozenset(_trash(index, workspace)),
        beginnings=dict(_beginnings(index, wanted, workspace)),
        strangers=_strangers(index, workspace) if any(_misses_book(chat, index) for chat in wanted) else {},
    )


def _books(workspace: Workspace) -> Iterator[BookFile]:
    for entry in workspace.book_files():
        with suppress(OSError):  # removed while we look
            stat, name = entry.stat(), entry.name.removesuffix(".json")
            yield BookFile(name, workspace.book_path(name), stat.st_size, stat.st_mtime_ns / 1e9)


def _trash(index: WorkspaceIndex, workspace: Workspace) -> Iterator[str]:
    for operation in index.operations:
        for change in operation.changes:
            if change["do"] == "trash" and is_there(workspace.places.item(change["item"])):
                yield change["item"]


def _beginnings(index: WorkspaceIndex, wanted: Iterable[ChatFacts], workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield how those chats begin that name a lorebook which another story names too."""
    contested: dict[str, ChatFacts] = {}
    books = {index.key(chat.lorebook): chat.lorebook for chat in wanted if chat.lorebook is not None}
    for book in books.values():
        users = index.users(book)
        if len(users) > 1 and len({_main(each, index) for each in users}) > 1:
            contested.update((each.address, each) for each in users)
    for address, chat in contested.items():
        path = workspace.chat_path(ChatAddress(chat.folder, chat.name))
        try:
            with OpenFile(workspace.file(path)) as file:
                beginning = beginning_of(file.chat)
        except (OSError, ChatDamaged, ForkloreError):
            continue
        if beginning is not None:
            yield address, beginning


def _main(chat: ChatFacts, index: WorkspaceIndex) -> str | None:
    story: Story | None = index.story(chat.address)
    return story.main if story else None


def _misses_book(chat: ChatFacts, index: WorkspaceIndex) -> bool:
    return chat.lorebook is not None and not index.has_book(chat.lorebook)


def _strangers(index: WorkspaceIndex, workspace: Workspace) -> dict[str, tuple[BookFile, ...]]:
    """Return the lorebooks that neither a chat names nor we have made, by their digest."""
    ours = {change["path"] for each in index.operations for change in each.changes if change["do"] == "create"}
    strangers: dict[str, tuple[BookFile, ...]] = {}
    for book in index.unused_books.values():
        if book.path in ours:
            continue
        try:
            with OpenFile(workspace.file(book.path)) as file:
                digest = file.digest()
        except (OSError, ForkloreError):
            continue
        strangers[digest] = (*strangers.get(digest, ()), book)
    return strangers


def refreshed(index: WorkspaceIndex, operation: Operation, workspace: Workspace) -> WorkspaceIndex:
    """Return the index as it is after an operation: only what that changed is looked at again."""
    paths = {change["path"] for change in operation.changes}
    groups = {chat: f"group:{group.group_id}" for group in workspace.groups() for chat in group.chats}
    chats = []
    for chat in index.chats:
        if place_of(chat.folder) == _GROUPS:
            chat = chat._replace(folder=groups.get(chat.name, _GROUPS))  # noqa: PLW2901  # it is the same chat
        path = workspace.chat_path(ChatAddress(chat.folder, chat.name))
        facts = facts_at(Path(workspace.file(path)), chat) if path in paths else chat
        chats += [facts] if facts is not None else []
    return replace(
        index,
        chats=tuple(chats),
        stories=grow_stories(chats, shared_on_purpose=index.shared_on_purpose, folds_names=index.folds_names),
        present=frozenset((place_of(chat.folder), chat.name) for chat in workspace.chats()),
        books={book_key(book.name, folds=index.folds_names): book for book in _books(workspace)},
        operations=(operation, *index.operations),
    )
