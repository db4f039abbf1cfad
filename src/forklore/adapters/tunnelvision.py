"""TunnelVision: tools that write into the chat's lorebook, and an undo log of the last turns.

The log names the lorebooks it speaks of, and after a swipe or a deletion they are changed: in a fork it must name the
fork's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from forklore.adapters.fork import Fork
from forklore.adapters.row import ENTRY, GONE, METADATA, SETTINGS, Adapter, Anchor, Row
from forklore.adapters.rules import Clamp, CopyTo, FreshId, LeaveOut, RePoint

if TYPE_CHECKING:
    from forklore.gathered.timeline import TimelineState

_LOG, _CHAT_ID, _MESSAGE_ID = "tunnelvision_snapshots", "tunnelvision_chat_identity", "tunnelvision_message_id"
_FRESH = FreshId("tvchat_{uuid}")
_TRACKER = "!tv_tracker:"
_TURNS_KEPT = 20


def _turns_of_the_fork(log: Any, fork: Fork) -> Any:
    """Return the log of those turns that the fork has, about its own lorebooks alone."""
    known = fork.ids(_MESSAGE_ID)
    turns = log.items() if isinstance(log, dict) else ()
    kept = {key: _renamed(turn, fork) for key, turn in turns if isinstance(turn, dict) and _message_of(key) in known}
    return kept or GONE


def _message_of(key: str) -> str | None:
    """Return the id of the message in ``v2:<message>:<fingerprint>``; an older log tells none."""
    version, _, rest = key.partition(":")
    return rest.partition(":")[0] if version == "v2" else None


def _renamed(turn: Mapping[str, Any], fork: Fork) -> dict[str, Any]:
    created = [
        {**each, "bookName": clone}
        for each in _items(turn.get("createdUids"))
        if isinstance(each, dict) and (clone := fork.clone_of(each.get("bookName")))
    ]
    modified = {f"{clone}:{uid}": entry for book, uid, entry in _modified(turn) if (clone := fork.clone_of(book))}
    trees = {
        clone: {**tree, "lorebookName": clone} if isinstance(tree, dict) and "lorebookName" in tree else tree
        for book, tree in _members(turn.get("treeState"))
        if (clone := fork.clone_of(book))
    }
    return {**turn, "createdUids": created, "modifiedEntries": modified, "treeState": trees}


def _modified(turn: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key, entry in _members(turn.get("modifiedEntries")):
        book, _, uid = key.rpartition(":")
        yield book, uid, entry


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _members(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _tracker_of_the_fork(key: Any, fork: Fork) -> Any:
    """Return the mark that ties an entry to a message of this chat, as the fork has it."""
    version, chat, message, rest = _tracker(key)
    if version != "v2" or chat != fork.metadata.get(_CHAT_ID):
        return key
    return f"{_TRACKER}v2:{_FRESH(None, fork)}:{message}:{rest}"


def _only_known_messages(key: Any, fork: Fork) -> Any:
    """Return that an entry is gone which a later message made."""
    version, chat, message, _ = _tracker(key)
    is_ours = version == "v2" and chat in (_FRESH(None, fork), fork.metadata.get(_CHAT_ID))
    if is_ours and message not in fork.ids(_MESSAGE_ID):
        return GONE
    return GONE if version.isdecimal() and int(version) > fork.last else key


def _tracker(key: Any) -> tuple[str, str, str, str]:
    if not isinstance(key, str) or not key.startswith(_TRACKER):
        return "", "", "", ""
    version, chat, message, rest = (*key.removeprefix(_TRACKER).split(":", 3), "", "", "")[:4]
    return version, chat, message, rest


def _book_then(parent: TimelineState, book: str, upto: int) -> Anchor | None:
    """Return the entries of a lorebook with every turn after *upto* undone, newest first.

    The log has the last turns alone: where it does not reach back far enough, it says nothing.
    """
    log, content = parent.metadata.get(_LOG), next((each.content for each in parent.books if each.name == book), None)
    turns = [(key, turn) for key, turn in _members(log) if isinstance(turn, dict)]
    if content is None or not turns:
        return None
    numbers = _message_numbers(parent, {_message_of(key) for key, _ in turns})
    if any(_message_of(key) not in numbers for key, _ in turns):
        return None  # a turn whose message is not there: nobody knows when it was
    if len(turns) >= _TURNS_KEPT and min(numbers.values()) > upto:
        return None
    entries = {key: entry for key, entry in content.entries.items() if isinstance(entry, dict)}
    by_uid = {str(entry.get("uid")): key for key, entry in entries.items()}
    later = [(numbers[str(_message_of(key))], turn) for key, turn in turns if numbers[str(_message_of(key))] > upto]
    for _, turn in sorted(later, key=lambda each: each[0], reverse=True):
        for named, uid, before in _modified(turn):
            if named == book and isinstance(before, dict):
                place = by_uid.setdefault(uid, uid)
                entries[place] = {**entries.get(place, {}), **before}
        for made in _items(turn.get("createdUids")):
            if isinstance(made, dict) and made.get("bookName") == book:
                entries.pop(by_uid.get(str(made.get("uid")), ""), None)
    return Anchor(upto, entries, is_whole=False)


def _message_numbers(parent: TimelineState, wanted: set[str | None]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    chat = parent.chat
    for number in chat.messages_with(b'"%b"' % _MESSAGE_ID.encode(), upto=chat.message_count - 1):
        found = chat.message(number).get(_MESSAGE_ID)
        if found in wanted and isinstance(found, str):
            numbers[found] = number
    return numbers


_SETTINGS = "extension_settings.tunnelvision"

ADAPTER = Adapter(
    "TunnelVision",
    "a01d7ee",
    (
        Row(METADATA, _LOG, always=_turns_of_the_fork),
        Row(METADATA, _CHAT_ID, always=_FRESH),
        Row(METADATA, "tunnelvision_selected_book", always=RePoint("lorebook")),
        Row(METADATA, "tunnelvision_worldstate", past=LeaveOut()),
        Row(METADATA, "tunnelvision_arcs", past=LeaveOut()),
        Row(METADATA, "tunnelvision_last*MsgIdx", past=Clamp()),
        Row(METADATA, "tunnelvision_*.last*MsgIdx", past=Clamp()),
        Row(METADATA, "tunnelvision_*"),
        Row(ENTRY, "key[]", always=_tracker_of_the_fork, past=_only_known_messages),
        Row(SETTINGS, f"{_SETTINGS}.enabledLorebooks[{{lorebook}}]", always=CopyTo()),
        Row(SETTINGS, f"{_SETTINGS}.trees[{{lorebook}}]", always=CopyTo({"lorebookName": "{clone}"}, "entryUids")),
        Row(SETTINGS, f"{_SETTINGS}.bookDescriptions[{{lorebook}}]", always=CopyTo()),
        Row(SETTINGS, f"{_SETTINGS}.bookPermissions[{{lorebook}}]", always=CopyTo()),
        Row(SETTINGS, f"{_SETTINGS}.bookInjectionModes[{{lorebook}}]", always=CopyTo()),
        Row(SETTINGS, f"{_SETTINGS}.trackerUids[{{lorebook}}]", always=CopyTo(prune="*")),
    ),
    in_entries=_TRACKER.encode(),
    anchor=_book_then,
)
