"""The trash: what is in it, putting one thing back, and really deleting what is old."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from forklore.app.applying import apply_alone
from forklore.app.deleting import seconds_of
from forklore.app.means import Means
from forklore.app.results_life import Restored, TrashItem, TrashShown
from forklore.app.undoing import edits_that_fit, in_trash, seen_in_trash
from forklore.disk.failures import refusal_of
from forklore.disk.files import OpenFile
from forklore.disk.lock import workspace_lock
from forklore.disk.publishing import NameTaken
from forklore.disk.scan import scan_chats
from forklore.disk.system import is_link
from forklore.disk.workspace import Workspace
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.log.operations import Operation
from forklore.model.address import ChatAddress
from forklore.model.plan import EditFile, Plan, RestoreFile
from forklore.model.stored import TRASH, number_in
from forklore.model.timeline import children_of
from forklore.planning.deleting import plan_restore
from forklore.planning.undo import inverse_edits

_DAY = 24 * 60 * 60
_POINTS_TO_A_CHAT = ("link", "group entry")


class ItemNotFound(ForkloreError):
    """There is no such item in the trash."""

    code = "ITEM_NOT_FOUND"
    kind = Kind.NOT_FOUND
    action = "Run `forklore trash` to see what is there."


# --- looking ------------------------------------------------------------------------------------------------------


def trash(means: Means) -> TrashShown:
    """Return what is in the trash, newest first."""
    known = {
        change["item"]: (operation, change["path"])
        for operation in means.transactions.log
        for change in operation.changes
        if change["do"] == "trash"
    }
    root, items = Path(means.workspace.places.folder(TRASH)), []
    running = {operation.id for operation in means.transactions.unfinished()}
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


def _resolve(wanted: str, means: Means) -> TrashItem:
    """Return the item that *wanted* means: its id, or a part that only one item has."""
    items = trash(means).items
    found = [each for each in items if each.item == wanted]
    found = found or [each for each in items if wanted.casefold() in f"{each.item}\n{each.path or ''}".casefold()]
    if not found:
        raise ItemNotFound(f"There is no {wanted!r} in the trash.")
    if len(found) > 1:
        raise BadRequest(
            f"{wanted!r} fits {len(found)} items:",
            action="Give the whole id of the item.",
            choices=[each.item for each in found],
        )
    if found[0].path is None:
        means.transactions.log.refuse_unread(found[0].item.partition("/")[0])
        raise ItemNotFound(
            f"Where {found[0].item!r} came from is not known.", action=f"Copy it by hand out of {TRASH}."
        )
    return found[0]


# --- putting back -------------------------------------------------------------------------------------------------


def restore(wanted: str, means: Means) -> Restored:
    """Put one item back; a chat brings along its lorebook and what pointed to it. Raises ``NameTaken``."""
    _refuse_if_taken(_resolve(wanted, means), means.workspace)  # before anything is locked
    made: list[tuple[TrashItem, Plan]] = []

    def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
        item = _resolve(wanted, means)
        _refuse_if_taken(item, means.workspace)
        made.append((item, _restore_plan(item, means)))
        return made[-1][1], {}

    applied = apply_alone(make_plan, means)
    item, plan = made[-1]
    also = (change.path for change in plan.changes if isinstance(change, RestoreFile) and change.path != item.path)
    return Restored(item.item, item.path or "", applied.operation.id, tuple(also), applied.pending)


def _refuse_if_taken(item: TrashItem, workspace: Workspace) -> None:
    if item.path is not None and workspace.is_taken(item.path):
        raise NameTaken(
            f"{item.path!r} is there already.", action="Rename or delete what stands there. Nothing was changed."
        )


def _restore_plan(item: TrashItem, means: Means) -> Plan:
    workspace, log = means.workspace, list(means.transactions.log)
    operation = next(each for each in log if each.id == item.operation)
    change = next(each for each in operation.changes if each.get("item") == item.item)
    files = [_restored(change)]
    address = _address(change["path"], operation)
    if address is None:
        return plan_restore("", files, (), ())
    book, identity = seen_in_trash(item.item, address.name, workspace)
    if book:
        files += _latest_in_trash(workspace.book_path(book), log, workspace)
    children = children_of(address.folder, address.name, identity, scan_chats(workspace, means.cache()))
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


def items_older_than(days: float, means: Means) -> tuple[TrashItem, ...]:
    """Return what has been in the trash for at least *days* days."""
    if days < 0:
        raise BadRequest(f"{days:g} is not a number of days.")
    latest = means.now_ms() / 1000 - days * _DAY
    found = ((item, seconds_of(item.when)) for item in trash(means).items)
    return tuple(item for item, when in found if when is not None and when <= latest)


def empty_trash(older_than: float, means: Means) -> TrashShown:
    """Delete for good what has been in the trash for *older_than* days; what it belonged to cannot be undone then."""
    if not items_older_than(older_than, means):
        return TrashShown(())
    root, disk = Path(means.workspace.places.folder(TRASH)), means.transactions.disk
    with workspace_lock(means.workspace.root, what="operation"):
        means.transactions.recover()  # what an interrupted operation has trashed may have to come back
        items = items_older_than(older_than, means)
        try:
            for item in items:
                disk.remove(root / item.item)
            for folder in {(root / item.item).parent for item in items} - {root}:
                with suppress(OSError):
                    folder.rmdir()  # only if it is empty now
        except OSError as error:
            reason = error.strerror or str(error)
            raise refusal_of(error)(
                f"The trash could not be emptied ({reason}).", action="Check the disk, then try again."
            ) from error
    return TrashShown(items)
