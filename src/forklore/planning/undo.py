"""Planning an undo: an inverse edit of the files as they are now, not a return of old files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from forklore.errors import ForkloreError, Kind
from forklore.formats.chat_facts import links_of
from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_text import encode, parse
from forklore.model.plan import HEADER, Change, Drop, Edit, EditFile, LineEdit, Plan, Put, RestoreFile, Take, TrashFile

_LINK = ("extra", "bookmark_link")


class UndoRefused(ForkloreError):
    """Undoing would lose something that came later."""

    code = "UNDO_REFUSED"
    kind = Kind.CONFLICT
    action = "Undo or delete what came later first. Nothing was changed."


def plan_undo(
    operation_id: str,
    chat: str,
    changes: Sequence[Mapping[str, Any]],
    *,
    exists: Callable[[str], bool],
    edits_of: Callable[[Mapping[str, Any]], tuple[LineEdit, ...]],
) -> Plan:
    """Return the plan that takes an operation's *changes* back.

    *exists* tells which files are still there; *edits_of* gives the inverse edits of a file as it is now.
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
                restored.append(RestoreFile(path, change["item"], content))
            case "edit" if exists(path) and (edits := edits_of(change)):
                edited.append(EditFile(path, edits, role=change.get("role", "edit")))
    # A chat never names a missing lorebook: books come back before chats and go after them.
    restored.sort(key=lambda change: not _is_book(change.path))
    removed.sort(key=lambda change: _is_book(change.path))
    if not restored and not removed and not edited:
        raise UndoRefused("There is nothing left of the operation to undo.", action="Nothing was changed.")
    commit = len(restored) - 1 if restored else 0
    return Plan("undo", chat, (*restored, *removed, *edited), commit, undoes=operation_id)


def _is_book(path: str) -> bool:
    return path.startswith("worlds/")


def inverse_edits(change: Mapping[str, Any]) -> tuple[LineEdit, ...]:
    """Return the edits that take a logged edit back."""
    return tuple(LineEdit.from_json(edit) for edit in change.get("inverse", ()))


def inverse_link_edits(
    change: Mapping[str, Any],
    chat: Chat,
    fork: str,
    *,
    still_there: Callable[[str], bool],
    replaced_by: Callable[[str], str | None],
) -> tuple[LineEdit, ...]:
    """Return the edits that take the link to *fork* out of its parent as it is now.

    The link of an earlier checkpoint comes back only if that checkpoint is still there; *replaced_by* tells which link
    an undone checkpoint had replaced in its turn. Where a swipe or a deleted message has moved the link, it goes too.
    """
    edits: list[LineEdit] = []
    for line, edit in ((inverse.line, inverse.edit) for inverse in inverse_edits(change)):
        if line == HEADER or (line is not None and chat.has(line)):
            edits.append(LineEdit(line, _earlier_link(edit, still_there, replaced_by)))
    planned = {edit.line for edit in edits}
    edits.extend(edit for edit in _moved_links(chat, fork) if edit.line not in planned or edit.edit.path != _LINK)
    return tuple(edits)


def _earlier_link(edit: Edit, still_there: Callable[[str], bool], replaced_by: Callable[[str], str | None]) -> Edit:
    if not isinstance(edit, Put) or edit.path != _LINK:
        return edit
    name = parse(edit.text)
    seen: set[str] = set()
    while isinstance(name, str) and not still_there(name) and name not in seen:
        seen.add(name)
        name = replaced_by(name)
    if isinstance(name, str) and name not in seen:
        return Put(edit.path, encode(name), only_if=edit.only_if)
    return Drop(edit.path, only_if=edit.only_if)


def _moved_links(chat: Chat, fork: str) -> Iterator[LineEdit]:
    """Yield edits for every link to *fork*, in the message itself and in its swipes."""
    wanted = encode(fork)
    for number in sorted({link.message for link in links_of(chat) if link.chat == fork}):
        swipes = chat.message(number).get("swipe_info")
        holders: list[tuple[str | int, ...]] = [()]
        holders += [("swipe_info", i) for i in range(len(swipes) if isinstance(swipes, list) else 0)]
        for holder in holders:
            yield LineEdit(number, Drop((*holder, *_LINK), only_if=wanted))
            yield LineEdit(number, Take((*holder, "extra", "branches"), wanted))
