"""``forklore status``."""

from __future__ import annotations

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument


@command(examples=('forklore status "Before the tower"', 'forklore status "Before the tower" --json'))
@chat_argument
def status(invocation: Invocation, chat: str) -> Answer:
    """Compare a fork with what was recorded of it.

    The diagnostic object tells which lorebook and which version of the running recap the fork was made with, and
    whether it still has them.
    """
    shown = invocation.open().status(chat)
    return Answer(shown, lambda: render.status(shown))
