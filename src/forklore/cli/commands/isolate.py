"""``forklore isolate``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument


@command(
    examples=(
        'forklore isolate "Branch #42"',
        'forklore isolate "The key in hand" --dry-run',
        "forklore isolate Maren --share",
    )
)
@chat_argument
@click.option("--share", is_flag=True, help="Declare the lorebook shared on purpose instead, and leave it alone.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
def isolate(invocation: Invocation, *, chat: str, share: bool, dry_run: bool) -> Answer:
    """Give a fork that SillyTavern made a lorebook of its own.

    The fork keeps what its own messages account for, also what it wrote since it was forked; what only its parent knows
    is left out. The parent is not touched. A fork that is isolated already stays as it is.
    """
    invocation.making = "lorebook of its own"
    forklore = invocation.open()
    if dry_run:
        planned = forklore.plan_isolation(chat, share=share)
        return Answer(planned, lambda: render.dry_run(planned))
    done = forklore.isolate(chat, share=share)
    return Answer(done, lambda: render.isolated(done))
