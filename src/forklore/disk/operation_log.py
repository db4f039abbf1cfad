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
from forklore.errors import ForkloreError
from forklore.log.changes import Unreadable
from forklore.log.operations import FORMAT, Operation
from forklore.model.stored import OPERATIONS

_SUFFIX = ".json"


class Unread(NamedTuple):
    """A file of the log that is no operation we can use, and why."""

    path: str
    code: str
    reason: str


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

    def entries(self) -> Iterator[Operation | Unread]:
        """Yield every file of the log, newest first: the operation in it, or why there is none."""
        try:
            names = sorted(os.listdir(self._places.folder(OPERATIONS)), reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            return
        except ForkloreError as error:
            yield Unread(OPERATIONS, error.code, error.message)
            return
        yield from (self._read(name) for name in names if name.endswith(_SUFFIX))

    def _read(self, name: str) -> Operation | Unread:
        path = f"{OPERATIONS}/{name}"
        try:
            stored: Any = json.loads(read_small(self._places.file(path)))
            if isinstance(stored, dict):
                refuse_newer(stored, FORMAT, path)
            operation = Operation.from_json(stored)
        except ForkloreError as error:
            return Unread(path, error.code, error.message)
        except (OSError, ValueError, RecursionError, Unreadable) as error:
            return Unread(path, "OPERATION_UNREADABLE", getattr(error, "strerror", None) or str(error))
        if f"{operation.id}{_SUFFIX}" != name:
            return Unread(path, "OPERATION_UNREADABLE", "it has the id of another operation")
        return operation
