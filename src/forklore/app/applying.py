"""Carrying out a plan: one operation at a time, on a workspace where nothing is left half done."""

from __future__ import annotations

from collections.abc import Callable

from forklore.app.context import Context
from forklore.disk.files import OpenFile
from forklore.disk.lock import workspace_lock
from forklore.disk.transaction.run import Applied
from forklore.disk.transaction.staging import prepare_edit
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError
from forklore.formats.json_text import NotJson
from forklore.model.plan import EditFile, Plan


def would_change(plan: Plan, workspace: Workspace) -> bool:
    """Whether anything would be different after a plan: an edit may find everything as it should be already."""
    return any(not isinstance(change, EditFile) or _edits(change, workspace) for change in plan.changes)


def _edits(change: EditFile, workspace: Workspace) -> bool:
    try:
        with OpenFile(workspace.file(change.path)) as file:
            return prepare_edit(change, file) is not None
    except (OSError, ForkloreError, NotJson, IndexError, ValueError):
        return False


def apply_alone(make_plan: Callable[[], Plan], context: Context, *, what: str) -> Applied:
    """Plan, then apply while nobody else changes the workspace; what others did in between is planned on anew.

    What makes no sense is refused by *make_plan* before anything is locked.
    """
    known, plan = context.transactions.log.ids(), None
    if not context.transactions.leftovers():  # else nobody knows yet what is there
        plan = make_plan()
    with workspace_lock(context.workspace.root, what=what):
        context.transactions.recover()
        if plan is None or context.transactions.log.ids() != known:
            plan = make_plan()
        context.progress.go_on()
        with context.begin() as run:
            return run.apply(plan, when=context.timestamp())
