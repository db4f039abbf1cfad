"""What Forklore has done in a workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.checks.folder import log_findings
from forklore.log.operations import Operation, Unread, next_to_undo, undone_ids
from forklore.model.finding import Located


@dataclass(frozen=True, slots=True)
class LogShown:
    """The operations of a workspace, newest first."""

    operations: tuple[Operation, ...]
    undone: frozenset[str]
    findings: tuple[Located, ...] = ()
    """What the log has besides: files that are no operations, or that lead out of the folder."""
    next_undo: str | None = None
    """The operation that undo takes when none is named."""

    def to_json(self) -> dict[str, Any]:
        """Return the log as the contract shows it."""
        return {
            "operations": [operation_told(each, undone=each.id in self.undone) for each in self.operations],
            "findings": [located.to_json() for located in self.findings],
            "next_undo": self.next_undo,
        }


def read_log(context: Context, *, request: str | None = None) -> LogShown:
    """Return every operation, newest first; with *request*, those that it asked for."""
    entries = list(context.transactions.log.entries())
    operations = tuple(entry for entry in entries if isinstance(entry, Operation))
    shown = tuple(each for each in operations if request in (None, each.turn.request))
    findings = log_findings([entry for entry in entries if isinstance(entry, Unread)])
    latest = next_to_undo(operations)
    return LogShown(shown, undone_ids(operations), tuple(findings), latest.id if latest else None)


@dataclass(frozen=True, slots=True)
class OperationNews:
    """An operation, as those hear of it who have its chats open."""

    operation: Operation
    edited: tuple[str, ...]
    """The chats in whose files it has changed something."""

    def to_json(self) -> dict[str, Any]:
        """Return the news of it."""
        return operation_told(self.operation, edited=list(self.edited))


def new_operations(known: frozenset[str] | None, context: Context) -> tuple[frozenset[str], list[OperationNews]]:
    """Return the ids of all operations, and the news of those that are not *known*; none without it."""
    ids = context.transactions.log.ids()
    new = frozenset[str]() if known is None else ids - known
    return ids, [_news(operation, context) for operation in context.transactions.log.some(new)]


def _news(operation: Operation, context: Context) -> OperationNews:
    paths = {change["path"] for change in operation.changes if change["do"] == "edit"}
    return OperationNews(operation, tuple(map(str, context.workspace.chats_at(paths))))


def operation_told(operation: Operation, **more: Any) -> dict[str, Any]:
    """Return what everybody is told of an operation."""
    facts = {"kind": operation.kind, "chat": operation.chat, "when": operation.when}
    return {"id": operation.id, **operation.turn.to_json(), **facts, **more, "undoes": operation.undoes}
