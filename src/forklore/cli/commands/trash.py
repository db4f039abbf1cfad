"""``forklore trash``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.terminal import ask
from forklore.errors import BadRequest, ConfirmationNeeded


@command(examples=("forklore trash", "forklore trash --empty --older-than 30"))
@click.option("--empty", is_flag=True, help="Delete for good what is in the trash.")
@click.option("--older-than", type=float, metavar="DAYS", help="Only what has been there for so many days; 0 for all.")
@click.option("--yes", is_flag=True, help="Delete without a question.")
def trash(invocation: Invocation, *, empty: bool, older_than: float | None, yes: bool) -> Answer:
    """List what is in the trash.

    With --empty and --older-than files are deleted for good. Nothing else in Forklore does that, and an operation
    whose files are gone cannot be undone any more.
    """
    if empty != (older_than is not None):
        raise BadRequest("--empty and --older-than DAYS belong together.")
    forklore = invocation.open()
    if older_than is None:
        shown = forklore.trash()
        return Answer(shown, lambda: render.trash(shown))
    question = f"Delete for good what has been in the trash for {older_than:g} days?"
    if not yes and (invocation.json or not ask(question)):
        raise ConfirmationNeeded(
            "What is deleted for good cannot be undone.", action="Say --yes if you mean it. Nothing was changed."
        )
    emptied = forklore.empty_trash(older_than)
    return Answer(emptied, lambda: render.emptied(emptied))
