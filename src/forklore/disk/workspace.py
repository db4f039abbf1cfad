"""One SillyTavern user folder: finding it, and finding the files in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from forklore.errors import ForkloreError, Kind
from forklore.formats.card_png import CardUnreadable, card_lorebook, read_card
from forklore.formats.group_json import Group, parse_group
from forklore.formats.json_text import NotJson
from forklore.formats.settings_json import SettingsBooks, parse_settings
from forklore.model.address import ChatAddress
from forklore.model.names import sanitise, tells
from forklore.printable import printable

_CHATS, _GROUP_CHATS, _GROUPS, _WORLDS = "chats", "group chats", "groups", "worlds"
_SUFFIX = ".jsonl"
_NAME = attrgetter("name")
_DANGEROUS = re.compile(r'[/\\\0:*?"<>|]').search
_TOP_FOLDER = "."  # chats that lie directly in ``chats``


class WorkspaceNotFound(ForkloreError):
    """There is no SillyTavern data folder there."""

    code = "WORKSPACE_NOT_FOUND"
    kind = Kind.NOT_FOUND
    action = "Give your SillyTavern folder, its data folder or a user folder in it with --data."


class UserNeeded(ForkloreError):
    """The data folder has several users."""

    code = "USER_NEEDED"
    kind = Kind.INVALID
    action = "Say which one with --user."


class ChatNotFound(ForkloreError):
    """There is no such chat."""

    code = "CHAT_NOT_FOUND"
    kind = Kind.NOT_FOUND
    action = "Run `forklore stories` to see all stories, and `forklore tree NAME` to see the chats of one."


class ChatAmbiguous(ForkloreError):
    """Several chats fit."""

    code = "CHAT_AMBIGUOUS"
    kind = Kind.INVALID
    action = "Give more of the name, or the whole address."


class ChatUnreadable(ForkloreError):
    """The chat's file cannot be read as a chat."""

    code = "CHAT_DAMAGED"
    kind = Kind.DAMAGED
    action = "Restore the chat from SillyTavern's backups."


def only_one(roots: list[Path]) -> Path:
    """Return the only user folder; raises ``UserNeeded`` when there are several."""
    if len(roots) > 1:
        raise UserNeeded(f"There are several users: {', '.join(path.name for path in roots)}.")
    return roots[0]


def find_workspaces(folder: Path, user: str | None = None) -> list[Path]:
    """Return every user folder that *folder* (a user, ``data`` or SillyTavern folder) means, at least one."""
    if not folder.is_dir():
        raise WorkspaceNotFound(f"There is no folder {str(folder)!r}.")
    for place in (folder, folder / "data"):
        if _is_user_folder(place):
            if user is not None and place.name != user and not (place.parent / user).is_dir():
                raise WorkspaceNotFound(f"There is no user {user!r} beside {place.name!r}.")
            return [place] if user is None or place.name == user else find_workspaces(place.parent, user)
        users = sorted(entry.name for entry in _folders(place) if not entry.name.startswith("_"))
        users = [name for name in users if _is_user_folder(place / name)]
        if user is not None and users:
            if user not in users:
                raise WorkspaceNotFound(f"There is no user {user!r}; there are {', '.join(users)}.")
            return [place / user]
        if users:
            return [place / name for name in users]
    raise WorkspaceNotFound(f"{str(folder)!r} is not a SillyTavern folder: it has no chats.")


def _is_user_folder(folder: Path) -> bool:
    return (folder / _CHATS).is_dir() or (folder / _GROUP_CHATS).is_dir()


def _folders(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from [entry for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return


@dataclass(frozen=True, slots=True)
class ChatFolder:
    """A folder with chats in it: those of one character, or those of all groups."""

    path: str
    files: list[os.DirEntry[str]]
    name: str
    """The folder part of the chats' addresses."""
    others: Mapping[str, str] = field(default_factory=dict)
    """Where it is another one: by the chat's name."""

    def of(self, chat: str) -> str:
        """Return the folder part of a chat's address."""
        return self.others.get(chat, self.name) if self.others else self.name


class Workspace:
    """The files of one user, by what they are. Paths handed out are relative to the root, with ``/``."""

    def __init__(self, root: Path, *, exact_addresses: bool = False) -> None:
        """Look at the user folder *root*; with *exact_addresses* an address is never taken for a part of another."""
        self.root = root
        self._exact_addresses = exact_addresses
        self._root = str(root)

    # --- paths ----------------------------------------------------------------------------------------------------

    def chat_path(self, address: ChatAddress) -> str:
        """Return where the chat's file is, or would be."""
        if address.is_group:
            return f"{_GROUP_CHATS}/{address.name}{_SUFFIX}"
        folder = "" if address.folder == _TOP_FOLDER else f"{address.folder}/"
        return f"{_CHATS}/{folder}{address.name}{_SUFFIX}"

    def book_path(self, name: str) -> str:
        """Return where a lorebook's file is: SillyTavern takes dangerous characters out of the name first."""
        return f"{_WORLDS}/{book_file_name(name)}"

    def group_path(self, group_id: str) -> str:
        """Return where a group's file is."""
        return f"{_GROUPS}/{group_id}.json"

    def file(self, path: str) -> str:
        """Return what the system calls a file: text, since thousands are opened in a row."""
        return f"{self._root}/{path}"

    def exists(self, path: str) -> bool:
        """Whether there is such a file."""
        return (self.root / path).is_file()

    # --- chats ----------------------------------------------------------------------------------------------------

    def chats(self) -> Iterator[ChatAddress]:
        """Yield every chat, without opening its file."""
        for folder in self.chat_folders():
            for entry in folder.files:
                name = entry.name.removesuffix(_SUFFIX)
                yield ChatAddress(folder.of(name), name)

    def chat_folders(self) -> Iterator[ChatFolder]:
        """Yield every folder that may hold chats, with their files by name."""
        top = str(self.root / _CHATS)
        yield ChatFolder(top, _chat_entries(top), _TOP_FOLDER)
        for entry in sorted(_folders(self.root / _CHATS), key=_NAME):
            yield ChatFolder(entry.path, _chat_entries(entry.path), entry.name)
        shared = str(self.root / _GROUP_CHATS)
        if files := _chat_entries(shared):
            groups = {chat: f"group:{group.group_id}" for group in self.groups() for chat in group.chats}
            yield ChatFolder(shared, files, "group:", groups)

    def groups(self) -> Iterator[Group]:
        """Yield every group whose file can be read."""
        try:
            names = sorted(os.listdir(self.root / _GROUPS))
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            if name.endswith(".json"):
                try:
                    with open(self.file(f"{_GROUPS}/{name}"), "rb") as file:
                        yield parse_group(name.removesuffix(".json"), file.read())
                except (OSError, NotJson):
                    continue

    def resolve(self, text: str) -> ChatAddress:
        """Return the chat that *text* means: an exact address, an exact name, or a part that only one chat has."""
        address = ChatAddress.parse(text)
        if address is not None and self._is_solo_chat(address):
            return address  # the quick way: no folder needs to be listed
        chats = list(self.chats())
        for fits in (
            lambda chat: str(chat) == text,
            lambda chat: chat.name == text,
            lambda chat: text.casefold() in str(chat).casefold(),
            lambda chat: text.casefold() in printable(str(chat)).casefold(),  # as it was shown
        ):
            found = [chat for chat in chats if fits(chat)]
            if len(found) == 1:
                return found[0]
            if self._exact_addresses and address is not None and not found:
                break
            if found:
                raise ChatAmbiguous(f"{text!r} fits {len(found)} chats:", choices=found)
        raise ChatNotFound(f"There is no chat {text!r}.")

    def _is_solo_chat(self, address: ChatAddress) -> bool:
        plain = _is_plain(address.folder) and _is_plain(address.name)
        return plain and not address.is_group and self.exists(self.chat_path(address))

    def names_beside(self, address: ChatAddress) -> frozenset[str]:
        """Return the names of the chats in the same folder, in a form in which equal means taken on any system."""
        folder = (self.root / self.chat_path(address)).parent
        return frozenset(comparable(entry.name.removesuffix(_SUFFIX)) for entry in _chat_entries(str(folder)))

    def has_beside(self, address: ChatAddress, name: str) -> bool:
        """Whether there is a chat of that *name*, as a link has it, in the same folder."""
        beside = self.names_beside(address)
        return comparable(name) in beside or comparable(sanitise(name)) in beside

    def book_names(self) -> frozenset[str]:
        """Return the names of all lorebooks, in the same form."""
        return frozenset(map(comparable, self.books()))

    def books(self) -> list[str]:
        """Return the names of all lorebooks as they are."""
        return [entry.name.removesuffix(".json") for entry in self.book_files()]

    def book_file_names(self) -> Iterator[str]:
        """Yield what there is under the name of a lorebook, without a look at each."""
        with suppress(FileNotFoundError, NotADirectoryError):
            yield from (
                name.removesuffix(".json") for name in os.listdir(self.root / _WORLDS) if name.endswith(".json")
            )

    def book_files(self) -> list[os.DirEntry[str]]:
        """Return the file of every lorebook, by name."""
        try:
            with os.scandir(self.root / _WORLDS) as entries:
                return sorted(
                    [entry for entry in entries if entry.name.endswith(".json") and _is_file(entry)], key=_NAME
                )
        except (FileNotFoundError, NotADirectoryError):
            return []

    # --- where else a lorebook is active -----------------------------------------------------------------------

    def also_active(self, book: str, address: ChatAddress) -> tuple[str, ...]:
        """Return where a chat's lorebook is active besides the chat itself, in words."""
        settings = self._settings()
        avatars = self._avatars(address)
        found = []
        if book in settings.global_books:
            found.append("globally")
        if any(book in settings.character_books.get(avatar, ()) for avatar in avatars):
            found.append("as an additional lorebook of the character")
        if any(self._card_book(avatar) == book for avatar in avatars):
            found.append("as the character's lorebook")
        if book in settings.persona_books:
            found.append("as a persona's lorebook")
        return tuple(found)

    def _avatars(self, address: ChatAddress) -> tuple[str, ...]:
        if not address.is_group:
            return (address.folder,)
        groups = (group for group in self.groups() if group.group_id == address.group_id)
        return tuple(member.rpartition(".")[0] for group in groups for member in group.members)

    def _settings(self) -> SettingsBooks:
        try:
            return parse_settings((self.root / "settings.json").read_bytes())
        except (OSError, ValueError):
            return SettingsBooks(frozenset(), {}, frozenset())

    def _card_book(self, avatar: str) -> str | None:
        try:
            card = read_card((self.root / "characters" / f"{avatar}.png").read_bytes())
        except (OSError, CardUnreadable, ValueError):
            return None
        return card_lorebook(card) if card else None


def book_file_name(book: str) -> str:
    """Return what a lorebook's file is called."""
    return f"{sanitise(book) if _DANGEROUS(book) else book}.json"


def comparable(name: str) -> str:
    """Return *name* so that names which are one file on Windows or macOS compare equal."""
    if name.isascii():
        return name.lower()
    import unicodedata  # noqa: PLC0415

    return unicodedata.normalize("NFC", name).casefold()


def _is_plain(part: str) -> bool:
    return part not in {"", ".."} and not any(character in part for character in "/\\\0")


def _is_file(entry: os.DirEntry[str]) -> bool:
    return os.path.isfile(entry.path) if entry.is_symlink() else entry.is_file()  # a link may go round in circles


def _chat_entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            files = [
                entry
                for entry in entries
                if entry.name.endswith(_SUFFIX) and (entry.name[0] != "." or tells(entry.name.removesuffix(_SUFFIX)))
            ]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    files.sort(key=_NAME)
    return files
