"""Timed effects: sticky and cooldown of lorebook entries, kept in the chat's metadata.

SillyTavern finds the entry of an effect by a hash that covers the book's name, so in a clone an effect goes on only
when it is keyed and hashed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forklore.channels.cut import Channel, Earlier
from forklore.channels.lorebook import BookCut
from forklore.formats.json_text import encode, parse_object
from forklore.formats.lorebook_json import Lorebook
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Drop, Edit, Put

_KEY = "timedWorldInfo"


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    stored = parent.metadata.get(_KEY)
    groups = stored if isinstance(stored, dict) else {}
    understood = stored is None or (
        isinstance(stored, dict) and all(isinstance(keys, dict) for keys in stored.values())
    )
    book, clone = parent.book, point.clone_name
    effects = [(group, key) for group, keys in groups.items() if isinstance(keys, dict) for key in keys]
    if book is None or clone is None:
        return Cut(carried=(_KEY,) if (effects or not understood) and not point.is_head else ())
    ours = [(group, key) for group, key in effects if _is_of(book, key)]
    entries = _clone_entries(book, earlier["lorebook"].value) if ours else {}
    edits: list[Edit] = []
    left_out = False
    for group, key in ours:
        edits.append(Drop((_KEY, group, key)))
        effect, uid = groups[group][key], key.removeprefix(f"{book.name}.")
        if point.is_head or (uid in entries and _lasts(effect, parent, point)):
            edits.append(Put((_KEY, group, f"{clone}.{uid}"), encode(_renewed(effect, entries.get(uid), clone))))
        else:
            left_out = True
    return Cut(
        edits=tuple(edits),
        left_out=(_KEY,) if left_out else (),
        carried=(_KEY,) if (len(ours) < len(effects) or not understood) and not point.is_head else (),
    )


def _renewed(effect: Any, entry: Mapping[str, Any] | None, clone: str) -> Any:
    if entry is None or not isinstance(effect, dict):
        return effect  # an effect that SillyTavern finds no entry for either
    from forklore.model.javascript import entry_hash  # noqa: PLC0415  # few chats have an effect to renew

    return {**effect, "hash": entry_hash(entry, clone)}


def _is_of(book: Lorebook, key: str) -> bool:
    """Whether the effect *key* (``<world>.<uid>``) belongs to the book; a name may itself contain a dot."""
    uid = key.removeprefix(f"{book.name}.")
    return uid != key and uid.isdecimal()


def _lasts(effect: Any, parent: TimelineState, point: ForkPoint) -> bool:
    """Whether the effect was there at the fork point.

    Effects count the messages that the model saw. In the past that count can be compared with a message number only
    while no message of the whole chat is hidden.
    """
    start = effect.get("start") if isinstance(effect, dict) else None
    if not isinstance(start, int | float) or start > point.derived_upto + 1:
        return False
    hidden = parent.chat.messages_with(b'"is_system"', upto=parent.chat.message_count - 1)
    return not any(parent.chat.is_hidden(number) for number in hidden)


def _clone_entries(book: Lorebook, clone: BookCut) -> dict[str, Mapping[str, Any]]:
    """Return the clone's entries by their UID."""
    entries = parse_object(clone.data)["entries"] if clone.data is not None else book.entries
    return {str(entry.get("uid")): entry for entry in entries.values() if isinstance(entry, dict)}


CHANNEL = Channel("timed_effects", frozenset({_KEY}), _cut)
