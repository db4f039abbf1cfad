"""``forklore stories``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.terminal import BOLD, DIM, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.show import Stories


@command(examples=("forklore stories", "forklore --data ~/SillyTavern stories", "forklore stories --json"))
def stories(invocation: Invocation) -> Answer:
    """List all stories.

    A story is a main chat with every checkpoint and branch that grew from it. A mark shows when timelines share a
    lorebook, so that each reads what the others write.
    """
    shown = invocation.open().stories()
    return Answer(shown, lambda: _lines(shown))


def _lines(shown: Stories) -> list[str]:
    """Return one line a story."""
    if not shown.stories:
        return ["There are no chats yet."]
    lines = []
    for story in shown.stories:
        sharing = sum(not timeline.isolated for timeline in story.timelines)
        mark = f", {WARN}{sharing} with a shared lorebook{PLAIN}" if sharing else ""
        timelines = words.count(len(story.timelines), "timeline")
        lines.append(f"{BOLD}{story.main}{PLAIN}  {timelines}, {words.messages(story.timelines[0])}{mark}")
    total = sum(len(story.timelines) for story in shown.stories)
    summary = f"{words.count(len(shown.stories), 'story', 'stories')}, {words.count(total, 'timeline')}"
    return [*lines, f"{DIM}{summary}{PLAIN}"]
