"""Planning an undo: an inverse edit of the files as they are now, not a return of old files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from forklore.errors import ForkloreError, Kind
from forklore.formats.chat_facts import links_of
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.json_edit import apply_edits, value_text
from forklore.formats.json_text import NotJson, encode, parse, same_value, to_bytes, to_text
from forklore.log.operations import Operation
from forklore.model.plan import (
    HEADER,
    Change,
    Drop,
    Edit,
    EditFile,
    JsonPath,
    LineEdit,
    Plan,
    Put,
    RestoreFile,
    Take,
    TrashFile,
)

ISOLATION = "isolation"
"""The role of the edit that gives a chat its own lorebook, or takes it away again."""

_LINK, _BRANCHES = ("extra", "bookmark_link"), ("extra", "branches")


class UndoRefused(ForkloreError):
    """Undoing would lose something that came later."""

    code = "UNDO_REFUSED"
    kind = Kind.CONFLICT


class TrashAltered(ForkloreError):
    """Something in the trash was changed since it went there."""

    code = "TRASH_ALTERED"
    kind = Kind.CONFLICT


def plan_undo(
    operation_id: str,
    chat: str,
    changes: Sequence[Mapping[str, Any]],
    *,
    exists: Callable[[str], bool],
    edits_of: Callable[[Mapping[str, Any]], tuple[LineEdit, ...]],
    notes: Mapping[str, Any],
    item_of: Callable[[Mapping[str, Any]], str] = lambda change: str(change["item"]),
) -> Plan:
    """Return the plan that takes an operation's *changes* back.

    *exists* tells which files are still there; *edits_of* gives the inverse edits of a file as it is now; *notes* are
    the operation's own, since undoing the undo makes what the operation made; *item_of* tells where in the trash a file
    is now.
    """
    restored: list[RestoreFile] = []
    removed: list[TrashFile] = []
    edited: list[Change] = []
    for change in reversed(changes):
        path = change["path"]
        content = tuple((length, digest) for length, digest in change.get("content", ()))
        match change["do"]:
            case "create" | "restore" if exists(path):
                removed.append(TrashFile(path, content))
            case "trash":
                restored.append(RestoreFile(path, item_of(change), content))
            case "edit" if exists(path) and (edits := edits_of(change)):
                edited.append(EditFile(path, edits, role=change.get("role", "edit")))
    # A chat never names a missing lorebook: books come back before chats and go after them.
    restored.sort(key=lambda change: not is_book(change.path))
    removed.sort(key=lambda change: is_book(change.path))
    if not restored and not removed and not edited:
        raise UndoRefused("nothing_left")
    # What makes a chat name another book counts; the book it named goes only after that.
    decisive = [change for change in edited if isinstance(change, EditFile) and change.role == ISOLATION]
    others = [change for change in edited if change not in decisive]
    commit = max(len(restored) + len(decisive) - 1, 0)
    ordered = (*restored, *decisive, *removed, *others)
    return Plan("undo", chat, ordered, commit, undoes=operation_id, notes=dict(notes))


_CONDITIONS = {("chat_metadata", key) for key in ("world_info", "integrity", "forklore")}


def is_as_left(edits: Sequence[LineEdit], header: str) -> bool:
    """Whether a chat still is what an isolation, or undoing one, made of it: only then *edits* take that back."""
    for edit in (each.edit for each in edits if each.line == HEADER and each.edit.path in _CONDITIONS):
        only_if = edit.only_if if isinstance(edit, Put | Drop) else None
        found = value_text(header, edit.path)
        if (found is not None) != (only_if is not None) or (found and only_if and not same_value(found, only_if)):
            return False
    return True


def is_book(path: str) -> bool:
    """Whether the file at a path of the workspace is a lorebook."""
    return path.startswith("worlds/")


def inverse_edits(change: Mapping[str, Any]) -> tuple[LineEdit, ...]:
    """Return the edits that take a logged edit back."""
    return tuple(LineEdit.from_json(edit) for edit in change.get("inverse", ()))


def taken_back(data: bytes, inverse: Sequence[LineEdit]) -> bytes:
    """Return a file's bytes with edits taken back; raises ``NotJson``, and ``IndexError`` for a line that is gone."""
    chat = Chat.from_bytes(data)
    for line in sorted(
        {each.line for each in inverse}, key=lambda line: HEADER if line is None else line, reverse=True
    ):
        start, end = (0, len(data)) if line is None else chat.span(line)
        edited = apply_edits(to_text(data[start:end]), [each.edit for each in inverse if each.line == line])
        data = data[:start] + to_bytes(edited.text) + data[end:]  # from the last line on: those before stay in place
    return data


def inverse_link_edits(
    change: Mapping[str, Any],
    chat: Chat,
    fork: str,
    *,
    history: Mapping[str, Sequence[LineEdit]],
    sent: Mapping[str, Any],
    still_there: Callable[[str], bool],
) -> tuple[LineEdit, ...]:
    """Return the edits that take the link to *fork* out of its parent as it is now.

    *history* has, for every fork that was ever made in this file, the edits that take it back. The link of an earlier
    checkpoint comes back; of one that was undone since, what that one had replaced. An object that any of the forks
    made goes with the last thing in it. Where a swipe or a deleted message has moved the link, it goes too; *sent*
    tells when its message was sent. Another link of that name, which the parent may have inherited, stays.
    """
    made = {place for edits in history.values() for edit in edits for place in _made(edit)}
    links = [
        LineEdit(inverse.line, _earlier_link(inverse, fork, history, still_there))
        for inverse in inverse_edits(change)
        if inverse.line == HEADER or (inverse.line is not None and chat.has(inverse.line))
    ]
    links.extend(_moved_links(change, chat, fork, sent))
    edits = [LineEdit(link.line, _pruning(link.edit, link.line, made)) for link in links]
    edits.extend(_given_back(history, {edit.line for edit in edits}))
    return tuple(edits)


def link_history(path: str, log: list[Operation]) -> dict[str, tuple[LineEdit, ...]]:
    """Return, for every fork made in a chat, the edits that take its link back, newest first.

    A name that was used again, or a fork that was undone and came back, has those of each time: what the first one had
    to make is still there.
    """
    history: dict[str, tuple[LineEdit, ...]] = {}
    for operation in log:
        for change in operation.all_changes if operation.makes_fork else ():
            if change["path"] == path and change["do"] == "edit":
                name = str(operation.notes["fork"])
                history[name] = (*history.get(name, ()), *inverse_edits(change))
    return history


def still_fits(inverse: LineEdit, chat: Chat, sent: Mapping[str, Any]) -> bool:
    """Whether the message is still the one that had the link, and nothing else has taken the link's place."""
    if inverse.line is None or not (inverse.line == HEADER or chat.has(inverse.line)):
        return False
    try:
        if str(inverse.line) in sent and chat.message(inverse.line).get("send_date") != sent[str(inverse.line)]:
            return False
        if not isinstance(inverse.edit, Put) or inverse.edit.only_if is not None:
            return True
        return value_text(to_text(chat.line_bytes(inverse.line)), inverse.edit.path) is None
    except (ChatDamaged, NotJson):
        return False


def _given_back(history: Mapping[str, Sequence[LineEdit]], lines: set[int | None]) -> Iterator[LineEdit]:
    """Yield edits that put back what stood in the place of ``extra`` before the first link, once no link is left."""
    for inverse in (inverse for edits in history.values() for inverse in edits if inverse.line in lines):
        if isinstance(inverse.edit, Put) and inverse.edit.path == _LINK[:1]:
            yield LineEdit(inverse.line, inverse.edit._replace(only_if="{}"))


_Place = tuple[int | None, JsonPath]
"""An object or array in a file: the line it is in, and its path."""


def _holder(edit: Drop | Take) -> JsonPath:
    """Return the path of what may be empty after the edit."""
    return edit.path if isinstance(edit, Take) else edit.path[:-1]


def _made(inverse: LineEdit) -> Iterator[_Place]:
    """Yield what had to be made for an edit, as the edit that takes it back tells."""
    if isinstance(inverse.edit, Drop | Take):
        holder = _holder(inverse.edit)
        yield from ((inverse.line, holder[: len(holder) - level]) for level in range(inverse.edit.prune))
    elif inverse.edit.path == _LINK[:1]:
        yield inverse.line, _BRANCHES  # what stood there was no object, so it had no branches


def _pruning(edit: Edit, line: int | None, made: set[_Place]) -> Edit:
    if not isinstance(edit, Drop | Take):
        return edit
    holder, prune = _holder(edit), 0
    while prune < len(holder) and (line, holder[: len(holder) - prune]) in made:
        prune += 1
    return edit._replace(prune=prune)


def _earlier_link(
    inverse: LineEdit, fork: str, history: Mapping[str, Sequence[LineEdit]], still_there: Callable[[str], bool]
) -> Edit:
    edit, link = inverse.edit, encode(fork)
    gone = {fork}
    while isinstance(edit, Put) and edit.path == _LINK:
        name = str(parse(edit.text))
        if name in gone:
            return Drop(_LINK, only_if=link)
        earlier = [each.edit for each in history.get(name, ()) if each.line == inverse.line]
        back = next((each for each in earlier if each.path == _LINK[: len(each.path)]), None)
        if not isinstance(back, Put | Drop) or still_there(name):
            break  # another program's link, or that of a checkpoint that is still there
        gone.add(name)
        edit = back._replace(only_if=link) if back.path == _LINK else Drop(_LINK, only_if=link)
    return edit


def _moved_links(change: Mapping[str, Any], chat: Chat, fork: str, sent: Mapping[str, Any]) -> Iterator[LineEdit]:
    """Yield edits that take the link to *fork* out of the message that has it now, wherever that was written."""
    written = {edit["line"] for key in ("edits", "inverse") for edit in change.get(key, ())} - {HEADER, None}
    if not written:  # another program's link: nobody knows where it was made
        yield from links_taken_out(chat, fork)
        return
    there = {link.message for link in links_of(chat) if link.chat == fork}
    for line in written & {inverse.line for inverse in inverse_edits(change)}:
        when = sent.get(str(line))
        same = [number for number in there if when is None or chat.message(number).get("send_date") == when]
        if same:
            yield from links_taken_out(chat, fork, {min(same, key=lambda number: (abs(number - line), number))})


def links_taken_out(chat: Chat, fork: str, messages: Collection[int] | None = None) -> Iterator[LineEdit]:
    """Yield edits that take out the links to *fork*, in a message and in its swipes: in all, or in *messages*."""
    wanted = encode(fork)
    there = {link.message for link in links_of(chat) if link.chat == fork}
    for number in sorted(there if messages is None else there.intersection(messages)):
        swipes = chat.message(number).get("swipe_info")
        holders: list[tuple[str | int, ...]] = [()]
        holders += [("swipe_info", i) for i in range(len(swipes) if isinstance(swipes, list) else 0)]
        for holder in holders:
            yield LineEdit(number, Drop((*holder, *_LINK), only_if=wanted))
            yield LineEdit(number, Take((*holder, *_BRANCHES), wanted))
