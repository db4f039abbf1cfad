"""A timeline as it was opened, for checks and repairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from forklore.channels.checkpoint_map import STATE_KEY
from forklore.channels.identity import own_identity
from forklore.channels.queue import QueuedOperation, QueueUnreadable, read_queue
from forklore.channels.running_recap import RunningRecap, read_running_recap
from forklore.channels.scenes import Scene, snapshot_before
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.lorebook_json import Lorebook
from forklore.model.timeline import Link


@dataclass(frozen=True)
class Opened:
    """A timeline as it was opened, with what the rest of the workspace says about it."""

    address: str
    name: str
    kind: str
    """``main``, ``checkpoint`` or ``branch``, as the story's tree knows it."""
    chat: Chat
    metadata: Mapping[str, Any]
    """The chat's metadata; empty when it cannot be read."""
    damage: str = ""
    """Why the chat cannot be read, or which lines of it cannot."""
    book_name: str | None = None
    book: Lorebook | None = None
    book_missing: bool = False
    book_damage: str = ""
    book_outside: str = ""
    """Why the lorebook is not read: a link leads out of the workspace."""
    sharers: tuple[str, ...] = ()
    """The other timelines of the story that use the same lorebook, unless that is on purpose."""
    copy_of: str | None = None
    """The chat of which it is a copy and whose lorebook it still names, unless that is on purpose."""
    is_shared_on_purpose: bool = False
    """The user wants several timelines to use its lorebook."""
    is_book_of_others_too: bool = False
    """Another chat names its lorebook as well, in whichever story and for whatever reason."""
    parent: str | None = None
    """The address of the parent that is there."""
    renamed_from: str | None = None
    """The name it was made under, when it was renamed since."""
    parent_now: str | None = None
    """What the parent is called now, when it was renamed."""
    book_now: str | None = None
    """What the lorebook is called now, when it was renamed."""
    book_in_trash: bool = False
    recorded_book_there: bool = False
    """Whether the lorebook it was made with is there, whatever it uses now."""
    dangling: tuple[Link, ...] = ()
    """The links on its messages whose chats are not there."""
    stale_map: tuple[str, ...] = ()
    """The chats in its map of lorebooks that are not there."""
    link_pending: bool = False
    """Its parent could not be told of it when it was made, and still does not know."""

    @property
    def is_fork(self) -> bool:
        """Whether it was forked off another timeline."""
        return self.kind != "main"

    @property
    def last(self) -> int:
        """The number of the last message, -1 without any."""
        return self.chat.message_count - 1

    @cached_property
    def identity(self) -> Mapping[str, Any] | None:
        """What Forklore wrote about this timeline, also under the name it had before it was renamed."""
        return own_identity(self.metadata, self.renamed_from or self.name)

    @cached_property
    def record(self) -> Mapping[str, Any] | None:
        """What was recorded when it was made; None when nothing was, or what is there was inherited."""
        record = self.metadata.get(STATE_KEY)
        known = (self.name, self.renamed_from)
        # A record without a name was written by another program, which names no chat in it.
        return record if isinstance(record, dict) and record.get("chat_id", self.name) in known else None

    @property
    def is_recorded(self) -> bool:
        """Whether Forklore made it, or made it its own."""
        return self.identity is not None or self.record is not None

    @cached_property
    def running(self) -> RunningRecap:
        """The running recap."""
        return read_running_recap(self.metadata)

    @property
    def forked_at(self) -> int | None:
        """The message it was forked at, as recorded."""
        for holder, key in ((self.identity, "message"), (self.record, "message_id")):
            value = holder.get(key) if holder else None
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written since it was made."""
        return self.forked_at is not None and self.last <= self.forked_at


def snapshot_of(chat: Chat) -> Scene | None:
    """Return the last scene snapshot of the lorebook that lies inside the chat."""
    try:
        return snapshot_before(chat, chat.message_count - 1)
    except ChatDamaged:
        return None


def stale_operations(opened: Opened) -> list[QueuedOperation]:
    """Return the waiting operations that work on messages which this timeline does not have."""
    try:
        operations = read_queue(opened.book)
    except QueueUnreadable:
        return []
    return [each for each in operations if each.is_busy and each.message is not None and each.message > opened.last]
