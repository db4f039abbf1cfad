"""Opening a timeline for a view: quickly again while its files are the same.

A page scrolls: it asks for the same chat again and again, each time through an application object of its own. Where the
lines of a chat are, what a search through it told and what its lorebook holds is therefore kept for a few files, by
their fingerprints.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from forklore.app.check import GroupMissing, group_path
from forklore.app.context import Context
from forklore.channels.survey import Survey
from forklore.checks.readiness import Readiness, asks_book
from forklore.checks.requirements import REQUIREMENTS
from forklore.disk.files import OpenFile
from forklore.disk.gather import OpenTimeline, book_in, open_timeline, with_book, with_surroundings
from forklore.formats.chat_jsonl import LineIndex
from forklore.formats.lorebook_json import Lorebook, LorebookUnreadable
from forklore.gathered.timeline import UNREADABLE
from forklore.model.address import ChatAddress
from forklore.model.fact import fact

T = TypeVar("T")


class _Remembered:
    """What was worked out of the last few files."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._lock = threading.Lock()  # the service asks from several threads

    def of(self, file: OpenFile, work_out: Callable[[], T]) -> T:
        """Return what *work_out* returned for the same content, or returns now."""
        key = (str(file.path), file.fingerprint)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                held: T = self._held[key]
                return held
        made = work_out()
        with self._lock:
            self._held[key] = made
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class _Seen:
    """What looking through a whole chat has told."""

    lines: LineIndex
    known: dict[str, Any] = field(default_factory=dict)


_CHATS = _Remembered(8)
_BOOKS = _Remembered(4)


@contextmanager
def looking(address: ChatAddress, context: Context) -> Iterator[OpenTimeline]:
    """Open a timeline to look at it; of the lorebook only the outline is there."""
    with open_timeline(context.workspace, address, with_books=False) as opened:
        chat = opened.chat
        seen = _CHATS.of(opened.chat_file, lambda: _Seen(chat.lines))
        yield replace(opened, chat=replace(chat, index=lambda _sought: seen.lines))


def readiness(opened: OpenTimeline, context: Context) -> ReadinessOfTimeline:
    """Return where in a timeline a fork may be made."""
    timeline = with_book(opened, context.workspace) if asks_book(context.policy) else _with_outline(opened)
    also_active = next(row for row in REQUIREMENTS if row.code == "LOREBOOK_ALSO_ACTIVE")
    if timeline.lorebook and context.policy.blocks(also_active):
        timeline = with_surroundings(timeline, context.workspace)
    seen = _CHATS.of(opened.chat_file, lambda: _Seen(opened.chat.lines))
    ready = Readiness(timeline, context.policy, Survey(opened.chat, seen.known))
    try:
        group_path(timeline, context.workspace)
    except GroupMissing as error:
        return ReadinessOfTimeline(ready, (error.code,))
    return ReadinessOfTimeline(ready)


class ReadinessOfTimeline:
    """Where in a timeline a fork may be made."""

    def __init__(self, of_chat: Readiness, everywhere: tuple[str, ...] = ()) -> None:
        """Ask *of_chat*; *everywhere* are codes that block whatever the message is."""
        self._of_chat = of_chat
        self._everywhere = everywhere

    def codes_at(self, number: int, message: dict[str, Any] | None = None) -> tuple[str, ...]:
        """Return the codes of what blocks a fork at a message; *message* is that one, if it was parsed already."""
        return (*self._everywhere, *self._of_chat.codes_at(number, message))


def _with_outline(timeline: OpenTimeline) -> OpenTimeline:
    """Return a timeline with what tells the entries of its lorebook, without their text."""
    book, file = timeline.lorebook, timeline.book_file
    if book is None or file is None:
        return timeline
    try:
        content = _BOOKS.of(file, lambda: _without_text(book_in(file, book.name)))
    except LorebookUnreadable as error:
        return replace(timeline, lorebook=book._replace(fault=UNREADABLE, reason=error.fact))
    except OSError as error:
        reason = fact("not_readable", reason=error.strerror or str(error))
        return replace(timeline, lorebook=book._replace(fault=UNREADABLE, reason=reason))
    return replace(timeline, lorebook=book._replace(content=content))


def _without_text(book: Lorebook) -> Lorebook:
    return replace(book, read=bytes)


__all__ = ["looking", "readiness"]
