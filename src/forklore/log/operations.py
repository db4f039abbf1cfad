"""Operations: what was done, in which order, and what takes it back.

The order is that of their numbers, not of the clock, which may be wrong or another machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple

from forklore.errors import ForkloreError
from forklore.log.changes import (
    Unreadable,
    change_of,
    list_of,
    notes_of,
    number_of,
    object_of,
    pending_of,
    text_of,
)
from forklore.model.fact import Fact
from forklore.model.stored import HIGHEST, is_operation_id, outside

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Turn:
    """An operation's place among the others, and who asked for it."""

    number: int = 0
    """One more than the highest that was seen when it began; 0 for the operations of before there were numbers."""
    follows: str | None = None
    """The operation that was the latest then."""
    request: str | None = None
    """What whoever asked for it calls the request."""

    def to_json(self) -> dict[str, Any]:
        """Return the turn as journal and log have it."""
        return {"number": self.number or None, "follows": self.follows, "request": self.request}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Turn:
        """Return the turn that ``to_json`` wrote; operations of before there were numbers have none of it."""
        number, follows, request = (stored.get(key) for key in ("number", "follows", "request"))
        if number is not None and not 0 < number_of(number, "number") <= HIGHEST:
            raise Unreadable("value", field="number")
        for key, each in (("follows", follows), ("request", request)):
            if each is not None and not is_operation_id(text_of(each, key)):
                raise Unreadable("value", field=key)
        return cls(number or 0, follows, request)


class Unread(NamedTuple):
    """A file of the log that is no operation we can use, and what is wrong with it."""

    path: str
    fault: ForkloreError


@dataclass(frozen=True, slots=True)
class Operation:
    """One applied plan: what was done, and what takes it back."""

    id: str
    kind: str
    chat: str
    when: str
    changes: tuple[dict[str, Any], ...]
    undoes: str | None = None
    pending: tuple[Fact, ...] = ()
    """What could not be written any more after the operation was committed."""
    notes: dict[str, Any] = field(default_factory=dict)
    turn: Turn = Turn()

    @property
    def order(self) -> tuple[int, str]:
        """What operations are sorted by: where two machines have given one number twice, the id decides."""
        return self.turn.number, self.id

    @property
    def created(self) -> Iterator[tuple[str, tuple[tuple[int, str], ...]]]:
        """The files it made or put back, with their content."""
        for change in self.changes:
            if change["do"] in ("create", "restore"):
                yield change["path"], tuple((length, digest) for length, digest in change["content"])

    @property
    def makes_fork(self) -> bool:
        """Whether a fork is there because of it: it made one, put one back, or undid the undoing of one."""
        return "fork" in self.notes and any(True for _ in self.created)

    @property
    def all_changes(self) -> tuple[dict[str, Any], ...]:
        """What it changed, and what it left to SillyTavern's page: to write it, or to take it out."""
        edited = {change["path"] for change in self.changes if change["do"] == "edit"}
        noted = self.notes.get("left" if self.makes_fork else "taken_out", ())
        return (*self.changes, *(change for change in noted if change["path"] not in edited))

    def with_pending(self, what: Fact) -> Operation:
        """Return the operation with one more thing that could not be written."""
        return replace(self, pending=(*self.pending, what))

    def to_json(self) -> dict[str, Any]:
        """Return the operation as it stands in its file."""
        return {
            "format": FORMAT,
            "id": self.id,
            **self.turn.to_json(),
            "kind": self.kind,
            "chat": self.chat,
            "when": self.when,
            "undoes": self.undoes,
            "pending": list(self.pending),
            "notes": self.notes,
            "changes": list(self.changes),
        }

    @classmethod
    def from_json(cls, stored: object) -> Operation:
        """Return the operation that ``to_json`` wrote; raises ``Unreadable``, or ``PathOutside`` for a stranger's."""
        value = object_of(stored, "operation")
        operation_id = text_of(value.get("id"), "id")
        if not is_operation_id(operation_id):
            raise outside(operation_id)
        undoes = value.get("undoes")
        changes = list_of(value.get("changes"), change_of)
        if any(change["do"] == "trash" and not change["item"].startswith(f"{operation_id}/") for change in changes):
            raise Unreadable("other_trash")
        return cls(
            id=operation_id,
            kind=text_of(value.get("kind"), "kind"),
            chat=text_of(value.get("chat"), "chat"),
            when=text_of(value.get("when"), "when"),
            changes=tuple(changes),
            undoes=None if undoes is None else text_of(undoes, "undoes"),
            pending=tuple(list_of(value.get("pending", []), pending_of)),
            notes=notes_of(value.get("notes", {})),
            turn=Turn.from_json(value),
        )


def next_to_undo(operations: Iterable[Operation]) -> Operation | None:
    """Return what undo takes when nothing is named: the latest operation that is no undo and not undone.

    *operations* are all of them, newest first.
    """
    operations = list(operations)
    undone = undone_ids(operations)
    return next((each for each in operations if each.undoes is None and each.id not in undone), None)


def undone_ids(operations: Iterable[Operation]) -> frozenset[str]:
    """Return the ids of the operations that are undone now; an undo that was itself undone does not count."""
    undoes = {operation.id: operation.undoes for operation in operations if operation.undoes is not None}
    depth = _depths(undoes)
    undone: set[str] = set()
    # An undo of an undo counts before what it undoes, whatever order the clock has given them.
    for undo in sorted(undoes, key=lambda each: depth[each], reverse=True):
        if undo not in undone:
            undone.add(undoes[undo])
    return frozenset(undone)


def _depths(undoes: Mapping[str, str]) -> dict[str, int]:
    """Return of each undo how many undos it undoes in a row; a stranger's log may go round in circles."""
    depth: dict[str, int] = {}
    for undo in undoes:
        row: dict[str, None] = {}  # in order, and quick to look in
        last = undo
        while last in undoes and last not in depth and last not in row:
            row[last] = None
            last = undoes[last]
        depth.update(zip(reversed(row), count(depth.get(last, 0) + 1), strict=False))
    return depth


def seconds_of(when: str) -> float | None:
    """Return when an operation was made, in seconds since 1970, None when its time cannot be read."""
    try:
        return datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
