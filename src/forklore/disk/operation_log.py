"""The operation log: one small plain file an operation, so that it survives in any synchronised folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from forklore.disk.files import read_small
from forklore.disk.places import Places
from forklore.disk.state import refuse_newer
from forklore.errors import ForkloreError, Kind
from forklore.log.changes import Unreadable
from forklore.log.operations import FORMAT, Operation
from forklore.model.stored import OPERATIONS, is_operation_id

_SUFFIX = ".json"
_LARGEST = 16 << 20  # more than the largest header of a chat that an edit has replaced


class OperationUnreadable(ForkloreError):
    """An entry of the operation log cannot be read."""

    code = "OPERATION_UNREADABLE"
    kind = Kind.DAMAGED
    action = "Wait until the folder is synchronised, or restore the file. Nothing was changed."


class Unread(NamedTuple):
    """A file of the log that is no operation we can use, and what is wrong with it."""

    path: str
    fault: ForkloreError


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
        return (entry for entry in self.entries() if isinstance(entry, Operation))

    def unread(self) -> list[Unread]:
        """Return the files that are no operations; half-synchronised ones may be whole the next time."""
        return [entry for entry in self.entries() if isinstance(entry, Unread)]

    def refuse_unread(self, operation_id: str) -> None:
        """Raise what is wrong with the file of an operation; nothing when there is none, or it is in order."""
        name = f"{operation_id}{_SUFFIX}"
        for file in self.unread() if is_operation_id(operation_id) else ():
            if file.path in (f"{OPERATIONS}/{name}", OPERATIONS):
                raise file.fault

    def entries(self) -> Iterator[Operation | Unread]:
        """Yield every file of the log, newest first: the operation in it, or why there is none."""
        try:
            names = sorted(os.listdir(self._places.folder(OPERATIONS)), reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            return
        except ForkloreError as error:
            yield Unread(OPERATIONS, error)
            return
        yield from (self._read(name) for name in names if name.endswith(_SUFFIX))

    def _read(self, name: str) -> Operation | Unread:
        path = f"{OPERATIONS}/{name}"
        try:
            stored: Any = json.loads(read_small(self._places.file(path), _LARGEST))
            if isinstance(stored, dict):
                refuse_newer(stored, FORMAT, path)
            operation = Operation.from_json(stored)
        except ForkloreError as error:
            return Unread(path, error)
        except (OSError, ValueError, RecursionError, Unreadable) as error:
            return _unreadable(path, getattr(error, "strerror", None) or str(error))
        if f"{operation.id}{_SUFFIX}" != name:
            return _unreadable(path, "it has the id of another operation")
        return operation


def _unreadable(path: str, reason: str) -> Unread:
    return Unread(path, OperationUnreadable(f"{path!r} is no operation ({reason})."))
