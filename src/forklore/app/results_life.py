"""What deleting, cleaning up and the trash return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.planning.deleting import MapEntry


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


@dataclass(frozen=True, slots=True)
class TrashItem:
    """A file in the trash; what did not come from an operation of the log has neither path nor operation."""

    item: str
    path: str | None
    when: str
    size: int
    operation: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the item as ``trash`` shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class TrashShown:
    """What is in the trash, newest first, or what was in it until it was deleted for good."""

    items: tuple[TrashItem, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the trash as the contract shows it."""
        return {"items": [item.to_json() for item in self.items]}


@dataclass(frozen=True, slots=True)
class Restored:
    """A file that came back from the trash."""

    item: str
    path: str
    operation: str
    also: tuple[str, ...] = ()
    """What came back with it: a chat is never without its lorebook."""
    pending: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the restored file as the contract shows it."""
        return {"item": self.item, "path": self.path, "operation": self.operation, "pending": list(self.pending)}
