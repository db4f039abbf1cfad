"""Made: what became of a request for a fork. For whoever has lost the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.check import KINDS
from forklore.app.context import Context
from forklore.app.left_to_page import LeftToPage, left_by, parent_of
from forklore.log.operations import Operation, undone_ids
from forklore.model.address import ChatAddress
from forklore.planning.undo import is_book


@dataclass(frozen=True, slots=True)
class ForkFound:
    """A fork as the log tells it."""

    kind: str
    chat: str
    parent: str | None
    at: int | None
    lorebook: str | None
    operation: str
    left: tuple[LeftToPage, ...]

    def to_json(self) -> dict[str, Any]:
        """Return of the fork what its maker was answered, as far as the log has it."""
        return {
            "kind": self.kind,
            "chat": self.chat,
            "parent": self.parent,
            "at": self.at,
            "lorebook": self.lorebook,
            "operation": self.operation,
            "left": [each.to_json() for each in self.left],
        }


@dataclass(frozen=True, slots=True)
class MadeShown:
    """What became of a request for a fork."""

    request: str
    outcome: str
    """``nothing`` was made, it is ``gone`` again, or it is ``made`` and there."""
    fork: ForkFound | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the answer as whoever lost the first one gets it."""
        return {
            "request": self.request,
            "outcome": self.outcome,
            "fork": None if self.fork is None else self.fork.to_json(),
        }


def show_made(request: str, context: Context) -> MadeShown:
    """Return what became of the *request* for a fork; the log knows it also when the service was started anew."""
    operations = list(context.transactions.log)
    made = next((each for each in operations if each.turn.request == request and each.kind in KINDS), None)
    if made is None:
        return MadeShown(request, "nothing")
    address = ChatAddress.parse(made.chat)
    is_there = address is not None and context.workspace.exists(context.workspace.chat_path(address))
    if not is_there or made.id in undone_ids(operations):
        return MadeShown(request, "gone")
    return MadeShown(request, "made", _found(made))


def _found(operation: Operation) -> ForkFound:
    books = (path.rpartition("/")[2].removesuffix(".json") for path, _ in operation.created if is_book(path))
    return ForkFound(
        kind=operation.kind,
        chat=operation.chat,
        parent=parent_of(operation),
        at=operation.notes.get("message"),
        lorebook=next(books, None),
        operation=operation.id,
        left=left_by(operation),
    )
