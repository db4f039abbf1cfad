"""Planning a fork: the clone, the new chat, and what the parent notes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from forklore.attribution.witnesses import entries_of_unknown_time
from forklore.channels.checkpoint_map import MAP_PATH
from forklore.channels.lorebook import Clone
from forklore.formats.chat_facts import when_sent
from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import encode, to_bytes, to_text
from forklore.formats.record import IDENTITY_KEY, RECORD_KEY
from forklore.model.cut import ForkPoint
from forklore.model.finding import Report
from forklore.model.plan import (
    HEADER,
    Append,
    Bytes,
    Change,
    CreateFile,
    DigestOf,
    Edit,
    EditFile,
    Fingerprint,
    LineEdit,
    Piece,
    Plan,
    Put,
    Range,
)
from forklore.planning.draft import Draft

RECORD_VERSION = 2


class ForkFiles(NamedTuple):
    """The names of a fork, and its files by their path in the workspace."""

    address: str
    """How the new chat is addressed."""
    chat_name: str
    clone_name: str | None
    parent: str
    chat: str
    clones: Mapping[str, tuple[str, str]]
    """The lorebooks by their names: where each is, and where its clone goes."""
    group: str | None
    read: tuple[tuple[str, Fingerprint], ...] = ()
    """What was read, and must not have changed until the fork is published."""
    leave_parent: bool = False
    """The parent is open in SillyTavern's page, which writes link, map and group entry itself."""


def plan_fork(draft: Draft, report: Report, files: ForkFiles) -> Plan:
    """Return the plan that makes the fork: first the clone, then the chat that names it, then what points to it."""
    point = draft.point
    messages = tuple(_message_pieces(draft, files.parent))
    changes: list[Change] = list(clone_files(draft.clones, files.clones))
    clone = _clone_pieces(draft, files)
    changes.append(CreateFile(files.chat, _chat_pieces(draft, report, files.parent, messages=messages, clone=clone)))
    commit = len(changes) - 1
    sent = when_sent(draft.parent.chat, [point.at])
    notes: dict[str, Any] = {"fork": point.chat_name, "message": point.at, "sent": sent}
    pointing = tuple(_pointing(draft, files))
    if files.leave_parent:
        notes["left"] = [_left(change, draft.parent.chat) for change in pointing]
    else:
        changes.extend(pointing)
    return Plan(
        kind=point.kind,
        chat=files.address,
        changes=tuple(changes),
        commit=commit,
        unchanged=files.read,
        notes=notes,
    )


def _pointing(draft: Draft, files: ForkFiles) -> Iterator[EditFile]:
    """Yield what makes others point to the fork."""
    if files.group is not None:
        # First of all: SillyTavern cannot open a group chat that its group does not list.
        yield group_entry(files.group, draft.point.chat_name)
    yield _parent_change(draft.point, draft.parent.metadata, files)


def _left(change: EditFile, parent: Chat) -> dict[str, Any]:
    """Return, as the log has an edit, what the page is to write and what would take that back."""
    by_line: dict[int | None, list[Edit]] = {}
    for each in change.edits:
        by_line.setdefault(each.line, []).append(each.edit)
    inverse: list[LineEdit] = []
    for line, edits in by_line.items():
        # A group has been told nothing yet, whatever else is in its file.
        text = '{"chats":[]}' if line is None else to_text(parent.line_bytes(line))
        inverse += (LineEdit(line, edit) for edit in apply_edits(text, edits).inverse)
    return {
        "do": "edit",
        "path": change.path,
        "role": change.role,
        "edits": [each.to_json() for each in change.edits],
        "inverse": [each.to_json() for each in inverse],
    }


def group_entry(path: str, chat_name: str) -> EditFile:
    """Return the entry in a group's list of chats."""
    return EditFile(path, (LineEdit(None, Append(("chats",), encode(chat_name))),), role="group entry")


def _parent_change(point: ForkPoint, metadata: Mapping[str, Any], files: ForkFiles) -> EditFile:
    """Return the link that SillyTavern itself would write, and the entry in our map."""
    name = encode(files.chat_name)
    link: Edit = Put(("extra", "bookmark_link"), name)
    if point.kind == "branch":
        link = Append(("extra", "branches"), name)
    edits = [LineEdit(point.at, link)]
    if files.clone_name is not None and _has_place_for_map(metadata):
        mapped = Put(("chat_metadata", *MAP_PATH, files.chat_name), encode(files.clone_name))
        edits.append(LineEdit(HEADER, mapped))
    return EditFile(files.parent, tuple(edits), role="link")


def _has_place_for_map(metadata: Mapping[str, Any]) -> bool:
    """Whether the map can be written without overwriting something that is none; it is a hint that can be missed."""
    holder: Any = metadata
    for key in MAP_PATH:
        if key not in holder:
            return True
        holder = holder[key]
        if not isinstance(holder, dict):
            return False
    return True


def clone_files(clones: Iterable[Clone], files: Mapping[str, tuple[str, str]]) -> Iterator[CreateFile]:
    """Yield the lorebooks of the fork: their bytes as they are, wherever they need no change."""
    for clone in clones:
        if clone.origin.name in files:
            source, target = files[clone.origin.name]
            yield CreateFile(target, _pieces(clone, source))


def _pieces(clone: Clone, source: str) -> tuple[Bytes | Range, ...]:
    if clone.book.data is not None:
        return (Bytes(clone.book.data),)
    return (Range(source, 0, clone.origin.content.size),) if clone.origin.content is not None else ()


def _clone_pieces(draft: Draft, files: ForkFiles) -> tuple[Bytes | Range, ...]:
    """Return the lorebook of the chat itself."""
    own = next((clone for clone in draft.clones if clone.origin is draft.parent.lorebook), None)
    return _pieces(own, files.clones[own.origin.name][0]) if own and own.origin.name in files.clones else ()


def whole_clone(clone: str, book: str, size: int) -> CreateFile:
    """Return the clone of a book of *size* bytes in which nothing is changed."""
    return CreateFile(clone, (Range(book, 0, size),))


# --- the new chat -------------------------------------------------------------------------------------------------


def _message_pieces(draft: Draft, path: str) -> Iterator[Bytes | Range]:
    """Yield the messages 0…N: one range, but for the few messages that are changed on purpose."""
    chat, at = draft.parent.chat, draft.point.at
    position, end = chat.span(0)[0], chat.span(at)[1]
    for number, line in sorted(draft.changed.items()):
        start, stop = chat.span(number)
        if start > position:
            yield Range(path, position, start)
        yield Bytes(line)
        position = stop
    if end > position:
        yield Range(path, position, end)


def _chat_pieces(
    draft: Draft,
    report: Report,
    path: str,
    *,
    messages: tuple[Bytes | Range, ...],
    clone: tuple[Bytes | Range, ...],
) -> tuple[Piece, ...]:
    chat = draft.parent.chat
    header_start, header_end = chat.span(HEADER)
    pieces: list[Piece] = []
    if header_start:
        pieces.append(Range(path, 0, header_start))
    pieces.extend(_header_pieces(draft, report, {"messages": messages, "lorebook": clone}))
    first, last_end = chat.span(0)[0], chat.span(draft.point.at)[1]
    pieces.append(Range(path, header_end, first))
    pieces.extend(messages)
    if draft.point.at == chat.last and last_end < chat.lines.size:
        pieces.append(Range(path, last_end, chat.lines.size))  # a line break at the end stays
    return tuple(pieces)


def _header_pieces(
    draft: Draft, report: Report, contents: dict[str, tuple[Bytes | Range, ...]]
) -> Iterator[Bytes | DigestOf]:
    """Yield the header line; the digests in it are worked out only while the disk is busy with the rest."""
    # The new timeline's id makes the stand-ins unmistakable: no text of the story can know it.
    digests = {name: f"@{name}:{draft.point.timeline}@" if pieces else None for name, pieces in contents.items()}
    header = _header(draft, state_record(draft, report, digests), digests)
    stand_ins = {stand_in.encode(): DigestOf(contents[name]) for name, stand_in in digests.items() if stand_in}
    while stand_ins:
        first = min(stand_ins, key=header.find)
        before, _, header = header.partition(first)
        yield Bytes(before)
        yield stand_ins[first]
        stand_ins = {name: digest for name, digest in stand_ins.items() if name in header}
    yield Bytes(header)


def _header(draft: Draft, record: dict[str, Any], digests: dict[str, Any]) -> bytes:
    """Return the parent's header line with each channel cut; bytes that need no change are not changed."""
    identity = {**draft.cuts["identity"].value, "digests": digests}
    edits: list[Edit] = [edit for cut in draft.cuts.values() for edit in cut.edits]
    edits.append(Put((RECORD_KEY,), encode(record)))
    edits.append(Put((IDENTITY_KEY,), encode(identity)))
    line = to_text(draft.parent.chat.line_bytes(HEADER))
    return to_bytes(apply_edits(line, [inside_metadata(edit) for edit in edits]).text)


def inside_metadata(edit: Edit) -> Edit:
    """Return an edit of the metadata as one of the header line."""
    return edit._replace(path=("chat_metadata", *edit.path))


# --- the record ---------------------------------------------------------------------------------------------------


def state_record(draft: Draft, report: Report, digests: dict[str, Any]) -> dict[str, Any]:
    """Return what the fork contained when it was made: the fields of both designs, flags as they really were."""
    point, book = draft.point, draft.parent.book
    record: dict[str, Any] = {
        "version": RECORD_VERSION,
        "kind": point.kind,
        "chat_id": point.chat_name,
        "timestamp": point.made_at,
        "message_id": point.at,
        "extension_version": point.program_version,
        "queue_was_empty": report.state.queue_empty,
        "cloned_lorebook_name": point.clone_name,
        "original_lorebook_name": book.name if book else None,
        "lorebook_source": draft.book.source,
        "lorebooks": [clone.to_record() for clone in draft.clones],
    }
    for cut in draft.cuts.values():
        record.update(cut.record)
    if draft.book.source == "present":
        record["entries_in_doubt"] = entries_of_unknown_time(draft.parent.chat, draft.book.outline, upto=point.at)
    record["warnings"] = [finding.code for finding in report.warnings]
    record["carried_from_present"] = draft.carried
    record["left_out"] = draft.left_out
    record["digests"] = digests
    return record
