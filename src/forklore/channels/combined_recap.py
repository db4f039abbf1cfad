"""The combined recap: one text over the first so many messages, kept in ``auto_recap``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forklore.channels.cut import Channel, Earlier
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.finding import Finding, Severity
from forklore.model.plan import Drop

_SPACE, _KEY = "auto_recap", "combined_recap"


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    recap = read_combined_recap(parent.metadata)
    if recap is None:
        return Cut(record=_record({}))
    known = recap if isinstance(recap, dict) else {}
    count = known.get("message_count")
    if point.is_head or is_inside(recap, point.derived_upto):
        return Cut(value=recap, record=_record(known))
    params = {"covered": count if isinstance(count, int) else None, "messages": point.at + 1}
    finding = Finding("COMBINED_RECAP_LEFT_OUT", Severity.WARNING, params)
    edits = (Drop((_SPACE, _KEY), prune=1),)
    return Cut(edits=edits, left_out=(_SPACE,), findings=(finding,), record=_record({}))


def read_combined_recap(metadata: Mapping[str, Any]) -> Any:
    """Return the combined recap in *metadata*, whatever it is; None when there is none."""
    space = metadata.get(_SPACE)
    return space.get(_KEY) if isinstance(space, dict) else None


def is_inside(recap: object, upto: int) -> bool:
    """Whether a combined recap covers nothing but messages 0…*upto*; unknown counts as outside."""
    count = recap.get("message_count") if isinstance(recap, dict) else None
    return isinstance(count, int) and count <= upto + 1


def _record(recap: dict[str, Any]) -> dict[str, Any]:
    return {
        "combined_recap_content": recap.get("content"),
        "combined_recap_message_count": recap.get("message_count"),
        "combined_recap_timestamp": recap.get("timestamp"),
    }


CHANNEL = Channel("combined_recap", frozenset({_SPACE}), _cut)
