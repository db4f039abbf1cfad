"""The lorebook: a byte copy at the head, the last trustworthy scene snapshot in the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from forklore.adapters import ADAPTERS
from forklore.adapters.engine import NOTHING_CUT, CutEntries, cut_entries
from forklore.adapters.fork import Fork
from forklore.channels.cut import Channel, Earlier
from forklore.channels.queue import emptied
from forklore.channels.scenes import Scene
from forklore.channels.survey import Survey
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import encode, to_bytes, to_text
from forklore.formats.lorebook_json import (
    QUEUE_COMMENT,
    Lorebook,
    Outline,
    comment_of,
    known_as,
    parse_lorebook,
    retitled,
)
from forklore.gathered.timeline import BookState, TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Drop, Edit, Put

_KEY = "world_info"
_NOT_OF_THE_ENTRY = {"world", "strategy", "keysecondary"}  # snapshots add the first two and always empty the third
_WHOLE_BOOKS = {"originalData"}  # the book as it was imported, or as a card has it: all entries once more


@dataclass(frozen=True, slots=True)
class BookCut:
    """A book of the fork."""

    source: str
    """``live``, ``scene-snapshot``, ``anchor``, ``present`` or ``none``; ``history`` is for a later capability."""
    outline: Outline = field(default_factory=Outline)
    data: bytes | None = None
    """The clone's bytes where they differ from the parent's book; None: the same bytes."""
    scene: Scene | None = None
    entries: CutEntries = NOTHING_CUT
    """What became of the entries that extensions made."""


@dataclass(frozen=True, slots=True)
class Clone:
    """A lorebook of the parent, and what becomes of it in the fork."""

    name: str
    origin: BookState
    book: BookCut

    @property
    def gone(self) -> list[int]:
        """The UIDs that the original has and the clone has not, whoever left them out."""
        content = self.origin.content
        if content is None or self.book.data is None:
            return []
        stays = set(self.book.outline.uids)
        return [uid for uid in content.outline.uids if uid is not None and uid not in stays]

    def to_json(self) -> dict[str, Any]:
        """Return the clone as results list it."""
        return {
            "name": self.name,
            "original": self.origin.name,
            "role": self.origin.role,
            "entries": len(self.book.outline),
            "source": self.book.source,
        }

    def to_record(self) -> dict[str, Any]:
        """Return the clone as records list it: at the head, what is known before the lorebook is read."""
        recorded = {
            "name": self.name,
            "original": self.origin.name,
            "role": self.origin.role,
            "source": self.book.source,
        }
        return {**recorded, "gone": gone} if (gone := self.gone) else recorded


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    cut = book_at(parent, point.derived_upto, clone=point.clone_name, is_head=point.is_head)
    if parent.lorebook is not None and point.clone_name is not None:
        cut = with_rows(_from_anchor(cut, parent, parent.lorebook, point), parent, parent.lorebook, point)
    if cut.source == "none":
        # A list of several books, of which SillyTavern loads none, must not name the parent's in the fork either.
        named = bool(parent.metadata.get(_KEY))
        return Cut(
            cut,
            edits=(Drop((_KEY,)),) if named else (),
            left_out=(_KEY,) if named and not point.is_head else (),
        )
    carried, left_out = file_keys(parent.book, cut)
    return Cut(cut, edits=(Put((_KEY,), encode(point.clone_name)),), carried=carried, left_out=left_out)


def _cut_more(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    """Clone what extensions keep beside the chat's own lorebook; their rows name the clones."""
    del earlier
    clones: list[Clone] = []
    for origin in parent.more:
        name, book = point.clones.get(origin.name), origin.content
        if name is not None and name != origin.name and book is not None:
            whole = _whole(book, name, "live" if point.is_head else "present")
            cut = whole if point.is_head else _from_anchor(whole, parent, origin, point)
            clones.append(Clone(name, origin, with_rows(cut, parent, origin, point)))
    return Cut(tuple(clones))


def _from_anchor(cut: BookCut, parent: TimelineState, origin: BookState, point: ForkPoint) -> BookCut:
    """Return a book of the past as an extension kept it, where that is nearer to the message."""
    book, clone = origin.content, clone_of(origin, parent, point)
    if cut.source not in ("present", "scene-snapshot") or book is None or clone is None:
        return cut
    for adapter in ADAPTERS:
        anchor = adapter.anchor(parent, origin.name, point.derived_upto) if adapter.anchor else None
        if anchor is None or (cut.scene is not None and (not anchor.is_whole or anchor.message < cut.scene.message)):
            continue
        data = compose(book, anchor.entries, clone)
        return BookCut("anchor", parse_lorebook(clone, data).outline, data)
    return cut


def with_rows(cut: BookCut, parent: TimelineState, origin: BookState, point: ForkPoint) -> BookCut:
    """Return a book with what the rows of extensions say about its entries."""
    book, clone = origin.content, clone_of(origin, parent, point)
    if book is None or clone is None or cut.source == "none":
        return cut
    content = book if cut.data is None else parse_lorebook(clone, cut.data)
    entries = cut_entries(content, fork_of(parent, point), ADAPTERS)
    if not entries.edits:
        return replace(cut, entries=entries)
    data = to_bytes(apply_edits(to_text(content.data), entries.edits).text)
    return replace(cut, outline=parse_lorebook(clone, data).outline, data=data, entries=entries)


def clone_of(origin: BookState, parent: TimelineState, point: ForkPoint) -> str | None:
    """Return what the clone of a lorebook of the parent is called."""
    return point.clone_name if origin is parent.lorebook else point.clones.get(origin.name)


def fork_of(parent: TimelineState, point: ForkPoint, *entries: CutEntries) -> Fork:
    """Return what rules may ask; *entries* are the cuts of the lorebooks, as far as they are made."""
    books = dict(point.clones)
    if parent.book_name is not None and point.clone_name is not None:
        books[parent.book_name] = point.clone_name
    kept: dict[str, tuple[Any, ...]] = {}
    for each in entries:
        for path, values in each.kept.items():
            kept[path] = (*kept.get(path, ()), *values)
    return Fork(point, parent.chat, parent.metadata, books, kept)


def file_keys(book: Lorebook | None, cut: BookCut) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what of a book beside its entries comes from the present into one that does not, and what is left out."""
    if book is None or cut.source not in ("scene-snapshot", "anchor"):
        return (), ()
    others = [key for key in book.content if key not in ("entries", "name")]
    left_out = tuple(f"lorebook.{key}" for key in others if key in _WHOLE_BOOKS)
    return tuple(f"lorebook.{key}" for key in others if key not in _WHOLE_BOOKS), left_out


def book_at(
    parent: TimelineState, upto: int, *, clone: str | None, is_head: bool, survey: Survey | None = None
) -> BookCut:
    """Return the book as a fork has it that takes the messages 0…*upto* along; *clone* is its name there."""
    book = parent.book
    if book is None or clone is None:
        return BookCut("none")
    if is_head:
        return _whole(book, clone, "live")
    if scene := (survey or Survey(parent.chat)).snapshot_before(upto):
        data = _compose(book, scene, clone)
        return BookCut("scene-snapshot", parse_lorebook(clone, data).outline, data, scene)
    return _whole(with_idle_queue(book), clone, "present")


def book_from_snapshot(scene: Scene, name: str) -> bytes:
    """Return a book made of a scene's snapshot alone, for when the live book is lost."""
    return _compose(parse_lorebook(name, b'{"entries": {}}'), scene, name)


def empty_book(uid: int) -> bytes:
    """Return a book with nothing in it but an idle queue, as ST-Auto-Recap makes one; *uid* is the queue entry's."""
    queue = {
        "uid": uid,
        "key": [],
        "keysecondary": [],
        "comment": QUEUE_COMMENT,
        "content": encode({"queue": [], "current_operation_id": None, "paused": False, "version": 1}, indent=2),
        "constant": False,
        "disable": True,
        "order": 9999,
        "position": 0,
        "depth": 4,
        "excludeRecursion": True,
        "displayIndex": uid,
    }
    return to_bytes(encode({"entries": {str(uid): queue}}, indent=4))


def _whole(book: Lorebook, clone: str, source: str) -> BookCut:
    return BookCut(
        source, book.outline, retitled(book, clone) if book.title is not None or source == "present" else None
    )


def with_idle_queue(book: Lorebook) -> Lorebook:
    """Return the book with an empty queue: what waits in the present has no place in the past."""
    edits: list[Edit] = [
        Put(("entries", entry.key, "content"), encode(emptied(entry.content)))
        for entry in book.outline.queue_entries
        if entry.content and emptied(entry.content) != entry.content
    ]
    if not edits:
        return book
    return parse_lorebook(book.name, to_bytes(apply_edits(to_text(book.data), edits).text))


def _compose(book: Lorebook, scene: Scene, clone: str) -> bytes:
    """Return the book as it was after *scene*: its entries from the snapshot, all else from the live book."""
    twins = book.live_entries
    entries: dict[str, Any] = {}
    for old in scene.snapshot:
        key, live = twins.get(known_as(old), (None, None))
        entries[free_key(entries, key or str(old.get("uid")))] = as_it_was(old, live)
    return compose(book, entries, clone)


def compose(book: Lorebook, entries: Mapping[str, Any], clone: str) -> bytes:
    """Return a book with these *entries* by their keys, an idle queue, and all else from the live book."""
    ordered = dict(sorted(entries.items(), key=lambda item: _key_order(item[0])))
    for queue in book.outline.queue_entries:
        live = book.entries[queue.key]
        ordered[free_key(ordered, queue.key)] = {**live, "content": emptied(str(live.get("content") or ""))}
    whole = {key: value for key, value in book.content.items() if key not in _WHOLE_BOOKS} | {"entries": ordered}
    if "name" in whole:
        whole["name"] = clone
    # Laid out as SillyTavern writes a book.
    return to_bytes(encode(whole, indent=4))


def as_it_was(old: Mapping[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an entry of a snapshot as it was, with what snapshots do not keep from its *live* twin."""
    kept = {key: value for key, value in old.items() if key not in _NOT_OF_THE_ENTRY}
    return {**(live if live is not None else _TEMPLATE), **kept, "comment": comment_of(old)}


def free_key(entries: Mapping[str, Any], wanted: str) -> str:
    """Return *wanted*, or where two entries claim one place the lowest free number; UIDs are never changed."""
    if wanted not in entries:
        return wanted
    number = 0
    while str(number) in entries:
        number += 1
    return str(number)


def _key_order(key: str) -> tuple[int, int, str]:
    return (0, int(key), key) if key.isdecimal() else (1, 0, key)


_TEMPLATE: dict[str, Any] = {
    "uid": None,
    "key": [],
    "keysecondary": [],
    "comment": "",
    "content": "",
    "constant": False,
    "vectorized": False,
    "selective": True,
    "selectiveLogic": 0,
    "addMemo": False,
    "order": 100,
    "position": 0,
    "disable": False,
    "ignoreBudget": False,
    "excludeRecursion": False,
    "preventRecursion": False,
    "matchPersonaDescription": False,
    "matchCharacterDescription": False,
    "matchCharacterPersonality": False,
    "matchCharacterDepthPrompt": False,
    "matchScenario": False,
    "matchCreatorNotes": False,
    "delayUntilRecursion": 0,
    "probability": 100,
    "useProbability": True,
    "depth": 4,
    "outletName": "",
    "group": "",
    "groupOverride": False,
    "groupWeight": 100,
    "scanDepth": None,
    "caseSensitive": None,
    "matchWholeWords": None,
    "useGroupScoring": None,
    "automationId": "",
    "role": 0,
    "sticky": None,
    "cooldown": None,
    "delay": None,
    "triggers": [],
}
"""A new entry as SillyTavern makes it, for entries of a snapshot that the live book has no more."""


CHANNEL = Channel("lorebook", frozenset({_KEY}), _cut)
MORE_CHANNEL = Channel("more_lorebooks", frozenset(), _cut_more)
