"""The operation queue of ST-Auto-Recap: an entry of the lorebook whose content is JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import NotJson, encode, parse_object
from forklore.formats.lorebook_json import Lorebook
from forklore.gathered.timeline import TimelineState
from forklore.model.fact import Cause, Fact, fact
from forklore.model.plan import Put

BUSY = ("pending", "in_progress", "retrying")
"""The states of an operation that is not over; completed, failed and cancelled ones are leftovers."""


class QueueUnreadable(Cause):
    """The queue entry is garbled, or there are two."""


class QueuedOperation(NamedTuple):
    """One operation of the queue."""

    operation_id: str
    type: str
    status: str
    entity: str | None = None
    """What it works on, if that is an entity: its name, or whatever else tells it."""
    message: int | None = None
    """The message it works on, as far as it says."""

    @property
    def target(self) -> str:
        """What it works on: an entity if it has one, else a message."""
        if self.entity is not None:
            return f'entity: "{self.entity}"'
        return f"message {self.message}" if self.message is not None else ""

    @property
    def is_busy(self) -> bool:
        """Whether it still has to do something."""
        return self.status in BUSY

    def to_json(self) -> dict[str, Any]:
        """Return the operation as ``queue --json`` shows it."""
        return {
            "id": self.operation_id,
            "type": self.type,
            "status": self.status,
            "target": self.target,
            "entity": self.entity,
            "message": self.message,
        }

    def to_fact(self) -> Fact:
        """Return the operation as it stands in what is told."""
        case = "entity" if self.entity is not None else "message" if self.message is not None else None
        about = {"operation": self.type, "status": self.status, "entity": self.entity, "message": self.message}
        return fact("queued", **about, **({"case": case} if case else {}))


def read_queue(book: Lorebook | None) -> tuple[QueuedOperation, ...]:
    """Return the operations in the book's queue; raises ``QueueUnreadable``."""
    entries = book.outline.queue_entries if book else ()
    if not entries:
        return ()
    if len(entries) > 1:
        raise QueueUnreadable("several_queues", count=len(entries))
    content = entries[0].content
    if content is None or not content.strip():
        return ()
    try:
        queue = parse_object(content).get("queue", [])
    except NotJson as error:
        raise QueueUnreadable("queue_not_json", reason=str(error)) from error
    if not isinstance(queue, list) or not all(isinstance(operation, dict) for operation in queue):
        raise QueueUnreadable("queue_no_list")
    return tuple(_operation(operation) for operation in queue)


def _operation(operation: Mapping[str, Any]) -> QueuedOperation:
    status = operation.get("status")
    return QueuedOperation(
        str(operation.get("id", "")),
        str(operation.get("type", "unknown")),
        # An operation whose state nobody can read may still run: it counts as waiting.
        status if isinstance(status, str) else "pending",
        _entity(operation),
        _message(operation),
    )


def _entity(operation: Mapping[str, Any]) -> str | None:
    """Return the entity that the operation works on, as a person would call it; None when it works on none."""
    params, metadata = _object(operation.get("params")), _object(operation.get("metadata"))
    for where, key in (
        (metadata, "entry_comment"),
        (metadata, "entry_name"),
        (_object(params.get("entryData")), "comment"),
        (params, "entryName"),
        (params, "comment"),
        (params, "entryUid"),
        (params, "resolvedUid"),
        (params, "entityId"),
    ):
        if where.get(key) not in (None, ""):
            return str(where[key])
    return None


def _message(operation: Mapping[str, Any]) -> int | None:
    params, metadata = _object(operation.get("params")), _object(operation.get("metadata"))
    for where, key in (
        (params, "index"),
        (params, "messageIndex"),
        (params, "endIndex"),
        (metadata, "scene_index"),
        (metadata, "message_index"),
    ):
        value = where.get(key)
        if isinstance(value, int):
            return value
    return None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def stale_operations(timeline: TimelineState) -> list[QueuedOperation]:
    """Return the waiting operations that work on messages which this timeline does not have."""
    try:
        operations = read_queue(timeline.book)
    except QueueUnreadable:
        return []
    return [each for each in operations if each.is_busy and each.message is not None and each.message > timeline.last]


def emptied(content: str) -> str:
    """Return the content of a queue entry with nothing in the queue."""
    try:
        queue = parse_object(content) if content.strip() else {}
    except NotJson:
        queue = {"queue": content, "paused": False, "version": 1}  # nobody can tell what waits in there
    if not queue.get("queue") and queue.get("current_operation_id") is None:
        return content
    return encode({**queue, "queue": [], "current_operation_id": None}, indent=2)


def cancelled(content: str, ids: frozenset[str]) -> str:
    """Return the content of a queue entry with the operations *ids* cancelled."""
    queue = parse_object(content)
    edits = [
        Put(("queue", number, "status"), encode("cancelled"))
        for number, operation in enumerate(queue["queue"])
        if str(operation.get("id", "")) in ids
    ]
    if queue.get("current_operation_id") in ids:
        edits.append(Put(("current_operation_id",), "null"))
    return apply_edits(content, edits).text
