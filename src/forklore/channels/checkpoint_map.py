"""What the parent knows of its own forks, and what was recorded when it was forked itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forklore.channels.cut import Channel, Earlier
from forklore.formats.chat_facts import MAP_KEY
from forklore.formats.record import RECORD_KEY
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Drop, Edit, JsonPath

_SPACE = "auto_recap"
MAP_PATH: JsonPath = (_SPACE, MAP_KEY)


def read_map(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the lorebook of each fork, as the parent's metadata has it; empty when there is no such map."""
    held: Any = metadata
    for key in MAP_PATH:
        held = held.get(key) if isinstance(held, dict) else None
    return held if isinstance(held, dict) else {}


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    """Leave the map with the parent: it lists the parent's forks, not this one's."""
    space = parent.metadata.get(_SPACE)
    if not isinstance(space, dict):
        return Cut(carried=(_SPACE,) if space is not None and not point.is_head else ())
    edits: tuple[Edit, ...] = (Drop(MAP_PATH, prune=1),) if MAP_PATH[1] in space else ()
    others = set(space) - {MAP_PATH[1], "combined_recap"}
    carried = (_SPACE,) if others and not point.is_head else ()
    del earlier
    return Cut(edits=edits, carried=carried)


CHANNEL = Channel("checkpoint_map", frozenset({_SPACE, RECORD_KEY}), _cut)
