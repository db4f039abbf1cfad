"""The trash: what is in it, putting one thing back, and really deleting what is old."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forklore import texts
from forklore.app.applying import apply_alone
from forklore.app.context import Context
from forklore.app.links import edits_that_fit
from forklore.app.undo import in_trash, seen_in_trash
from forklore.disk.failures import refusal_of
from forklore.disk.lock import workspace_lock
from forklore.disk.system import is_link
from forklore.disk.workspace import Workspace
from forklore.errors import BadRequest, ForkloreError, Kind, NameTaken
from forklore.log.operations import Operation, seconds_of
from forklore.model.address import ChatAddress
from forklore.model.fact import Fact
from forklore.model.plan import EditFile, Plan, RestoreFile
from forklore.model.stored import TRASH, number_in
from forklore.model.timeline import children_of
from forklore.planning.deleting import plan_restore
from forklore.planning.undo import inverse_edits

_DAY = 24 * 60 * 60
_POINTS_TO_A_CHAT = ("link", "group entry")


@dataclass(frozen=True, slots=True)
class TrashItem:
    """A file in the trash; what did not come from an operation of the log has neither path nor operation."""

    item: str
    path: str | None
    when: str
    size: int
    operation: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the item as ``trash`` shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class TrashShown:
    """What is in the trash, newest first, or what was in it until it was deleted for good."""

    items: tuple[TrashItem, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the trash as the contract shows it."""
        return {"items": [item.to_json() for item in self.items]}


@dataclass(frozen=True, slots=True)
class Restored:
    """A file that came back from the trash."""

    item: str
    path: str
    operation: str
    also: tuple[str, ...] = ()
    """What came back with it: a chat is never without its lorebook."""
    pending: tuple[Fact, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the restored file as the contract shows it."""
        return {
            "item": self.item,
            "path": self.path,
            "operation": self.operation,
            "pending": [texts.words(each) for each in self.pending],
            "pending_facts": list(self.pending),
        }


class ItemNotFound(ForkloreError):
    """There is no such item in the trash."""

    code = "ITEM_NOT_FOUND"
    kind = Kind.NOT_FOUND


# --- looking ------------------------------------------------------------------------------------------------------


def trash(context: Context) -> TrashShown:
    """Return what is in the trash, newest first."""
    known = {
        change["item"]: (operation, change["path"])
        for operation in context.transactions.log
        for change in operation.changes
        if change["do"] == "trash"
    }
    root, items = Path(context.workspace.places.folder(TRASH)), []
    running = {operation.id for operation in context.transactions.unfinished()}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not is_link(Path(folder, name))]  # also of the kind that Windows has
        for path in (Path(folder, name) for name in names):
            item = path.relative_to(root).as_posix()
            if item.partition("/")[0] in running:
                continue  # it may still go back
            with suppress(FileNotFoundError):
                stat = path.lstat()
                operation, origin = known.get(item, (None, None))
                when = operation.when if operation else _timestamp(stat.st_mtime)
                items.append(TrashItem(item, origin, when, stat.st_size, operation.id if operation else None))
    items.sort(key=_order, reverse=True)
    return TrashShown(tuple(items))


def _order(item: TrashItem) -> tuple[int, str, str]:
    """What the trash is sorted by: the number of the operation, which no clock can turn round."""
    return number_in(item.item.partition("/")[0]) or 0, item.when, item.item


def _timestamp(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):  # a disk can hold any number
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _resolve(wanted: str, context: Context) -> TrashItem:
    """Return the item that *wanted* means: its id, or a part that only one item has."""
    items = trash(context).items
    found = [each for each in items if each.item == wanted]
    found = found or [each for each in items if wanted.casefold() in f"{each.item}\n{each.path or ''}".casefold()]
    if not found:
        raise ItemNotFound(item=wanted)
    if len(found) > 1:
        raise BadRequest("several_items", text=wanted, count=len(found), choices=[each.item for each in found])
    if found[0].path is None:
        context.transactions.log.refuse_unread(found[0].item.partition("/")[0])
        raise ItemNotFound("origin", item=found[0].item, folder=TRASH)
    return found[0]


# --- putting back -------------------------------------------------------------------------------------------------


def restore(wanted: str, context: Context) -> Restored:
    """Put one item back; a chat brings along its lorebook and what pointed to it. Raises ``NameTaken``."""
    made: list[tuple[TrashItem, Plan]] = []

    def make_plan() -> Plan:
        item = _resolve(wanted, context)
        _refuse_if_taken(item, context.workspace)
        made[:] = [(item, _restore_plan(item, context))]
        return made[0][1]

    applied = apply_alone(make_plan, context, what="restore")
    item, plan = made[0]
    also = (change.path for change in plan.changes if isinstance(change, RestoreFile) and change.path != item.path)
    return Restored(item.item, item.path or "", applied.operation.id, tuple(also), applied.pending)


def _refuse_if_taken(item: TrashItem, workspace: Workspace) -> None:
    if item.path is not None and workspace.is_taken(item.path):
        raise NameTaken("file", path=item.path)


def _restore_plan(item: TrashItem, context: Context) -> Plan:
    workspace, index = context.workspace, context.index()
    log = list(index.operations)
    operation = next(each for each in log if each.id == item.operation)
    change = next(each for each in operation.changes if each.get("item") == item.item)
    files = [_restored(change)]
    address = _address(change["path"], operation)
    if address is None:
        return plan_restore("", files, (), ())
    book, identity = seen_in_trash(item.item, address.name, workspace)
    if book:
        files += _latest_in_trash(workspace.book_path(book), log, workspace)
    children = children_of(address.folder, address.name, identity, index.chats)
    return plan_restore(str(address), files, list(_what_pointed_to_it(operation, address, workspace)), children)


def _restored(change: dict[str, object]) -> RestoreFile:
    content: list[list[object]] = change["content"]  # type: ignore[assignment]  # as the log has it
    segments = tuple((int(str(length)), str(digest)) for length, digest in content)
    return RestoreFile(str(change["path"]), str(change["item"]), segments)


def _address(path: str, operation: Operation) -> ChatAddress | None:
    """Return the chat that a path of the workspace means, None when it is no chat's."""
    name = path.rpartition("/")[2].removesuffix(".jsonl")
    if not path.endswith(".jsonl"):
        return None
    address = ChatAddress.parse(operation.chat)
    if address is not None and address.name == name:
        return address
    top, *folder, _ = path.split("/")
    return ChatAddress("".join(folder) or "." if top == "chats" else "group:", name)


def _latest_in_trash(path: str, log: list[Operation], workspace: Workspace) -> list[RestoreFile]:
    """Return the missing lorebook at *path* as it was trashed last, if it is still there."""
    if workspace.is_taken(path):
        return []
    trashed = (
        change
        for operation in log
        for change in operation.changes
        if change["do"] == "trash" and change["path"] == path and in_trash(change["item"], workspace)
    )
    return [_restored(change) for change in trashed][:1]


def _what_pointed_to_it(operation: Operation, address: ChatAddress, workspace: Workspace) -> Iterator[EditFile]:
    """Yield what puts back the link and the group entry that were taken out when the chat was trashed."""
    if operation.chat != str(address):
        return
    for change in operation.changes:
        role = change.get("role")
        if change["do"] == "edit" and role in _POINTS_TO_A_CHAT and workspace.exists(change["path"]):
            edits = edits_that_fit(change, operation, workspace) if role == "link" else inverse_edits(change)
            if edits:
                yield EditFile(change["path"], edits, role=role)


# --- deleting for good --------------------------------------------------------------------------------------------


def items_older_than(days: float, context: Context) -> tuple[TrashItem, ...]:
    """Return what has been in the trash for at least *days* days."""
    if days < 0:
        raise BadRequest("days", days=f"{days:g}")
    latest = context.now_ms() / 1000 - days * _DAY
    found = ((item, seconds_of(item.when)) for item in trash(context).items)
    return tuple(item for item, when in found if when is not None and when <= latest)


def empty_trash(older_than: float, context: Context) -> TrashShown:
    """Delete for good what has been in the trash for *older_than* days; what it belonged to cannot be undone then."""
    if not items_older_than(older_than, context):
        return TrashShown(())
    root, disk = Path(context.workspace.places.folder(TRASH)), context.transactions.disk
    with workspace_lock(context.workspace.root, what="trash"):
        context.transactions.recover()  # what an interrupted operation has trashed may have to come back
        items = items_older_than(older_than, context)
        try:
            for item in items:
                disk.remove(root / item.item)
            for folder in {(root / item.item).parent for item in items} - {root}:
                with suppress(OSError):
                    folder.rmdir()  # only if it is empty now
        except OSError as error:
            reason = error.strerror or str(error)
            raise refusal_of(error)("trash", reason=reason) from error
    return TrashShown(items)
