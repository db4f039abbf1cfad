"""``forklore repair``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import EXIT_HALF, Answer, Invocation, command
from forklore.cli.options import chat_argument


@command(
    examples=(
        'forklore repair "Before the tower" LOREBOOK_MISSING',
        'forklore repair "Before the tower" LOREBOOK_MISSING --with from-snapshot',
        'forklore repair "Before the tower" LOREBOOK_MISSING --with follow-rename --book "New name"',
    )
)
@chat_argument
@click.argument("code")
@click.option("--with", "repair", metavar="REPAIR", help="Make this repair; without it they are only listed.")
@click.option("--book", metavar="NAME", help="What a missing lorebook is called now, if you renamed it.")
def repair(invocation: Invocation, chat: str, code: str, repair: str | None, book: str | None) -> Answer:
    """List or make the repairs of a finding.

    `forklore verify` and `forklore doctor` name the findings and their repairs. Each repair is shown with the files it
    would change, and is made only with --with. It can be undone.
    """
    shown = invocation.open().repair(chat, code.upper(), repair=repair, book=book)
    return Answer(shown, lambda: render.repairs(shown), EXIT_HALF if shown.pending else 0)
