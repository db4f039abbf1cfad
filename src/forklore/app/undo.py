"""Undoing an operation: is nothing built on it, and what takes it back now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from forklore import texts
from forklore.app.applying import apply_alone, would_change
from forklore.app.context import Context
from forklore.app.left_to_page import LeftToPage
from forklore.app.links import edits_that_fit, fork_link_edits
from forklore.checks.references import References, references
from forklore.disk.disk import is_there
from forklore.disk.files import OpenFile
from forklore.disk.naming import gather_naming
from forklore.disk.operation_log import refuse_unread
from forklore.disk.transaction.staging import Content, content_is, is_content, prepare_edit
from forklore.disk.workspace import Workspace
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.formats.chat_facts import read_header
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.formats.json_text import NotJson, to_text
from forklore.gathered.workspace import WorkspaceIndex
from forklore.log.operations import Operation, next_to_undo, undone_ids
from forklore.model.address import place_of
from forklore.model.fact import Fact
from forklore.model.plan import HEADER, EditFile, LineEdit, Plan
from forklore.model.timeline import ChatFacts, Identity, children_of
from forklore.planning.undo import (
    ISOLATION,
    UndoRefused,
    inverse_edits,
    is_as_left,
    is_book,
    plan_undo,
    taken_back,
)


class OperationNotFound(ForkloreError):
    """There is no such operation in the log."""

    code = "OPERATION_NOT_FOUND"
    kind = Kind.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Undone:
    """An operation that was undone, and the operation that did it."""

    undone: str
    operation: str
    pending: tuple[Fact, ...] = ()
    left: tuple[LeftToPage, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the undo as the contract shows it."""
        return {
            "undone": self.undone,
            "operation": self.operation,
            "pending": [texts.words(each) for each in self.pending],
            "pending_facts": list(self.pending),
            "left": [each.to_json() for each in self.left],
        }


def undo(wanted: str | None, context: Context, *, leave_parent: bool = False) -> Undone:
    """Undo the operation that is *wanted*, else the latest one; raises ``UndoRefused`` when something was built on it.

    With *leave_parent* the edits of what points to a fork are left: SillyTavern's page has the parent open and makes
    them itself.
    """
    planned: list[tuple[Operation, tuple[EditFile, ...]]] = []

    def make_plan() -> Plan:
        index = context.index()
        if wanted is not None:
            refuse_unread(wanted, index.unread)
        operation = _meant(wanted, index)
        plan, left = _undo_plan(operation, index, context.workspace, leave_parent=leave_parent)
        planned[:] = [(operation, left)]
        return plan

    applied = apply_alone(make_plan, context, what="undo").operation
    operation, left = planned[0]
    to_page = tuple(LeftToPage.of(change, operation.chat) for change in left)
    return Undone(operation.id, applied.id, applied.pending, to_page)


def _meant(wanted: str | None, index: WorkspaceIndex) -> Operation:
    """Return the operation that is to be undone."""
    if wanted is None:
        latest = next_to_undo(index.operations)
        if latest is None:
            raise OperationNotFound("nothing")
        return latest
    fits = [operation for operation in index.operations if operation.id == wanted]
    fits = fits or [operation for operation in index.operations if str(operation.turn.number) == wanted]
    if len(fits) > 1:
        choices = [operation.id for operation in fits]
        raise BadRequest("several_operations", number=wanted, count=len(fits), choices=choices)
    if not fits:
        raise OperationNotFound(operation=wanted)
    if fits[0].id in index.undone:
        raise UndoRefused("undone", operation=wanted)
    return fits[0]


def _undo_plan(
    operation: Operation, index: WorkspaceIndex, workspace: Workspace, *, leave_parent: bool = False
) -> tuple[Plan, tuple[EditFile, ...]]:
    """Return the plan that undoes *operation*; raises ``UndoRefused`` when something was built on it since."""
    log, chats = list(index.operations), index.chats
    removes = _origin(operation, log).kind in ("delete", "cleanup", "restore")
    _refuse_if_moved_since(operation, log, workspace)
    _refuse_if_gone_on(operation, log, workspace)
    _refuse_if_not_as_isolated(operation, workspace)
    if any(True for _ in operation.created):
        _refuse_if_built_on(operation, chats)
        named = references(chats, gather_naming(workspace, chats))
        _refuse_if_named(operation, workspace, named, may_be_unknown=not removes)
    children = _children_now(operation, log, workspace, chats)

    def edits_of(change: Mapping[str, Any]) -> tuple[LineEdit, ...]:
        if operation.makes_fork and change.get("role") == "link":
            return fork_link_edits(change, operation, log, workspace)
        if removes and change.get("role") == "link":
            return edits_that_fit(change, operation, workspace)
        return inverse_edits(change)

    changes = operation.all_changes
    pointing = [change for change in changes if leave_parent and change.get("role") in _POINTING]
    left = tuple(EditFile(each["path"], edits, each["role"]) for each in pointing if (edits := edits_of(each)))
    notes = {key: note for key, note in operation.notes.items() if key != "taken_out"}
    plan = plan_undo(
        operation.id,
        operation.chat,
        [change for change in changes if change not in pointing],
        exists=workspace.exists,
        edits_of=edits_of,
        notes=notes | _noted(children=children, taken_out=_taken_out(left, workspace)),
        item_of=lambda change: _item_now(change, log, workspace),
    )
    if not would_change(plan, workspace):
        raise UndoRefused("changed_again")
    return plan, left


def _noted(**notes: list[Any]) -> dict[str, Any]:
    return {key: note for key, note in notes.items() if note}


def _taken_out(left: Iterable[EditFile], workspace: Workspace) -> list[dict[str, Any]]:
    """Return, as the log has edits, what SillyTavern's page will take out: undoing the undo puts it back."""
    taken: list[dict[str, Any]] = []
    for change in left:
        with suppress(OSError, ForkloreError, NotJson, IndexError), OpenFile(workspace.file(change.path)) as file:
            if prepared := prepare_edit(change, file):
                inverse = [each.to_json() for each in prepared.inverse]
                taken.append({"do": "edit", "path": change.path, "role": change.role, "inverse": inverse})
    return taken


def _origin(operation: Operation, log: list[Operation]) -> Operation:
    """Return what an undo, an undo of an undo and so on speak of in the end."""
    by_id = {each.id: each for each in log}
    while operation.undoes in by_id:
        operation = by_id.pop(operation.undoes)  # once each: a stranger's log may go round in circles
    return operation


def _item_now(change: Mapping[str, Any], log: list[Operation], workspace: Workspace) -> str:
    """Return where in the trash a file is: it may have been put back, and that undone."""
    same = (
        each["item"]
        for operation in log
        for each in (operation.changes if operation.undoes is not None else ())
        if each["do"] == "trash" and (each["path"], each["content"]) == (change["path"], change["content"])
    )
    return str(next((item for item in (change["item"], *same) if in_trash(item, workspace)), change["item"]))


def in_trash(item: str, workspace: Workspace) -> bool:
    """Whether the trash still has an item."""
    return is_there(workspace.places.item(item))


def seen_in_trash(item: str, name: str, workspace: Workspace) -> tuple[str | None, Identity]:
    """Return the lorebook that a chat in the trash names, and what tells it from others of its *name*."""
    with suppress(OSError, ForkloreError, ChatDamaged, IndexError), OpenFile(workspace.places.item(item)) as file:
        facts = read_header(file.chat.line_bytes(HEADER), name)
        return facts.lorebook, Identity(facts.timeline, facts.integrity, facts.former_mark)
    return None, Identity()


def _children_now(
    operation: Operation, log: list[Operation], workspace: Workspace, chats: Sequence[ChatFacts]
) -> list[str]:
    """Return who calls a chat that comes back its parent: they were there without it, so they need not go first."""
    children: list[str] = []
    for change in operation.changes:
        if change["do"] == "trash" and change["path"].endswith(".jsonl"):
            name, folder = _stem(change["path"]), operation.chat.partition("/")[0]
            _, identity = seen_in_trash(_item_now(change, log, workspace), name, workspace)
            children += children_of(folder, name, identity, chats)
    return children


_POINTING = frozenset({"link", "group entry"})
"""The roles of the edits that make others point to a fork."""


def _refuse_if_gone_on(operation: Operation, log: list[Operation], workspace: Workspace) -> None:
    for path, content in operation.created:
        try:
            with OpenFile(workspace.file(path)) as file:
                if content_is(file, content):
                    continue
                later = _only_changed_by(file, path, content, _effective_since(operation, log))
        except FileNotFoundError:
            continue  # removed by somebody: what is left can still be taken back
        name = path.rpartition("/")[2]
        if later is None:
            raise UndoRefused("gone_on", file=name, kind=operation.kind)
        raise UndoRefused("changed", file=name, kind=later.kind, operation=later.id)


def _only_changed_by(file: OpenFile, path: str, content: Content, later: list[Operation]) -> Operation | None:
    """Return the last of the *later* operations that changed a file; None when somebody else has changed it too."""
    changes = [(each, change) for each in later for change in each.changes]
    edits = [(each, change) for each, change in changes if change["do"] == "edit" and change["path"] == path]
    if not edits:
        return None
    data = file.read()
    try:
        for _, change in edits:  # newest first, as they have to be taken back
            data = taken_back(data, inverse_edits(change))
    except (ChatDamaged, NotJson, IndexError):
        return None
    return edits[0][0] if is_content(data, content) else None


def _refuse_if_moved_since(operation: Operation, log: list[Operation], workspace: Workspace) -> None:
    """Refuse while later operations have made or trashed the same files: they have to be undone first.

    So too while a file that has to be changed back is in the trash: it would come back with what is undone now.
    """
    moved = {change["path"] for change in operation.changes if change["do"] != "edit"}
    edited = {change["path"] for change in operation.all_changes if change["do"] == "edit"}
    edited.add(operation.notes.get("needs", ""))  # the lorebook of a chat that was deleted without it
    for later in _effective_since(operation, log):
        for change in later.changes:
            path = change["path"]
            gone = change["do"] == "trash" and path in edited and not workspace.exists(path)
            if gone or (change["do"] != "edit" and path in moved):
                did = "trashed" if change["do"] == "trash" else "made"
                raise UndoRefused(did, file=path.rpartition("/")[2], kind=later.kind, operation=later.id)
    for change in operation.changes:
        if change["do"] == "trash" and workspace.exists(change["path"]):
            raise UndoRefused("taken", path=change["path"])


def _effective_since(operation: Operation, log: list[Operation]) -> list[Operation]:
    """Return the later operations, newest first, without those that have cancelled each other out."""
    undone = undone_ids(log)
    later = list(takewhile(lambda each: each.id != operation.id, log))
    ids = {each.id for each in later}
    return [each for each in later if each.id not in undone and each.undoes not in ids]


def _refuse_if_named(operation: Operation, workspace: Workspace, found: References, *, may_be_unknown: bool) -> None:
    """Refuse to take a lorebook away that a card, the settings or another chat's effects name."""
    books = {_stem(path) for path, _ in operation.created if is_book(path) and workspace.exists(path)}
    for book in sorted(books):
        named = found.of(book, besides=operation.chat)
        if named:
            raise UndoRefused("in_use", lorebook=book, reason=named[0])
        if found.unreadable and not may_be_unknown:
            raise UndoRefused("maybe_in_use", lorebook=book, reason=found.unreadable[0])


def _refuse_if_not_as_isolated(operation: Operation, workspace: Workspace) -> None:
    for change in operation.changes:
        if change.get("role") != ISOLATION:
            continue
        name = _stem(change["path"])
        try:
            with OpenFile(workspace.file(change["path"])) as file:
                as_left = is_as_left(inverse_edits(change), to_text(file.chat.line_bytes(HEADER)))
        except (OSError, NotJson, IndexError) as error:
            raise UndoRefused("unreadable", chat=name) from error
        if not as_left:
            raise UndoRefused("other_lorebook", chat=name)


def _refuse_if_built_on(operation: Operation, chats: Sequence[ChatFacts]) -> None:
    """Refuse while a chat was forked from one that would go, or uses a lorebook that would go."""
    folder = operation.chat.partition("/")[0]
    created = [path for path, _ in operation.created]
    books = {_stem(path) for path in created if is_book(path)}
    forks = {_stem(path) for path in created if not is_book(path)}
    beside = {chat.name: chat for chat in chats if place_of(chat.folder) == place_of(folder)}
    own = {beside[name].address for name in (*forks, operation.notes.get("isolated")) if name in beside}
    there_before = operation.notes.get("children", ())  # they were there when the chat was not
    for name in sorted(forks):
        for child in children_of(folder, name, beside.get(name, Identity()), chats):
            if child not in own and child not in there_before:
                raise UndoRefused("forked", chat=child)
    for chat in chats:
        if chat.lorebook in books and chat.address not in own and chat.address != operation.chat:
            raise UndoRefused("lorebook_used", chat=chat.address)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]
