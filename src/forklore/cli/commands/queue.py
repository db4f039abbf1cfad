"""``forklore queue``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument

if TYPE_CHECKING:
    from forklore.app.queue import QueueShown


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
    return Answer(shown, lambda: _lines(shown))


def _lines(shown: QueueShown) -> list[str]:
    """Return the operations of the queue."""
    if shown.lorebook is None:
        return ["The chat has no lorebook, so it has no queue."]
    lines = [
        f"  {operation.operation_id}  {operation.status}  {operation.type}"
        + (f" ({operation.target})" if operation.target else "")
        for operation in shown.operations
    ]
    busy = sum(operation.is_busy for operation in shown.operations)
    title = f"{words.count(busy, 'operation')} to do:" if busy else "The queue is idle."
    back = [f"To take it back: forklore undo {shown.operation}"] if shown.operation else []
    return [title, *lines, *back]
