"""The context marker: the first message that the model still saw."""

from __future__ import annotations

from forklore.channels.cut import Channel, Earlier
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Drop

_KEY = "lastInContextMessageId"


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    marker = parent.metadata.get(_KEY)
    if marker is None or point.is_head or (isinstance(marker, int) and marker <= point.at):
        return Cut()
    return Cut(edits=(Drop((_KEY,)),), left_out=(_KEY,))


CHANNEL = Channel("context_marker", frozenset({_KEY}), _cut)
