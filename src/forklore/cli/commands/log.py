"""``forklore log``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command


@command(examples=("forklore log", "forklore log --json"))
@click.option("--request", metavar="ID", help="Only what this request has made, as the service or a program called it.")
def log(invocation: Invocation, *, request: str | None) -> Answer:
    """List what Forklore has done.

    The newest operation comes first. Times are UTC.
    """
    shown = invocation.open().log(request=request)
    return Answer(shown, lambda: render.log(shown))
