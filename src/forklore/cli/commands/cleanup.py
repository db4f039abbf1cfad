"""``forklore cleanup``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore import texts
from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.terminal import DIM, GOOD, PLAIN

if TYPE_CHECKING:
    from forklore.app.cleanup import Cleanup, FreeBook


@command(examples=("forklore cleanup", "forklore cleanup --apply"))
@click.option("--apply", is_flag=True, help="Move all of it to the trash; without this it is only listed.")
@click.option("--book", "books", multiple=True, metavar="NAME", help="Only this lorebook; can be given several times.")
def cleanup(invocation: Invocation, apply: bool, books: tuple[str, ...]) -> Answer:
    """List lorebooks of forks that are gone.

    Only copies that a fork was given and that nothing uses any more, and entries for vanished chats in the maps of
    their parents. Nothing else is ever listed. With --apply all of it goes to the trash, as one operation.
    """
    shown = invocation.open().cleanup(apply=apply, books=books or None)
    return Answer(shown, lambda: _lines(shown))


def _lines(shown: Cleanup) -> list[str]:
    """Return what nothing uses, and what became of it."""
    books = [f"  {book.name}  {DIM}{_known_of(book)}{PLAIN}" for book in shown.books]
    entries = [f"  {entry.chat}  {DIM}{entry.fork} → {entry.book}{PLAIN}" for entry in shown.map_entries]
    unsure = [f"  {sentence}" for sentence in words.some(shown.kept_because)]
    lines = [
        *words.section("Lorebooks that nothing uses", books),
        *words.section("Map entries for chats that are gone", entries),
        *words.section("It is not certain that a lorebook is unused", unsure),
    ]
    if not books and not entries:
        lines += ["", "There is nothing to clean up."]
    elif shown.operation is None:
        lines += ["", "Nothing was changed. To move all of it to the trash: forklore cleanup --apply"]
    else:
        lines += ["", f"{GOOD}✓{PLAIN} Moved to the trash. To take it back: forklore undo {shown.operation}"]
    return [*lines[1:], *words.pending_lines(shown.pending)]


def _known_of(book: FreeBook) -> str:
    return f"{words.size(book.size)}, {words.count(book.age_days, 'day')} old, from {texts.words(book.origin)}"
