"""The layout: one story as a drawing of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.checks.health import Health, health_of
from forklore.disk.workspace import ChatUnreadable
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.address import ChatAddress
from forklore.model.layout import Lane, Layout, lay_out


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


def show_layout(address: ChatAddress, context: Context) -> LayoutShown:
    """Return the drawing of the story that a chat belongs to."""
    index = context.index(with_log=False)
    story = index.story(address)
    if story is None:
        raise ChatUnreadable("unplaced", chat=str(address))
    layout = lay_out(story)
    return LayoutShown(layout, tuple(_shown(lane, index) for lane in layout.lanes))


def _shown(lane: Lane, index: WorkspaceIndex) -> LaneShown:
    facts = index.facts(lane.timeline.chat)
    return LaneShown(lane, facts.running_version if facts else None, health_of(lane.timeline, index))
