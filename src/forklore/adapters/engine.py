"""The engine: applies the rows of every extension to metadata, messages and entries. It knows none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from forklore.adapters.fork import Fork
from forklore.adapters.row import (
    EACH_ITEM,
    EACH_VALUE,
    ENTRY,
    GONE,
    MESSAGE,
    METADATA,
    SETTINGS,
    Adapter,
    Row,
    item_of,
    places,
    steps_of,
)
from forklore.adapters.rules import CloneBook, CopyTo, DropBeyond, Show, Unhide, WhenGone, Write, filled, is_number
from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_text import encode
from forklore.formats.lorebook_json import Lorebook
from forklore.model.cut import Cut
from forklore.model.names import book_key
from forklore.model.plan import Drop, Edit, JsonPath, Put, Take


class NamedBook(NamedTuple):
    """A lorebook that a timeline has for itself."""

    name: str
    role: str


def books_named(
    metadata: Mapping[str, Any], chat: Chat | None, adapters: Iterable[Adapter], *, upto: int | None = None
) -> list[NamedBook]:
    """Return the lorebooks, besides the chat's own, that extensions keep for this timeline alone.

    Of the messages, those up to *upto* are asked.
    """
    found: dict[str, NamedBook] = {}
    for adapter in adapters:
        for row in adapter.rows:
            if not isinstance(row.always, CloneBook):
                continue
            holders = [metadata] if row.target == METADATA else _messages(chat, adapter, upto)
            for holder in holders:
                for _, name in _message_places(holder, row) if row.target == MESSAGE else places(holder, row.path):
                    if isinstance(name, str) and name:
                        found.setdefault(book_key(name, folds=False), NamedBook(name, row.always.role))
    return list(found.values())


def books_in(metadata: Mapping[str, Any], adapters: Iterable[Adapter]) -> tuple[str, ...]:
    """Return the names of the lorebooks that extensions keep for a timeline, as its metadata has them."""
    return tuple(book.name for book in books_named(metadata, None, adapters))


def _messages(chat: Chat | None, adapter: Adapter, upto: int | None) -> Iterator[Mapping[str, Any]]:
    if chat is not None and adapter.in_messages:
        for number in chat.messages_with(adapter.in_messages, upto=chat.message_count - 1 if upto is None else upto):
            yield chat.message(number)


# --- metadata -----------------------------------------------------------------------------------------------------


def cut_metadata(fork: Fork, adapters: Iterable[Adapter]) -> Cut:
    """Return the changes to the metadata; what a row has no rule for in the past is carried and named."""
    puts: list[Put] = []
    gone: dict[JsonPath, Edit] = {}
    carried: set[str] = set()
    looked_after: set[str] = set()
    left_out: set[str] = set()
    for adapter in adapters:
        for row in adapter.rows:
            if row.target != METADATA:
                continue
            for at, value in places(fork.metadata, row.path):
                new = _ruled(row, value, fork)
                if new is GONE:
                    gone |= _goes(fork.metadata, at, row)
                    left_out.add(str(at[0]))
                elif _is_other(new, value):
                    puts.append(Put(at, encode(new)))
                if len(at) == 1:
                    (carried if row.always is None and row.past is None else looked_after).add(str(at[0]))
            puts.extend(_missing(row, fork))
    if fork.point.is_head:
        carried, left_out = set(), set()
    return Cut(
        edits=tuple(_in_order(puts, gone)),
        carried=tuple(sorted(carried - looked_after)),
        left_out=tuple(sorted(left_out)),
    )


def _ruled(row: Row, value: Any, fork: Fork) -> Any:
    for rule in row.rules(is_head=fork.point.is_head):
        value = rule(value, fork)
        if value is GONE:
            break
    return value


def _is_other(new: Any, value: Any) -> bool:
    return new is not value and encode(new) != encode(value)


def _goes(holder: Any, at: JsonPath, row: Row) -> dict[JsonPath, Edit]:
    """Return what removes a place, or the item of a list that it belongs to, by where that is."""
    is_item = row.goes == "item" or isinstance(row.past, DropBeyond)
    place = item_of(at, row.path) if is_item else at
    if not isinstance(place[-1], int):
        return {place: Drop(place)}
    for step in place:
        holder = holder[step]
    return {place: Take(place[:-1], encode(holder))}


def _in_order(puts: Iterable[Put], gone: Mapping[JsonPath, Edit]) -> Iterator[Edit]:
    """Yield first what changes, while every number in a list still counts; an item goes by what it was."""
    for put in puts:
        if not any(put.path[: len(place)] == place for place in gone):
            yield put
    yield from gone.values()


def _missing(row: Row, fork: Fork) -> Iterator[Put]:
    """Yield what a row writes that is not there yet, where its extension is at work."""
    if isinstance(row.always, Write) and row.always.makes_in == fork.point.kind:
        is_at_work = isinstance(fork.metadata.get(row.key), dict)
        if is_at_work and not any(places(fork.metadata, row.path)):
            yield Put(steps_of(row.path), encode(_ruled(row, None, fork)))


def looks_after(key: str, adapters: Iterable[Adapter]) -> bool:
    """Whether a row speaks of this metadata key."""
    return any(
        row.target == METADATA and fnmatchcase(key, row.key) and _covers_whole(row.path)
        for adapter in adapters
        for row in adapter.rows
    )


def _covers_whole(path: str) -> bool:
    """Whether a row speaks of all that a key holds: the key itself, or every item of it."""
    return all(step in (EACH_ITEM, EACH_VALUE) for step in steps_of(path)[1:2])


# --- entries ------------------------------------------------------------------------------------------------------


class CutEntries(NamedTuple):
    """What becomes of the entries of one lorebook."""

    edits: tuple[Edit, ...] = ()
    gone: tuple[Any, ...] = ()
    """The UIDs of those that went."""
    unhidden: tuple[tuple[int, int], ...] = ()
    """The messages that they covered: the first and the last of each."""
    kept: Mapping[str, tuple[Any, ...]] = {}  # a tuple's default is never changed
    """What those that stay have in the fields that rows know."""


NOTHING_CUT = CutEntries()


def cut_entries(book: Lorebook, fork: Fork, adapters: Iterable[Adapter]) -> CutEntries:
    """Return what rows change in the entries of a clone that is to have the content of *book*."""
    chosen = [adapter for adapter in adapters if adapter.in_entries and book.holds(adapter.in_entries)]
    if not chosen:
        return NOTHING_CUT
    rows = [row for adapter in chosen for row in adapter.rows if row.target == ENTRY]
    entries = {key: entry for key, entry in book.entries.items() if isinstance(entry, dict)}
    puts: dict[str, list[Edit]] = {}
    gone: dict[str, Any] = {}
    unhidden: list[tuple[int, int]] = []
    for key, entry in entries.items():
        for row in rows:
            for at, value in _entry_places(entry, row):
                new = _ruled(row, value, fork)
                if new is GONE:
                    gone[key] = entry.get("uid")
                    unhidden.extend(_covered(row, entry))
                elif _is_other(new, value):
                    puts.setdefault(key, []).append(Put(("entries", key, *at), encode(new)))
    staying = {key: entry for key, entry in entries.items() if key not in gone}
    edits: list[Edit] = [edit for key in staying for edit in puts.get(key, ())]
    edits += [edit for key, entry in staying.items() for edit in _after_gone(key, entry, rows, gone)]
    edits += [Drop(("entries", key)) for key in gone]
    return CutEntries(tuple(edits), tuple(gone.values()), tuple(unhidden), _kept(staying.values(), rows))


def _kept(entries: Iterable[Mapping[str, Any]], rows: list[Row]) -> dict[str, tuple[Any, ...]]:
    kept: dict[str, list[Any]] = {}
    for entry in entries:
        for row in rows:
            kept.setdefault(row.path, []).extend(value for _, value in _entry_places(entry, row))
    return {path: tuple(values) for path, values in kept.items()}


def _entry_places(entry: Mapping[str, Any], row: Row) -> Iterator[tuple[JsonPath, Any]]:
    return iter(()) if row.when and not entry.get(row.when) else places(entry, row.path)


def _covered(row: Row, entry: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    then = row.past.then if isinstance(row.past, DropBeyond) else None
    if isinstance(then, Unhide):
        first, last = entry.get(then.first), entry.get(then.last)
        if is_number(first) and is_number(last):
            yield int(first), int(last)


def _after_gone(key: str, entry: Mapping[str, Any], rows: list[Row], gone: Mapping[str, Any]) -> Iterator[Edit]:
    """Yield what changes in an entry because another one went."""
    uids = {str(uid) for uid in gone.values()}
    for row in rows:
        if isinstance(row.past, WhenGone):
            for at, value in _entry_places(entry, row):
                if str(value) in uids:
                    yield from (Put(("entries", key, name), encode(new)) for name, new in row.past.put.items())
                    yield Drop(("entries", key, *at))


# --- messages -----------------------------------------------------------------------------------------------------


class CutMessages(NamedTuple):
    """What becomes of the messages that a fork takes along."""

    edits: Mapping[int, list[Edit]]
    """By their numbers."""
    shown: frozenset[int]
    """Those that are shown to the model again."""


def cut_messages(fork: Fork, adapters: Iterable[Adapter]) -> CutMessages:
    """Return what rows change in the messages that the fork takes along."""
    changed: dict[int, list[Edit]] = {}
    shown: set[int] = set()
    for adapter in adapters:
        rows = [row for row in adapter.rows if row.target == MESSAGE]
        if not rows or not adapter.in_messages:
            continue
        for number in fork.chat.messages_with(adapter.in_messages, upto=fork.point.at):
            message = fork.chat.message(number)
            puts: list[Put] = []
            gone: dict[JsonPath, Edit] = {}
            for row in rows:
                for at, value in _message_places(message, row):
                    new = _ruled(row, value, fork)
                    if new is GONE:
                        gone |= _goes(message, at, row)
                        if isinstance(row.past, Show):
                            shown.add(number)
                    elif _is_other(new, value):
                        # Only while it says so: the fork may show another swipe.
                        puts.append(Put(at, encode(new), only_if=encode(value)))
            if puts or gone:
                edits = _in_order(puts, gone)
                shows_another = number > fork.last
                changed.setdefault(number, []).extend(_in_all_swipes(edits, message) if shows_another else edits)
    return CutMessages(changed, frozenset(shown))


def _message_places(message: Mapping[str, Any], row: Row) -> Iterator[tuple[JsonPath, Any]]:
    """Yield the places in a message; what is in ``extra`` stands in the notes of its swipes as well."""
    yield from places(message, row.path)
    if row.path.startswith("extra."):
        yield from places(message, f"swipe_info[].{row.path}")


def _in_all_swipes(edits: Iterable[Edit], message: Mapping[str, Any]) -> Iterator[Edit]:
    """Yield edits for wherever something may stand once the message shows another swipe, which moves what is noted."""
    notes = message.get("swipe_info")
    heads: list[JsonPath] = [("extra",)]
    heads += (("swipe_info", number, "extra") for number in range(len(notes) if isinstance(notes, list) else 0))
    for edit in edits:
        head = next((head for head in heads if edit.path[: len(head)] == head), None)
        if head is None:
            yield edit
        else:
            yield from (edit._replace(path=(*each, *edit.path[len(head) :])) for each in heads)


# --- settings -----------------------------------------------------------------------------------------------------


def settings_steps(
    adapters: Iterable[Adapter], renamed: Mapping[str, Mapping[str, str]], gone: Mapping[str, list[Any]]
) -> list[dict[str, Any]]:
    """Return what SillyTavern's page copies in its settings.

    *renamed* says what is called how in the fork: lorebooks under ``lorebook``, the chat under ``chat``. *gone* are the
    UIDs that a clone has no more, by its name.
    """
    steps: list[dict[str, Any]] = []
    for adapter in adapters:
        for row in adapter.rows:
            if row.target != SETTINGS or not isinstance(row.always, CopyTo):
                continue
            path, _, what = row.path.partition("[{")
            for old, new in renamed.get(what.removesuffix("}]"), {}).items():
                steps.append(
                    {
                        "path": path.split("."),
                        "old": old,
                        "new": new,
                        "put": filled(dict(row.always.put), {"clone": new}),
                        "lists": row.always.prune,
                        "uids": gone.get(new, []) if row.always.prune else [],
                    }
                )
    return steps
