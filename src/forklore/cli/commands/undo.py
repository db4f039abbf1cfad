"""``forklore undo``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command


@command(examples=("forklore undo", "forklore undo 20251102-191408-123456-a1b2"))
@click.argument("operation", metavar="[OPERATION]", required=False)
def undo(invocation: Invocation, operation: str | None) -> Answer:
    """Take an operation back.

    Without OPERATION it is the latest one. The fork goes to the trash, and what points to it is taken out of its
    parent. It is refused when the fork has gone on or was forked itself.
    """
    forklore = invocation.open()
    undone = forklore.undo(operation)

    def words() -> str:
        taken_back = next(one for one in forklore.log().operations if one.id == undone.undone)
        return render.undone(taken_back, undone.operation, undone.pending)

    return Answer(undone, words)
