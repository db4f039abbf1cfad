"""What a timeline should be when it is opened: as it was recorded, its own, and whole.

Progress after the fork is normal and no finding. A new check is one function and one row in the table at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from forklore.channels.checkpoint_map import STATE_KEY
from forklore.channels.identity import FORMAT, newer_format
from forklore.channels.identity import KEY as IDENTITY_KEY
from forklore.channels.opened import Opened, snapshot_of, stale_operations
from forklore.channels.queue import QueueUnreadable, read_queue
from forklore.channels.registry import broken_lines
from forklore.channels.running_recap import KEY as RUNNING_KEY
from forklore.channels.running_recap import is_beyond
from forklore.checks.requirements import LINK_ACTION, is_of_older_sillytavern
from forklore.model.finding import Finding, Severity


class Problem(NamedTuple):
    """What a check yields when it does not hold."""

    message: str
    action: str
    details: str = ""
    repairs: tuple[str, ...] = ()
    severity: Severity | None = None


Problems = Iterator[Problem]


def _group_chat_has_a_header(opened: Opened) -> Problems:
    if is_of_older_sillytavern(opened.address, opened.chat):
        yield Problem(
            "This group chat is in the format of an older SillyTavern",
            "Update SillyTavern: a newer one brings it into a format that can be forked, by itself",
            "Its metadata is in the group's file. Nothing is wrong with the chat.",
        )


def _chat_is_whole(opened: Opened) -> Problems:
    if opened.damage and not is_of_older_sillytavern(opened.address, opened.chat):
        yield Problem(
            "The chat file is damaged",
            "Restore the chat from SillyTavern's backups, or mend the line; opening it there would drop the line",
            opened.damage,
        )


def _lorebook_is_there(opened: Opened) -> Problems:
    if not opened.book_missing:
        return
    repairs: list[str] = ["follow-rename"] if opened.book_now else []
    if opened.book_in_trash:
        repairs.append("from-trash")
    if snapshot_of(opened.chat):
        repairs.append("from-snapshot")
    if opened.parent:
        repairs.append("from-parent")
    there = "The chat names it, but there is no such file. If you renamed it, give it its old name back instead."
    now = f"Its content is in {opened.book_now!r} now." if opened.book_now else there
    yield Problem(
        f"The lorebook {opened.book_name!r} is missing",
        "Choose a repair: the first one that is offered keeps most",
        now,
        (*repairs, "empty", "detach"),
    )


def _lorebook_lies_inside(opened: Opened) -> Problems:
    if opened.book_outside:
        yield Problem(f"The lorebook {opened.book_name!r} is not in the data folder", LINK_ACTION, opened.book_outside)


def _format_is_known(opened: Opened) -> Problems:
    number = newer_format(opened.metadata)
    if number is not None:
        yield Problem(
            "A newer Forklore made this timeline",
            "Update Forklore; until then nothing in its record is believed, and it is not repaired",
            f"Its record has format {number}, known is {FORMAT}.",
        )


def _lorebook_is_readable(opened: Opened) -> Problems:
    if opened.book_damage:
        yield Problem(
            f"The lorebook {opened.book_name!r} cannot be read",
            "Restore the lorebook from a backup",
            opened.book_damage,
        )


def _lorebook_is_the_recorded_one(opened: Opened) -> Problems:
    if opened.record is None:
        return
    expected = opened.record.get("cloned_lorebook_name")
    if expected != opened.book_name and not opened.book_missing:
        yield Problem(
            "The timeline uses another lorebook than it was made with",
            "Attach the recorded lorebook again, or accept the one it has now",
            f"Expected: {expected!r}, current: {opened.book_name!r}.",
            ("reattach", "accept") if opened.recorded_book_there else ("accept",),
        )


def _lorebook_is_its_own(opened: Opened) -> Problems:
    if opened.is_fork and opened.sharers:
        shown = ", ".join(opened.sharers[:5]) + (" …" if len(opened.sharers) > 5 else "")
        yield Problem(
            f"The lorebook {opened.book_name!r} is shared with another timeline",
            "Isolate the timeline, so that neither side remembers what never happened to it",
            f"Also used by: {shown}.",
            ("isolate", "share"),
        )
    elif opened.copy_of:
        yield Problem(
            f"The lorebook {opened.book_name!r} is shared with the chat that this one is a copy of",
            "Isolate the timeline, so that neither side remembers what never happened to it",
            f"It is a copy of {opened.copy_of}.",
            ("isolate", "share"),
        )


def _current_version_is_there(opened: Opened) -> Problems:
    running, recorded = opened.running, opened.record.get("running_recap_version") if opened.record else None
    numbers = running.numbers
    available = f"Available: {', '.join(map(str, numbers)) or 'none'}."
    if recorded is not None and not isinstance(opened.metadata.get(RUNNING_KEY), dict):
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


def _current_version_is_the_recorded_one(opened: Opened) -> Problems:
    recorded = opened.record.get("running_recap_version") if opened.record else None
    current = opened.running.current_version
    numbers = opened.running.numbers
    if recorded is None or not opened.is_untouched or recorded not in numbers or current not in numbers:
        return
    if current != recorded:
        yield Problem(
            "The running recap is not at the version the timeline was made with",
            "Set it back to the recorded version",
            f"Recorded: {recorded}, current: {current}. Nothing was written since the fork.",
            ("set-back",),
        )


def _running_recap_is_its_own(opened: Opened) -> Problems:
    stored = opened.metadata.get(RUNNING_KEY)
    owner = stored.get("chat_id") if isinstance(stored, dict) else None
    if not isinstance(owner, str) or owner == opened.name:
        return
    beyond = [str(v.get("version")) for v in opened.running.versions if is_beyond(v, opened.last)]
    tell = f"Version {beyond[0]} tells" if len(beyond) == 1 else f"Versions {', '.join(beyond)} tell"
    future = f" {tell} of messages that are not in this timeline." if beyond else ""
    # Never own what tells of another timeline's future; a repair of another name, since it is for the user to decide.
    repairs: tuple[str, ...] = ("keep-own-versions",) if beyond else ("take-over",)
    may_isolate = (opened.is_fork or opened.copy_of) and not (opened.is_recorded or opened.is_shared_on_purpose)
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


def _combined_recap_is_the_recorded_one(opened: Opened) -> Problems:
    recorded = opened.record.get("combined_recap_message_count") if opened.record else None
    space = opened.metadata.get("auto_recap")
    recap = space.get("combined_recap") if isinstance(space, dict) else None
    count = recap.get("message_count") if isinstance(recap, dict) else None
    if not recorded or not isinstance(count, int) or count == recorded:
        return
    if opened.is_untouched or count < recorded or count > opened.last + 1:
        yield Problem(
            "The combined recap covers another number of messages than when the timeline was made",
            "Generate the combined recap again if you use it",
            f"Recorded: {recorded}, current: {count}.",
        )


def _was_made_by_forklore(opened: Opened) -> Problems:
    shares = opened.book_name or isinstance(opened.metadata.get(RUNNING_KEY), dict)
    if opened.is_shared_on_purpose:
        return
    if opened.is_fork and shares and not opened.is_recorded and not _inherits(opened):
        yield Problem(
            "Created before full isolation support: it may share data with its parent",
            "Isolate it, so that it has its own lorebook and its own record",
            "",
            ("isolate",),
        )


def _inherits(opened: Opened) -> bool:
    """Whether the chat carries what Forklore wrote about another chat."""
    if opened.is_recorded:
        return False
    return any(isinstance(opened.metadata.get(key), dict) for key in (IDENTITY_KEY, STATE_KEY))


def _record_is_its_own(opened: Opened) -> Problems:
    if _inherits(opened):
        holder = opened.metadata.get(IDENTITY_KEY) or opened.metadata.get(STATE_KEY)
        of = holder.get("chat") or holder.get("chat_id") if isinstance(holder, dict) else None
        yield Problem(
            "The record in this chat was copied from another one",
            "Isolate the timeline: it was copied without Forklore and may share data",
            f"It is the record of {of!r}." if of else "",
            ("isolate",),
        )


def _parent_is_there(opened: Opened) -> Problems:
    main_chat = opened.metadata.get("main_chat")
    if not isinstance(main_chat, str) or not main_chat or opened.parent:
        return
    found = f"It is called {opened.parent_now!r} now." if opened.parent_now else ""
    yield Problem(
        f"The parent {main_chat!r} is not there",
        "Nothing of this timeline is lost; follow the new name, or let it be a story of its own",
        found,
        ("follow-rename", "make-main") if opened.parent_now else ("make-main",),
    )


def _name_is_known(opened: Opened) -> Problems:
    if opened.renamed_from:
        yield Problem(
            f"The chat was called {opened.renamed_from!r} when it was made",
            "Follow the new name in its record and in the timelines beside it",
            "",
            ("follow-rename",),
        )


def _queue_is_readable(opened: Opened) -> Problems:
    try:
        read_queue(opened.book)
    except QueueUnreadable as error:
        yield Problem("The operation queue cannot be read", "Let ST-Auto-Recap write its queue anew", str(error))


def _queue_is_of_this_timeline(opened: Opened) -> Problems:
    stale = stale_operations(opened)
    if stale:
        others = opened.is_book_of_others_too  # nobody can tell whose they are then
        yield Problem(
            f"{len(stale)} waiting operations are about messages that are not in this timeline",
            "Leave them to the other chat that names the lorebook, or isolate this one" if others else "Cancel them",
            "; ".join(str(operation) for operation in stale[:10]),
            () if others else ("cancel-operations",),
        )


def _registries_are_sound(opened: Opened) -> Problems:
    broken = list(broken_lines(opened.book.outline)) if opened.book else []
    if broken:
        more = f" … and {len(broken) - 10} more." if len(broken) > 10 else ""
        yield Problem(
            "A registry names a wrong or missing lorebook entry",
            "Rebuild the lines from the entries",
            " ".join(broken[:10]) + more,
            ("rebuild-lines",),
        )


def _something_is_visible(opened: Opened) -> Problems:
    if not opened.is_fork or opened.damage or opened.last < 0:
        return
    if not opened.chat.shows_something(upto=opened.last):
        yield Problem(
            "Every message is hidden from the model",
            "Show the last scene again",
            "ST-Auto-Recap hides the messages it has summarised.",
            ("show-last-scene",),
        )


def _links_lead_somewhere(opened: Opened) -> Problems:
    if opened.dangling:
        shown = "; ".join(f"message {link.message}: {link.chat!r}" for link in opened.dangling[:10])
        yield Problem(
            "A message links to a chat that is not there",
            "Remove the link: clicking it in SillyTavern would make an empty chat of that name",
            shown,
            ("remove-link",),
        )


def _map_is_up_to_date(opened: Opened) -> Problems:
    if opened.stale_map:
        yield Problem(
            "The map of lorebooks names chats that are not there",
            "Remove the entries: nothing uses them",
            ", ".join(repr(name) for name in opened.stale_map[:10]),
            ("remove-entry",),
        )


def _parent_knows_it(opened: Opened) -> Problems:
    if opened.link_pending:
        yield Problem(
            "The parent does not link to this timeline yet",
            "Write the link; nothing is lost without it",
            "It could not be written when the fork was made.",
            ("relink",) if opened.parent else (),
        )


@dataclass(frozen=True, slots=True)
class OpeningCheck:
    """One row of the table."""

    code: str
    holds: Callable[[Opened], Problems]
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


def findings_on_opening(opened: Opened, checks: Iterable[OpeningCheck] = OPENING) -> tuple[Finding, ...]:
    """Return everything that is not as it should be; of a newer Forklore's timeline only what its files show."""
    is_newer = newer_format(opened.metadata) is not None
    return tuple(
        Finding(check.code, problem.severity or check.severity, *problem[:3], () if is_newer else problem.repairs)
        for check in checks
        if not is_newer or check.code in _WITHOUT_RECORD
        for problem in check.holds(opened)
    )


_WITHOUT_RECORD = {"CHAT_DAMAGED", "LOREBOOK_MISSING", "LINK_OUTSIDE", "LOREBOOK_UNREADABLE", "FORMAT_NEWER"}
