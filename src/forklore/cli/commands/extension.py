"""``forklore extension``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command


@command(examples=("forklore extension install", "forklore extension status", "forklore extension uninstall"))
@click.argument("action", metavar="install|status|uninstall", type=click.Choice(["install", "status", "uninstall"]))
def extension(invocation: Invocation, action: str) -> Answer:
    """Put Forklore's extension into SillyTavern, look at it, or remove it.

    It makes SillyTavern's own buttons create isolated forks. It asks the local service, so `forklore serve` has to run;
    a code that works once, for 15 minutes, is left beside it and pairs the two. Reload SillyTavern's page afterwards.
    """
    found = invocation.open().extension(action)
    return Answer(found, lambda: render.extension(found, action))
