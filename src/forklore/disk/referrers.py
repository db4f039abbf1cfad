"""Who names each lorebook: every place SillyTavern knows, so that a book in use is never taken away."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from forklore.disk.files import OpenFile
from forklore.disk.scan import scan_chats
from forklore.disk.system import is_online_only, open_shared
from forklore.disk.workspace import Workspace, book_file_name, comparable
from forklore.errors import ForkloreError, LinkOutside
from forklore.formats.card_png import CardUnreadable, card_lorebook, read_card
from forklore.formats.json_text import NotJson, parse_object
from forklore.formats.settings_json import SettingsBooks, parse_settings
from forklore.model.address import ChatAddress, place_of
from forklore.model.plan import HEADER
from forklore.model.timeline import ChatFacts

_SIGNATURE_BYTES = _HEAD_BYTES = 8
_CHECKSUM_BYTES = 4
_MOST_CHUNKS, _LARGEST_TEXT = 100_000, 64 << 20


class Referrer(NamedTuple):
    """One place that names a lorebook."""

    sentence: str
    chat: str = ""
    """The chat it is, if it is one."""


@dataclass(frozen=True, slots=True)
class Referrers:
    """All that names lorebooks in one workspace."""

    by_book: Mapping[str, tuple[Referrer, ...]]
    """By the name of the book's file, in a form in which equal means one file on any system."""
    unreadable: tuple[str, ...]
    """What could not be read and may name any book, as sentences; while there is any, no book is known to be free."""

    def of(self, book: str, *, besides: str = "") -> tuple[str, ...]:
        """Return who names *book* as sentences that call it "it"; the chat *besides* does not count."""
        own = _place(besides)
        return tuple(
            each.sentence for each in self.by_book.get(_key(book), ()) if not besides or _place(each.chat) != own
        )


def _place(chat: str) -> tuple[str, str]:
    """Return what tells a chat from others."""
    folder, _, name = chat.partition("/")
    return place_of(folder), name


def referrers(workspace: Workspace, cache: Path | None, chats: Sequence[ChatFacts] | None = None) -> Referrers:
    """Look through chats, character cards and settings; *chats* are the facts of every chat, when they are known."""
    found: dict[str, tuple[Referrer, ...]] = {}
    unreadable: list[str] = []
    if chats is None:
        chats = scan_chats(workspace, cache)
    for reading in (_in_chats(workspace, chats), _in_cards(workspace), _in_settings(workspace)):
        for book, referrer in reading:
            if book is None:
                unreadable.append(referrer.sentence)
            else:
                key = _key(book)
                found[key] = (*found.get(key, ()), referrer)
    return Referrers(found, tuple(unreadable))


Named = Iterator[tuple[str | None, Referrer]]
"""Each book with a place that names it; None for a place that may name any book, since it cannot be read."""


def _key(book: str) -> str:
    return comparable(book_file_name(book).removesuffix(".json"))


# --- chats --------------------------------------------------------------------------------------------------------


def _in_chats(workspace: Workspace, chats: Sequence[ChatFacts]) -> Named:
    for chat in chats:
        yield from _in_chat(chat, workspace)
    known = {chat.address for chat in chats}
    for path, _ in workspace.links_outside():
        if not path.startswith("worlds"):
            yield None, Referrer(f"{path!r} is a link to elsewhere, which is not followed.")
    for folder in workspace.chat_folders():
        if os.path.isdir(folder.path) and not os.access(folder.path, os.R_OK | os.X_OK):
            yield None, Referrer(f"The folder {os.path.basename(folder.path)!r} cannot be looked into.")
        for entry in folder.files:
            name = entry.name.removesuffix(".jsonl")
            address = str(ChatAddress(folder.of(name), name))
            if address not in known and _may_be_chat(entry.path):
                yield None, Referrer(f"The chat {address!r} cannot be read.", address)


def _may_be_chat(path: str) -> bool:
    """Whether there is a file, or something that nobody can tell from one."""
    try:
        return S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _in_chat(chat: ChatFacts, workspace: Workspace) -> Named:
    address = chat.address
    if chat.damaged and not _names_no_book(workspace, ChatAddress(chat.folder, chat.name)):
        yield None, Referrer(f"The chat {address!r} is damaged.", address)
    if chat.lorebook is not None:
        yield chat.lorebook, Referrer(f"The chat {address!r} names it.", address)
    for book in chat.other_books:
        yield book, Referrer(f"The chat {address!r} has timed effects of it, or names it among others.", address)


def _names_no_book(workspace: Workspace, address: ChatAddress) -> bool:
    """Whether a chat without a usable header can be told to name no book: very old chats have no metadata at all."""
    try:
        with OpenFile(workspace.file(workspace.chat_path(address))) as file:
            return not file.chat.lines.starts or "chat_metadata" not in parse_object(file.chat.line_bytes(HEADER))
    except (OSError, ForkloreError, NotJson):
        return False


# --- cards and settings -------------------------------------------------------------------------------------------


def _in_cards(workspace: Workspace) -> Named:
    try:
        names = sorted(os.listdir(workspace.places.folder("characters")))
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, LinkOutside):
        yield None, Referrer("The folder 'characters' cannot be looked into.")
        return
    for name in names:
        stem, suffix = os.path.splitext(name)
        if suffix.lower() == ".png" and (workspace.root / "characters" / name).is_file():
            try:
                book = _card_book(workspace.file(f"characters/{name}"))
            except (OSError, CardUnreadable, ForkloreError):
                yield None, Referrer(f"The character card {stem!r} cannot be read.")
            else:
                if book is not None:
                    yield book, Referrer(f"The character {stem!r} has it as its lorebook.")


def _card_book(path: str) -> str | None:
    """Return the book that a card names; only its texts are read, since the picture is most of it."""
    with open(path, "rb", opener=lambda path, _flags: open_shared(path)) as file:
        if is_online_only(os.fstat(file.fileno())):
            raise CardUnreadable("it is online only")
        texts = [file.read(_SIGNATURE_BYTES)]
        kind, chunks = b"", 0
        while kind != b"IEND" and len(head := file.read(_HEAD_BYTES)) == _HEAD_BYTES:
            kind, chunks = head[4:], chunks + 1
            length = int.from_bytes(head[:4], "big") + _CHECKSUM_BYTES
            if chunks > _MOST_CHUNKS:
                raise CardUnreadable("the image has too many parts")
            if kind == b"tEXt":
                if length > _LARGEST_TEXT:
                    raise CardUnreadable("the image has a text that is too large")
                texts += [head, file.read(length)]
            else:
                file.seek(length, os.SEEK_CUR)
    card = read_card(b"".join(texts))
    if card is None and kind != b"IEND":
        raise CardUnreadable("the image ends too early")
    return card_lorebook(card) if card is not None else None


def _in_settings(workspace: Workspace) -> Named:
    try:
        with OpenFile(workspace.file("settings.json")) as file:
            settings = parse_settings(file.read())
    except FileNotFoundError:
        return
    except (OSError, ValueError, ForkloreError):
        yield None, Referrer("SillyTavern's settings.json cannot be read.")
        return
    yield from _in_selection(settings)


def _in_selection(settings: SettingsBooks) -> Named:
    for book in sorted(settings.global_books):
        yield book, Referrer("It is active globally.")
    for avatar, books in sorted(settings.character_books.items()):
        for book in sorted(books):
            yield book, Referrer(f"The character {avatar!r} has it as an additional lorebook.")
    for book in sorted(settings.persona_books):
        yield book, Referrer("A persona has it as its lorebook.")
