"""Carrying out a plan: one operation at a time, on a workspace where nothing is left half done."""

from __future__ import annotations

from collections.abc import Callable

from forklore.app.means import Means
from forklore.disk.files import OpenFile
from forklore.disk.lock import workspace_lock
from forklore.disk.run import Applied
from forklore.model.plan import Plan

MakePlan = Callable[[], tuple[Plan, dict[str, OpenFile]]]
"""Reads, checks and plans; the files it was made from come with the plan, still open."""


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
