"""``forklore tree``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import complete_chat


@command(examples=('forklore tree "Before the tower"', "forklore tree --json"))
@click.argument("chat", metavar="[CHAT]", required=False, shell_complete=complete_chat)
def tree(invocation: Invocation, chat: str | None) -> Answer:
    """Draw one story as a tree.

    It is the story that CHAT belongs to; without CHAT, the only story there is.
    """
    story = invocation.open().tree(chat)
    return Answer(story, lambda: render.tree(story))
