"""``forklore log``."""

from __future__ import annotations

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command


@command(examples=("forklore log", "forklore log --json"))
def log(invocation: Invocation) -> Answer:
    """List what Forklore has done.

    The newest operation comes first. Times are UTC.
    """
    shown = invocation.open().log()
    return Answer(shown, lambda: render.log(shown))
