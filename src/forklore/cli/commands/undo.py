"""``forklore undo``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import EXIT_HALF, Answer, Invocation, command
from forklore.cli.options import leave_parent_option


@command(examples=("forklore undo", "forklore undo 12-5ca1ab1e"))
@click.argument("operation", metavar="[OPERATION]", required=False)
@leave_parent_option
def undo(invocation: Invocation, operation: str | None, *, leave_parent: bool) -> Answer:
    """Take an operation back.

    Without OPERATION it is the latest one. The fork goes to the trash, and what points to it is taken out of its
    parent. It is refused when the fork has gone on or was forked itself.
    """
    forklore = invocation.open()
    undone = forklore.undo(operation, leave_parent=leave_parent)

    def words() -> list[str]:
        taken_back = next(one for one in forklore.log().operations if one.id == undone.undone)
        return render.undone(taken_back, undone.operation, undone.pending)

    return Answer(undone, words, EXIT_HALF if undone.pending else 0)
