"""``forklore trash``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.terminal import BOLD, DIM, GOOD, PLAIN, ask
from forklore.errors import BadRequest, ConfirmationNeeded

if TYPE_CHECKING:
    from forklore.app.trash import TrashShown


@command(examples=("forklore trash", "forklore trash --empty --older-than 30"))
@click.option("--empty", is_flag=True, help="Delete for good what is in the trash.")
@click.option(
    "--older-than", type=float, metavar="DAYS", help="Only what has been there for that many days; 0 for all."
)
@click.option("--yes", is_flag=True, help="Delete without asking.")
def trash(invocation: Invocation, *, empty: bool, older_than: float | None, yes: bool) -> Answer:
    """List what is in the trash.

    With --empty and --older-than files are deleted for good. Nothing else in Forklore does that, and an operation
    whose files are gone cannot be undone any more.
    """
    if empty != (older_than is not None):
        raise BadRequest("trash_options")
    forklore = invocation.open()
    if older_than is None:
        shown = forklore.trash()
        return Answer(shown, lambda: _lines(shown))
    question = f"Delete for good everything that has been in the trash for {older_than:g} days or more?"
    if not yes and (invocation.json or not ask(question)):
        raise ConfirmationNeeded("for_good")
    emptied = forklore.empty_trash(older_than)
    return Answer(emptied, lambda: _emptied_lines(emptied))


def _lines(shown: TrashShown) -> list[str]:
    """Return one item in two lines: what it is called here, and what it was."""
    if not shown.items:
        return ["The trash is empty."]
    total = f"{words.count(len(shown.items), 'file')}, {words.size(sum(item.size for item in shown.items))}"
    return [*_items(shown), f"{DIM}{total}{PLAIN}"]


def _emptied_lines(shown: TrashShown) -> list[str]:
    """Return what was deleted for good."""
    if not shown.items:
        return ["Nothing in the trash is that old."]
    size = words.size(sum(item.size for item in shown.items))
    return [*_items(shown), f"{GOOD}✓{PLAIN} Deleted for good: {words.count(len(shown.items), 'file')}, {size}"]


def _items(shown: TrashShown) -> Iterator[str]:
    for item in shown.items:
        yield f"{BOLD}{item.item}{PLAIN}"
        path = item.path or "left by an interrupted operation"
        yield f"  {item.when[:16].replace('T', ' ')}  {words.size(item.size)}  {path}"
