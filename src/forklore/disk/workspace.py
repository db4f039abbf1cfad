"""One SillyTavern user folder: finding it, and finding the files in it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType
from typing import NamedTuple

from forklore.adapters import ADAPTERS
from forklore.adapters.row import places, texts_in
from forklore.disk.files import OpenFile
from forklore.disk.places import Places
from forklore.disk.state import State
from forklore.disk.system import IS_WINDOWS, is_file, is_link
from forklore.errors import ForkloreError, Kind, LinkOutside
from forklore.formats.card_png import CardUnreadable, card_lorebook, read_card
from forklore.formats.group_json import Group, parse_group
from forklore.formats.json_text import NotJson
from forklore.formats.settings_json import NO_BOOKS, SettingsBooks, parse_settings
from forklore.model.address import ChatAddress, place_of
from forklore.model.fact import Fact, fact
from forklore.model.names import book_file_name, comparable, sanitise, tells
from forklore.model.stored import is_plain_name
from forklore.printable import printable

_CHATS, _GROUP_CHATS, _GROUPS, _WORLDS, _CHARACTERS = "chats", "group chats", "groups", "worlds", "characters"
_SUFFIX = ".jsonl"
_NAME = attrgetter("name")
_TOP_FOLDER = "."  # chats that lie directly in ``chats``


class WorkspaceNotFound(ForkloreError):
    """There is no SillyTavern data folder there."""

    code = "WORKSPACE_NOT_FOUND"
    kind = Kind.NOT_FOUND


class UserNeeded(ForkloreError):
    """The data folder has several users."""

    code = "USER_NEEDED"
    kind = Kind.INVALID


class ChatNotFound(ForkloreError):
    """There is no such chat."""

    code = "CHAT_NOT_FOUND"
    kind = Kind.NOT_FOUND


class ChatAmbiguous(ForkloreError):
    """Several chats fit."""

    code = "CHAT_AMBIGUOUS"
    kind = Kind.INVALID


class ChatUnreadable(ForkloreError):
    """The chat's file cannot be read as a chat."""

    code = "CHAT_DAMAGED"
    kind = Kind.DAMAGED


def only_one(roots: list[Path]) -> Path:
    """Return the only user folder; raises ``UserNeeded`` when there are several."""
    if len(roots) > 1:
        raise UserNeeded(users=[path.name for path in roots])
    return roots[0]


def find_workspaces(folder: Path, user: str | None = None) -> list[Path]:
    """Return every user folder that *folder* (a user, ``data`` or SillyTavern folder) means, at least one."""
    if not folder.is_dir():
        raise WorkspaceNotFound("folder", folder=str(folder))
    for place in (folder, folder / "data"):
        if _is_user_folder(place):
            if user is not None and place.name != user and not (place.parent / user).is_dir():
                raise WorkspaceNotFound("user", user=user, users=[place.name])
            return [place] if user is None or place.name == user else find_workspaces(place.parent, user)
        users = sorted(entry.name for entry in _folders(place) if not entry.name.startswith("_"))
        users = [name for name in users if _is_user_folder(place / name)]
        if user is not None and users:
            if user not in users:
                raise WorkspaceNotFound("user", user=user, users=users)
            return [place / user]
        if users:
            return [place / name for name in users]
    raise WorkspaceNotFound("no_chats", folder=str(folder))


def _is_user_folder(folder: Path) -> bool:
    return (folder / _CHATS).is_dir() or (folder / _GROUP_CHATS).is_dir()


def _folders(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from [entry for entry in entries if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return


class ChatFolder(NamedTuple):
    """A folder with chats in it: those of one character, or those of all groups."""

    path: str
    files: list[os.DirEntry[str]]
    name: str
    """The folder part of the chats' addresses."""
    others: Mapping[str, str] = MappingProxyType({})
    """Where it is another one: by the chat's name."""

    def of(self, chat: str) -> str:
        """Return the folder part of a chat's address."""
        return self.others.get(chat, self.name) if self.others else self.name


class Workspace:
    """The files of one user, by what they are. Paths handed out are relative to the root, with ``/``."""

    def __init__(self, root: Path, *, exact_addresses: bool = False, state: Callable[[], State] | None = None) -> None:
        """Look at the user folder *root*; with *exact_addresses* an address is never taken for a part of another.

        *state* tells which linked folders the user lets us follow; without it none is.
        """
        self.places = Places(root, state)
        self.root = self.places.root
        self._exact_addresses = exact_addresses

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
        """Return what the system calls a file: text, since thousands are opened in a row.

        Raises ``LinkOutside`` when a link leads out of the workspace, and ``PathOutside`` for what is no path in it.
        """
        return self.places.file(path)

    def exists(self, path: str) -> bool:
        """Whether there is such a file; raises ``LinkOutside`` when a link leads out of the workspace."""
        return is_file(self.places.file(path))

    def is_taken(self, path: str) -> bool:
        """Whether something has this name, be it a link that leads nowhere."""
        return os.path.lexists(self.places.file(path))

    @cached_property
    def folds_names(self) -> bool:
        """Whether the disk takes names for the same that differ in case, or in how a letter is composed."""
        for top in (_WORLDS, _CHATS):
            if os.path.isdir(self.root / top):
                return os.path.isdir(self.root / top.upper())
        return IS_WINDOWS

    # --- chats ----------------------------------------------------------------------------------------------------

    def chats(self) -> Iterator[ChatAddress]:
        """Yield every chat, without opening its file."""
        for folder in self.chat_folders():
            for entry in folder.files:
                name = entry.name.removesuffix(_SUFFIX)
                yield ChatAddress(folder.of(name), name)

    def chats_at(self, paths: Iterable[str]) -> list[ChatAddress]:
        """Return which chats the files at *paths* are; one that several groups list has several addresses."""
        chats: list[ChatAddress] = []
        groups: list[Group] | None = None
        for path in sorted(paths):
            folder, _, file = path.rpartition("/")
            top, _, below = folder.partition("/")
            name = file.removesuffix(_SUFFIX)
            if name == file or "/" in below:
                continue
            if top == _CHATS:
                chats.append(ChatAddress(below or _TOP_FOLDER, name))
            elif folder == _GROUP_CHATS:
                groups = list(self.groups()) if groups is None else groups
                listing = [group.group_id for group in groups if name in group.chats] or [""]
                chats += [ChatAddress.of_group(group_id, name) for group_id in listing]
        return chats

    def chat_folders(self) -> Iterator[ChatFolder]:
        """Yield every folder that may hold chats, with their files by name; linked ones as far as they are followed."""
        if not self.places.leads_out(_CHATS):
            top = self.places.folder(_CHATS)
            yield ChatFolder(top, self._chat_entries(_CHATS), _TOP_FOLDER)
            for name in sorted(entry.name for entry in _folders(top)):
                path = f"{_CHATS}/{name}"
                if not self.places.leads_out(path):
                    yield ChatFolder(f"{top}{os.sep}{name}", self._chat_entries(path), name)
        shared = self.places.place(_GROUP_CHATS)
        if not self.places.leads_out(_GROUP_CHATS) and (files := self._chat_entries(_GROUP_CHATS)):
            groups = {chat: f"group:{group.group_id}" for group in self.groups() for chat in group.chats}
            yield ChatFolder(shared, files, "group:", groups)

    def _chat_entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return the files of the chats in a folder, by name; without those that are links to elsewhere."""
        return [
            entry
            for entry in _chat_entries(self.places.place(folder))
            if not (entry.is_symlink() and self.places.leads_out(f"{folder}/{entry.name}"))
        ]

    def unreadable(self, known: Container[tuple[str, str]]) -> Iterator[tuple[str, Fact]]:
        """Yield the folders that may not be looked into and the chats that are not *known*: the path, and why."""
        for folder in self.chat_folders():
            path = os.path.relpath(folder.path, self.root).replace(os.sep, "/")
            if os.path.isdir(folder.path) and not os.access(folder.path, os.R_OK | os.X_OK):
                yield path, fact("unreadable", case="folder", folder=os.path.basename(folder.path))
            for entry in folder.files:
                name = entry.name.removesuffix(_SUFFIX)
                address = ChatAddress(folder.of(name), name)
                if (place_of(address.folder), name) not in known and _may_be_chat(entry.path):
                    yield f"{path}/{entry.name}", fact("unreadable", case="chat", chat=str(address))

    def groups(self) -> Iterator[Group]:
        """Yield every group whose file can be read."""
        try:
            names = sorted(os.listdir(self.places.folder(_GROUPS)))
        except (FileNotFoundError, NotADirectoryError, LinkOutside):
            return
        for name in names:
            if name.endswith(".json"):
                try:
                    with OpenFile(self.file(f"{_GROUPS}/{name}")) as file:
                        yield parse_group(name.removesuffix(".json"), file.read())
                except (OSError, NotJson, ForkloreError):
                    continue

    def needs_chats(self) -> None:
        """Raise ``LinkOutside`` when the folder of all chats is a link that is not followed: nothing could be shown."""
        for top in (_CHATS, _GROUP_CHATS):
            self.places.folder(top)

    def links_outside(self) -> Iterator[tuple[str, bool]]:
        """Yield every link to elsewhere that is not followed: its path, and whether it is a folder's."""
        for top in (_CHATS, _GROUP_CHATS, _GROUPS, _WORLDS, _CHARACTERS):
            if self.places.leads_out(top):
                yield top, os.path.isdir(self.root / top)
                continue
            for path in sorted(_links_in(self.root, top)):
                if self.places.leads_out(path):
                    yield path, os.path.isdir(self.root / path)
                elif top == _CHATS:
                    yield from self._links_of_chats(path)
            if top == _CHATS:
                for entry in sorted(_folders(self.root / top), key=_NAME):
                    if not entry.is_symlink():
                        yield from self._links_of_chats(f"{top}/{entry.name}")

    def _links_of_chats(self, folder: str) -> Iterator[tuple[str, bool]]:
        for path in sorted(_links_in(self.root, folder)):
            if self.places.leads_out(path):
                yield path, False

    def resolve(self, text: str) -> ChatAddress:
        """Return the chat that *text* means: an exact address, an exact name, or a part that only one chat has."""
        address = ChatAddress.parse(text)
        if address is not None and self._is_solo_chat(address):
            return self._as_spelled(address)  # the quick way: not every folder needs to be listed
        if address is not None and self._is_listed(address):
            return address  # of several groups that list a chat, the one that is meant
        chats = list(self.chats())
        if address is not None and address not in chats:
            text = next((str(chat) for chat in chats if self._is_called(chat, address)), text)
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
                raise ChatAmbiguous(text=text, count=len(found), choices=found)
        self.needs_chats()  # it may be there, in a folder that is not followed
        raise ChatNotFound("file" if text.endswith(_SUFFIX) else None, chat=text)

    def _is_solo_chat(self, address: ChatAddress) -> bool:
        plain = address.folder == _TOP_FOLDER or is_plain_name(address.folder)
        plain = plain and is_plain_name(f"{address.name}{_SUFFIX}")
        return plain and not address.is_group and self.exists(self.chat_path(address))

    def _is_listed(self, address: ChatAddress) -> bool:
        """Whether a group lists a chat that is there."""
        groups = self.groups() if address.is_group and is_plain_name(f"{address.name}{_SUFFIX}") else ()
        listed = any(each.group_id == address.group_id and address.name in each.chats for each in groups)
        return listed and self.exists(self.chat_path(address))

    def _as_spelled(self, address: ChatAddress) -> ChatAddress:
        """Return the address in the spelling that is on the disk: many find a file by other spellings as well."""
        other = ChatAddress(_other_spelling(address.folder), _other_spelling(address.name))
        with suppress(ForkloreError):  # what is no name of a file is no other spelling either
            if other != address and self.exists(self.chat_path(other)):
                folder = address.folder
                if folder != _TOP_FOLDER:
                    folder = _spelled(folder, os.listdir(self.places.folder(_CHATS)))
                path = self.chat_path(ChatAddress(folder, address.name))
                file = _spelled(f"{address.name}{_SUFFIX}", os.listdir(self.places.folder(path.rpartition("/")[0])))
                return ChatAddress(folder, file.removesuffix(_SUFFIX))
        return address

    def _is_called(self, chat: ChatAddress, address: ChatAddress) -> bool:
        """Whether the disk finds a group's *chat* by another spelling of its name."""
        if chat.folder != address.folder or not chat.is_group or comparable(chat.name) != comparable(address.name):
            return False
        return self.exists(self.chat_path(address))

    def names_beside(self, address: ChatAddress) -> frozenset[str]:
        """Return the names of the chats in the same folder, in a form in which equal means taken on any system."""
        folder = self.places.folder(self.chat_path(address).rpartition("/")[0])
        return frozenset(comparable(entry.name.removesuffix(_SUFFIX)) for entry in _chat_entries(folder))

    def has_beside(self, address: ChatAddress, name: str) -> bool:
        """Whether there is a chat of that *name*, as a link has it, in the same folder."""
        beside = self.names_beside(address)
        return comparable(name) in beside or comparable(sanitise(name)) in beside

    def book_names(self) -> frozenset[str]:
        """Return the names of all lorebooks, in the same form."""
        return frozenset(comparable(name) for name in self.book_file_names())

    def books(self) -> list[str]:
        """Return the names of all lorebooks as they are."""
        return [entry.name.removesuffix(".json") for entry in self.book_files()]

    def book_file_names(self) -> Iterator[str]:
        """Yield what there is under the name of a lorebook, without a look at each."""
        with suppress(FileNotFoundError, NotADirectoryError, LinkOutside):
            yield from (
                name.removesuffix(".json") for name in os.listdir(self.places.folder(_WORLDS)) if name.endswith(".json")
            )

    def book_files(self) -> list[os.DirEntry[str]]:
        """Return the file of every lorebook, by name."""
        try:
            with os.scandir(self.places.folder(_WORLDS)) as entries:
                return sorted(
                    [entry for entry in entries if entry.name.endswith(".json") and self._is_book(entry)], key=_NAME
                )
        except (FileNotFoundError, NotADirectoryError, LinkOutside):
            return []

    def _is_book(self, entry: os.DirEntry[str]) -> bool:
        if entry.is_symlink():
            return not self.places.leads_out(f"{_WORLDS}/{entry.name}") and os.path.isfile(entry.path)
        return entry.is_file()

    # --- where else a lorebook is active -----------------------------------------------------------------------

    def also_active(self, book: str, address: ChatAddress) -> tuple[Fact, ...]:
        """Return where a chat's lorebook is active besides the chat itself."""
        settings = self._settings()
        avatars = self._avatars(address)
        found = []
        if book in settings.global_books:
            found.append(fact("active", case="everywhere"))
        if any(book in settings.character_books.get(avatar, ()) for avatar in avatars):
            found.append(fact("active", case="additional"))
        if any(self._card_book(avatar) == book for avatar in avatars):
            found.append(fact("active", case="character"))
        if book in settings.persona_books:
            found.append(fact("active", case="persona"))
        return tuple(found)

    def is_meant_to_be_shared(self, book: str) -> bool:
        """Whether an extension's settings say that chats share this lorebook."""
        extensions = self._settings().extensions
        return any(
            book in texts_in(held)
            for adapter in ADAPTERS
            if adapter.shared
            for _, held in places(extensions, adapter.shared)
        )

    def _avatars(self, address: ChatAddress) -> tuple[str, ...]:
        if not address.is_group:
            return (address.folder,)
        groups = (group for group in self.groups() if group.group_id == address.group_id)
        return tuple(member.rpartition(".")[0] for group in groups for member in group.members)

    def _settings(self) -> SettingsBooks:
        try:
            with OpenFile(self.file("settings.json")) as file:
                return parse_settings(file.read())
        except (OSError, ValueError, ForkloreError):
            return NO_BOOKS

    def _card_book(self, avatar: str) -> str | None:
        try:
            with OpenFile(self.file(f"{_CHARACTERS}/{avatar}.png")) as file:
                card = read_card(io.BytesIO(file.read()))
        except (OSError, CardUnreadable, ValueError, ForkloreError):
            return None
        return card_lorebook(card) if card else None


def _other_spelling(name: str) -> str:
    """Return another name that leads to the same file where the disk takes no notice of how a name is spelled."""
    other = "".join(letter.swapcase() if letter.isascii() else letter for letter in name)
    if other != name or name.isascii():
        return other
    import unicodedata  # noqa: PLC0415

    composed = unicodedata.normalize("NFC", name)
    return composed if composed != name else unicodedata.normalize("NFD", name)


def _spelled(name: str, there: list[str]) -> str:
    """Return how a *name* is spelled among those that are *there*."""
    if name in there:
        return name
    return next((each for each in there if comparable(each) == comparable(name)), name)


def _may_be_chat(path: str) -> bool:
    """Whether there is a file, or something that nobody can tell from one."""
    try:
        return S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _links_in(root: Path, folder: str) -> Iterator[str]:
    try:
        with os.scandir(root / folder) as entries:
            # Windows has links that Python does not know of.
            links = [entry.name for entry in entries if (is_link(entry.path) if IS_WINDOWS else entry.is_symlink())]
            yield from [f"{folder}/{name}" for name in links]
    except OSError:
        return


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
