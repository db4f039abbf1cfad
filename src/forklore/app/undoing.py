"""Undoing an operation: is nothing built on it, and what takes it back now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forklore.disk.files import OpenFile
from forklore.disk.scan import scan_chats
from forklore.disk.staging import content_is, prepare_edit
from forklore.disk.workspace import Workspace
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.formats.json_text import NotJson, to_text
from forklore.log.operations import Operation
from forklore.model.plan import HEADER, EditFile, LineEdit, Plan
from forklore.model.timeline import ChatFacts
from forklore.planning.undo import (
    ISOLATION,
    UndoRefused,
    inverse_edits,
    inverse_link_edits,
    is_as_left,
    plan_undo,
)


def undo_plan(operation: Operation, log: list[Operation], workspace: Workspace, cache: Path | None) -> Plan:
    """Return the plan that undoes *operation*; raises ``UndoRefused`` when something was built on it since."""
    makes_fork = _makes_fork(operation)
    _refuse_if_gone_on(operation, workspace)
    _refuse_if_not_as_isolated(operation, workspace)
    if makes_fork or "isolated" in operation.notes:
        _refuse_if_built_on(operation, scan_chats(workspace, cache))

    def edits_of(change: Mapping[str, Any]) -> tuple[LineEdit, ...]:
        if makes_fork and change.get("role") == "link":
            return _link_edits(change, operation, log, workspace)
        return inverse_edits(change)

    plan = plan_undo(
        operation.id,
        operation.chat,
        operation.changes,
        exists=workspace.exists,
        edits_of=edits_of,
        notes=operation.notes,
    )
    if all(isinstance(change, EditFile) for change in plan.changes):
        _refuse_if_nothing_is_left(plan, workspace)
    return plan


def _makes_fork(operation: Operation) -> bool:
    """Whether a fork is there because of this operation: it made one, or undid the undoing of one."""
    return "fork" in operation.notes and any(True for _ in _created(operation))


def _created(operation: Operation) -> Iterator[tuple[str, tuple[tuple[int, str], ...]]]:
    for change in operation.changes:
        if change["do"] in ("create", "restore"):
            yield change["path"], tuple((length, digest) for length, digest in change["content"])


def _refuse_if_gone_on(operation: Operation, workspace: Workspace) -> None:
    for path, content in _created(operation):
        try:
            with OpenFile(workspace.root / path) as file:
                same = content_is(file, content)
        except FileNotFoundError:
            continue  # removed by somebody: what is left can still be taken back
        if not same:
            name = path.rpartition("/")[2]
            raise UndoRefused(f"{name!r} has gone on since the {operation.kind} was made.")


def _refuse_if_not_as_isolated(operation: Operation, workspace: Workspace) -> None:
    for change in operation.changes:
        if change.get("role") != ISOLATION:
            continue
        name = _stem(change["path"])
        try:
            with OpenFile(workspace.root / change["path"]) as file:
                as_left = is_as_left(inverse_edits(change), to_text(file.chat.line_bytes(HEADER)))
        except (OSError, NotJson, IndexError) as error:
            raise UndoRefused(f"{name!r} cannot be read any more.") from error
        if not as_left:
            raise UndoRefused(f"{name!r} names another lorebook since, or is another chat.")


def _refuse_if_built_on(operation: Operation, chats: list[ChatFacts]) -> None:
    paths = [path for path, _ in _created(operation)]
    books = {_stem(path) for path in paths if path.startswith("worlds/")}
    forks = {path for path in paths if not path.startswith("worlds/")}
    folder = _place(operation.chat.partition("/")[0])
    fork_names = {_stem(path) for path in forks}
    isolated = operation.notes.get("isolated")
    for chat in chats:
        beside = _place(chat.folder) == folder
        if beside and (chat.name in fork_names or chat.name == isolated):
            continue
        if beside and chat.main_chat in fork_names:
            raise UndoRefused(f"{chat.address!r} was forked from it.")
        if chat.lorebook in books:
            raise UndoRefused(f"{chat.address!r} uses its lorebook.")


def _place(folder: str) -> str:
    """Return where the chats of a folder lie: those of all groups in one place, also those that no group lists."""
    return "group:" if folder.startswith("group:") else folder


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _link_edits(
    change: Mapping[str, Any], operation: Operation, log: list[Operation], workspace: Workspace
) -> tuple[LineEdit, ...]:
    folder = change["path"].rpartition("/")[0]
    try:
        with OpenFile(workspace.root / change["path"]) as file:
            return inverse_link_edits(
                change,
                file.chat,
                str(operation.notes["fork"]),
                history=_history(change["path"], log),
                still_there=lambda name: workspace.exists(f"{folder}/{name}.jsonl"),
            )
    except (OSError, ChatDamaged):
        return ()


def _history(path: str, log: list[Operation]) -> dict[str, tuple[LineEdit, ...]]:
    """Return, for every fork made in a chat, the edits that take its link back, newest first.

    A name that was used again, or a fork that was undone and came back, has those of each time: what the first one had
    to make is still there.
    """
    history: dict[str, tuple[LineEdit, ...]] = {}
    for operation in log:
        for change in operation.changes if _makes_fork(operation) else ():
            if change["path"] == path and change["do"] == "edit":
                name = str(operation.notes["fork"])
                history[name] = (*history.get(name, ()), *inverse_edits(change))
    return history


def _refuse_if_nothing_is_left(plan: Plan, workspace: Workspace) -> None:
    for change in plan.changes:
        if isinstance(change, EditFile):
            try:
                with OpenFile(workspace.root / change.path) as file:
                    if prepare_edit(change, file) is not None:
                        return
            except (OSError, NotJson, IndexError, ValueError):
                continue
    raise UndoRefused("What the operation changed was changed again since.")
