"""The operation log: one small plain file an operation, so that it survives in any synchronised folder."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from forklore.disk.files import read_small
from forklore.disk.places import Places
from forklore.disk.state import refuse_newer
from forklore.errors import ForkloreError, Kind
from forklore.log.changes import Unreadable
from forklore.log.operations import FORMAT, Operation, Turn, Unread
from forklore.model.fact import Fact
from forklore.model.stored import HIGHEST, OPERATIONS, is_operation_id, number_in

_SUFFIX = ".json"
_LARGEST = 16 << 20  # more than the largest header of a chat that an edit has replaced


class OperationUnreadable(ForkloreError):
    """An entry of the operation log cannot be read."""

    code = "OPERATION_UNREADABLE"
    kind = Kind.DAMAGED


class OperationLog:
    """The operations of a workspace, read from their folder."""

    def __init__(self, places: Places) -> None:
        """Read from the workspace of *places*; there need not be a log."""
        self._places = places

    def path(self, operation_id: str) -> Path:
        """Return where the operation's file is."""
        return Path(self._places.file(f"{OPERATIONS}/{operation_id}{_SUFFIX}"))

    def __iter__(self) -> Iterator[Operation]:
        """Yield the operations, newest first; a file that is no operation is passed over."""
        return _operations(self.entries())

    def unread(self) -> list[Unread]:
        """Return the files that are no operations; half-synchronised ones may be whole the next time."""
        return [entry for entry in self.entries() if isinstance(entry, Unread)]

    def refuse_unread(self, operation_id: str) -> None:
        """Raise what is wrong with the file of an operation; nothing when there is none, or it is in order."""
        refuse_unread(operation_id, self.unread())

    def entries(self) -> Iterator[Operation | Unread]:
        """Yield every file of the log, newest operation first: the operation in it, or why there is none."""
        try:
            names = self._names()
        except ForkloreError as error:
            yield Unread(OPERATIONS, error)
            return
        found = [self._read(name) for name in sorted(names)]
        yield from (entry for entry in found if isinstance(entry, Unread))
        yield from sorted(_operations(found), key=lambda each: each.order, reverse=True)

    def ids(self) -> frozenset[str]:
        """Return the ids of all operations, as the names of their files tell."""
        try:
            return frozenset([name.removesuffix(_SUFFIX) for name in self._names()])
        except ForkloreError:
            return frozenset()

    def some(self, ids: Collection[str]) -> list[Operation]:
        """Return these operations, the first one first; what is no operation is passed over."""
        found = [self._read(f"{each}{_SUFFIX}") for each in ids]
        return sorted(_operations(found), key=lambda each: each.order)

    def next_turn(self, request: str | None = None) -> Turn:
        """Return the turn of whoever begins now: after the latest, which is seldom looked into to tell its number."""
        latest = max(map(self._order, self.ids()), default=(0, None))
        return Turn(min(latest[0], HIGHEST - 1) + 1, latest[1], request)

    def _order(self, operation_id: str) -> tuple[int, str]:
        number = number_in(operation_id)
        if number is None:
            found = self.some([operation_id])
            number = found[0].turn.number if found else 0
        return number, operation_id

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self._places.folder(OPERATIONS))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [name for name in names if name.endswith(_SUFFIX)]

    def _read(self, name: str) -> Operation | Unread:
        path = f"{OPERATIONS}/{name}"
        try:
            stored: Any = json.loads(read_small(self._places.file(path), _LARGEST))
            if isinstance(stored, dict):
                refuse_newer(stored, FORMAT, path)
            operation = Operation.from_json(stored)
        except ForkloreError as error:
            return Unread(path, error)
        except (OSError, ValueError, RecursionError) as error:
            reason = error.fact if isinstance(error, Unreadable) else getattr(error, "strerror", None) or str(error)
            return _unreadable(path, reason)
        if f"{operation.id}{_SUFFIX}" != name:
            return _unreadable(path, Unreadable("other_id").fact)
        if number_in(operation.id) not in (None, operation.turn.number):
            return _unreadable(path, Unreadable("other_number").fact)
        return operation


def _operations(entries: Iterable[Operation | Unread]) -> Iterator[Operation]:
    return (entry for entry in entries if isinstance(entry, Operation))


def _unreadable(path: str, reason: str | Fact) -> Unread:
    return Unread(path, OperationUnreadable(file=path, reason=reason))


def refuse_unread(operation_id: str, unread: Iterable[Unread]) -> None:
    """Raise what is wrong with the file of an operation, if it is among those that could not be read."""
    for file in unread if is_operation_id(operation_id) else ():
        if file.path in (f"{OPERATIONS}/{operation_id}{_SUFFIX}", OPERATIONS):
            raise file.fault
