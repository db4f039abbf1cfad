"""``forklore delete``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.cli.terminal import BOLD, GOOD, PLAIN, ask

if TYPE_CHECKING:
    from forklore.app.delete import Deleted


@command(examples=('forklore delete "Before the tower"', "forklore delete Maren --yes"))
@chat_argument
@click.option("--yes", is_flag=True, help="Delete it without asking, even if it has forks.")
def delete(invocation: Invocation, chat: str, yes: bool) -> Answer:
    """Move a timeline to the trash.

    Its lorebook goes with it if nothing else uses it: no chat, character, persona or setting. The link in its parent
    goes too. Its forks stay complete. It can be undone.
    """
    from forklore.app.delete import ChatHasForks

    forklore = invocation.open()
    try:
        deleted = forklore.delete(chat, yes=yes)
    except ChatHasForks as error:
        if invocation.json or not ask(*error.lines, "They stay complete without it. Delete it?"):
            raise
        deleted = forklore.delete(chat, yes=True)
    return Answer(deleted, lambda: _lines(deleted))


def _lines(shown: Deleted) -> list[str]:
    """Return what went to the trash, what stayed and why, and how to take it back."""
    book, kept = "none", list(shown.kept_because)
    if shown.book is not None:
        book = f'"{shown.book}" went with it'
    elif kept:
        book = f'"{shown.kept_book}" was kept' if shown.kept_book else "kept, if it has one"
    return [
        f"{GOOD}✓{PLAIN} Moved to the trash: {BOLD}{shown.chat}{PLAIN}",
        *words.table(
            ("lorebook", book),
            *(("", sentence) for sentence in words.some(kept)),
            ("more lorebooks", f"{', '.join(shown.more_books)} went with it" if shown.more_books else ""),
            ("forks", f"{words.count(len(shown.children), 'fork')}, complete without it" if shown.children else ""),
            ("take it back", f"forklore undo {shown.operation}"),
        ),
        *words.pending_lines(shown.pending),
    ]
