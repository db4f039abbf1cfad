"""The layout: one story as a drawing of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.means import Means
from forklore.app.views.health import Known
from forklore.disk.workspace import ChatUnreadable
from forklore.model.address import ChatAddress
from forklore.model.health import Health
from forklore.model.layout import Lane, Layout, lay_out
from forklore.model.timeline import ChatFacts


@dataclass(frozen=True, slots=True)
class LaneShown:
    """One timeline in the drawing, with what is known of it."""

    lane: Lane
    running_version: int | None
    health: Health

    def to_json(self) -> dict[str, Any]:
        """Return the lane as the page gets it."""
        timeline = self.lane.timeline
        return {
            "chat": timeline.chat,
            "name": timeline.chat.partition("/")[2],
            "kind": timeline.kind,
            "parent": timeline.parent,
            "at": timeline.at,
            "row": self.lane.row,
            "parent_row": self.lane.parent_row,
            "start": self.lane.start,
            "end": self.lane.end,
            "messages": timeline.messages,
            "lorebook": timeline.lorebook,
            "running_version": self.running_version,
            "record": timeline.record,
            "health": self.health.health,
            "reason": self.health.reason,
        }


@dataclass(frozen=True, slots=True)
class LayoutShown:
    """A story as a drawing."""

    layout: Layout
    lanes: tuple[LaneShown, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the drawing as the page gets it."""
        return {
            "main": self.layout.main,
            "columns": [column._asdict() for column in self.layout.columns],
            "lanes": [lane.to_json() for lane in self.lanes],
        }


def show_layout(address: ChatAddress, means: Means) -> LayoutShown:
    """Return the drawing of the story that a chat belongs to."""
    known = Known(means)
    wanted = str(address)
    story = next((s for s in known.stories if any(t.chat == wanted for t in s.timelines)), None)
    if story is None:
        raise ChatUnreadable(f"{wanted!r} cannot be read.")
    layout, healths, facts = lay_out(story), known.health_of(story), known.facts
    return LayoutShown(
        layout,
        tuple(
            LaneShown(lane, _facts(lane, facts).running_version, healths[lane.timeline.chat]) for lane in layout.lanes
        ),
    )


def _facts(lane: Lane, facts: dict[str, ChatFacts]) -> ChatFacts:
    return facts[lane.timeline.chat]
