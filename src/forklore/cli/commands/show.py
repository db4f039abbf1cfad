"""``forklore show``."""

from __future__ import annotations

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument


@command(examples=('forklore show "Before the tower"', "forklore show Maren --json"))
@chat_argument
def show(invocation: Invocation, chat: str) -> Answer:
    """Show one timeline in detail.

    Its kind, parent and lorebook, the versions of its running recap, and for each scene break whether it is a good
    place for a fork.
    """
    shown = invocation.open().show(chat)
    return Answer(shown, lambda: render.show(shown))
