"""Where in a chat a fork may be made: the requirements that block one, held against many messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forklore.channels.cut import Cut
from forklore.channels.lorebook import BookCut, book_at
from forklore.channels.running_recap import RunningRecap, read_running_recap, upto
from forklore.channels.scenes import Scene, recap_data, snapshot_before
from forklore.checks.requirements import REQUIREMENTS, Policy, Requirement, Subject, unmet
from forklore.formats.chat_jsonl import Chat, ChatDamaged


def asks_book(policy: Policy) -> bool:
    """Whether a requirement that blocks looks into the lorebook as a fork would have it."""
    return any(requirement.asks_book for requirement in _blocking(policy))


def _blocking(policy: Policy) -> tuple[Requirement, ...]:
    return tuple(requirement for requirement in REQUIREMENTS if policy.blocks(requirement))


class Readiness:
    """A chat whose messages are looked at one by one; what is the same at each of them is looked at once.

    Only what can block is looked at, and of the lines only those asked for: a line elsewhere that cannot be read, and
    that a fork would need for a snapshot or to warn, is found by ``check``.
    """

    def __init__(self, subject: Subject, policy: Policy) -> None:
        """Look at the chat of *subject*, whose own message and cuts do not count."""
        self._subject = replace(subject, at=None, cuts={})
        rows = _blocking(policy)
        self._rows = tuple(row for row in rows if not row.everywhere)
        self._order = [row.code for row in rows]
        self._everywhere = unmet(self._subject, (row for row in rows if row.everywhere))
        self._asks_book = asks_book(policy)
        self._books: dict[int, BookCut] = {}
        whole = None if self._subject.damage or subject.parent is None else read_running_recap(subject.parent.metadata)
        self._running = whole or RunningRecap()
        indexes = (version.get("new_scene_index") for version in self._running.versions)
        self._ends = sorted({index for index in indexes if isinstance(index, int)})
        self._versions: dict[int, RunningRecap] = {}

    def codes_at(self, number: int, message: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Return the codes of what blocks a fork at a message; *message* is that one, if it was parsed already."""
        codes = {*self._everywhere, *unmet(self._at(number, message), self._rows)}
        return tuple(code for code in self._order if code in codes)

    def _at(self, number: int, message: Mapping[str, Any] | None) -> Subject:
        chat, subject = self._subject.chat, replace(self._subject, at=number)
        if chat is None or subject.damage or not chat.has(number):
            return subject
        try:
            return replace(subject, cuts=self._cuts(chat, number, chat.message(number) if message is None else message))
        except ChatDamaged as error:
            return replace(subject, damage=str(error))

    def _cuts(self, chat: Chat, number: int, message: Mapping[str, Any]) -> dict[str, Cut]:
        return {
            "scenes": Cut(Scene(number, recap_data(message))),
            "running_recap": Cut(self._running if number == chat.last else self._running_upto(number)),
            "lorebook": Cut(self._book(chat, number)) if self._asks_book else Cut(),
        }

    def _running_upto(self, number: int) -> RunningRecap:
        """Return the running recap as cut; between the ends of two versions it is the same everywhere."""
        which = bisect_right(self._ends, number)
        if which not in self._versions:
            self._versions[which] = upto(self._running, number)
        return self._versions[which]

    def _book(self, chat: Chat, number: int) -> BookCut:
        """Return the book as cut; between two snapshots it is the same everywhere."""
        parent, is_head = self._subject.parent, number == chat.last
        if parent is None or parent.book is None:
            return BookCut("none")
        scene = None if is_head else snapshot_before(chat, number)
        which = number if is_head else -1 if scene is None else scene.message
        if which not in self._books:
            self._books[which] = book_at(parent, number, clone=parent.book.name, is_head=is_head)
        return self._books[which]


__all__ = ["Readiness", "asks_book"]
