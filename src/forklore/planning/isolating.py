"""Planning an isolation: the timeline's own lorebook, then the chat that names it, edited where it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forklore.attribution.isolation import OwnBook, channels_of_isolation, point_of_parting
from forklore.attribution.splitting import Kin
from forklore.channels import cut_channels
from forklore.formats.chat_jsonl import SCAN_BYTES, Chat
from forklore.formats.json_text import encode
from forklore.formats.record import IDENTITY_KEY, RECORD_KEY
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import ForkPoint
from forklore.model.finding import Report
from forklore.model.plan import HEADER, Bytes, Change, CreateFile, Edit, EditFile, Fingerprint, LineEdit, Plan, Put
from forklore.planning.draft import Draft
from forklore.planning.fork import inside_metadata, state_record
from forklore.planning.swipe import is_hidden
from forklore.planning.undo import ISOLATION


@dataclass(frozen=True, slots=True)
class IsolationFiles:
    """The files of an isolation, by their path in the workspace."""

    address: str
    chat: str
    clones: Mapping[str, tuple[str, str]]
    """The lorebooks by their names: where each is and where its clone goes; none that it has for itself already."""
    original_lorebook: str | None
    read: tuple[tuple[str, Fingerprint], ...] = ()
    """What was read, and must not have changed until the chat names its new book."""


def draft_isolation(parent: TimelineState, point: ForkPoint, kin: Kin, *, adopts: bool) -> Draft:
    """Cut every channel of the timeline at its own last message; *adopts* says that it has a book of its own already.

    Raises ``ChatDamaged`` for a line it needs.
    """
    cuts = cut_channels(parent, point, channels_of_isolation(kin, adopts=adopts))
    return Draft(parent, point_of_parting(point, kin), {}, cuts)


def plan_isolation(draft: Draft, report: Report, files: IsolationFiles) -> Plan:
    """Return the plan that isolates the timeline: first its lorebook, then the chat; nothing else is touched."""
    book = draft.parent.book
    data = (draft.book.data if draft.book.data is not None else book.data) if book else None
    changes: list[Change] = list(_clone_files(draft, files))
    digests = {
        "messages": _digest_of_messages(draft.parent.chat, draft.point.at),
        "lorebook": hashlib.sha256(data).hexdigest() if data is not None else None,
    }
    edits = [LineEdit(HEADER, inside_metadata(edit)) for edit in _edits(draft, report, files, digests)]
    edits += _message_edits(draft)
    changes.append(EditFile(files.chat, tuple(edits), role=ISOLATION))
    return Plan(
        kind="isolate",
        chat=files.address,
        changes=tuple(changes),
        commit=len(changes) - 1,
        unchanged=files.read,
        notes={"isolated": draft.point.chat_name, "lorebook": draft.point.clone_name},
    )


def _clone_files(draft: Draft, files: IsolationFiles) -> Iterator[CreateFile]:
    for clone in draft.clones:
        content = clone.origin.content
        if clone.origin.name in files.clones and content is not None:
            data = clone.book.data if clone.book.data is not None else content.data
            yield CreateFile(files.clones[clone.origin.name][1], (Bytes(data),))


def _edits(draft: Draft, report: Report, files: IsolationFiles, digests: dict[str, str | None]) -> Iterator[Edit]:
    for cut in draft.cuts.values():
        yield from cut.edits
    record = state_record(draft, report, digests)
    record["original_lorebook_name"] = files.original_lorebook
    record["isolated_at_message"] = draft.parent.chat.last
    if isinstance(draft.book, OwnBook):
        record["entries_in_doubt"] = len(draft.book.split.in_doubt)
    yield Put((RECORD_KEY,), encode(record))
    yield Put((IDENTITY_KEY,), encode({**draft.cuts["identity"].value, "digests": digests}))


def _message_edits(draft: Draft) -> Iterator[LineEdit]:
    """Yield what changes in messages: the lorebooks that they name, and those that nothing covers any more."""
    chat, extended = draft.parent.chat, draft.extended
    for number in sorted({*extended.messages, *extended.shown}):
        for edit in extended.messages.get(number, ()):
            yield LineEdit(number, edit)
        if number in extended.shown and is_hidden(chat.line_bytes(number)):
            yield LineEdit(number, Put(("is_system",), "false"))


def _digest_of_messages(chat: Chat, upto: int) -> str:
    """Return the digest of the messages 0…*upto*, as a fork's record has it."""
    start, end = chat.span(0)[0], chat.span(upto)[1]
    digest = hashlib.sha256()
    while start < end:
        stop = min(end, start + SCAN_BYTES)
        digest.update(chat.read(start, stop))
        start = stop
    return digest.hexdigest()
