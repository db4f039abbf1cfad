"""``forklore check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.app.check import KINDS
from forklore.cli import words
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.options import at_option, chat_argument
from forklore.cli.terminal import BAD, GOOD, PLAIN, WARN
from forklore.errors import Kind

if TYPE_CHECKING:
    from forklore.model.finding import Report


@command(
    examples=("forklore check Maren", "forklore check Maren --at 42", "forklore --policy strict check Maren --at 42")
)
@chat_argument
@at_option
@click.option("--kind", type=click.Choice(KINDS), default=KINDS[0], show_default=True, help="The kind of the fork.")
def check(invocation: Invocation, chat: str, *, at: int | None, kind: str) -> Answer:
    """Check whether a fork can be made.

    All problems are shown at once, each with what to do about it. Errors block a fork, warnings do not. The exit code
    is 3 when a fork is blocked.
    """
    report = invocation.open().check(chat, at=at, kind=kind)
    return Answer(report, lambda: _lines(report), 0 if report.valid else EXIT_CODES[Kind.BLOCKED])


def _lines(report: Report) -> list[str]:
    """Return whether a fork can be made, and everything that stands in its way."""
    where = "the last message" if report.at is None else f"message {report.at}"
    notes = words.notes_lines(report.notes)
    if not report.valid:
        title = f"{BAD}✗{PLAIN} Not ready for a fork at {where}. The following requirements must be met:"
        return [title, "", *words.findings_lines(report.errors, BAD), *words.besides(report.warnings), *notes]
    ready = f"{GOOD}✓{PLAIN} Ready for a fork at {where}"
    if not report.warnings:
        return [f"{ready}.", *notes]
    return [
        f"{ready}, with {words.count(len(report.warnings), 'warning')}:",
        "",
        *words.findings_lines(report.warnings, WARN),
        *notes,
    ]
