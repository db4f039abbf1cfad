"""``forklore cleanup``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command


@command(examples=("forklore cleanup", "forklore cleanup --apply"))
@click.option("--apply", is_flag=True, help="Move it to the trash; without it, it is only listed.")
@click.option("--book", "books", multiple=True, metavar="NAME", help="Only this lorebook; can be given several times.")
def cleanup(invocation: Invocation, apply: bool, books: tuple[str, ...]) -> Answer:
    """List lorebooks of forks that are gone.

    Only clones that a fork was given and that nothing names any more, and entries for vanished chats in the maps of
    their parents. Nothing else is ever listed. With --apply all of it goes to the trash, as one operation.
    """
    shown = invocation.open().cleanup(apply=apply, books=books or None)
    return Answer(shown, lambda: render.cleanup(shown))
