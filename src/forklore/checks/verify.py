"""What a timeline should be when it is opened: as it was recorded, its own, and whole.

Progress after the fork is normal and no finding. A new check is one function and one row in the table at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore.adapters.guard import Naming, in_entries, in_message, in_metadata
from forklore.attribution.witnesses import entries_of_unknown_time
from forklore.channels import LOOKED_AFTER
from forklore.channels.guard import own_names, told
from forklore.channels.progress import is_untouched
from forklore.channels.queue import QueueUnreadable, read_queue, stale_operations
from forklore.channels.registry import broken_lines
from forklore.channels.running_recap import KEY as RUNNING_KEY
from forklore.channels.running_recap import is_beyond, read_running_recap
from forklore.channels.survey import Survey, last_snapshot
from forklore.checks.requirements import is_of_older_sillytavern
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.formats.record import FORMAT, IDENTITY_KEY, RECORD_KEY, is_from_present, newer_format
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE, TimelineState
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.fact import NO_PARAMS, Params, some
from forklore.model.finding import Finding, Severity


class Problem(NamedTuple):
    """What a check yields when it does not hold."""

    params: Params = NO_PARAMS
    repairs: tuple[str, ...] = ()
    severity: Severity | None = None


Problems = Iterator[Problem]


def _group_chat_has_a_header(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if is_of_older_sillytavern(timeline):
        yield Problem()


def _chat_is_whole(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if timeline.damage and not is_of_older_sillytavern(timeline):
        yield Problem({"reason": timeline.damage})


def _lorebook_is_there(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    for more in timeline.more:
        if more.fault == MISSING:
            yield Problem({"case": "more", "lorebook": more.name, "renamed": None}, severity=Severity.WARNING)
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
    yield Problem({"lorebook": book.name, "renamed": renamed}, (*repairs, "empty", "detach"))


def _lorebook_lies_inside(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    for book in timeline.books:
        if book.fault != OUTSIDE:
            continue
        yield Problem({"case": "lorebook", "lorebook": book.name, "reason": book.reason})


def _format_is_known(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    number = newer_format(timeline.metadata)
    if number is not None:
        yield Problem({"case": "timeline", "format": number, "known": FORMAT})


def _lorebook_is_readable(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    for book in timeline.books:
        if book.fault != UNREADABLE:
            continue
        yield Problem({"lorebook": book.name, "reason": book.reason})


def _lorebook_is_the_recorded_one(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if timeline.record is None:
        return
    expected = timeline.record.get("cloned_lorebook_name")
    if expected != timeline.book_name and timeline.book_fault != MISSING:
        yield Problem(
            {"expected": expected, "current": timeline.book_name},
            ("reattach", "accept") if index.is_free(expected) else ("accept",),
        )


def _lorebook_is_its_own(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    sharers = index.sharers(timeline.address)
    if not sharers:
        return
    shown, more = some(sharers)
    original = index.original_of(timeline.address)
    lorebook = next(iter(index.shared_books(timeline.address)), timeline.book_name)
    params = {"lorebook": lorebook, "chats": shown, "more": more, "original": original}
    if index.is_owner(timeline.address):
        yield Problem({**params, "case": "owner"}, ("isolate-others", "share"))
        return
    yield Problem(params, (*(("reattach",) if index.own_book(timeline) else ()), "isolate", "share"))


def _names_nobody_else(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    for finding in told(names_of_others(timeline, index)):
        yield Problem(finding.params, finding.repairs)


def names_of_others(timeline: TimelineState, index: WorkspaceIndex) -> list[Naming]:
    """Return where a recorded fork names another one of its family, outside what we know and what was accepted."""
    record = timeline.record
    if record is None or not timeline.is_fork or timeline.damage:
        return []
    own = {timeline.name, *(book.name for book in timeline.books)}
    family = index.family_names(timeline.address) | recorded_originals(record)
    family -= own
    found = list(in_metadata(timeline.metadata, family, LOOKED_AFTER))
    with suppress(ChatDamaged, IndexError):
        found += in_message(timeline.chat.message(0), family)
    above = (own_names(timeline) | recorded_originals(record)) - own
    for book in timeline.books:
        if book.content is not None:
            found += in_entries(book.content, above, book.name)
    accepted = record.get("names_accepted")
    allowed = set(accepted) if isinstance(accepted, list) else set()
    return [naming for naming in found if naming.place not in allowed]


def recorded_originals(record: Mapping[str, Any]) -> frozenset[str]:
    """Return the lorebooks that were cloned for a timeline, as its record has them."""
    listed = record.get("lorebooks")
    names = [each.get("original") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return frozenset(name for name in (*names, record.get("original_lorebook_name")) if isinstance(name, str))


def _current_version_is_there(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    running, recorded = (
        read_running_recap(timeline.metadata),
        timeline.record.get("running_recap_version") if timeline.record else None,
    )
    numbers = running.numbers
    params = {"recorded": recorded, "current": running.current_version, "available": list(numbers)}
    if recorded is not None and not isinstance(timeline.metadata.get(RUNNING_KEY), dict):
        yield Problem({**params, "case": "gone"}, ("put-back",), Severity.WARNING)
    elif running.current_version is not None and running.versions and running.current_version not in numbers:
        repairs = (*(("use-latest",) if numbers else ()), *(("put-back",) if recorded is not None else ()))
        yield Problem({**params, "case": "current"}, repairs)
    elif recorded is not None and recorded not in numbers:
        yield Problem({**params, "case": "recorded"}, ("put-back", "use-latest") if numbers else ("put-back",))


def _current_version_is_the_recorded_one(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    recorded = timeline.record.get("running_recap_version") if timeline.record else None
    running = read_running_recap(timeline.metadata)
    current, numbers = running.current_version, running.numbers
    if recorded is None or not is_untouched(timeline) or recorded not in numbers or current not in numbers:
        return
    if current != recorded:
        yield Problem({"recorded": recorded, "current": current}, ("set-back",))


def _running_recap_is_its_own(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    stored = timeline.metadata.get(RUNNING_KEY)
    owner = stored.get("chat_id") if isinstance(stored, dict) else None
    if not isinstance(owner, str) or owner == timeline.name:
        return
    beyond = [v.get("version") for v in read_running_recap(timeline.metadata).versions if is_beyond(v, timeline.last)]
    # Never own what tells of another timeline's future; a repair of another name, since it is for the user to decide.
    repairs: tuple[str, ...] = ("keep-own-versions",) if beyond else ("take-over",)
    on_purpose = index.is_shared_on_purpose(timeline.book_name)
    may_isolate = (timeline.is_fork or index.original_of(timeline.address)) and not (timeline.is_recorded or on_purpose)
    if may_isolate:
        repairs = ("isolate", *repairs)
    case = {"case": "isolate"} if may_isolate else {}
    yield Problem({**case, "chat": owner, "beyond": beyond, "count": len(beyond)}, repairs)


def _combined_recap_is_the_recorded_one(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    recorded = timeline.record.get("combined_recap_message_count") if timeline.record else None
    space = timeline.metadata.get("auto_recap")
    recap = space.get("combined_recap") if isinstance(space, dict) else None
    count = recap.get("message_count") if isinstance(recap, dict) else None
    if not recorded or not isinstance(count, int) or count == recorded:
        return
    if is_untouched(timeline) or count < recorded or count > timeline.last + 1:
        yield Problem({"recorded": recorded, "current": count})


def _was_made_by_forklore(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    shares = timeline.book_name or isinstance(timeline.metadata.get(RUNNING_KEY), dict)
    if index.is_shared_on_purpose(timeline.book_name):
        return
    if timeline.is_fork and shares and not timeline.is_recorded and not _inherits(timeline):
        yield Problem({"kind": timeline.kind}, ("isolate",))


def _inherits(timeline: TimelineState) -> bool:
    """Whether the chat carries what Forklore wrote about another chat."""
    if timeline.is_recorded:
        return False
    return any(isinstance(timeline.metadata.get(key), dict) for key in (IDENTITY_KEY, RECORD_KEY))


def _record_is_its_own(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if _inherits(timeline):
        holder = timeline.metadata.get(IDENTITY_KEY) or timeline.metadata.get(RECORD_KEY)
        of = holder.get("chat") or holder.get("chat_id") if isinstance(holder, dict) else None
        yield Problem({"chat": of if isinstance(of, str) else None}, ("isolate",))


def _lorebook_is_of_its_time(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    del index
    record = timeline.record
    if record is None or timeline.book is None or not is_from_present(record):
        return
    at, outline = timeline.forked_at, timeline.book.outline
    doubtful = entries_of_unknown_time(timeline.chat, outline, upto=timeline.last)
    yield Problem({"at": at, "doubtful": doubtful, "entries": outline.story_entries}, ("accept",))


def _parent_is_there(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    main_chat = timeline.metadata.get("main_chat")
    if not isinstance(main_chat, str) or not main_chat or timeline.parent:
        return
    renamed = index.parent_now(timeline)
    repairs = ("follow-rename", "make-main") if renamed else ("make-main",)
    yield Problem({"parent": main_chat, "renamed": renamed}, repairs)


def _name_is_known(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if timeline.renamed_from:
        yield Problem({"name": timeline.renamed_from}, ("follow-rename",))


def _queue_is_readable(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    try:
        read_queue(timeline.book)
    except QueueUnreadable as error:
        yield Problem({"reason": error.fact})


def _queue_is_of_this_timeline(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    stale = stale_operations(timeline)
    if stale:
        others = len(index.users(timeline.book_name)) > 1  # nobody can tell whose they are then
        shown, more = some([operation.to_fact() for operation in stale])
        yield Problem(
            {"count": len(stale), "operations": shown, "more": more, **({"case": "shared"} if others else {})},
            () if others else ("cancel-operations",),
        )


def _registries_are_sound(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    broken = list(broken_lines(timeline.book.outline)) if timeline.book else []
    if broken:
        lines, more = some(broken)
        yield Problem({"lines": lines, "more": more}, ("rebuild-lines",))


def _something_is_visible(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if not timeline.is_fork or timeline.damage or timeline.last < 0:
        return
    if not Survey(timeline.chat).shows_something(upto=timeline.last):
        yield Problem({}, ("show-last-scene",))


def _links_lead_somewhere(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    dangling = () if timeline.damage else index.dangling(timeline.address, timeline.chat)
    if dangling:
        links, more = some([{"at": link.message, "chat": link.chat} for link in dangling])
        yield Problem({"links": links, "more": more}, ("remove-link",))


def _map_is_up_to_date(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    stale = index.stale_map(timeline.address)
    if stale:
        chats, more = some(stale)
        yield Problem({"chats": chats, "more": more}, ("remove-entry",))


def _parent_knows_it(timeline: TimelineState, index: WorkspaceIndex) -> Problems:
    if index.is_unlinked(timeline):
        yield Problem({"parent": timeline.parent}, ("relink",) if timeline.parent else ())


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
    OpeningCheck("NAMES_PARENT", _names_nobody_else, _WARNING),
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
    # Normal for a fork at a scene break: told to those who ask about this one timeline.
    OpeningCheck("HISTORY_HIDDEN", _something_is_visible, Severity.NOTE),
)


def verify(
    timeline: TimelineState, index: WorkspaceIndex, checks: Iterable[OpeningCheck] = OPENING
) -> tuple[Finding, ...]:
    """Return everything that is not as it should be; of a newer Forklore's timeline only what its files show."""
    is_newer = newer_format(timeline.metadata) is not None
    return tuple(
        Finding(check.code, problem.severity or check.severity, problem.params, () if is_newer else problem.repairs)
        for check in checks
        if not is_newer or check.code in _WITHOUT_RECORD
        for problem in check.violations(timeline, index)
    )


_WITHOUT_RECORD = {"CHAT_DAMAGED", "LOREBOOK_MISSING", "LINK_OUTSIDE", "LOREBOOK_UNREADABLE", "FORMAT_NEWER"}
