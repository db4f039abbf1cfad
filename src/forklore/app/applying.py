"""Carrying out a plan: one operation at a time, on a workspace where nothing is left half done."""

from __future__ import annotations

from collections.abc import Callable

from forklore.app.means import Means
from forklore.disk.files import OpenFile
from forklore.disk.lock import workspace_lock
from forklore.disk.run import Applied
from forklore.disk.staging import prepare_edit
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError
from forklore.formats.json_text import NotJson
from forklore.model.plan import EditFile, Plan

MakePlan = Callable[[], tuple[Plan, dict[str, OpenFile]]]
"""Reads, checks and plans; the files it was made from come with the plan, still open."""


def would_change(plan: Plan, workspace: Workspace) -> bool:
    """Whether anything would be different after a plan: an edit may find everything as it should be already."""
    return any(not isinstance(change, EditFile) or _edits(change, workspace) for change in plan.changes)


def _edits(change: EditFile, workspace: Workspace) -> bool:
    try:
        with OpenFile(workspace.file(change.path)) as file:
            return prepare_edit(change, file) is not None
    except (OSError, ForkloreError, NotJson, IndexError, ValueError):
        return False


def apply_alone(make_plan: MakePlan, means: Means, *, what: str = "operation") -> Applied:
    """Plan and apply while nobody else changes the workspace; the plan is made on the files as they are then."""
    with workspace_lock(means.workspace.root, what=what):
        means.transactions.recover()
        plan, files = make_plan()
        try:
            means.progress.go_on()
            with means.begin() as run:
                return run.apply(plan, when=means.timestamp(), sources=files)
        finally:
            for file in files.values():
                file.close()
