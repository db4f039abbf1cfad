"""``forklore checkpoint``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import at_option, chat_argument, fork_options


@command(
    examples=(
        "forklore checkpoint Maren",
        'forklore checkpoint Maren --at 42 --name "Before the tower" --show-last-scene',
        "forklore checkpoint Maren --wait 60",
    )
)
@chat_argument
@at_option
@click.option("--name", metavar="TEXT", help="Name of the checkpoint; without it the parent's name and a number.")
@fork_options
def checkpoint(
    invocation: Invocation,
    *,
    chat: str,
    at: int | None,
    name: str | None,
    wait: float | None,
    show_last_scene: bool,
    leave_parent: bool,
    dry_run: bool,
) -> Answer:
    """Make a checkpoint.

    It is a complete copy of the story at one message, with a lorebook of its own, and stays beside its parent.
    """
    invocation.making = "checkpoint"
    forklore = invocation.open()
    if dry_run:
        planned = forklore.plan(
            "checkpoint", chat, at=at, name=name, show_last_scene=show_last_scene, leave_parent=leave_parent
        )
        return Answer(planned, lambda: render.dry_run(planned))
    made = forklore.checkpoint(
        chat, at=at, name=name, wait=wait, show_last_scene=show_last_scene, leave_parent=leave_parent
    )
    return Answer(made, lambda: render.fork(made))
