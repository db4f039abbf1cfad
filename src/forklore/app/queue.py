"""The operation queue of ST-Auto-Recap, which it keeps in a timeline's lorebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forklore.app.applying import apply_alone
from forklore.app.context import Context
from forklore.channels.queue import QueuedOperation, QueueUnreadable, read_queue
from forklore.disk.gather import OpenTimeline, open_timeline
from forklore.errors import BadRequest, ForkloreError, Kind, LinkOutside
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE
from forklore.model.address import ChatAddress
from forklore.model.plan import Plan
from forklore.planning.cancelling import cancellation


class LorebookMissing(ForkloreError):
    """The chat names a lorebook that is not there."""

    code = "LOREBOOK_MISSING"
    kind = Kind.NOT_FOUND


class LorebookDamaged(ForkloreError):
    """The chat's lorebook cannot be read."""

    code = "LOREBOOK_UNREADABLE"
    kind = Kind.DAMAGED


class QueueDamaged(ForkloreError):
    """The operation queue cannot be read."""

    code = "QUEUE_UNREADABLE"
    kind = Kind.DAMAGED


@dataclass(frozen=True, slots=True)
class QueueShown:
    """The operation queue of a timeline's lorebook."""

    chat: str
    lorebook: str | None
    operations: tuple[QueuedOperation, ...]
    operation: str | None = None
    """The operation that cancelled some of them."""

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting or running."""
        return not any(operation.is_busy for operation in self.operations)

    def to_json(self) -> dict[str, Any]:
        """Return the queue as ``queue`` shows it."""
        return {
            "chat": self.chat,
            "lorebook": self.lorebook,
            "idle": self.idle,
            "operations": [operation.to_json() for operation in self.operations],
            "operation": self.operation,
        }


def queue(address: ChatAddress, context: Context, *, cancel: Sequence[str] = ()) -> QueueShown:
    """Return the operation queue of a timeline, after cancelling the operations *cancel*."""
    operation = None
    if cancel:

        def make_plan() -> Plan:
            with open_timeline(context.workspace, address) as timeline:
                return _cancellation(timeline, frozenset(cancel))

        operation = apply_alone(make_plan, context, what="queue").operation.id
    with open_timeline(context.workspace, address) as timeline:
        return QueueShown(str(address), timeline.book_name, _operations(timeline), operation)


def _cancellation(timeline: OpenTimeline, ids: frozenset[str]) -> Plan:
    known = {operation.operation_id for operation in _operations(timeline)}
    if missing := ids - known:
        raise BadRequest("not_in_queue", operations=sorted(missing))
    book = timeline.lorebook
    if book is None or book.content is None:
        raise BadRequest("no_queue", chat=str(timeline.address))
    edit = cancellation(book.content, book.path, ids)
    unchanged = ((book.path, timeline.files[book.path].fingerprint),)
    return Plan("cancel", str(timeline.address), (edit,), 0, unchanged=unchanged)


def _operations(timeline: OpenTimeline) -> tuple[QueuedOperation, ...]:
    """Return the timeline's queue; raises an error that names what cannot be read."""
    timeline.needs_header()
    book = timeline.lorebook
    if book is not None and book.fault == MISSING:
        raise LorebookMissing(lorebook=book.name)
    if book is not None and book.fault == OUTSIDE:
        raise LinkOutside("lorebook", lorebook=book.name, reason=book.reason)
    if book is not None and book.fault == UNREADABLE:
        raise LorebookDamaged(lorebook=book.name, reason=book.reason)
    try:
        return read_queue(timeline.book)
    except QueueUnreadable as error:
        raise QueueDamaged(reason=error.fact) from error
