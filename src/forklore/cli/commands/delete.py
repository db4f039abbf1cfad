"""``forklore delete``."""

from __future__ import annotations

import click

from forklore.cli import render
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.cli.terminal import ask


@command(examples=('forklore delete "Before the tower"', "forklore delete Maren --yes"))
@chat_argument
@click.option("--yes", is_flag=True, help="Delete it without a question, also if it has forks.")
def delete(invocation: Invocation, chat: str, yes: bool) -> Answer:
    """Move a timeline to the trash.

    Its lorebook goes with it if nothing else names it: no chat, character, persona or setting. The link in its parent
    goes too. Forks of it stay whole. It can be undone.
    """
    from forklore.app.deleting import ChatHasForks

    forklore = invocation.open()
    try:
        deleted = forklore.delete(chat, yes=yes)
    except ChatHasForks as error:
        if invocation.json or not ask(*error.lines, "They stay whole without it. Delete it?"):
            raise
        deleted = forklore.delete(chat, yes=True)
    return Answer(deleted, lambda: render.deleted(deleted))
