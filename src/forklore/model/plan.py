"""A plan: the exact file changes of an operation, as data.

A plan can be shown, tested, applied as one transaction and undone. Bodies of new files are made of pieces; a big piece
is a reference to a byte range of an existing file, so a plan stays small and what is copied is never taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

HEADER = -1
"""The line of a chat file that holds its metadata; messages are numbered from 0."""

JsonPath = tuple[str | int, ...]


class Fingerprint(NamedTuple):
    """What tells that a file is still the very file that was read."""

    size: int
    mtime_ns: int
    inode: int

    def to_json(self) -> list[int]:
        """Return the fingerprint as a JSON array."""
        return [self.size, self.mtime_ns, self.inode]

    @classmethod
    def from_json(cls, value: list[int]) -> Fingerprint:
        """Return the fingerprint that ``to_json`` wrote."""
        return cls(*value)


# --- edits of JSON text -------------------------------------------------------------------------------------------


class Slot(NamedTuple):
    """Where something stood before it was removed, so that it comes back to the very place, laid out as it was."""

    level: int
    """How many steps lead to what was removed; fewer than in the edit's path where an emptied parent went with it."""
    before: str
    """What separated it from its elder sibling, or from the bracket."""
    after: str = ""
    """What separated the next sibling from it, where it was the first one."""
    name: str = ""
    """The key and the colon as they were written; nothing in an array."""
    later: tuple[str, ...] = ()
    """The siblings after it: their keys, or in an array their texts."""
    copies: int = 0
    """How many equal items were left in the array."""

    def to_json(self) -> list[Any]:
        """Return the place as a JSON array."""
        return [self.level, self.before, self.after, self.name, list(self.later), self.copies]

    @classmethod
    def from_json(cls, value: list[Any]) -> Slot:
        """Return the place that ``to_json`` wrote."""
        level, before, after, name, later, copies = value
        return cls(level, before, after, name, tuple(later), copies)


class Put(NamedTuple):
    """Give the member at *path* the JSON *text*, making missing parent objects.

    With *only_if* (JSON text) the edit is made only while the member has that value. With *slot* a member that is made
    comes back to where it was.
    """

    path: JsonPath
    text: str
    only_if: str | None = None
    slot: Slot | None = None


class Drop(NamedTuple):
    """Remove the member at *path* while its value is *only_if* (None: whatever it is).

    Then remove up to *prune* parent objects that became empty: those that a ``Put`` had made.
    """

    path: JsonPath
    only_if: str | None = None
    prune: int = 0


class Append(NamedTuple):
    """Append the JSON *text* to the array at *path*, unless it is in there; make a missing array.

    With *slot* it comes back to where it was instead.
    """

    path: JsonPath
    text: str
    slot: Slot | None = None


class Take(NamedTuple):
    """Take every item equal to *text* out of the array at *path*; then *prune* as ``Drop`` does."""

    path: JsonPath
    text: str
    prune: int = 0


Edit = Put | Drop | Append | Take
_EDITS: dict[str, type[Put | Drop | Append | Take]] = {"put": Put, "drop": Drop, "append": Append, "take": Take}


class LineEdit(NamedTuple):
    """An edit of one line of a chat (``HEADER`` or a message number), or of a whole JSON file (None)."""

    line: int | None
    edit: Edit

    def to_json(self) -> dict[str, Any]:
        """Return the edit as it stands in a journal."""
        edit = self.edit
        written: dict[str, Any] = {"line": self.line, "do": type(edit).__name__.lower(), "path": list(edit.path)}
        for name in ("text", "only_if", "prune"):
            value = getattr(edit, name, None)
            if value:
                written[name] = value
        if isinstance(edit, Put | Append) and edit.slot is not None:
            written["slot"] = edit.slot.to_json()
        return written

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> LineEdit:
        """Return the edit that ``to_json`` wrote."""
        kind = _EDITS[value["do"]]
        fields: dict[str, Any] = {name: value[name] for name in ("text", "only_if", "prune") if name in value}
        if "slot" in value:
            fields["slot"] = Slot.from_json(value["slot"])
        return cls(value["line"], kind(path=tuple(value["path"]), **fields))


# --- bodies of new files ------------------------------------------------------------------------------------------


class Bytes(NamedTuple):
    """Bytes written as they are."""

    data: bytes


class Range(NamedTuple):
    """The bytes *start* to *end* of an existing file, copied as they are."""

    path: str
    start: int
    end: int


class DigestOf(NamedTuple):
    """The SHA-256 (64 hexadecimal digits) of some pieces, worked out while the disk is busy."""

    pieces: tuple[Bytes | Range, ...]


Piece = Bytes | Range | DigestOf


# --- changes ------------------------------------------------------------------------------------------------------


class CreateFile(NamedTuple):
    """Make a file that must not exist yet. *path* is relative to the workspace."""

    path: str
    pieces: tuple[Piece, ...]


class EditFile(NamedTuple):
    """Edit a file as it is when the change is made; *role* names the edit to a person."""

    path: str
    edits: tuple[LineEdit, ...]
    role: str = "edit"


class TrashFile(NamedTuple):
    """Move a file whose content is known into the trash."""

    path: str
    content: tuple[tuple[int, str], ...]


class RestoreFile(NamedTuple):
    """Move a file out of the trash to a path that must not exist."""

    path: str
    item: str
    content: tuple[tuple[int, str], ...]


Change = CreateFile | EditFile | TrashFile | RestoreFile
_ACTIONS = {CreateFile: "create", EditFile: "edit", TrashFile: "trash", RestoreFile: "restore"}


class Plan(NamedTuple):
    """Changes in the order they are made.

    Up to and including the change at *commit* everything is taken back when something fails; after it nothing is
    taken back any more. *unchanged* names the files that must still be the ones that were read when the commit is made.
    """

    kind: str
    chat: str
    changes: tuple[Change, ...]
    commit: int
    unchanged: tuple[tuple[str, Fingerprint], ...] = ()
    undoes: str | None = None
    notes: Mapping[str, Any] = MappingProxyType({})

    def to_json(self) -> dict[str, Any]:
        """Return the plan as ``--dry-run`` shows it."""
        return {"plan": [{"action": _ACTIONS[type(change)], "path": change.path} for change in self.changes]}
