"""Planning removals: a timeline to the trash, books nobody names, and one thing back from the trash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from forklore.channels.checkpoint_map import MAP_PATH
from forklore.formats.chat_facts import links_of
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.group_json import Group
from forklore.formats.json_text import encode
from forklore.gathered.workspace import MapEntry
from forklore.model import names
from forklore.model.plan import (
    HEADER,
    Change,
    Drop,
    EditFile,
    Fingerprint,
    LineEdit,
    Plan,
    Put,
    RestoreFile,
    Take,
    TrashFile,
)
from forklore.planning.undo import is_book, links_taken_out


@dataclass(frozen=True, slots=True)
class Deletion:
    """What is to be removed with a chat."""

    chat: TrashFile
    books: tuple[TrashFile, ...] = ()
    group: EditFile | None = None
    parent: EditFile | None = None
    children: tuple[str, ...] = ()
    kept_book: str | None = None
    """The path of the chat's lorebook, if it stays."""
    sent: Mapping[str, Any] = field(default_factory=dict)
    """When each message of the parent that has a link was sent, by its number: so it is known again."""


def plan_delete(address: str, deletion: Deletion, unchanged: Sequence[tuple[str, Fingerprint]] = ()) -> Plan:
    """Return the plan that removes a timeline: its chat first, since a chat never names a missing lorebook."""
    followers = (*deletion.books, deletion.group, deletion.parent)
    changes: tuple[Change, ...] = (deletion.chat, *(change for change in followers if change is not None))
    notes = _notes(address, deletion.children)
    if deletion.kept_book is not None:
        notes["needs"] = deletion.kept_book
    if deletion.sent:
        notes["sent"] = dict(deletion.sent)
    return Plan("delete", address, changes, commit=0, unchanged=tuple(unchanged), notes=notes)


def group_entry_removal(path: str, group: Group, chat: str) -> EditFile:
    """Return the edit that takes a chat off its group's list, and opens another one if it was the open one."""
    edits = [LineEdit(None, Take(("chats",), encode(chat)))]
    others = [name for name in group.chats if name != chat]
    if others:
        # As SillyTavern does: it would make a new chat under the old name otherwise.
        edits.append(LineEdit(None, Put(("chat_id",), encode(others[-1]), only_if=encode(chat))))
    return EditFile(path, tuple(edits), role="group entry")


def link_removals(chat: Chat, fork: str, links: Iterable[LineEdit]) -> tuple[LineEdit, ...]:
    """Return the edits that take every link to *fork* and its entry in the map out of a parent as it is now.

    *links* take out what an undo would. Lines that cannot be read are left alone.
    """
    edits = list(links)
    # SillyTavern keeps a typed name in the link as it was typed, and the file's name without what a disk forbids.
    spellings = {link.chat for link in links_of(chat) if fork in (link.chat, names.sanitise(link.chat))}
    for spelling in sorted(spellings - {fork}):
        edits.extend(links_taken_out(chat, spelling))
    edits.append(LineEdit(HEADER, Drop(("chat_metadata", *MAP_PATH, fork))))
    readable = {line for line in {edit.line for edit in edits} if line is not None and _is_readable(chat, line)}
    return tuple(edit for edit in edits if edit.line in readable)


def _is_readable(chat: Chat, line: int) -> bool:
    try:
        _ = chat.header if line == HEADER else chat.message(line)
    except (ChatDamaged, IndexError):
        return False
    return True


# --- cleaning up --------------------------------------------------------------------------------------------------


def plan_cleanup(
    books: Sequence[TrashFile],
    entries: Mapping[str, Sequence[MapEntry]],
    unchanged: Sequence[tuple[str, Fingerprint]] = (),
) -> Plan:
    """Return the plan that moves *books* to the trash and takes *entries*, by their chat's path, out of the maps."""
    edits = [EditFile(path, tuple(map(_map_removal, found)), role="map") for path, found in entries.items()]
    return Plan("cleanup", "", (*books, *edits), commit=max(0, len(books) - 1), unchanged=tuple(unchanged))


def _map_removal(entry: MapEntry) -> LineEdit:
    return LineEdit(HEADER, Drop(("chat_metadata", *MAP_PATH, entry.fork), only_if=encode(entry.book)))


# --- putting back -------------------------------------------------------------------------------------------------


def plan_restore(
    address: str, files: Sequence[RestoreFile], edits: Sequence[EditFile], children: Sequence[str]
) -> Plan:
    """Return the plan that puts *files* back, lorebooks before the chats that name them, then what points to them."""
    ordered = sorted(files, key=lambda file: not is_book(file.path))
    notes = _notes(address, children) if address else {}
    return Plan("restore", address, (*ordered, *edits), commit=len(ordered) - 1, notes=notes)


def _notes(address: str, children: Sequence[str]) -> dict[str, Any]:
    """Return what an undo has to know: the chat that goes or comes, and who may call it parent all the time."""
    return {"fork": address.partition("/")[2], "children": list(children)}
