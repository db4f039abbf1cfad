"""Timelines and stories: the tree that grows from each main chat."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from forklore.model import names
from forklore.model.address import place_of

Place = tuple[str, str]
"""Where a chat lies, and its name."""


class Link(NamedTuple):
    """A hint on a message of a parent: a fork of this name was made here."""

    message: int
    kind: str
    chat: str


class ChatFacts(NamedTuple):
    """What one chat file says about its place in a story."""

    folder: str
    name: str
    messages: int
    main_chat: str | None
    lorebook: str | None
    kind: str | None
    """The kind in Forklore's own record, None when there is none of its own."""
    at: int | None
    timeline: str | None
    links: tuple[Link, ...]
    damaged: bool = False
    other_books: tuple[str, ...] = ()
    """Lorebooks it refers to besides its own."""
    mapped: tuple[tuple[str, str], ...] = ()
    """Its map of forks to their lorebooks."""
    running_version: int | None = None
    """The number of its current running recap."""
    integrity: str | None = None
    old_name: str | None = None
    """The name it had when Forklore wrote its record, if it was renamed since."""
    old_timeline: Any = None
    """The timeline in that record."""
    parent_timeline: str | None = None
    """The timeline of the chat it was forked from, if that had one."""
    parent_mark: str | None = None
    """What the chat it was forked from can be known by, if that had no timeline."""
    former_mark: str | None = None
    """What it could be known by itself before it was isolated."""
    recorded_book: str | None = None
    """The lorebook that was made for it."""
    original_book: str | None = None
    """The one that was cloned for that."""
    is_from_present: bool = False
    """Whether its lorebook came from the present when it was made in the past, and nobody accepted that since."""
    more_books: tuple[str, ...] = ()
    """The lorebooks besides its own that extensions keep for it alone."""
    written_ns: int = 0
    """When its file was last written, in nanoseconds since 1970."""

    @property
    def address(self) -> str:
        """How the chat is addressed."""
        return f"{self.folder}/{self.name}"

    @property
    def books(self) -> tuple[str, ...]:
        """All lorebooks that it has for itself."""
        return self.more_books if self.lorebook is None else (self.lorebook, *self.more_books)


class Timeline(NamedTuple):
    """A chat with its place in the story."""

    chat: str
    kind: str
    parent: str | None
    at: int | None
    messages: int
    lorebook: str | None
    isolated: bool
    record: str

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as ``stories`` and ``tree`` show it."""
        return self._asdict()


class Story(NamedTuple):
    """All timelines grown from one main chat; each one stands after its parent."""

    main: str
    timelines: tuple[Timeline, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the story as ``stories`` and ``tree`` show it."""
        return {"main": self.main, "timelines": [timeline.to_json() for timeline in self.timelines]}


def mark_of(integrity: object) -> str | None:
    """Return what a chat can be known by after it was renamed in SillyTavern, which leaves its ``integrity`` alone.

    It is a digest, since a fork should not carry the identity of its parent.
    """
    return hashlib.sha256(integrity.encode("utf-8", "replace")).hexdigest()[:16] if isinstance(integrity, str) else None


class Identity(NamedTuple):
    """What tells a chat from another one of the same name."""

    timeline: str | None = None
    integrity: str | None = None
    former_mark: str | None = None


def is_child(child: ChatFacts, parent: ChatFacts | Identity) -> bool:
    """Whether a chat that names its parent means this one, not an earlier or later chat of that name.

    Where both have a timeline it decides, else the mark; of a chat that tells neither, the name is all there is.
    """
    if child.parent_timeline and parent.timeline:
        return child.parent_timeline == parent.timeline
    if child.parent_mark and parent.integrity:
        return child.parent_mark in (mark_of(parent.integrity), parent.former_mark)
    return True


def children_of(folder: str, name: str, who: ChatFacts | Identity, chats: Iterable[ChatFacts]) -> list[str]:
    """Return the chats that mean *who*, the chat of that *name* in a *folder*, when they name their parent."""
    return [
        chat.address
        for chat in chats
        if chat.main_chat == name and place_of(chat.folder) == place_of(folder) and is_child(chat, who)
    ]


def grow_stories(
    chats: Iterable[ChatFacts], *, shared_on_purpose: Container[str] = (), folds_names: bool = False
) -> tuple[Story, ...]:
    """Return every story, by the parent each chat names; cycles and missing parents are survived.

    A timeline is isolated when no other one, of any story, names its lorebook, or when that is on purpose:
    *shared_on_purpose* has the keys of such books, and *folds_names* says how the disk compares names.
    """
    by_place = {_place(chat): chat for chat in sorted(chats)}
    linked = _linked(by_place.values())
    used = [book for chat in by_place.values() for book in chat.books]
    keys = {book: names.book_key(book, folds=folds_names) for book in set(used)}
    users = Counter(keys[book] for book in used)
    shared = {book for book, key in keys.items() if users[key] > 1 and key not in shared_on_purpose}
    parents: dict[Place, ChatFacts] = {}
    for place, chat in by_place.items():
        parent = _parent(chat, by_place, linked)
        if parent is not None:
            parents[place] = parent
    _break_cycles(parents)
    children: dict[Place, list[Place]] = {}
    for place, parent in parents.items():
        children.setdefault(_place(parent), []).append(place)

    stories = []
    for root in by_place:
        if root not in parents:
            family = _family(root, children) if root in children else (root,)
            timelines = tuple([_timeline(by_place[place], parents.get(place), shared) for place in family])
            stories.append(Story(timelines[0].chat, timelines))
    return tuple(stories)


def _place(chat: ChatFacts) -> Place:
    return place_of(chat.folder), chat.name


def _family(root: Place, children: Mapping[Place, list[Place]]) -> Iterator[Place]:
    """Yield *root* and all that grew from it, each one after its parent."""
    waiting = [root]
    while waiting:
        place = waiting.pop()
        yield place
        waiting.extend(reversed(children.get(place, ())))


def _linked(chats: Iterable[ChatFacts]) -> dict[Place, str]:
    """Return, for each chat that some message links to, the name of the chat with that message.

    A fork inherits the links of its parent, so several chats may have one; the one with the shortest name is the
    likeliest to have made it, since forks add to the name.
    """
    linked: dict[Place, str] = {}
    for chat in chats:
        for link in chat.links:
            place = place_of(chat.folder), link.chat
            known = linked.get(place)
            if link.chat != chat.name and (known is None or len(chat.name) < len(known)):
                linked[place] = chat.name
    return linked


def _parent(chat: ChatFacts, by_place: Mapping[Place, ChatFacts], linked: Mapping[Place, str]) -> ChatFacts | None:
    """Return the parent that the chat names; for an old chat that names none, the one that links to it, or its name."""
    candidates: tuple[str | None, ...] = ()
    if chat.main_chat is not None:
        candidates = (chat.main_chat, names.sanitise(chat.main_chat))
    elif names.kind_from_name(chat.name):
        candidates = (linked.get(_place(chat)), names.parent_from_name(chat.name))
    for name in candidates:
        if name and name != chat.name and (parent := by_place.get((place_of(chat.folder), name))):
            return parent if is_child(chat, parent) else None
    return None


def _break_cycles(parents: dict[Place, ChatFacts]) -> None:
    """Make the first chat of each cycle a root."""
    safe: set[Place] = set()
    for start in list(parents):
        path: list[Place] = []
        on_path: set[Place] = set()
        place = start
        while place in parents and place not in safe:
            if place in on_path:
                del parents[min(path[path.index(place) :])]
                break
            path.append(place)
            on_path.add(place)
            place = _place(parents[place])
        safe.update(path)


def _timeline(chat: ChatFacts, parent: ChatFacts | None, shared: Container[str]) -> Timeline:
    folder, name, messages, main_chat, lorebook, kind, at, *_ = chat  # at once: there may be thousands
    record = "recorded"
    if kind is None:
        kind, record = names.kind_from_name(name), "legacy"
        if kind is None and main_chat is None:
            kind, record = "main", "none"
        else:
            # Without a record: what the parent's link says, else the name; a name somebody typed is a checkpoint's.
            link = next((link for link in parent.links if link.chat == name), None) if parent else None
            kind = link.kind if link else kind or "checkpoint"
            at = link.message if link else names.message_from_old_branch_name(name)
    elif kind == "main":
        at = None  # the copy of a chat: where it parted from that is no place in its own story
    above = parent.address if parent else None
    isolated = lorebook not in shared and not (chat.more_books and any(book in shared for book in chat.more_books))
    return Timeline(f"{folder}/{name}", kind, above, at, messages, lorebook, isolated, record)
