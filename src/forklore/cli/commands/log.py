"""``forklore log``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.terminal import BOLD, DIM, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.log import LogShown


@command(examples=("forklore log", "forklore log --json"))
@click.option("--request", metavar="ID", help="Only what this request has made, as the service or a program called it.")
def log(invocation: Invocation, *, request: str | None) -> Answer:
    """List what Forklore has done.

    The newest operation comes first. Times are UTC.
    """
    shown = invocation.open().log(request=request)
    return Answer(shown, lambda: _lines(shown))


def _lines(shown: LogShown) -> list[str]:
    """Return one line an operation, newest first."""
    told = [
        f"{WARN}!{PLAIN} {where}: {words.sentence(finding.message)} {DIM}[{finding.code}]{PLAIN}"
        for where, finding in ((located.where, located.finding) for located in shown.findings)
    ]
    if not shown.operations:
        return told or ["Nothing has been done here yet."]
    return told + [
        f"{BOLD}{operation.id}{PLAIN}  {operation.when[:16].replace('T', ' ')}  {operation.kind:<10}  {operation.chat}"
        + (f"  {DIM}of {operation.undoes}{PLAIN}" if operation.undoes else "")
        + (f"  {DIM}undone{PLAIN}" if operation.id in shown.undone else "")
        for operation in shown.operations
    ]
