"""``forklore restore``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import EXIT_HALF, Answer, Invocation, command
from forklore.cli.terminal import BOLD, PLAIN

if TYPE_CHECKING:
    from forklore.app.trash import Restored


@command(examples=("forklore restore 12-5ca1ab1e/0-Maren.jsonl", "forklore restore 0-Maren"))
@click.argument("item", metavar="ITEM")
def restore(invocation: Invocation, item: str) -> Answer:
    """Put a file back from the trash.

    ITEM is a name that `forklore trash` shows, or a part that only one item has. A chat comes back with its lorebook
    and the link to it. Nothing is overwritten.
    """
    restored = invocation.open().restore(item)
    return Answer(restored, lambda: _lines(restored), EXIT_HALF if restored.pending else 0)


def _lines(shown: Restored) -> list[str]:
    """Return what is back."""
    how = "Restored" if not shown.pending else "Only partly restored"
    lines = [f"{words.sign(shown.pending)} {how}: {BOLD}{shown.path}{PLAIN}"]
    lines += [f"  with it  {path}" for path in shown.also]
    return [*lines, *words.pending_lines(shown.pending), f"  take it back  forklore undo {shown.operation}"]
