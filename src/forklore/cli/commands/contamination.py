"""``forklore contamination``."""

from __future__ import annotations

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument


@command(examples=("forklore contamination Maren", 'forklore contamination "Branch #42" --json'))
@chat_argument
def contamination(invocation: Invocation, chat: str) -> Answer:
    """Show whose memories are in a shared lorebook.

    For each entry of the chat's lorebook: which timeline can have produced it, how sure that is and why, and which
    timelines would get it if every fork was isolated. Nothing is changed.
    """
    report = invocation.open().contamination(chat)
    return Answer(report, lambda: render.contamination(report))
