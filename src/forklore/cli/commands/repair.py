"""``forklore repair``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import EXIT_HALF, Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.cli.terminal import BOLD, DIM, PLAIN

if TYPE_CHECKING:
    from forklore.app.repair import Repairs


@command(
    examples=(
        'forklore repair "Before the tower" LOREBOOK_MISSING',
        'forklore repair "Before the tower" LOREBOOK_MISSING --with from-snapshot',
        'forklore repair "Before the tower" LOREBOOK_MISSING --with follow-rename --book "New name"',
    )
)
@chat_argument
@click.argument("code")
@click.option("--with", "repair", metavar="REPAIR", help="Make this repair; without it, the repairs are only listed.")
@click.option("--book", metavar="NAME", help="What a missing lorebook is called now, if you renamed it.")
def repair(invocation: Invocation, chat: str, code: str, repair: str | None, book: str | None) -> Answer:
    """List or make the repairs of a finding.

    `forklore verify` and `forklore doctor` name the findings and their repairs. Each repair is shown with the files it
    would change, and is made only with --with. It can be undone.
    """
    shown = invocation.open().repair(chat, code.upper(), repair=repair, book=book)
    return Answer(shown, lambda: _lines(shown), EXIT_HALF if shown.pending else 0)


def _lines(shown: Repairs) -> list[str]:
    """Return a finding with its repairs, or the one that was made."""
    if shown.applied:
        how = "repaired" if not shown.pending else "only partly repaired"
        made = f"{shown.chat}: {shown.finding.code} {how} with {shown.applied}."
        undo = " To undo it: forklore undo" if shown.operation else ""
        return [f"{words.sign(shown.pending)} {made}{undo}", *words.pending_lines(shown.pending)]
    lines = [f"{BOLD}{shown.chat}{PLAIN}: {shown.finding.message}"]
    lines += [*(f"  {line}" for line in shown.finding.details.splitlines()), ""]
    for offer in shown.offered:
        lines.append(f"  {BOLD}{offer.name}{PLAIN}  {offer.does}")
        lines += [f"      {DIM}{action} {path}{PLAIN}" for action, path in offer.plan]
    lines += [
        "",
        "Nothing was changed. To make a repair: --with REPAIR" if shown.offered else "There is no repair for it.",
    ]
    return lines
