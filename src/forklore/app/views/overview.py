"""The overview: every story at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore.app.context import Context
from forklore.checks.health import health_of, worst
from forklore.disk.system import usual_path
from forklore.gathered.workspace import WorkspaceIndex
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


def show_overview(context: Context, open_chat: str | None) -> Overview:
    """Return every story with its health, which is that of its worst timeline."""
    index = context.index(with_log=False)
    cards = [_card(story, index) for story in index.stories]
    cards.sort(key=lambda card: (-card.active, card.main))
    return Overview(usual_path(context.workspace.root), open_chat, tuple(cards))


def _card(story: Story, index: WorkspaceIndex) -> StoryCard:
    folder, _, name = story.main.partition("/")
    health = worst(health_of(timeline, index) for timeline in story.timelines)
    written = max(chat.written_ns for each in story.timelines if (chat := index.facts(each.chat)))
    return StoryCard(
        story.main, name, folder, len(story.timelines), story.timelines[0].messages, written // 1_000_000, *health
    )
