"""Planning an isolation: the timeline's own lorebook, then the chat that names it, edited where it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from forklore.attribution.isolation import OwnBook, channels_of_isolation, point_of_parting
from forklore.attribution.splitting import Kin
from forklore.channels import cut_channels
from forklore.channels.cut import ForkPoint
from forklore.formats.chat_jsonl import SCAN_BYTES, Chat
from forklore.formats.json_text import encode
from forklore.formats.record import IDENTITY_KEY, RECORD_KEY
from forklore.gathered.timeline import TimelineState
from forklore.model.finding import Report
from forklore.model.plan import HEADER, Bytes, Change, CreateFile, Edit, EditFile, Fingerprint, LineEdit, Plan, Put
from forklore.planning.fork import Draft, inside_metadata, state_record
from forklore.planning.undo import ISOLATION


@dataclass(frozen=True, slots=True)
class IsolationFiles:
    """The files of an isolation, by their path in the workspace."""

    address: str
    chat: str
    clone: str | None
    """Where the new lorebook goes; None when the timeline has none, or one of its own already."""
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
    changes: list[Change] = []
    book = draft.parent.book
    data = (draft.book.data if draft.book.data is not None else book.data) if book else None
    if files.clone is not None and data is not None:
        changes.append(CreateFile(files.clone, (Bytes(data),)))
    digests = {
        "messages": _digest_of_messages(draft.parent.chat, draft.point.at),
        "lorebook": hashlib.sha256(data).hexdigest() if data is not None else None,
    }
    edits = tuple(LineEdit(HEADER, inside_metadata(edit)) for edit in _edits(draft, report, files, digests))
    changes.append(EditFile(files.chat, edits, role=ISOLATION))
    return Plan(
        kind="isolate",
        chat=files.address,
        changes=tuple(changes),
        commit=len(changes) - 1,
        unchanged=files.read,
        notes={"isolated": draft.point.chat_name, "lorebook": draft.point.clone_name},
    )


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


def _digest_of_messages(chat: Chat, upto: int) -> str:
    """Return the digest of the messages 0…*upto*, as a fork's record has it."""
    start, end = chat.span(0)[0], chat.span(upto)[1]
    digest = hashlib.sha256()
    while start < end:
        stop = min(end, start + SCAN_BYTES)
        digest.update(chat.read(start, stop))
        start = stop
    return digest.hexdigest()
