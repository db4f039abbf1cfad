"""Pending operations: half-done lorebook work that ST-Auto-Recap notes in the chat's metadata."""

from __future__ import annotations

from forklore.channels.cut import Channel, Earlier
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Drop

_KEY = "autoLorebooks"


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    space = parent.metadata.get(_KEY)
    if point.is_head or space is None:
        return Cut()
    if not isinstance(space, dict):
        return Cut(carried=(_KEY,))
    others = set(space) - {"pendingOps"}
    if not space.get("pendingOps"):
        return Cut(carried=(_KEY,) if others else ())
    return Cut(edits=(Drop((_KEY, "pendingOps"), prune=1),), left_out=(_KEY,), carried=(_KEY,) if others else ())


CHANNEL = Channel("pending_operations", frozenset({_KEY}), _cut)
