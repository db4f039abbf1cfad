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
from forklore.formats.json_text import NotJson, parse
from forklore.log.operations import Operation
from forklore.model.plan import EditFile, LineEdit, Plan, Put
from forklore.model.timeline import ChatFacts
from forklore.planning.undo import UndoRefused, inverse_edits, inverse_link_edits, plan_undo

FORKS = ("checkpoint", "branch")


def undo_plan(operation: Operation, log: list[Operation], workspace: Workspace, cache: Path | None) -> Plan:
    """Return the plan that undoes *operation*; raises ``UndoRefused`` when something was built on it since."""
    _refuse_if_gone_on(operation, workspace)
    if operation.kind in FORKS:
        _refuse_if_built_on(operation, scan_chats(workspace, cache))

    def edits_of(change: Mapping[str, Any]) -> tuple[LineEdit, ...]:
        if change.get("role") == "link":
            return _link_edits(change, operation, log, workspace)
        return inverse_edits(change)

    plan = plan_undo(operation.id, operation.chat, operation.changes, exists=workspace.exists, edits_of=edits_of)
    if all(isinstance(change, EditFile) for change in plan.changes):
        _refuse_if_nothing_is_left(plan, workspace)
    return plan


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


def _refuse_if_built_on(operation: Operation, chats: list[ChatFacts]) -> None:
    paths = [path for path, _ in _created(operation)]
    books = {_stem(path) for path in paths if path.startswith("worlds/")}
    forks = {path for path in paths if not path.startswith("worlds/")}
    folder, _, _ = operation.chat.partition("/")
    fork_names = {_stem(path) for path in forks}
    for chat in chats:
        if chat.folder == folder and chat.name in fork_names:
            continue
        if chat.folder == folder and chat.main_chat in fork_names:
            raise UndoRefused(f"{chat.address!r} was forked from it.")
        if chat.lorebook in books:
            raise UndoRefused(f"{chat.address!r} uses its lorebook.")


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
                str(operation.notes.get("fork", "")),
                still_there=lambda name: workspace.exists(f"{folder}/{name}.jsonl"),
                replaced_by=lambda name: _replaced_by(name, change["path"], log),
            )
    except (OSError, ChatDamaged):
        return ()


def _replaced_by(name: str, path: str, log: list[Operation]) -> str | None:
    """Return the link that the checkpoint *name* replaced when it was made, None when there was none."""
    for operation in log:
        if operation.kind in FORKS and operation.notes.get("fork") == name:
            for change in operation.changes:
                if change["path"] == path:
                    for edit in inverse_edits(change):
                        if isinstance(edit.edit, Put) and edit.edit.path[-1] == "bookmark_link":
                            earlier = parse(edit.edit.text)
                            return earlier if isinstance(earlier, str) else None
    return None


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
