"""The operation log: one small plain file an operation, so that it survives in any synchronised folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Operation:
    """One applied plan: what was done, and what takes it back."""

    id: str
    kind: str
    chat: str
    when: str
    changes: tuple[dict[str, Any], ...]
    undoes: str | None = None
    pending: tuple[str, ...] = ()
    """What could not be written any more after the operation was committed."""
    notes: dict[str, Any] = field(default_factory=dict)

    def with_pending(self, what: str) -> Operation:
        """Return the operation with one more thing that could not be written."""
        return replace(self, pending=(*self.pending, what))

    def to_json(self) -> dict[str, Any]:
        """Return the operation as it stands in its file."""
        return {
            "format": FORMAT,
            "id": self.id,
            "kind": self.kind,
            "chat": self.chat,
            "when": self.when,
            "undoes": self.undoes,
            "pending": list(self.pending),
            "notes": self.notes,
            "changes": list(self.changes),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Operation:
        """Return the operation that ``to_json`` wrote."""
        return cls(
            id=value["id"],
            kind=value["kind"],
            chat=value["chat"],
            when=value["when"],
            changes=tuple(value["changes"]),
            undoes=value.get("undoes"),
            pending=tuple(value.get("pending", ())),
            notes=value.get("notes", {}),
        )


class OperationLog:
    """The operations of a workspace, read from their folder."""

    def __init__(self, folder: Path) -> None:
        """Read from *folder*, which need not exist."""
        self.folder = folder

    def path(self, operation_id: str) -> Path:
        """Return where the operation's file is."""
        return self.folder / f"{operation_id}.json"

    def __iter__(self) -> Iterator[Operation]:
        """Yield the operations, newest first; a file that is no operation is passed over."""
        return (operation for _, operation in self._files() if operation is not None)

    def unreadable(self) -> list[str]:
        """Return the names of files that are no operations; half-synchronised ones may be whole the next time."""
        return [name for name, operation in self._files() if operation is None]

    def _files(self) -> Iterator[tuple[str, Operation | None]]:
        try:
            names = sorted((entry.name for entry in self.folder.iterdir() if entry.suffix == ".json"), reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            try:
                yield name, Operation.from_json(json.loads((self.folder / name).read_bytes()))
            except (OSError, ValueError, KeyError, TypeError):
                yield name, None


def undone_ids(operations: list[Operation]) -> frozenset[str]:
    """Return the ids of the operations that are undone now; an undo that was itself undone does not count."""
    undone: set[str] = set()
    for operation in operations:  # newest first: a later undo is known before what it undoes
        if operation.undoes is not None and operation.id not in undone:
            undone.add(operation.undoes)
    return frozenset(undone)
