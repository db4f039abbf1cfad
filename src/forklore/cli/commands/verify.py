"""``forklore verify``."""

from __future__ import annotations

from forklore.cli import render
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.errors import Kind


@command(examples=('forklore verify "Before the tower"', 'forklore verify "Before the tower" --json'))
@chat_argument
def verify(invocation: Invocation, chat: str) -> Answer:
    """Verify a timeline against its record.

    Every line of the chat is read, its lorebook and its recaps are compared with what was recorded when it was made,
    and with the rest of the story. Going on after the fork is normal. Nothing is changed; each finding names its
    repairs for `forklore repair`. The exit code is 3 when a finding is an error.
    """
    verified = invocation.open().verify(chat)
    return Answer(verified, lambda: render.verified(verified), 0 if verified.ok else EXIT_CODES[Kind.BLOCKED])
