"""Identity: a fork is nobody else, knows its parent and says so."""

from __future__ import annotations

from forklore.channels.cut import Channel, Earlier
from forklore.formats.json_text import encode
from forklore.formats.record import FORMAT, IDENTITY_KEY
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Put
from forklore.model.timeline import mark_of


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    identity = {
        "format": FORMAT,
        "timeline": point.timeline,
        "chat": point.chat_name,
        "kind": point.kind,
        "parent": point.parent_name,
        "parent_timeline": point.parent_timeline,
        "parent_mark": mark_of(parent.metadata.get("integrity")),
        "message": point.at,
    }
    return Cut(
        value=identity,
        edits=(
            Put(("main_chat",), encode(point.parent_name)),
            Put(("integrity",), encode(point.integrity)),
        ),
    )


CHANNEL = Channel("identity", frozenset({IDENTITY_KEY, "integrity", "main_chat"}), _cut)
