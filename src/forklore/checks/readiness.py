"""Where in a chat a fork may be made: the requirements that block one, held against many messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from forklore.channels.lorebook import BookCut, book_at
from forklore.channels.running_recap import RunningRecap, read_running_recap, upto
from forklore.channels.scenes import Scene, recap_data
from forklore.channels.survey import Survey
from forklore.checks.requirements import REQUIREMENTS, ForkAttempt, Policy, Requirement, unmet
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut


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

    def __init__(self, timeline: TimelineState, policy: Policy, survey: Survey | None = None) -> None:
        """Look at the chat of *timeline*; *survey* is what is known of it already."""
        self._survey = survey or Survey(timeline.chat)
        self._attempt = ForkAttempt(timeline, "checkpoint", None, damage=timeline.damage, survey=self._survey)
        rows = _blocking(policy)
        self._rows = tuple(row for row in rows if not row.everywhere)
        self._order = [row.code for row in rows]
        self._everywhere = unmet(self._attempt, (row for row in rows if row.everywhere))
        self._asks_book = asks_book(policy)
        self._books: dict[int, BookCut] = {}
        self._running = read_running_recap(timeline.metadata)
        indexes = (version.get("new_scene_index") for version in self._running.versions)
        self._ends = sorted({index for index in indexes if isinstance(index, int)})
        self._versions: dict[int, RunningRecap] = {}

    def codes_at(self, number: int, message: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Return the codes of what blocks a fork at a message; *message* is that one, if it was parsed already."""
        codes = {*self._everywhere, *unmet(self._at(number, message), self._rows)}
        return tuple(code for code in self._order if code in codes)

    def _at(self, number: int, message: Mapping[str, Any] | None) -> ForkAttempt:
        chat, attempt = self._attempt.chat, replace(self._attempt, at=number)
        if attempt.damage or not chat.has(number):
            return attempt
        try:
            return replace(attempt, cuts=self._cuts(chat, number, chat.message(number) if message is None else message))
        except ChatDamaged as error:
            return replace(attempt, damage=error.fact)

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
        timeline, is_head = self._attempt.timeline, number == chat.last
        if timeline.book is None:
            return BookCut("none")
        scene = None if is_head else self._survey.snapshot_before(number)
        which = number if is_head else -1 if scene is None else scene.message
        if which not in self._books:
            clone = timeline.book.name
            self._books[which] = book_at(timeline, number, clone=clone, is_head=is_head, survey=self._survey)
        return self._books[which]


__all__ = ["Readiness", "asks_book"]
