"""``forklore restore``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import EXIT_HALF, Answer, Invocation, command


@command(examples=("forklore restore 12-5ca1ab1e/0-Maren.jsonl", "forklore restore 0-Maren"))
@click.argument("item", metavar="ITEM")
def restore(invocation: Invocation, item: str) -> Answer:
    """Put a file back from the trash.

    ITEM is what trash shows, or a part that only one item has. A chat brings along its lorebook and the link to it.
    Nothing is overwritten.
    """
    restored = invocation.open().restore(item)
    return Answer(restored, lambda: render.restored(restored), EXIT_HALF if restored.pending else 0)
