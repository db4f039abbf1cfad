"""A timeline as it was read: its chat, its lorebook or why that could not be read, and its place in the story."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_edit import item_texts
from forklore.formats.json_text import to_text
from forklore.formats.lorebook_json import Lorebook
from forklore.formats.record import own_identity, own_record
from forklore.model.address import ChatAddress
from forklore.model.fact import Fact
from forklore.model.names import comparable, sanitise
from forklore.model.plan import HEADER, Fingerprint, JsonPath
from forklore.model.timeline import Link, Timeline

MISSING, OUTSIDE, UNREADABLE = "missing", "outside", "unreadable"
"""Why there is no content of a lorebook: no such file, a link that leads out of the workspace, no lorebook in it."""


class BookState(NamedTuple):
    """A lorebook that a chat names: what is in it, or why that is not known."""

    name: str
    path: str
    """Where it is, or should be."""
    content: Lorebook | None = None
    fault: str = ""
    """``missing``, ``outside`` or ``unreadable``; empty for one that was read, or that nobody wanted to read."""
    reason: Fact | None = None
    """What is wrong with it."""
    active: tuple[Fact, ...] = ()
    """Where it is active besides the chat itself."""
    role: str = "chat"
    """What it is to the timeline: the chat's own, or the one that an extension keeps for something."""

    @property
    def is_there(self) -> bool:
        """Whether there is a file that can be opened."""
        return self.fault not in (MISSING, OUTSIDE)


@dataclass(frozen=True, eq=False)
class TimelineState:
    """A timeline as it was read, as far as it could be."""

    address: ChatAddress
    path: str
    """Where its chat is."""
    chat: Chat
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The chat's metadata; empty when it cannot be read."""
    damage: Fact | None = None
    """Why the chat cannot be read, or which lines of it cannot."""
    lorebook: BookState | None = None
    more: tuple[BookState, ...] = ()
    """The other lorebooks that extensions keep for this timeline alone."""
    family: frozenset[str] = frozenset()
    """What the chats and lorebooks of its story are called, as far as something in it may be such a name."""
    beside: frozenset[str] = frozenset()
    """The chats in the same folder, in a form in which equal means taken on any system."""
    read: tuple[tuple[str, Fingerprint], ...] = ()
    """The files it was read from."""
    place: Timeline | None = None
    """Its place in the story's tree."""
    renamed_from: str | None = None
    """The name it was made under, when it was renamed since."""
    parent_links: tuple[Link, ...] | None = None
    """The links on the messages of its parent; None when nobody needs to know, or they cannot be read."""
    digests_now: Mapping[str, str] = field(default_factory=dict)
    """What of that which was recorded with a digest has which digest now."""

    @property
    def name(self) -> str:
        """What the chat is called."""
        return self.address.name

    @property
    def book(self) -> Lorebook | None:
        """What is in its lorebook."""
        return self.lorebook.content if self.lorebook else None

    @property
    def books(self) -> tuple[BookState, ...]:
        """All lorebooks that it has for itself."""
        return (*((self.lorebook,) if self.lorebook else ()), *self.more)

    @property
    def book_name(self) -> str | None:
        """What its lorebook is called."""
        return self.lorebook.name if self.lorebook else None

    @property
    def book_fault(self) -> str:
        """Why its lorebook could not be read, empty when it could or there is none."""
        return self.lorebook.fault if self.lorebook else ""

    @property
    def last(self) -> int:
        """The number of the last message, -1 without any."""
        return self.chat.message_count - 1

    @property
    def kind(self) -> str:
        """``main``, ``checkpoint`` or ``branch``, as the story's tree knows it."""
        return self.place.kind if self.place else "main"

    @property
    def is_fork(self) -> bool:
        """Whether it was forked off another timeline."""
        return self.kind != "main"

    @property
    def parent(self) -> str | None:
        """The address of the parent that is there."""
        return self.place.parent if self.place else None

    def has_beside(self, name: str) -> bool:
        """Whether there is a chat of that *name*, as a link has it, in the same folder."""
        return comparable(name) in self.beside or comparable(sanitise(name)) in self.beside

    def item_texts(self, path: JsonPath) -> list[str]:
        """Return the items of an array in the metadata as they are written."""
        return item_texts(to_text(self.chat.line_bytes(HEADER)), ("chat_metadata", *path))

    # --- what Forklore wrote about it -----------------------------------------------------------------------------

    @cached_property
    def identity(self) -> Mapping[str, Any] | None:
        """What Forklore wrote about this timeline, also under the name it had before it was renamed."""
        return own_identity(self.metadata, self.renamed_from or self.name)

    @cached_property
    def record(self) -> Mapping[str, Any] | None:
        """What was recorded when it was made; None when nothing was, or what is there was inherited."""
        return own_record(self.metadata, self.name, self.renamed_from)

    @property
    def recorded_books(self) -> tuple[Mapping[str, Any], ...]:
        """The lorebooks that were made for it, with what each was cloned from."""
        listed = self.record.get("lorebooks") if self.record else None
        items = listed if isinstance(listed, list) else []
        is_clone = (isinstance(each, dict) and {"name", "original"} <= each.keys() for each in items)
        return tuple(each for each, holds in zip(items, is_clone, strict=True) if holds)

    @property
    def is_recorded(self) -> bool:
        """Whether Forklore made it, or made it its own."""
        return self.identity is not None or self.record is not None

    @property
    def digests(self) -> Mapping[str, Any]:
        """The digests of what it contained when it was made, by what they are of."""
        digests = self.identity.get("digests") if self.identity else None
        return digests if isinstance(digests, dict) else {}

    @property
    def forked_at(self) -> int | None:
        """The message it was forked at, as recorded."""
        for holder, key in ((self.identity, "message"), (self.record, "message_id")):
            value = holder.get(key) if holder else None
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None
