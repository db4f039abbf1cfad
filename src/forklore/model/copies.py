"""Copies: which of several chats that are the same story is the original, and which were copied from it.

SillyTavern copies a whole chat when it is imported, restored from a backup or converted to a group's. Nothing in the
copy names the original, but its header and its beginning are the same.
"""

from __future__ import annotations

import re

from forklore.model.timeline import ChatFacts

_STAMP = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m ?(\d{1,2})s(?: ?(\d{1,3})ms)?")
_IMPORTED = " imported"  # how SillyTavern names what it imports

Signs = tuple[bool, bool, bool]


def signs_of_a_copy(chat: ChatFacts) -> Signs:
    """Return what tells a copy for certain, the strongest sign first; the chat with the lesser signs is the original.

    What was recorded under its own name was not copied. A chat is converted to a group's, never back.
    """
    return chat.kind is None, chat.folder.startswith("group:"), _IMPORTED in chat.name


def originals_first(chat: ChatFacts) -> tuple[Signs, tuple[int, ...], int, str]:
    """Return what sorts an original before its copies: signs, when it was begun, when it was last written."""
    return signs_of_a_copy(chat), _begun(chat.name), chat.written_ns, chat.address


def _begun(name: str) -> tuple[int, ...]:
    """Return the time in a chat's name; somebody who gave it another name knows it, so none stands first."""
    stamp = _STAMP.search(name)
    return tuple(int(part or 0) for part in stamp.groups()) if stamp else ()
