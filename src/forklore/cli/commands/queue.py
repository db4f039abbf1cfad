"""``forklore queue``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument


@command(examples=("forklore queue Ilse", "forklore queue Ilse --cancel op_17 --cancel op_18"))
@chat_argument
@click.argument("more", metavar="", nargs=-1)
@click.option("--cancel", metavar="ID...", multiple=True, help="Cancel an operation; may be given several times.")
def queue(invocation: Invocation, chat: str, more: tuple[str, ...], cancel: tuple[str, ...]) -> Answer:
    """Show what ST-Auto-Recap still has to do.

    A fork is refused while its operation queue is busy. Cancelled operations can be put back with undo.
    """
    if more and not cancel:
        raise click.UsageError(f"Got unexpected extra arguments: {' '.join(more)}")
    shown = invocation.open().queue(chat, cancel=(*cancel, *more))
    return Answer(shown, lambda: render.queue(shown))
