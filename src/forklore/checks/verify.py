"""What a timeline should be when it is opened: as it was recorded, its own, and whole.

Progress after the fork is normal and no finding. A new check is one function and one row in the table at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from forklore.attribution.witnesses import entries_of_unknown_time
from forklore.channels.progress import is_untouched
from forklore.channels.queue import QueueUnreadable, read_queue, stale_operations
from forklore.channels.registry import broken_lines
from forklore.channels.running_recap import KEY as RUNNING_KEY
from forklore.channels.running_recap import is_beyond, read_running_recap
from forklore.channels.survey import Survey, last_snapshot
from forklore.checks.requirements import LINK_ACTION, is_of_older_sillytavern
from forklore.formats.record import FORMAT, IDENTITY_KEY, RECORD_KEY, is_from_present, newer_format
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE, TimelineState
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.finding import Finding, Severity


class Problem(NamedTuple):
    """What a check yields when it does not hold."""

    message: str
    action: str
    details: str = ""
    repairs: tuple[str, ...] = ()
    severity: Severity | None = None


Problems = Iterator[Problem]


def _group_chat_has_a_header(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if is_of_older_sillytavern(timeline):
        yield Problem(
            "This group chat is in the format of an older SillyTavern",
            "Update SillyTavern: a newer one brings it into a format that can be forked, by itself",
            "Its metadata is in the group's file. Nothing is wrong with the chat.",
        )


def _chat_is_whole(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if timeline.damage and not is_of_older_sillytavern(timeline):
        yield Problem(
            "The chat file is damaged",
            "Restore the chat from SillyTavern's backups, or mend the line; opening it there would drop the line",
            timeline.damage,
        )


def _lorebook_is_there(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    book = timeline.lorebook
    if book is None or book.fault != MISSING:
        return
    renamed = index.book_now(timeline)
    repairs: list[str] = ["follow-rename"] if renamed else []
    if book.path in index.trashed:
        repairs.append("from-trash")
    if last_snapshot(timeline.chat):
        repairs.append("from-snapshot")
    if timeline.parent:
        repairs.append("from-parent")
    there = "The chat names it, but there is no such file. If you renamed it, give it its old name back instead."
    now = f"Its content is in {renamed!r} now." if renamed else there
    yield Problem(
        f"The lorebook {book.name!r} is missing",
        "Choose a repair: the first one that is offered keeps most",
        now,
        (*repairs, "empty", "detach"),
    )


def _lorebook_lies_inside(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    book = timeline.lorebook
    if book and book.fault == OUTSIDE:
        yield Problem(f"The lorebook {book.name!r} is not in the data folder", LINK_ACTION, book.details)


def _format_is_known(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    number = newer_format(timeline.metadata)
    if number is not None:
        yield Problem(
            "A newer Forklore made this timeline",
            "Update Forklore; until then nothing in its record is believed, and it is not repaired",
            f"Its record has format {number}, known is {FORMAT}.",
        )


def _lorebook_is_readable(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    book = timeline.lorebook
    if book and book.fault == UNREADABLE:
        yield Problem(
            f"The lorebook {book.name!r} cannot be read",
            "Restore the lorebook from a backup",
            book.details,
        )


def _lorebook_is_the_recorded_one(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if timeline.record is None:
        return
    expected = timeline.record.get("cloned_lorebook_name")
    if expected != timeline.book_name and timeline.book_fault != MISSING:
        yield Problem(
            "The timeline uses another lorebook than it was made with",
            "Attach the recorded lorebook again, or accept the one it has now",
            f"Expected: {expected!r}, current: {timeline.book_name!r}.",
            ("reattach", "accept") if index.is_free(expected) else ("accept",),
        )


def _lorebook_is_its_own(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    sharers = index.sharers(timeline.address)
    if not sharers:
        return
    shown = ", ".join(sharers[:5]) + (" …" if len(sharers) > 5 else "")
    original = index.original_of(timeline.address)
    copied = f" It is a copy of {original}." if original else ""
    if index.is_owner(timeline.address):
        yield Problem(
            f"The lorebook {timeline.book_name!r} is shared with another timeline",
            "Give the others lorebooks of their own, so that no side remembers what never happened to it",
            f"Also used by: {shown}.",
            ("isolate-others", "share"),
        )
        return
    yield Problem(
        f"The lorebook {timeline.book_name!r} is shared with another timeline",
        "Isolate the timeline, so that neither side remembers what never happened to it",
        f"Also used by: {shown}.{copied}",
        (*(("reattach",) if index.own_book(timeline) else ()), "isolate", "share"),
    )


def _current_version_is_there(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    running, recorded = (
        read_running_recap(timeline.metadata),
        timeline.record.get("running_recap_version") if timeline.record else None,
    )
    numbers = running.numbers
    available = f"Available: {', '.join(map(str, numbers)) or 'none'}."
    if recorded is not None and not isinstance(timeline.metadata.get(RUNNING_KEY), dict):
        yield Problem(
            "The running recap is gone",
            "Put the recorded version back, or generate a running recap",
            f"Version {recorded} was recorded.",
            ("put-back",),
            Severity.WARNING,
        )
    elif running.current_version is not None and running.versions and running.current_version not in numbers:
        yield Problem(
            f"Version {running.current_version} of the running recap is missing",
            "Use the latest version, or put the recorded one back",
            available,
            (*(("use-latest",) if numbers else ()), *(("put-back",) if recorded is not None else ())),
        )
    elif recorded is not None and recorded not in numbers:
        yield Problem(
            f"Version {recorded} of the running recap, with which the timeline was made, is missing",
            "Put the recorded version back, or accept the latest one",
            available,
            ("put-back", "use-latest") if numbers else ("put-back",),
        )


def _current_version_is_the_recorded_one(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    recorded = timeline.record.get("running_recap_version") if timeline.record else None
    running = read_running_recap(timeline.metadata)
    current, numbers = running.current_version, running.numbers
    if recorded is None or not is_untouched(timeline) or recorded not in numbers or current not in numbers:
        return
    if current != recorded:
        yield Problem(
            "The running recap is not at the version the timeline was made with",
            "Set it back to the recorded version",
            f"Recorded: {recorded}, current: {current}. Nothing was written since the fork.",
            ("set-back",),
        )


def _running_recap_is_its_own(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    stored = timeline.metadata.get(RUNNING_KEY)
    owner = stored.get("chat_id") if isinstance(stored, dict) else None
    if not isinstance(owner, str) or owner == timeline.name:
        return
    beyond = [
        str(v.get("version")) for v in read_running_recap(timeline.metadata).versions if is_beyond(v, timeline.last)
    ]
    tell = f"Version {beyond[0]} tells" if len(beyond) == 1 else f"Versions {', '.join(beyond)} tell"
    future = f" {tell} of messages that are not in this timeline." if beyond else ""
    # Never own what tells of another timeline's future; a repair of another name, since it is for the user to decide.
    repairs: tuple[str, ...] = ("keep-own-versions",) if beyond else ("take-over",)
    on_purpose = index.is_shared_on_purpose(timeline.book_name)
    may_isolate = (timeline.is_fork or index.original_of(timeline.address)) and not (timeline.is_recorded or on_purpose)
    if may_isolate:
        repairs = ("isolate", *repairs)
    yield Problem(
        "The running recap belongs to another chat",
        "Isolate the timeline, or let it take the running recap over: ST-Auto-Recap would reset it"
        if may_isolate
        else "Let it take the running recap over: ST-Auto-Recap would reset it",
        f"It says it is of {owner!r}.{future}",
        repairs,
    )


def _combined_recap_is_the_recorded_one(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    recorded = timeline.record.get("combined_recap_message_count") if timeline.record else None
    space = timeline.metadata.get("auto_recap")
    recap = space.get("combined_recap") if isinstance(space, dict) else None
    count = recap.get("message_count") if isinstance(recap, dict) else None
    if not recorded or not isinstance(count, int) or count == recorded:
        return
    if is_untouched(timeline) or count < recorded or count > timeline.last + 1:
        yield Problem(
            "The combined recap covers another number of messages than when the timeline was made",
            "Generate the combined recap again if you use it",
            f"Recorded: {recorded}, current: {count}.",
        )


def _was_made_by_forklore(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    shares = timeline.book_name or isinstance(timeline.metadata.get(RUNNING_KEY), dict)
    if index.is_shared_on_purpose(timeline.book_name):
        return
    if timeline.is_fork and shares and not timeline.is_recorded and not _inherits(timeline):
        yield Problem(
            "Created before full isolation support: it may share data with its parent",
            "Isolate it, so that it has its own lorebook and its own record",
            "",
            ("isolate",),
        )


def _inherits(timeline: TimelineState) -> bool:
    """Whether the chat carries what Forklore wrote about another chat."""
    if timeline.is_recorded:
        return False
    return any(isinstance(timeline.metadata.get(key), dict) for key in (IDENTITY_KEY, RECORD_KEY))


def _record_is_its_own(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if _inherits(timeline):
        holder = timeline.metadata.get(IDENTITY_KEY) or timeline.metadata.get(RECORD_KEY)
        of = holder.get("chat") or holder.get("chat_id") if isinstance(holder, dict) else None
        yield Problem(
            "The record in this chat was copied from another one",
            "Isolate the timeline: it was copied without Forklore and may share data",
            f"It is the record of {of!r}." if of else "",
            ("isolate",),
        )


def _lorebook_is_of_its_time(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    del index
    record = timeline.record
    if record is None or timeline.book is None or not is_from_present(record):
        return
    at, outline = timeline.forked_at, timeline.book.outline
    doubtful = entries_of_unknown_time(timeline.chat, outline, upto=timeline.last)
    yield Problem(
        "The lorebook came from the present when this timeline was made in the past",
        "Look through its entries for what has not happened yet, then accept it",
        f"{doubtful} of {outline.story_entries} entries may tell of what comes after message {at}.",
        ("accept",),
    )


def _parent_is_there(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    main_chat = timeline.metadata.get("main_chat")
    if not isinstance(main_chat, str) or not main_chat or timeline.parent:
        return
    renamed = index.parent_now(timeline)
    found = f"It is called {renamed!r} now." if renamed else ""
    yield Problem(
        f"The parent {main_chat!r} is not there",
        "Nothing of this timeline is lost; follow the new name, or let it be a story of its own",
        found,
        ("follow-rename", "make-main") if renamed else ("make-main",),
    )


def _name_is_known(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if timeline.renamed_from:
        yield Problem(
            f"The chat was called {timeline.renamed_from!r} when it was made",
            "Follow the new name in its record and in the timelines beside it",
            "",
            ("follow-rename",),
        )


def _queue_is_readable(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    try:
        read_queue(timeline.book)
    except QueueUnreadable as error:
        yield Problem("The operation queue cannot be read", "Let ST-Auto-Recap write its queue anew", str(error))


def _queue_is_of_this_timeline(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    stale = stale_operations(timeline)
    if stale:
        others = len(index.users(timeline.book_name)) > 1  # nobody can tell whose they are then
        yield Problem(
            f"{len(stale)} waiting operations are about messages that are not in this timeline",
            "Leave them to the other chat that names the lorebook, or isolate this one" if others else "Cancel them",
            "; ".join(str(operation) for operation in stale[:10]),
            () if others else ("cancel-operations",),
        )


def _registries_are_sound(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    broken = list(broken_lines(timeline.book.outline)) if timeline.book else []
    if broken:
        more = f" … and {len(broken) - 10} more." if len(broken) > 10 else ""
        yield Problem(
            "A registry names a wrong or missing lorebook entry",
            "Rebuild the lines from the entries",
            " ".join(broken[:10]) + more,
            ("rebuild-lines",),
        )


def _something_is_visible(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if not timeline.is_fork or timeline.damage or timeline.last < 0:
        return
    if not Survey(timeline.chat).shows_something(upto=timeline.last):
        yield Problem(
            "Every message is hidden from the model",
            "Show the last scene again",
            "ST-Auto-Recap hides the messages it has summarised.",
            ("show-last-scene",),
        )


def _links_lead_somewhere(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    dangling = () if timeline.damage else index.dangling(timeline.address, timeline.chat)
    if dangling:
        shown = "; ".join(f"message {link.message}: {link.chat!r}" for link in dangling[:10])
        yield Problem(
            "A message links to a chat that is not there",
            "Remove the link: clicking it in SillyTavern would make an empty chat of that name",
            shown,
            ("remove-link",),
        )


def _map_is_up_to_date(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    stale = index.stale_map(timeline.address)
    if stale:
        yield Problem(
            "The map of lorebooks names chats that are not there",
            "Remove the entries: nothing uses them",
            ", ".join(repr(name) for name in stale[:10]),
            ("remove-entry",),
        )


def _parent_knows_it(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if index.is_unlinked(timeline):
        yield Problem(
            "The parent does not link to this timeline yet",
            "Write the link; nothing is lost without it",
            "It could not be written when the fork was made.",
            ("relink",) if timeline.parent else (),
        )


@dataclass(frozen=True, slots=True)
class OpeningCheck:
    """One row of the table."""

    code: str
    violations: Callable[[TimelineState, WorkspaceIndex], Problems]
    severity: Severity


_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

OPENING: tuple[OpeningCheck, ...] = (
    OpeningCheck("CHAT_DAMAGED", _chat_is_whole, _ERROR),
    OpeningCheck("GROUP_FORMAT_OLD", _group_chat_has_a_header, _WARNING),
    OpeningCheck("LOREBOOK_MISSING", _lorebook_is_there, _ERROR),
    OpeningCheck("LINK_OUTSIDE", _lorebook_lies_inside, _ERROR),
    OpeningCheck("LOREBOOK_UNREADABLE", _lorebook_is_readable, _ERROR),
    OpeningCheck("FORMAT_NEWER", _format_is_known, _ERROR),
    OpeningCheck("LOREBOOK_MISMATCH", _lorebook_is_the_recorded_one, _WARNING),
    OpeningCheck("SHARED_LOREBOOK", _lorebook_is_its_own, _ERROR),
    OpeningCheck("LOREBOOK_FROM_PRESENT", _lorebook_is_of_its_time, _WARNING),
    OpeningCheck("RUNNING_RECAP_VERSION_MISSING", _current_version_is_there, _ERROR),
    OpeningCheck("RUNNING_RECAP_VERSION_MISMATCH", _current_version_is_the_recorded_one, _ERROR),
    OpeningCheck("RUNNING_RECAP_FOREIGN", _running_recap_is_its_own, _WARNING),
    OpeningCheck("COMBINED_RECAP_MISMATCH", _combined_recap_is_the_recorded_one, _WARNING),
    OpeningCheck("LEGACY_FORK", _was_made_by_forklore, _WARNING),
    OpeningCheck("INHERITED_STATE", _record_is_its_own, _WARNING),
    OpeningCheck("CHAT_RENAMED", _name_is_known, _WARNING),
    OpeningCheck("PARENT_MISSING", _parent_is_there, _WARNING),
    OpeningCheck("QUEUE_UNREADABLE", _queue_is_readable, _ERROR),
    OpeningCheck("QUEUE_STALE", _queue_is_of_this_timeline, _WARNING),
    OpeningCheck("REGISTRY_BROKEN", _registries_are_sound, _WARNING),
    OpeningCheck("LINK_DANGLING", _links_lead_somewhere, _WARNING),
    OpeningCheck("LINK_PENDING", _parent_knows_it, _WARNING),
    OpeningCheck("MAP_STALE", _map_is_up_to_date, _WARNING),
)

ON_REQUEST: tuple[OpeningCheck, ...] = (
    # Normal for a fork at a scene break, so that nobody is told who does not ask.
    OpeningCheck("HISTORY_HIDDEN", _something_is_visible, _WARNING),
)


def verify(
    timeline: TimelineState, index: WorkspaceIndex, checks: Iterable[OpeningCheck] = OPENING
) -> tuple[Finding, ...]:
    """Return everything that is not as it should be; of a newer Forklore's timeline only what its files show."""
    is_newer = newer_format(timeline.metadata) is not None
    return tuple(
        Finding(check.code, problem.severity or check.severity, *problem[:3], () if is_newer else problem.repairs)
        for check in checks
        if not is_newer or check.code in _WITHOUT_RECORD
        for problem in check.violations(timeline, index)
    )


_WITHOUT_RECORD = {"CHAT_DAMAGED", "LOREBOOK_MISSING", "LINK_OUTSIDE", "LOREBOOK_UNREADABLE", "FORMAT_NEWER"}
