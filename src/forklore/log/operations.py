"""Operations: what was done, and what takes it back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from forklore.log.changes import Unreadable, change_of, list_of, notes_of, object_of, text_of
from forklore.model.stored import is_operation_id, outside

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
    def from_json(cls, stored: object) -> Operation:
        """Return the operation that ``to_json`` wrote; raises ``Unreadable``, or ``PathOutside`` for a stranger's."""
        value = object_of(stored, "the operation")
        operation_id = text_of(value.get("id"), "the id")
        if not is_operation_id(operation_id):
            raise outside(operation_id)
        undoes = value.get("undoes")
        changes = list_of(value.get("changes"), change_of)
        if any(change["do"] == "trash" and not change["item"].startswith(f"{operation_id}/") for change in changes):
            raise Unreadable("it speaks of what another operation moved to the trash")
        return cls(
            id=operation_id,
            kind=text_of(value.get("kind"), "the kind"),
            chat=text_of(value.get("chat"), "the chat"),
            when=text_of(value.get("when"), "the time"),
            changes=tuple(changes),
            undoes=None if undoes is None else text_of(undoes, "what it undoes"),
            pending=tuple(list_of(value.get("pending", []), lambda each: text_of(each, "what is pending"))),
            notes=notes_of(value.get("notes", {})),
        )


def undone_ids(operations: list[Operation]) -> frozenset[str]:
    """Return the ids of the operations that are undone now; an undo that was itself undone does not count."""
    undone: set[str] = set()
    for operation in operations:  # newest first: a later undo is known before what it undoes
        if operation.undoes is not None and operation.id not in undone:
            undone.add(operation.undoes)
    return frozenset(undone)
