"""Cleaning up: clones that nobody names and map entries of vanished chats go to the trash."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from forklore import texts
from forklore.app.applying import apply_alone
from forklore.app.context import Context
from forklore.checks.references import references
from forklore.disk.files import ContextChanged, OpenFile
from forklore.disk.naming import gather_naming, naming_as_seen
from forklore.disk.transaction.staging import content_of_file
from forklore.disk.workspace import Workspace
from forklore.gathered.workspace import BookFile, MapEntry, WorkspaceIndex
from forklore.log.operations import seconds_of
from forklore.model import names
from forklore.model.address import ChatAddress
from forklore.model.fact import Fact, fact
from forklore.model.plan import Plan, TrashFile
from forklore.planning.deleting import plan_cleanup

_DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class FreeBook:
    """A clone that nobody names."""

    name: str
    path: str
    size: int
    age_days: int
    origin: Fact
    """The lorebook it was cloned from, if its name tells, and the operation that made it."""

    def to_json(self) -> dict[str, Any]:
        """Return the book as ``cleanup`` shows it."""
        return {
            "name": self.name,
            "size": self.size,
            "age_days": self.age_days,
            "from": texts.words(self.origin),
            "origin": self.origin["params"],
        }


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What is left over and may go, or has gone."""

    books: tuple[FreeBook, ...]
    map_entries: tuple[MapEntry, ...]
    kept_because: tuple[Fact, ...] = ()
    """Why no lorebook is known to be free."""
    operation: str | None = None
    """The operation that moved it all to the trash, None when it was only listed."""
    pending: tuple[Fact, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the leftovers as the contract shows them."""
        return {
            "books": [book.to_json() for book in self.books],
            "map_entries": [{"chat": each.chat, "fork": each.fork, "book": each.book} for each in self.map_entries],
            "kept_because": [texts.words(each) for each in self.kept_because],
            "kept_facts": list(self.kept_because),
            "operation": self.operation,
        }


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
        applied = apply_alone(make_plan, context, what="cleanup")
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


def free_clones(context: Context, index: WorkspaceIndex) -> tuple[tuple[BookFile, ...], tuple[Fact, ...]]:
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
    origin = fact(
        "cloned_from",
        lorebook=names.clone_base(book.name),
        kind=operation.kind,
        chat=operation.chat,
        operation=operation.id,
    )
    return FreeBook(book.name, book.path, book.size, max(0, int(age // _DAY)), origin)


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
        raise ContextChanged("cleanup")
    return plan_cleanup(books, entries, naming_as_seen(workspace) if books else ())
