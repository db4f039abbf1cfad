"""``forklore stories``."""

from __future__ import annotations

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command


@command(examples=("forklore stories", "forklore --data ~/SillyTavern stories", "forklore stories --json"))
def stories(invocation: Invocation) -> Answer:
    """List all stories.

    A story is a main chat with every checkpoint and branch that grew from it. A mark tells when timelines share a
    lorebook, so that what one of them writes the others read.
    """
    shown = invocation.open().stories()
    return Answer(shown, lambda: render.stories(shown))
