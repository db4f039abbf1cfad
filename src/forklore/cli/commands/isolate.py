"""``forklore isolate``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.options import complete_chat
from forklore.errors import BadRequest, Kind


@command(
    examples=(
        'forklore isolate "Branch #42"',
        "forklore isolate --all --dry-run",
        "forklore isolate Maren --share",
    )
)
@click.argument("chat", metavar="[CHAT]", required=False, shell_complete=complete_chat)
@click.option("--all", "everyone", is_flag=True, help="Isolate every fork of CHAT's story that shares a lorebook.")
@click.option("--share", is_flag=True, help="Declare the lorebook shared on purpose instead, and leave it alone.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
def isolate(invocation: Invocation, *, chat: str | None, everyone: bool, share: bool, dry_run: bool) -> Answer:
    """Give a fork that SillyTavern made a lorebook of its own.

    The fork keeps what its own messages account for, also what it wrote since it was forked; what only its parent knows
    is left out. The parent is not touched. A fork that is isolated already stays as it is.

    With --all it is done for every fork of the story that shares a lorebook, and without CHAT for those of every story:
    one after the other, each as an operation that can be undone. The exit code is 3 when one of them is refused.
    """
    if everyone:
        return _all(invocation, chat, share=share, dry_run=dry_run)
    if chat is None:
        raise BadRequest("Which chat is to be isolated?", action="Name it, or isolate all that share with --all.")
    invocation.making = "a lorebook of its own"
    forklore = invocation.open()
    if dry_run:
        planned = forklore.plan_isolation(chat, share=share)
        return Answer(planned, lambda: render.isolation_planned(planned))
    done = forklore.isolate(chat, share=share)
    return Answer(done, lambda: render.isolated(done))


def _all(invocation: Invocation, chat: str | None, *, share: bool, dry_run: bool) -> Answer:
    if share:
        raise BadRequest("All can be isolated, but only one lorebook at a time is declared shared.")
    forklore = invocation.open()
    told = forklore.plan_isolations(chat) if dry_run else forklore.isolate_all(chat)
    return Answer(told, lambda: render.isolated_all(told), 0 if told.ok else EXIT_CODES[Kind.BLOCKED])
