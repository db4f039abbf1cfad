"""What must (blocks) or should (warns) hold before a fork.

A new requirement is one function and one row in the table at the end; nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from forklore.channels.cut import Cut
from forklore.channels.lorebook import BookCut
from forklore.channels.queue import QueuedOperation, QueueUnreadable, read_queue
from forklore.channels.registry import broken_lines
from forklore.channels.running_recap import RunningRecap
from forklore.channels.scenes import Scene, names_recaps
from forklore.channels.survey import Survey
from forklore.formats.chat_facts import checkpoint_of
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE, TimelineState
from forklore.model.finding import Finding, Report, ReportState, Severity


@dataclass(frozen=True)
class ForkAttempt:
    """A fork somebody wants to make of a timeline, as far as it could be cut."""

    timeline: TimelineState
    kind: str
    at: int | None
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    """Every channel, cut at the message; empty when the message or the chat is not there to be cut."""
    damage: str = ""
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


Found = Iterator[tuple[str, str, str]]
"""What a requirement yields when it does not hold: message, action, details."""


def _message_exists(attempt: ForkAttempt) -> Found:
    chat = attempt.chat
    if attempt.damage:
        return
    if attempt.at is None:
        yield "Message not found", "Write a message first", "The chat has no messages yet."
    elif not chat.has(attempt.at):
        last = f"The last one is {chat.last}." if chat.last is not None else "The chat has no messages yet."
        yield f"Message not found: there is no message {attempt.at}", "Choose a message of the chat", last


def is_of_older_sillytavern(timeline: TimelineState) -> bool:
    """Whether this is a group chat of SillyTavern 1.13 or so: without a header, its metadata in the group's file."""
    return timeline.address.is_group and timeline.chat.begins_with_message


def _group_chat_has_a_header(attempt: ForkAttempt) -> Found:
    if is_of_older_sillytavern(attempt.timeline):
        yield (
            "This group chat is in the format of an older SillyTavern",
            "Update SillyTavern: a newer one brings it into a format that can be forked, by itself",
            "Its metadata is in the group's file. Nothing is wrong with the chat.",
        )


def _chat_is_whole(attempt: ForkAttempt) -> Found:
    if is_of_older_sillytavern(attempt.timeline):
        return
    if attempt.damage:
        yield "The chat file is damaged", _MEND_CHAT, attempt.damage
    elif attempt.chat.lines.odd_lines:
        odd = attempt.chat.lines.odd_lines
        lines = ", ".join(str(line + 1) for line in odd[:10]) + (" …" if len(odd) > 10 else "")
        yield "The chat file is damaged", _MEND_CHAT, f"Not messages: line {lines}."


_MEND_CHAT = "Restore the chat from SillyTavern's backups, or mend the line; opening it there would drop the line"


def _queue_is_idle(attempt: ForkAttempt) -> Found:
    try:
        busy = [operation for operation in attempt.queue() if operation.is_busy]
    except QueueUnreadable:
        return
    if busy:
        counts = [
            f"{sum(operation.status == status for operation in busy)} {word}"
            for status, word in (("pending", "pending"), ("in_progress", "in progress"), ("retrying", "retrying"))
            if status != "retrying" or any(operation.status == status for operation in busy)
        ]
        operations = "operation" if len(busy) == 1 else "operations"
        yield (
            f"Cannot create {attempt.kind}: {len(busy)} {operations} in queue. Please wait for queue to finish.",
            "Wait for all operations to complete",
            f"({', '.join(counts)}): " + "; ".join(str(operation) for operation in busy),
        )


def _queue_is_readable(attempt: ForkAttempt) -> Found:
    try:
        attempt.queue()
    except QueueUnreadable as error:
        yield "The operation queue cannot be read", "Let ST-Auto-Recap write its queue anew, then try again", str(error)


def _lorebook_is_there(attempt: ForkAttempt) -> Found:
    if attempt.timeline.book_fault == MISSING:
        yield (
            f"The lorebook {attempt.timeline.book_name!r} is missing",
            "Put the lorebook back, or attach another one to the chat in SillyTavern",
            "The chat names it, but there is no such file, so the fork could not be isolated.",
        )


def _lorebook_lies_inside(attempt: ForkAttempt) -> Found:
    book = attempt.timeline.lorebook
    if book and book.fault == OUTSIDE:
        yield f"The lorebook {book.name!r} is not in the data folder", LINK_ACTION, book.details


LINK_ACTION = "Put the file itself there, or allow the linked folder if you made the link: `forklore doctor` tells how"


def _lorebook_is_readable(attempt: ForkAttempt) -> Found:
    book = attempt.timeline.lorebook
    if book and book.fault == UNREADABLE:
        yield (
            f"The lorebook {book.name!r} cannot be read",
            "Restore the lorebook from a backup, then try again",
            book.details,
        )


def _is_scene_break(attempt: ForkAttempt) -> Found:
    if attempt.scene and not attempt.scene.is_break:
        yield (
            "Message is not a scene break",
            "Mark this message as a scene break",
            "Use the clapperboard button to create scene break",
        )


def _scene_has_recap(attempt: ForkAttempt) -> Found:
    if attempt.scene and not attempt.scene.recap:
        yield "Scene has no recap", "Generate scene recap", "Open scene break panel and click Generate"


def _lorebook_work_is_done(attempt: ForkAttempt) -> Found:
    scene = attempt.scene
    if scene and scene.is_break and scene.recap and not scene.lorebook_is_done:
        yield (
            "The scene's lorebook work is not finished",
            "Let ST-Auto-Recap finish the scene's lorebook entries",
            "No lorebook entry was activated for this scene.",
        )


def _running_recap_exists(attempt: ForkAttempt) -> Found:
    if attempt.running and attempt.running.current is None:
        yield (
            "No running scene recap",
            "Generate running scene recap",
            "Open extension settings and generate running recap",
        )


def _scene_is_in_running_recap(attempt: ForkAttempt) -> Found:
    current = attempt.running.current if attempt.running else None
    if current is None or attempt.at is None:
        return
    ends = current.get("new_scene_index")
    if isinstance(ends, int) and ends < attempt.at:
        yield (
            "The running recap ends before this message",
            "Combine the scene with the running recap",
            f"Version {current.get('version')} covers the story up to message {ends}.",
        )


def _no_recap_in_progress(attempt: ForkAttempt) -> Found:
    if attempt.at is None or not attempt.cuts:
        return
    unfinished = attempt.whole.unfinished_recaps(upto=attempt.at)
    if not unfinished and attempt.scene and attempt.scene.recap and attempt.scene.recap_is_unfinished:
        unfinished = [attempt.at]
    if unfinished:
        where = ", ".join(str(number) for number in unfinished[:10])
        yield (
            "A scene recap is being made, or was interrupted",
            "Wait for the recap, or generate it again",
            f"Unfinished at message {where}.",
        )


def _something_is_visible(attempt: ForkAttempt) -> Found:
    at = attempt.at
    if at is None or not attempt.cuts or attempt.shows_last_scene:
        return
    if not attempt.whole.shows_something(upto=at):
        yield (
            "Every message of the fork is hidden from the model",
            "Make the fork with --show-last-scene",
            "ST-Auto-Recap hides the messages it has summarised.",
        )


def _flag_is_free(attempt: ForkAttempt) -> Found:
    chat, at = attempt.chat, attempt.at
    if attempt.kind != "checkpoint" or at is None or not attempt.cuts:
        return
    earlier = checkpoint_of(chat.message(at))
    if earlier is not None and attempt.timeline.has_beside(earlier):
        yield (
            f"This message points to the checkpoint {earlier!r} already",
            "Nothing is lost: the new checkpoint takes its place at the flag, the earlier one stays in the tree",
            "A message of SillyTavern can point to one checkpoint only.",
        )


def _lorebook_is_active_once(attempt: ForkAttempt) -> Found:
    book = attempt.timeline.lorebook
    if book and book.active:
        yield (
            f"The lorebook {book.name!r} is also active elsewhere",
            "Switch it off there, so that only this chat uses it",
            f"Active {', '.join(book.active)}: the fork would read both that book and its own copy.",
        )


def _lorebook_is_of_that_time(attempt: ForkAttempt) -> Found:
    if attempt.book and attempt.book.source == "present":
        yield (
            "The lorebook is the one of the present",
            "Look through the fork's lorebook for what has not happened yet",
            f"No scene snapshot was kept up to message {attempt.at}.",
        )


def _registries_are_sound(attempt: ForkAttempt) -> Found:
    broken = list(broken_lines(attempt.book.outline)) if attempt.book else []
    if broken:
        more = f" … and {len(broken) - 10} more." if len(broken) > 10 else ""
        yield (
            "A registry names a wrong or missing lorebook entry",
            "Mend the registry line in the lorebook",
            " ".join(broken[:10]) + more,
        )


def _a_lorebook_is_attached(attempt: ForkAttempt) -> Found:
    if not attempt.damage and attempt.timeline.lorebook is None:
        yield "No lorebook attached to current chat", "Attach a lorebook if the story should have one", ""


class Effect(Enum):
    """What a requirement that does not hold does to a fork."""

    BLOCK = "block"
    WARN = "warn"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One row of the table: what is asked for, and what follows when it does not hold."""

    code: str
    violations: Callable[[ForkAttempt], Found]
    standard: Effect
    strict: Effect
    recaps_only: bool = False
    """Left out for chats that have no data of ST-Auto-Recap."""
    indispensable: bool = False
    """Without it no isolated fork can be made, so no setting can lower it."""
    everywhere: bool = False
    """It holds or not whatever the message is: it asks nothing of the cuts."""
    asks_book: bool = False
    """It looks into the lorebook as cut, which takes long to make."""


_BLOCK, _WARN = Effect.BLOCK, Effect.WARN

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement("MESSAGE_NOT_FOUND", _message_exists, _BLOCK, _BLOCK, indispensable=True),
    Requirement("CHAT_DAMAGED", _chat_is_whole, _BLOCK, _BLOCK, indispensable=True),
    Requirement("GROUP_FORMAT_OLD", _group_chat_has_a_header, _BLOCK, _BLOCK, indispensable=True),
    Requirement("LOREBOOK_MISSING", _lorebook_is_there, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("LINK_OUTSIDE", _lorebook_lies_inside, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("LOREBOOK_UNREADABLE", _lorebook_is_readable, _BLOCK, _BLOCK, indispensable=True, everywhere=True),
    Requirement("QUEUE_NOT_EMPTY", _queue_is_idle, _BLOCK, _BLOCK, everywhere=True),
    Requirement("QUEUE_UNREADABLE", _queue_is_readable, _BLOCK, _BLOCK, everywhere=True),
    Requirement("NO_SCENE_BREAK", _is_scene_break, _WARN, _BLOCK, recaps_only=True),
    Requirement("NO_SCENE_RECAP", _scene_has_recap, _WARN, _BLOCK, recaps_only=True),
    Requirement("NO_LOREBOOK_ENTRY", _lorebook_work_is_done, _WARN, _BLOCK, recaps_only=True),
    Requirement("NO_RUNNING_RECAP", _running_recap_exists, _WARN, _BLOCK, recaps_only=True),
    Requirement("SCENE_NOT_IN_RUNNING_RECAP", _scene_is_in_running_recap, _WARN, _BLOCK, recaps_only=True),
    Requirement("RECAP_IN_PROGRESS", _no_recap_in_progress, _WARN, _BLOCK, recaps_only=True),
    Requirement("HISTORY_HIDDEN", _something_is_visible, _WARN, _WARN),
    Requirement("CHECKPOINT_REPLACED", _flag_is_free, _WARN, _WARN),
    Requirement("LOREBOOK_ALSO_ACTIVE", _lorebook_is_active_once, _WARN, _WARN, everywhere=True),
    Requirement("LOREBOOK_FROM_PRESENT", _lorebook_is_of_that_time, _WARN, _WARN, asks_book=True),
    Requirement("REGISTRY_BROKEN", _registries_are_sound, _WARN, _WARN, recaps_only=True, asks_book=True),
    Requirement("NO_LOREBOOK", _a_lorebook_is_attached, _WARN, _WARN, recaps_only=True),
)


@dataclass(frozen=True, slots=True)
class Policy:
    """Which requirements block: the standard or the strict column, with rows overridden by a setting."""

    strict: bool = False
    overrides: Mapping[str, Effect] = field(default_factory=dict)

    def effect(self, requirement: Requirement) -> Effect:
        """Return what follows when *requirement* does not hold."""
        usual = requirement.strict if self.strict else requirement.standard
        return self.overrides.get(requirement.code, usual)

    def blocks(self, requirement: Requirement) -> bool:
        """Whether no fork is made while *requirement* does not hold."""
        return self.effect(requirement) is Effect.BLOCK

    def without(self, code: str) -> Policy:
        """Return the same policy, but for one requirement that is not looked at."""
        return replace(self, overrides={**self.overrides, code: Effect.IGNORE})


def check(attempt: ForkAttempt, policy: Policy) -> Report:
    """Hold *attempt* against every requirement and report all problems at once."""
    try:
        found = _found(attempt, policy)
    except ChatDamaged as error:  # only a requirement needed to read that line
        attempt = replace(attempt, damage=str(error), cuts={})
        found = _found(attempt, policy)
    return Report(
        str(attempt.timeline.address),
        attempt.at,
        tuple(f for f in found if f.severity is Severity.ERROR),
        tuple(f for f in found if f.severity is Severity.WARNING),
        _state(attempt),
    )


def _found(attempt: ForkAttempt, policy: Policy) -> list[Finding]:
    found: list[Finding] = []
    for requirement in _applying(attempt, [each for each in REQUIREMENTS if policy.effect(each) is not Effect.IGNORE]):
        severity = Severity.ERROR if policy.blocks(requirement) else Severity.WARNING
        found.extend(
            Finding(requirement.code, severity, message, action, details)
            for message, action, details in requirement.violations(attempt)
        )
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
        return _unmet(replace(attempt, damage=str(error), cuts={}), rows)


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
