"""``forklore check``."""

from __future__ import annotations

from forklore.cli import render
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.options import at_option, chat_argument
from forklore.errors import Kind


@command(
    examples=("forklore check Maren", "forklore check Maren --at 42", "forklore --policy strict check Maren --at 42")
)
@chat_argument
@at_option
def check(invocation: Invocation, chat: str, at: int | None) -> Answer:
    """Check whether a fork can be made.

    All problems are shown at once, each with what to do about it. Errors block a fork, warnings do not. The exit code
    is 3 when a fork is blocked.
    """
    report = invocation.open().check(chat, at=at)
    return Answer(report, lambda: render.report(report), 0 if report.valid else EXIT_CODES[Kind.BLOCKED])
