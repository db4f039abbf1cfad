"""Stories in which every place that rows speak of holds something: of the past, and of what comes later.

What comes later is marked, so that nothing of it can hide in a fork: it is ``later``, or of message 9.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import pytest

import forklore
from forklore.adapters.row import ENTRY, MESSAGE, METADATA, Adapter, Row, steps_of
from forklore.adapters.rules import (
    Clamp,
    CloneBook,
    DropBeyond,
    FreshId,
    Keep,
    LeaveOut,
    NullBeyond,
    RePoint,
    Show,
    Unhide,
    WhenGone,
    Write,
)
from forklore.app.forklore import Forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import Json, write_workspace

AT, EARLY, LATE = 4, 2, 9
CHAT, BOOK, OLD_ID = "Parent-chat", "Parent-book", "tvchat_parent"
ADDRESS = f"Mira/{CHAT}"
KNOWN, LATER = "known", "later"
LATE_UID = 900
HIDDEN = (1, 2)
OURS = ("forklore", "auto_recap_checkpoint_state", "main_chat", "integrity")
"""What Forklore and SillyTavern themselves write into a fork."""

_OF_LATER = re.compile(rf"{LATER}|message-{LATE}|T18:0{LATE}")


# --- what stands in a place ---------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """What a row's place may hold."""

    early: Any
    late: Any


def sent(number: int) -> str:
    return f"2026-11-15T18:0{number}:00.000Z"


def _turn(number: int, note: str) -> Json:
    return {
        "createdUids": [{"bookName": BOOK, "uid": LATE_UID if number == LATE else 1}],
        "modifiedEntries": {f"{BOOK}:7": {"content": "a cook"}},
        "treeState": {BOOK: {"lorebookName": BOOK, "note": note}},
    }


_TURNS = {"v2:message-2:ab": _turn(EARLY, KNOWN), "v2:message-9:cd": _turn(LATE, LATER)}

OWN: dict[str, Sample] = {
    "tunnelvision_snapshots": Sample({}, _TURNS),
    "key[]": Sample(f"!tv_tracker:v2:{OLD_ID}:message-2:ab", f"!tv_tracker:v2:{OLD_ID}:message-9:cd"),
    "openvault.memories[].message_fingerprints": Sample([sent(0), sent(EARLY)], [sent(EARLY), sent(LATE)]),
    "openvault.scenes[].message_fingerprints": Sample([sent(EARLY)], [sent(LATE)]),
    "openvault.processed*": Sample([], [sent(EARLY), sent(LATE)]),
    "rpg_companion.lastGeneratedData": Sample({}, {"turn": LATE}),
    "rpg_companion.committedTrackerData": Sample({}, {"turn": LATE}),
    "variables.stat_data": Sample({}, {"turn": LATE}),
    "horae_meta.autoSummaries[].range": Sample([0, EARLY], [EARLY, LATE]),
    "summaryception.layers": Sample(
        [],
        [[{"text": KNOWN, "turnRange": [0, EARLY]}, {"text": LATER, "turnRange": [3, LATE]}], [{"text": LATER}]],
    ),
}
"""What stands where a rule is a function of the extension's own: whoever writes such a rule writes one line here."""

ON_MESSAGES: dict[str, Callable[[int], Json]] = {
    "TunnelVision": lambda number: {"tunnelvision_message_id": f"message-{number}"},
    "Tavern Helper": lambda number: {"swipe_id": 0, "variables": [{"stat_data": {"turn": number}}]},
    "RPG Companion": lambda number: {"extra": {"rpg_companion_swipes": {"0": {"turn": number}}}},
}
"""What such a rule looks for on messages."""


_OF_RULES: dict[type, Callable[[Any], Sample]] = {
    CloneBook: lambda rule: Sample(BOOK, f"{BOOK} {rule.role}"),
    RePoint: lambda rule: Sample(BOOK, BOOK) if rule.what == "lorebook" else Sample(CHAT, CHAT),
    FreshId: lambda _: Sample(OLD_ID, OLD_ID),
    Clamp: lambda _: Sample(EARLY, LATE),
    NullBeyond: lambda _: Sample(EARLY, LATE),
    DropBeyond: lambda _: Sample(EARLY, LATE),
    LeaveOut: lambda _: Sample(LATER, LATER),
    Show: lambda _: Sample(early=True, late=True),
    WhenGone: lambda _: Sample(LATE_UID, LATE_UID),
    Keep: lambda _: Sample(KNOWN, KNOWN),
    Write: lambda _: Sample(KNOWN, KNOWN),
    NoneType: lambda _: Sample(KNOWN, KNOWN),
}


def sample(row: Row) -> Sample:
    """Return what a row's place may hold."""
    rule = row.past or row.always
    return _OF_RULES[type(rule)](rule) if type(rule) in _OF_RULES else OWN[row.path]


def _drops(row: Row) -> bool:
    return isinstance(row.past, DropBeyond) or row.goes == "item"


def _held(row: Row, steps: tuple[str, ...], *, late: bool) -> Any:
    """Return what stands where *steps* begin; a list has two of the future side by side."""
    if not steps:
        return sample(row).late if late else sample(row).early
    if steps[0] == "[]":
        return [_noted(row, _held(row, steps[1:], late=each), late=each) for each in (False, True, True)]
    if steps[0] == "{}":
        return {str(each): _held(row, steps[1:], late=each) for each in (False, True)}
    return {steps[0].replace("*", "Any"): _held(row, steps[1:], late=late)}


def _noted(row: Row, item: Any, *, late: bool) -> Any:
    return {**item, "note": LATER if late and _drops(row) else KNOWN} if isinstance(item, dict) else item


def _merged(one: Any, other: Any) -> Any:
    """Return two values in one; where both are lists, item by item."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{key: _merged(one[key], held) if key in one else held for key, held in other.items()}}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_merged(*pair) for pair in zip(one, other, strict=True)]
    return one


def _filled(adapters: Iterable[Adapter], target: str) -> Json:
    """Return all that the rows for one target speak of; the deepest first, so that none hides another."""
    rows = [row for adapter in adapters for row in adapter.rows if row.target == target]
    whole: Json = {}
    for row in sorted(rows, key=lambda row: -len(steps_of(row.path))):
        whole = _merged(whole, _held(row, steps_of(row.path), late=True))
    return whole


def _entry(adapter: Adapter, number: int, *, late: bool) -> Json:
    """Return an entry that goes, or one that stays with all that can be wrong in it."""
    content = f"{adapter.name}, {LATER}" if late else adapter.name
    made = stories.entry(number, adapter.name, content, disable=True)
    for row in adapter.rows:
        if row.target == ENTRY:
            goes = row.past is not None and not isinstance(row.past, Clamp | WhenGone)
            steps = steps_of(row.path)
            value = _held(row, tuple(step for step in steps if step != "[]"), late=late or not goes)
            made |= {key: [held] if "[]" in steps else held for key, held in value.items()}
            if row.when:
                made[row.when] = True
            if isinstance(row.past, DropBeyond) and row.past.then:
                made[row.past.then.first] = HIDDEN[0]
    return made


# --- a story ------------------------------------------------------------------------------------------------------


def hides(adapter: Adapter) -> bool:
    return any(
        isinstance(row.past, Show) or (isinstance(row.past, DropBeyond) and isinstance(row.past.then, Unhide))
        for row in adapter.rows
    )


def _message(number: int, adapters: tuple[Adapter, ...]) -> Json:
    is_hidden = number in HIDDEN and any(map(hides, adapters))
    text = f"Turn {number}, {LATER if number > AT else KNOWN}."
    made = stories.message(text, is_system=is_hidden, send_date=sent(number))
    if number in (0, *HIDDEN, LATE):
        made = _merged(made, _filled(adapters, MESSAGE))
        for find in (ON_MESSAGES[adapter.name] for adapter in adapters if adapter.name in ON_MESSAGES):
            made = _merged(made, find(number))
    if number == EARLY:
        made |= {"swipe_id": 0, "swipes": [text], "swipe_info": [{"extra": dict(made["extra"])}]}
    return made


def fill(root: Path, adapters: tuple[Adapter, ...]) -> Forklore:
    """Write a story in which every row of the *adapters* has something to do."""
    entries = [stories.entry(7, "Mira", "a cook")]
    for number, adapter in enumerate(adapters):
        if adapter.in_entries:
            entries += [_entry(adapter, 10 + number, late=False), _entry(adapter, LATE_UID, late=True)]
    books = {BOOK: _book(entries, BOOK)}
    for row in (row for adapter in adapters for row in adapter.rows):
        if isinstance(row.always, CloneBook):
            books[sample(row).late] = _book(entries, sample(row).late)
    metadata = {"world_info": BOOK, **_filled(adapters, METADATA)}
    messages = [_message(number, adapters) for number in range(LATE + 1)]
    files = stories.solo_files(CHAT, metadata, messages, books=books)
    return forklore.open(write_workspace(root, files), disk=HastyDisk())


def _book(entries: list[Json], name: str) -> Json:
    return {"entries": {str(number): each for number, each in enumerate(entries)}, "name": name}


def teach(patch: pytest.MonkeyPatch, adapter: Adapter) -> None:
    """Let everybody know of one more extension."""
    more = {"ADAPTERS": (adapter,), "IN_MESSAGES": (adapter.in_messages,), "IN_ENTRIES": (adapter.in_entries,)}
    for name, module in list(sys.modules.items()):
        for table, new in more.items():
            if name.startswith("forklore.") and isinstance(getattr(module, table, None), tuple):
                patch.setattr(module, table, (*getattr(module, table), *filter(None, new)))


# --- looking at it ------------------------------------------------------------------------------------------------


class Timeline(NamedTuple):
    """A timeline as its files have it, without what Forklore says of it."""

    metadata: Json
    messages: list[Json]
    books: dict[str, Json]


def read(root: Path, chat: str, books: Iterable[str]) -> Timeline:
    header, *messages = map(json.loads, (root / f"chats/Mira/{chat}.jsonl").read_bytes().splitlines())
    metadata = {key: held for key, held in header["chat_metadata"].items() if key not in OURS}
    return Timeline(
        metadata, messages, {name: json.loads((root / f"worlds/{name}.json").read_bytes()) for name in books}
    )


def leaves(value: Any) -> Iterator[Any]:
    """Yield all that stands in a value, and the names of its members."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def of_later(value: Any) -> list[Any]:
    """Return what in a value comes from after the fork point."""
    return [each for each in leaves(value) if each in (LATE, LATE_UID) or _OF_LATER.search(str(each))]


def renamed(timeline: Timeline, names: Mapping[str, str]) -> Timeline:
    """Return a timeline with other names for things, wherever they stand in a text."""
    return Timeline(*(_renamed(part, names) for part in timeline))


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    if isinstance(value, str):
        return pattern.sub(lambda found: names[found[0]], value)
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(held, names) for key, held in value.items()}
    return [_renamed(each, names) for each in value] if isinstance(value, list) else value
