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

from forklore.app.forking import GroupMissing, group_path
from forklore.app.means import Means
from forklore.app.reading import Reading, book_in, reading
from forklore.channels.cut import Parent
from forklore.checks.readiness import Readiness, asks_book
from forklore.checks.requirements import REQUIREMENTS, Subject
from forklore.disk.files import OpenFile
from forklore.formats.chat_jsonl import LineIndex
from forklore.formats.lorebook_json import Lorebook, LorebookUnreadable
from forklore.model.address import ChatAddress

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
    answers: dict[str, Any] = field(default_factory=dict)


_CHATS = _Remembered(8)
_BOOKS = _Remembered(4)


@contextmanager
def looking(address: ChatAddress, means: Means) -> Iterator[Reading]:
    """Open a timeline to look at it; of the lorebook only the outline is there."""
    with reading(means.workspace, address, with_book=False) as read:
        file, chat = read.files[read.chat_path], read.parent.chat
        seen = _CHATS.of(file, lambda: _Seen(chat.lines))
        read.parent = Parent(replace(chat, index=lambda _sought: seen.lines, answers=seen.answers), None)
        yield read


def readiness(read: Reading, means: Means) -> ReadinessOfTimeline:
    """Return where in a timeline a fork may be made."""
    if asks_book(means.policy):
        read.parse_book()
    else:
        _outline_book(read)
    active: tuple[str, ...] = ()
    also_active = next(row for row in REQUIREMENTS if row.code == "LOREBOOK_ALSO_ACTIVE")
    if read.book_name and means.policy.blocks(also_active):
        active = means.workspace.also_active(read.book_name, read.address)
    subject = Subject(
        address=str(read.address),
        kind="checkpoint",
        at=None,
        parent=read.parent,
        damage=read.damage,
        book_name=read.book_name,
        book_missing=read.book_missing,
        book_damage=read.book_damage,
        book_outside=read.book_outside,
        also_active=active,
        has_chat=lambda name: means.workspace.has_beside(read.address, name),
    )
    try:
        group_path(read, means.workspace)
    except GroupMissing as error:
        return ReadinessOfTimeline(Readiness(subject, means.policy), (error.code,))
    return ReadinessOfTimeline(Readiness(subject, means.policy))


class ReadinessOfTimeline:
    """Where in a timeline a fork may be made."""

    def __init__(self, of_chat: Readiness, everywhere: tuple[str, ...] = ()) -> None:
        """Ask *of_chat*; *everywhere* are codes that block whatever the message is."""
        self._of_chat = of_chat
        self._everywhere = everywhere

    def codes_at(self, number: int, message: dict[str, Any] | None = None) -> tuple[str, ...]:
        """Return the codes of what blocks a fork at a message; *message* is that one, if it was parsed already."""
        return (*self._everywhere, *self._of_chat.codes_at(number, message))


def _outline_book(read: Reading) -> None:
    """Read what tells the entries of the lorebook, without keeping its text."""
    name, path = read.book_name, read.book_path
    if name is None or path is None:
        return
    file = read.files[path]
    try:
        book = _BOOKS.of(file, lambda: _without_text(book_in(file, name)))
    except (LorebookUnreadable, OSError) as error:
        read.book_damage = str(error)
    else:
        read.parent = Parent(read.parent.chat, book)


def _without_text(book: Lorebook) -> Lorebook:
    return replace(book, read=bytes)


__all__ = ["looking", "readiness"]
