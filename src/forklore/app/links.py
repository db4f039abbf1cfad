"""The links to a fork in its parent: taking them out, and putting back what still fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forklore.disk.files import OpenFile
from forklore.disk.workspace import Workspace
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.log.operations import Operation
from forklore.model.plan import LineEdit
from forklore.planning.undo import inverse_edits, inverse_link_edits, link_history, still_fits


def fork_link_edits(
    change: Mapping[str, Any], operation: Operation, log: list[Operation], workspace: Workspace
) -> tuple[LineEdit, ...]:
    """Return the edits that take back the link which the making of a fork has written; none for what is gone."""
    try:
        with OpenFile(workspace.file(change["path"])) as file:
            return _links_taken_out(change, file, operation.notes, log, workspace)
    except (OSError, ChatDamaged):
        return ()


def links_to(fork: str, path: str, file: OpenFile, log: list[Operation], workspace: Workspace) -> tuple[LineEdit, ...]:
    """Return the edits that take the links to *fork* out of the chat at *path*, as undoing the fork would."""
    made = (
        (change, operation.notes)
        for operation in log
        if operation.makes_fork and operation.notes["fork"] == fork
        for change in operation.all_changes
        if change["path"] == path and change["do"] == "edit"
    )
    change, notes = next(made, ({"path": path}, {"fork": fork}))
    return _links_taken_out(change, file, notes, log, workspace)


def edits_that_fit(change: Mapping[str, Any], operation: Operation, workspace: Workspace) -> tuple[LineEdit, ...]:
    """Return the inverse edits of a link that *operation* took out; what stands in its place by now stays."""
    sent = operation.notes.get("sent", {})
    try:
        with OpenFile(workspace.file(change["path"])) as file:
            return tuple(each for each in inverse_edits(change) if still_fits(each, file.chat, sent))
    except OSError:
        return ()


def _links_taken_out(
    change: Mapping[str, Any], file: OpenFile, notes: Mapping[str, Any], log: list[Operation], workspace: Workspace
) -> tuple[LineEdit, ...]:
    folder = change["path"].rpartition("/")[0]
    return inverse_link_edits(
        change,
        file.chat,
        str(notes["fork"]),
        history=link_history(change["path"], log),
        sent=notes.get("sent", {}),
        still_there=lambda name: workspace.exists(f"{folder}/{name}.jsonl"),
    )
