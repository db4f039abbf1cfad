"""The overview: every story at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore.app.means import Means
from forklore.app.views.health import Known
from forklore.disk.system import usual_path
from forklore.model.health import Health, worst
from forklore.model.timeline import Story


class StoryCard(NamedTuple):
    """A story at a glance."""

    main: str
    name: str
    folder: str
    timelines: int
    messages: int
    """Those of the main chat."""
    active: int
    """When a chat of the story was last written, in milliseconds since 1970."""
    health: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Overview:
    """Every story of a workspace, the latest first."""

    workspace: str
    open: str | None
    stories: tuple[StoryCard, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the overview as the page gets it."""
        return {
            "workspace": self.workspace,
            "open": self.open,
            "stories": [story._asdict() for story in self.stories],
        }


def show_overview(means: Means, open_chat: str | None) -> Overview:
    """Return every story with its health, which is that of its worst timeline."""
    known = Known(means)
    cards = [_card(story, known, worst(known.health_of(story).values())) for story in known.stories]
    cards.sort(key=lambda card: (-card.active, card.main))
    return Overview(usual_path(means.workspace.root), open_chat, tuple(cards))


def _card(story: Story, known: Known, health: Health) -> StoryCard:
    folder, _, name = story.main.partition("/")
    written = max(known.facts[timeline.chat].written_ns for timeline in story.timelines)
    return StoryCard(
        story.main, name, folder, len(story.timelines), story.timelines[0].messages, written // 1_000_000, *health
    )
