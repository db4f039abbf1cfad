"""Timelines and stories: the tree that grows from each main chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore.model import names


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

    @property
    def address(self) -> str:
        """How the chat is addressed."""
        return f"{self.folder}/{self.name}"


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


@dataclass(frozen=True, slots=True)
class Story:
    """All timelines grown from one main chat; each one stands after its parent."""

    main: str
    timelines: tuple[Timeline, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the story as ``stories`` and ``tree`` show it."""
        return {"main": self.main, "timelines": [timeline.to_json() for timeline in self.timelines]}


def grow_stories(chats: Iterable[ChatFacts]) -> tuple[Story, ...]:
    """Return every story, by the parent each chat names; cycles and missing parents are survived."""
    chats = sorted(chats)
    by_place = {(chat.folder, chat.name): chat for chat in chats}
    linked = _linked(chats)
    parents: dict[tuple[str, str], tuple[str, str]] = {}
    for chat in chats:
        parent = _parent(chat, by_place, linked)
        if parent is not None:
            parents[chat.folder, chat.name] = parent
    _break_cycles(parents)

    users: dict[str, int] = {}
    for chat in chats:
        if chat.lorebook:
            users[chat.lorebook] = users.get(chat.lorebook, 0) + 1

    children: dict[tuple[str, str], list[tuple[str, str]]] = {}
    roots: list[tuple[str, str]] = []
    for place in by_place:
        if (parent := parents.get(place)) is None:
            roots.append(place)
        else:
            children.setdefault(parent, []).append(place)

    stories = []
    for root in roots:
        timelines = []
        waiting = [root]
        while waiting:
            place = waiting.pop()
            chat = by_place[place]
            timelines.append(_timeline(chat, by_place.get(parents.get(place, place)), users))
            grown = children.get(place)
            if grown:
                waiting.extend(reversed(grown))
        stories.append(Story(f"{root[0]}/{root[1]}", tuple(timelines)))
    return tuple(stories)


def _linked(chats: list[ChatFacts]) -> dict[tuple[str, str], str]:
    """Return, for each chat that some message links to, the name of the chat with that message.

    A fork inherits the links of its parent, so several chats may have one; the one with the shortest name is the
    likeliest to have made it, since forks add to the name.
    """
    linked: dict[tuple[str, str], str] = {}
    for chat in chats:
        for link in chat.links:
            known = linked.get((chat.folder, link.chat))
            if link.chat != chat.name and (known is None or len(chat.name) < len(known)):
                linked[chat.folder, link.chat] = chat.name
    return linked


def _parent(
    chat: ChatFacts,
    by_place: Mapping[tuple[str, str], ChatFacts],
    linked: Mapping[tuple[str, str], str],
) -> tuple[str, str] | None:
    """Return the parent that the chat names; for an old chat that names none, the one that links to it, or its name."""
    candidates: list[str | None] = []
    if chat.main_chat is not None:
        candidates = [chat.main_chat, names.sanitise(chat.main_chat)]
    elif names.kind_from_name(chat.name):
        candidates = [linked.get((chat.folder, chat.name)), names.parent_from_name(chat.name)]
    for name in candidates:
        if name and name != chat.name and (chat.folder, name) in by_place:
            return chat.folder, name
    return None


def _break_cycles(parents: dict[tuple[str, str], tuple[str, str]]) -> None:
    """Make the first chat of each cycle a root."""
    safe: set[tuple[str, str]] = set()
    for start in list(parents):
        path: list[tuple[str, str]] = []
        on_path: set[tuple[str, str]] = set()
        place: tuple[str, str] | None = start
        while place is not None and place not in safe:
            if place in on_path:
                del parents[min(path[path.index(place) :])]
                break
            path.append(place)
            on_path.add(place)
            place = parents.get(place)
        safe.update(path)


def _timeline(chat: ChatFacts, parent: ChatFacts | None, users: Mapping[str, int]) -> Timeline:
    kind, at, record = chat.kind, chat.at, "recorded"
    if parent is chat:
        parent = None
    if kind is None:
        from_name = names.kind_from_name(chat.name)
        link = next((link for link in parent.links if link.chat == chat.name), None) if parent else None
        if chat.main_chat is None and from_name is None:
            kind, record = "main", "none"
        else:
            # Without a record: what the parent's link says, else the name; a name somebody typed is a checkpoint's.
            kind = link.kind if link else from_name or "checkpoint"
            at = link.message if link else names.message_from_old_branch_name(chat.name)
            record = "legacy"
    return Timeline(
        chat=chat.address,
        kind=kind,
        parent=parent.address if parent else None,
        at=at,
        messages=chat.messages,
        lorebook=chat.lorebook,
        isolated=not chat.lorebook or users[chat.lorebook] == 1,
        record=record,
    )
