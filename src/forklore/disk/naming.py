"""Reading what names lorebooks: character cards, settings, and what of the chats the scan cannot tell."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from forklore.disk.disk import fingerprint_at
from forklore.disk.files import OpenFile
from forklore.disk.system import is_online_only, open_shared
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError, LinkOutside
from forklore.formats.card_png import CardUnreadable, card_lorebook, read_card
from forklore.formats.json_text import NotJson, parse_object
from forklore.formats.settings_json import NO_BOOKS, SettingsBooks, parse_settings
from forklore.gathered.naming import Naming
from forklore.model.address import ChatAddress, place_of
from forklore.model.fact import Fact, fact
from forklore.model.plan import HEADER, Fingerprint
from forklore.model.timeline import ChatFacts

_SETTINGS = "settings.json"


def gather_naming(workspace: Workspace, chats: Sequence[ChatFacts]) -> Naming:
    """Read cards and settings; *chats* are the facts of every chat."""
    unreadable = list(_unreadable_chats(workspace, chats))
    cards = _read_cards(workspace, unreadable)
    return Naming(cards, _read_settings(workspace, unreadable), tuple(unreadable))


def naming_as_seen(workspace: Workspace) -> tuple[tuple[str, Fingerprint], ...]:
    """Return which of it must still be the same when a lorebook goes: a fork's clone is in no character's card."""
    found = fingerprint_at(Path(workspace.file(_SETTINGS)))
    return ((_SETTINGS, found),) if found is not None else ()


def _unreadable_chats(workspace: Workspace, chats: Sequence[ChatFacts]) -> Iterator[Fact]:
    for chat in chats:
        if chat.damaged and not _names_no_book(workspace, ChatAddress(chat.folder, chat.name)):
            yield fact("unreadable", case="damaged", chat=chat.address)
    for path, _ in workspace.links_outside():
        if not path.startswith("worlds"):
            yield fact("unreadable", case="link", path=path)
    for _, why in workspace.unreadable({(place_of(chat.folder), chat.name) for chat in chats}):
        yield why


def _names_no_book(workspace: Workspace, address: ChatAddress) -> bool:
    """Whether a chat without a usable header can be told to name no book: very old chats have no metadata at all."""
    try:
        with OpenFile(workspace.file(workspace.chat_path(address))) as file:
            return not file.chat.lines.starts or "chat_metadata" not in parse_object(file.chat.line_bytes(HEADER))
    except (OSError, ForkloreError, NotJson):
        return False


def _read_cards(workspace: Workspace, unreadable: list[Fact]) -> dict[str, str]:
    """Return the lorebook of each character that has one; what cannot be read is told in *unreadable*."""
    try:
        names = sorted(os.listdir(workspace.places.folder("characters")))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, LinkOutside):
        unreadable.append(fact("unreadable", case="folder", folder="characters"))
        return {}
    books: dict[str, str] = {}
    for name in names:
        stem, suffix = os.path.splitext(name)
        if suffix.lower() != ".png" or not (workspace.root / "characters" / name).is_file():
            continue
        try:
            book = _card_book(workspace.file(f"characters/{name}"))
        except (OSError, CardUnreadable, ForkloreError):
            unreadable.append(fact("unreadable", case="card", character=stem))
        else:
            if book is not None:
                books[stem] = book
    return books


def _card_book(path: str) -> str | None:
    with open(path, "rb", opener=lambda path, _flags: open_shared(path)) as file:
        if is_online_only(os.fstat(file.fileno())):
            raise CardUnreadable("card_unreadable", case="online_only")
        card = read_card(file)
    return card_lorebook(card) if card is not None else None


def _read_settings(workspace: Workspace, unreadable: list[Fact]) -> SettingsBooks:
    try:
        with OpenFile(workspace.file(_SETTINGS)) as file:
            return parse_settings(file.read())
    except FileNotFoundError:
        pass
    except (OSError, ValueError, ForkloreError):
        unreadable.append(fact("unreadable", case="settings"))
    return NO_BOOKS
