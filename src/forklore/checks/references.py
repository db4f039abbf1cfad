"""Who names each lorebook: every place SillyTavern knows, so that a book in use is never taken away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forklore.formats.settings_json import SettingsBooks
from forklore.gathered.naming import Naming
from forklore.model.address import place_of
from forklore.model.fact import Fact, fact
from forklore.model.names import book_file_name, comparable
from forklore.model.timeline import ChatFacts


class Reference(NamedTuple):
    """One place that names a lorebook."""

    how: Fact
    chat: str = ""
    """The chat it is, if it is one."""


@dataclass(frozen=True, slots=True)
class References:
    """All that names lorebooks in one workspace."""

    by_book: Mapping[str, tuple[Reference, ...]]
    """By the name of the book's file, in a form in which equal means one file on any system."""
    unreadable: tuple[Fact, ...]
    """What could not be read and may name any book; while there is any, no book is known to be free."""

    def of(self, book: str, *, besides: str = "") -> tuple[Fact, ...]:
        """Return who names *book*; the chat *besides* does not count."""
        own = _place(besides)
        return tuple(each.how for each in self.by_book.get(_key(book), ()) if not besides or _place(each.chat) != own)

    def why_kept(self, book: str, *, besides: str = "", is_ours: bool = False) -> tuple[Fact, ...]:
        """Return why a lorebook has to stay, nothing when it may go: it is named, or may be by what cannot be read.

        One that *is ours* was never anybody else's, so what cannot be read need not keep it.
        """
        return self.of(book, besides=besides) or (() if is_ours else self.unreadable)


def references(chats: Sequence[ChatFacts], naming: Naming) -> References:
    """Return who names each lorebook; *chats* are the facts of every chat."""
    found: dict[str, tuple[Reference, ...]] = {}
    for named in (_by_chats(chats), _by_cards(naming.cards), _by_settings(naming.settings)):
        for book, reference in named:
            key = _key(book)
            found[key] = (*found.get(key, ()), reference)
    return References(found, naming.unreadable)


Named = Iterator[tuple[str, Reference]]
"""Each book with a place that names it."""


def _by_chats(chats: Sequence[ChatFacts]) -> Named:
    for chat in chats:
        address = chat.address
        if chat.lorebook is not None:
            yield chat.lorebook, Reference(fact("named", case="chat", chat=address), address)
        for book in chat.more_books:
            yield book, Reference(fact("named", case="chat", chat=address), address)
        for book in chat.other_books:
            yield book, Reference(fact("named", case="effects", chat=address), address)


def _by_cards(cards: Mapping[str, str]) -> Named:
    for character, book in cards.items():
        yield book, Reference(fact("named", case="character", character=character))


def _by_settings(settings: SettingsBooks) -> Named:
    for book in sorted(settings.global_books):
        yield book, Reference(fact("named", case="everywhere"))
    for avatar, books in sorted(settings.character_books.items()):
        for book in sorted(books):
            yield book, Reference(fact("named", case="additional", character=avatar))
    for book in sorted(settings.persona_books):
        yield book, Reference(fact("named", case="persona"))


def _key(book: str) -> str:
    return comparable(book_file_name(book).removesuffix(".json"))


def _place(chat: str) -> tuple[str, str]:
    """Return what tells a chat from others."""
    folder, _, name = chat.partition("/")
    return place_of(folder), name
