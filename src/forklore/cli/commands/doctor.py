"""``forklore doctor``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.errors import Kind


@command(examples=("forklore doctor", "forklore doctor --fix", "forklore doctor --json"))
@click.option("--fix", is_flag=True, help="Mend what can be mended without losing anything.")
def doctor(invocation: Invocation, *, fix: bool) -> Answer:
    """Examine the whole data folder.

    Every timeline is verified; besides, lorebooks that timelines share, that are missing or that nobody uses, links
    and maps that lead nowhere, renamed and copied chats, groups and their chats, and interrupted operations are looked
    for. Without --fix nothing is changed; with it only names are followed and hints written or removed, each as an
    operation that can be undone. The exit code is 3 when findings remain.
    """
    examined = invocation.open().doctor(fix=fix)
    return Answer(examined, lambda: render.examined(examined), 0 if examined.ok else EXIT_CODES[Kind.BLOCKED])
