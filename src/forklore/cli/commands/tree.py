"""``forklore tree``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import complete_chat
from forklore.cli.terminal import BOLD, DIM, PLAIN

if TYPE_CHECKING:
    from forklore.model.timeline import Story, Timeline


@command(examples=('forklore tree "Before the tower"', "forklore tree --json"))
@click.argument("chat", metavar="[CHAT]", required=False, shell_complete=complete_chat)
def tree(invocation: Invocation, chat: str | None) -> Answer:
    """Draw one story as a tree.

    It is the story that CHAT belongs to; without CHAT, the only story there is.
    """
    story = invocation.open().tree(chat)
    return Answer(story, lambda: tree_lines(story))


def tree_lines(story: Story) -> list[str]:
    """Return the story drawn as a tree, two lines a timeline."""
    return list(_drawn(story))


def _drawn(story: Story) -> Iterator[str]:
    children: dict[str, list[Timeline]] = {}
    for timeline in story.timelines[1:]:
        children.setdefault(timeline.parent or story.main, []).append(timeline)
    waiting = [(story.timelines[0], "", "", "")]
    while waiting:
        timeline, before, branch, below = waiting.pop()
        grown = children.get(timeline.chat, [])
        name = timeline.chat if timeline.parent is None else timeline.chat.partition("/")[2]
        at = f" @{timeline.at}" if timeline.at is not None else ""
        trunk = "│" if grown else " "
        yield f"{before}{branch}{BOLD}{name}{PLAIN}  {timeline.kind}{at}, {words.messages(timeline)}"
        yield f"{before}{below}{trunk}   {DIM}lorebook{PLAIN} {words.book(timeline)}{_record(timeline)}"
        for number, child in reversed(list(enumerate(grown, 1))):
            last = number == len(grown)
            waiting.append((child, before + below, "└── " if last else "├── ", "    " if last else "│   "))


def _record(timeline: Timeline) -> str:
    known = {"recorded": ", recorded", "legacy": ", made without Forklore"}
    return f"{DIM}{known.get(timeline.record, '')}{PLAIN}"
