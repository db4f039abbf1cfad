"""``forklore undo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import EXIT_HALF, Answer, Invocation, command
from forklore.cli.options import leave_parent_option

if TYPE_CHECKING:
    from forklore.log.operations import Operation
    from forklore.model.fact import Fact


@command(examples=("forklore undo", "forklore undo 12-5ca1ab1e"))
@click.argument("operation", metavar="[OPERATION]", required=False)
@leave_parent_option
def undo(invocation: Invocation, operation: str | None, *, leave_parent: bool) -> Answer:
    """Take an operation back.

    Without OPERATION it is the latest one. The fork goes to the trash, and its parent no longer points to it. This is
    refused when the fork has gone on or was forked itself.
    """
    forklore = invocation.open()
    undone = forklore.undo(operation, leave_parent=leave_parent)

    def words() -> list[str]:
        taken_back = next(one for one in forklore.log().operations if one.id == undone.undone)
        return _lines(taken_back, undone.operation, undone.pending)

    return Answer(undone, words, EXIT_HALF if undone.pending else 0)


def _lines(operation: Operation, by: str, pending: Sequence[Fact]) -> list[str]:
    """Return what was undone, and what is left of it."""
    how = "Undone" if not pending else "Only partly undone"
    title = f"{words.sign(pending)} {how}: {operation.kind} {operation.chat}"
    return [title, *words.pending_lines(pending), f"  take it back  forklore undo {by}"]
