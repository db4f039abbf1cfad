"""``forklore branch``."""

from __future__ import annotations

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.commands.checkpoint import fork_lines
from forklore.cli.options import at_option, chat_argument, fork_options


@command(
    examples=(
        'forklore branch "Before the tower"',
        "forklore branch Maren --at 42 --show-last-scene --dry-run",
        "forklore branch Maren --swipe 1",
    )
)
@chat_argument
@at_option
@click.option("--swipe", type=int, metavar="K", help="Start from another swipe of the last message, from 0.")
@fork_options
def branch(
    invocation: Invocation,
    *,
    chat: str,
    at: int | None,
    swipe: int | None,
    wait: float | None,
    show_last_scene: bool,
    leave_parent: bool,
    dry_run: bool,
) -> Answer:
    """Make a branch.

    A branch is a complete timeline with a lorebook of its own. The story goes on in it from one message of its parent.
    """
    invocation.making = "branch"
    forklore = invocation.open()
    if dry_run:
        planned = forklore.plan(
            "branch", chat, at=at, swipe=swipe, show_last_scene=show_last_scene, leave_parent=leave_parent
        )
        return Answer(planned, lambda: words.dry_run_lines(planned))
    made = forklore.branch(
        chat, at=at, swipe=swipe, wait=wait, show_last_scene=show_last_scene, leave_parent=leave_parent
    )
    return Answer(made, lambda: fork_lines(made))
