"""How a chat is addressed: ``<folder>/<chat name>`` or ``group:<group id>/<chat name>``."""

from __future__ import annotations

from typing import NamedTuple

_GROUP_PREFIX = "group:"


class ChatAddress(NamedTuple):
    """One chat of a workspace: the folder (avatar file stem) or ``group:<id>``, and the name without ``.jsonl``."""

    folder: str
    name: str

    @classmethod
    def parse(cls, text: str) -> ChatAddress | None:
        """Return the address that *text* spells, or None when it has no folder part."""
        folder, slash, name = text.partition("/")
        return cls(folder, name) if slash and name else None

    @classmethod
    def of_group(cls, group_id: str, name: str) -> ChatAddress:
        """Return the address of a chat of a group."""
        return cls(_GROUP_PREFIX + group_id, name)

    @property
    def is_group(self) -> bool:
        """Whether this is a group chat."""
        return self.folder.startswith(_GROUP_PREFIX)

    @property
    def group_id(self) -> str:
        """The id of the group, empty for a solo chat."""
        return self.folder.removeprefix(_GROUP_PREFIX) if self.is_group else ""

    def sibling(self, name: str) -> ChatAddress:
        """Return the address of the chat called *name* beside this one."""
        return ChatAddress(self.folder, name)

    def means(self, chat: str) -> bool:
        """Whether *chat* is an address of the same chat: one that several groups list has several."""
        other = ChatAddress.parse(chat)
        return other is not None and (other.name, place_of(other.folder)) == (self.name, place_of(self.folder))

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"


def place_of(folder: str) -> str:
    """Return where the chats of a folder lie: those of all groups in one place, also those that no group lists."""
    return _GROUP_PREFIX if folder.startswith(_GROUP_PREFIX) else folder
