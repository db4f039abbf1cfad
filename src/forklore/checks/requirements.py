"""What must (blocks) or should (warns) hold before a fork.

A new requirement is one function and one row in the table at the end; nothing else changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from forklore.channels.lorebook import BookCut
from forklore.channels.queue import QueuedOperation, QueueUnreadable, read_queue
from forklore.channels.registry import broken_lines
from forklore.channels.running_recap import RunningRecap
from forklore.channels.scenes import Scene, names_recaps
from forklore.channels.survey import Survey
from forklore.formats.chat_facts import checkpoint_of
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE, TimelineState
from forklore.model.cut import Cut
from forklore.model.fact import Fact, Params, fact, some
from forklore.model.finding import Finding, Report, ReportState, Severity


@dataclass(frozen=True, eq=False)
class ForkAttempt:
    """A fork somebody wants to make of a timeline, as far as it could be cut."""

    timeline: TimelineState
    kind: str
    at: int | None
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    """Every channel, cut at the message; empty when the message or the chat is not there to be cut."""
    damage: Fact | None = None
    """Why the chat, or a line that the fork needs, cannot be read."""
    shows_last_scene: bool = False
    """The fork will unhide the messages of its last scene."""
    survey: Survey | None = None
    """What is known of the whole chat; who asks about many of its messages hands it over."""

    @property
    def whole(self) -> Survey:
        """What looking through the whole chat tells."""
        return self.survey or Survey(self.chat)

    @property
    def chat(self) -> Chat:
        """The chat it is made from."""
        return self.timeline.chat

    @property
    def scene(self) -> Scene | None:
        """What the message says about a scene."""
        return self.cuts["scenes"].value if self.cuts else None

    @property
    def running(self) -> RunningRecap | None:
        """The running recap, as cut."""
        return self.cuts["running_recap"].value if self.cuts else None

    @property
    def book(self) -> BookCut | None:
        """The lorebook, as cut."""
        return self.cuts["lorebook"].value if self.cuts else None

    def queue(self) -> tuple[QueuedOperation, ...]:
        """Return the live queue: work in the present changes the book that a fork is made from."""
        return read_queue(self.timeline.book)

    def uses_recaps(self) -> bool:
        """Whether the chat has data of ST-Auto-Recap; keys that Forklore writes do not count."""
        if self.damage:
            return False
        book = self.timeline.book
        if names_recaps(self.timeline.metadata) or (self.scene and self.scene.data):
            return True
        if book and (book.outline.queue_entries or book.outline.registry_entries):
            return True
        return self.whole.has_recaps


Found = Iterator[Params]
"""What a requirement yields when it does not hold: what there is to say about it."""


def _message_exists(attempt: ForkAttempt) -> Found:
    chat = attempt.chat
    if attempt.damage:
        return
    if attempt.at is None or chat.last is None:
        yield {"case": "empty", "at": attempt.at}
    elif not chat.has(attempt.at):
        yield {"at": attempt.at, "last": chat.last}


def is_of_older_sillytavern(timeline: TimelineState) -> bool:
    """Whether this is a group chat of SillyTavern 1.13 or so: without a header, its metadata in the group's file."""
    return timeline.address.is_group and timeline.chat.begins_with_message


def _group_chat_has_a_header(attempt: ForkAttempt) -> Found:
    if is_of_older_sillytavern(attempt.timeline):
        yield {}


def _chat_is_whole(attempt: ForkAttempt) -> Found:
    if is_of_older_sillytavern(attempt.timeline):
        return
    if attempt.damage:
        yield {"reason": attempt.damage}
    elif attempt.chat.lines.odd_lines:
        lines, more = some([line + 1 for line in attempt.chat.lines.odd_lines])
        yield {"reason": fact("lines_are_no_messages", lines=lines, more=more)}


def _queue_is_idle(attempt: ForkAttempt) -> Found:
    try:
        busy = [operation for operation in attempt.queue() if operation.is_busy]
    except QueueUnreadable:
        return
    if busy:
        count = Counter(operation.status for operation in busy)
        yield {
            "kind": attempt.kind,
            "count": len(busy),
            "pending": count["pending"],
            "in_progress": count["in_progress"],
            "retrying": count["retrying"],
            "operations": [operation.to_fact() for operation in busy],
        }


def _queue_is_readable(attempt: ForkAttempt) -> Found:
    try:
        attempt.queue()
    except QueueUnreadable as error:
        yield {"reason": error.fact}


def _lorebook_is_there(attempt: ForkAttempt) -> Found:
    if attempt.timeline.book_fault == MISSING:
        yield {"case": "fork", "lorebook": attempt.timeline.book_name}


def _lorebook_lies_inside(attempt: ForkAttempt) -> Found:
    book = attempt.timeline.lorebook
    if book and book.fault == OUTSIDE:
        yield {"case": "lorebook", "lorebook": book.name, "reason": book.reason}


def _lorebook_is_readable(attempt: ForkAttempt) -> Found:
    book = attempt.timeline.lorebook
    if book and book.fault == UNREADABLE:
        yield {"lorebook": book.name, "reason": book.reason}


def _is_scene_break(attempt: ForkAttempt) -> Found:
    if attempt.scene and not attempt.scene.is_break:
        yield {"at": attempt.at}


def _scene_has_recap(attempt: ForkAttempt) -> Found:
    if attempt.scene and not attempt.scene.recap:
        yield {"at": attempt.at}


def _lorebook_work_is_done(attempt: ForkAttempt) -> Found:
    scene = attempt.scene
    if scene and scene.is_break and scene.recap and not scene.lorebook_is_done:
        yield {"at": attempt.at}


def _running_recap_exists(attempt: ForkAttempt) -> Found:
    if attempt.running and attempt.running.current is None:
        yield {}


def _scene_is_in_running_recap(attempt: ForkAttempt) -> Found:
    current = attempt.running.current if attempt.running else None
    if current is None or attempt.at is None:
        return
    ends = current.get("new_scene_index")
    if isinstance(ends, int) and ends < attempt.at:
        yield {"at": attempt.at, "version": current.get("version"), "covered": ends}


def _no_recap_in_progress(attempt: ForkAttempt) -> Found:
    if attempt.at is None or not attempt.cuts:
        return
    unfinished = attempt.whole.unfinished_recaps(upto=attempt.at)
    if not unfinished and attempt.scene and attempt.scene.recap and attempt.scene.recap_is_unfinished:
        unfinished = [attempt.at]
    if unfinished:
        numbers, more = some(unfinished)
        yield {"messages": numbers, "more": more}


def _something_is_visible(attempt: ForkAttempt) -> Found:
    at = attempt.at
    if at is None or not attempt.cuts or attempt.shows_last_scene:
        return
    if not attempt.whole.shows_something(upto=at):
        yield {"case": "fork", "at": at}


def _flag_is_free(attempt: ForkAttempt) -> Found:
    chat, at = attempt.chat, attempt.at
    if attempt.kind != "checkpoint" or at is None or not attempt.cuts:
        return
    earlier = checkpoint_of(chat.message(at))
    if earlier is not None and attempt.timeline.has_beside(earlier):
        yield {"at": at, "checkpoint": earlier}


def _lorebook_is_active_once(attempt: ForkAttempt) -> Found:
    book = attempt.timeline.lorebook
    if book and book.active:
        yield {"lorebook": book.name, "places": list(book.active)}


def _lorebook_is_of_that_time(attempt: ForkAttempt) -> Found:
    if attempt.book and attempt.book.source == "present":
        yield {"case": "fork", "at": attempt.at}


def _registries_are_sound(attempt: ForkAttempt) -> Found:
    broken = list(broken_lines(attempt.book.outline)) if attempt.book else []
    if broken:
        lines, more = some(broken)
        yield {"lines": lines, "more": more, "case": "fork"}


def _a_lorebook_is_attached(attempt: ForkAttempt) -> Found:
    if not attempt.damage and attempt.timeline.lorebook is None:
        yield {}


class Effect(Enum):
    """What a requirement that does not hold does to a fork."""

    BLOCK = "block"
    WARN = "warn"
    NOTE = "note"
    IGNORE = "ignore"


class Requirement(NamedTuple):
    """One row of the table: what is asked for, and what follows when it does not hold."""

    code: str
    violations: Callable[[ForkAttempt], Found]
    standard: Effect
    strict: Effect
    recaps_only: bool = False
    """Left out for chats that have no data of ST-Auto-Recap."""
    indispensable: bool = False
    """It protects data: without it no isolated fork can be made, so no setting can lower it."""
    everywhere: bool = False
    """It holds or not whatever the message is: it asks nothing of the cuts."""
    asks_book: bool = False
    """It looks into the lorebook as cut, which takes long to make."""


_BLOCK, _WARN, _NOTE = Effect.BLOCK, Effect.WARN, Effect.NOTE
_SEVERITIES = {_BLOCK: Severity.ERROR, _WARN: Severity.WARNING, _NOTE: Severity.NOTE}

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement("MESSAGE_NOT_FOUND", _message_exists, _BLOCK, _BLOCK, indispensable=True),
    Requirement("CHAT_DAMAGED", _chat_is_whole, _BLOCK, _BLOCK, indispensable=True),
    Requirement("GROUP_FORMAT_OLD", _group_chat_has_a_header, _BLOCK, _BLOCK, indispensable=True),
    Requirement("LOREBOOK_MISSING", _lorebook_is_there, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("LINK_OUTSIDE", _lorebook_lies_inside, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("LOREBOOK_UNREADABLE", _lorebook_is_readable, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("QUEUE_NOT_EMPTY", _queue_is_idle, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("QUEUE_UNREADABLE", _queue_is_readable, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("NO_SCENE_BREAK", _is_scene_break, _WARN, _BLOCK, recaps_only=True),
    Requirement("NO_SCENE_RECAP", _scene_has_recap, _WARN, _BLOCK, recaps_only=True),
    Requirement("NO_LOREBOOK_ENTRY", _lorebook_work_is_done, _WARN, _BLOCK, recaps_only=True),
    Requirement("NO_RUNNING_RECAP", _running_recap_exists, _WARN, _BLOCK, recaps_only=True),
    Requirement("SCENE_NOT_IN_RUNNING_RECAP", _scene_is_in_running_recap, _WARN, _BLOCK, recaps_only=True),
    Requirement("RECAP_IN_PROGRESS", _no_recap_in_progress, _WARN, _BLOCK, recaps_only=True),
    Requirement("HISTORY_HIDDEN", _something_is_visible, _NOTE, _NOTE),
    Requirement("CHECKPOINT_REPLACED", _flag_is_free, _WARN, _WARN),
    Requirement("LOREBOOK_ALSO_ACTIVE", _lorebook_is_active_once, _WARN, _WARN, everywhere=True),
    Requirement("LOREBOOK_FROM_PRESENT", _lorebook_is_of_that_time, _WARN, _WARN, asks_book=True),
    Requirement("REGISTRY_BROKEN", _registries_are_sound, _WARN, _WARN, recaps_only=True, asks_book=True),
    Requirement("NO_LOREBOOK", _a_lorebook_is_attached, _WARN, _WARN, recaps_only=True),
)


class Policy(NamedTuple):
    """Which requirements block: the standard or the strict column, with rows overridden by a setting."""

    strict: bool = False
    overrides: Mapping[str, Effect] = MappingProxyType({})

    def effect(self, requirement: Requirement) -> Effect:
        """Return what follows when *requirement* does not hold; what protects data is never overridden."""
        usual = requirement.strict if self.strict else requirement.standard
        return usual if requirement.indispensable else self.overrides.get(requirement.code, usual)

    def blocks(self, requirement: Requirement) -> bool:
        """Whether no fork is made while *requirement* does not hold."""
        return self.effect(requirement) is Effect.BLOCK

    def without(self, code: str) -> Policy:
        """Return the same policy, but for one requirement that is not looked at."""
        return self._replace(overrides={**self.overrides, code: Effect.IGNORE})


def check(attempt: ForkAttempt, policy: Policy) -> Report:
    """Hold *attempt* against every requirement and report all problems at once."""
    try:
        found = _found(attempt, policy)
    except ChatDamaged as error:  # only a requirement needed to read that line
        attempt = replace(attempt, damage=error.fact, cuts={})
        found = _found(attempt, policy)
    return Report(
        str(attempt.timeline.address),
        attempt.at,
        tuple(f for f in found if f.severity is Severity.ERROR),
        tuple(f for f in found if f.severity is Severity.WARNING),
        _state(attempt),
        tuple(f for f in found if f.severity is Severity.NOTE),
    )


def _found(attempt: ForkAttempt, policy: Policy) -> list[Finding]:
    found: list[Finding] = []
    for requirement in _applying(attempt, [each for each in REQUIREMENTS if policy.effect(each) is not Effect.IGNORE]):
        severity = _SEVERITIES[policy.effect(requirement)]
        found.extend(Finding(requirement.code, severity, params) for params in requirement.violations(attempt))
    found.extend(replace(f, severity=Severity.WARNING) for cut in attempt.cuts.values() for f in cut.findings)
    return found


def _applying(attempt: ForkAttempt, rows: Iterable[Requirement]) -> Iterator[Requirement]:
    """Yield the *rows* that apply to the chat."""
    uses_recaps: bool | None = None
    for requirement in rows:
        if requirement.recaps_only:
            if uses_recaps is None:
                uses_recaps = attempt.uses_recaps()
            if not uses_recaps:
                continue
        yield requirement


def unmet(attempt: ForkAttempt, rows: Iterable[Requirement]) -> tuple[str, ...]:
    """Return the codes of those *rows* that do not hold, as ``check`` finds them, without a word about each."""
    rows = tuple(rows)
    try:
        return _unmet(attempt, rows)
    except ChatDamaged as error:
        return _unmet(replace(attempt, damage=error.fact, cuts={}), rows)


def _unmet(attempt: ForkAttempt, rows: Iterable[Requirement]) -> tuple[str, ...]:
    return tuple(row.code for row in _applying(attempt, rows) if any(True for _ in row.violations(attempt)))


def _state(attempt: ForkAttempt) -> ReportState:
    try:
        idle = not any(operation.is_busy for operation in attempt.queue())
    except QueueUnreadable:
        idle = False
    scene, running = attempt.scene, attempt.running
    return ReportState(
        queue_empty=idle,
        has_scene_break=bool(scene and scene.is_break),
        has_scene_recap=bool(scene and scene.recap),
        has_running_recap=bool(running and running.current is not None),
        message_index=attempt.at,
    )


__all__ = ["REQUIREMENTS", "Effect", "ForkAttempt", "Policy", "Requirement", "check", "unmet"]
