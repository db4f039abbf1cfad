"""Drafting a fork: every kind of state cut at the message, before anything is checked or planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from forklore.channels import cut_channels
from forklore.channels.extensions import Extended
from forklore.channels.lorebook import BookCut, Clone
from forklore.channels.scenes import scene_start
from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import to_bytes, to_text
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.planning.swipe import choose_swipe, shown_again


class Draft(NamedTuple):
    """A fork that has been cut but not yet checked."""

    parent: TimelineState
    point: ForkPoint
    changed: Mapping[int, bytes]
    """The few messages that are not those of the parent, by their numbers."""
    cuts: Mapping[str, Cut]

    @property
    def carried(self) -> list[str]:
        """The metadata keys that come from the present."""
        return sorted({key for cut in self.cuts.values() for key in cut.carried})

    @property
    def left_out(self) -> list[str]:
        """The metadata keys of which something was not taken along."""
        return sorted({key for cut in self.cuts.values() for key in cut.left_out})

    @property
    def book(self) -> BookCut:
        """The lorebook of the fork."""
        book: BookCut = self.cuts["lorebook"].value
        return book

    @property
    def clones(self) -> tuple[Clone, ...]:
        """All lorebooks of the fork; that of the chat itself is the first."""
        more: tuple[Clone, ...] = self.cuts["more_lorebooks"].value
        origin, name = self.parent.lorebook, self.point.clone_name
        return more if origin is None or name is None else (Clone(name, origin, self.book), *more)

    @property
    def extended(self) -> Extended:
        """What extensions need besides their metadata."""
        extended: Extended = self.cuts["extensions"].value
        return extended


def draft_fork(parent: TimelineState, point: ForkPoint, *, swipe: int | None, show_last_scene: bool) -> Draft:
    """Cut every channel of *parent* at *point*; raises ``NoSuchSwipe``, and ``ChatDamaged`` for a line it needs."""
    changed = _changed_messages(parent.chat, point.at, swipe=swipe, show_last_scene=show_last_scene)
    cuts = cut_channels(parent, point)
    for number, line in _extended_messages(parent.chat, changed, cuts["extensions"].value):
        changed[number] = line
    return Draft(parent, point, changed, cuts)


def _changed_messages(chat: Chat, at: int, *, swipe: int | None, show_last_scene: bool) -> dict[int, bytes]:
    changed: dict[int, bytes] = {}
    if swipe is not None:
        changed[at] = choose_swipe(chat.line_bytes(at), swipe)
    if show_last_scene:
        for number in range(scene_start(chat, at), at + 1):
            line = changed.get(number) or chat.line_bytes(number)
            if (shown := shown_again(line)) is not line:
                changed[number] = shown
    return changed


def _extended_messages(chat: Chat, changed: Mapping[int, bytes], extended: Extended) -> Iterator[tuple[int, bytes]]:
    """Yield the messages in which extensions keep something that is another in the fork."""
    for number in sorted({*extended.messages, *extended.shown}):
        before = line = changed.get(number) or chat.line_bytes(number)
        if number in extended.shown:
            line = shown_again(line)
        if number in extended.messages:
            line = to_bytes(apply_edits(to_text(line), extended.messages[number]).text)
        if line != before:
            yield number, line
