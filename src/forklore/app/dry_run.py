"""What an operation would do: the one answer of every dry run, and that of a fork."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from forklore.app.check import ForkBlocked, ForkRequest, draft_and_check, gather_fork, group_path
from forklore.app.context import Context
from forklore.channels.lorebook import clone_of
from forklore.disk.gather import OpenTimeline
from forklore.disk.workspace import ChatUnreadable, Workspace
from forklore.formats.json_text import NotJson
from forklore.model.cut import ForkPoint
from forklore.model.finding import Report
from forklore.model.plan import Plan
from forklore.planning.draft import Draft
from forklore.planning.fork import ForkFiles, plan_fork


@dataclass(frozen=True, slots=True)
class DryRun:
    """A plan that was made and not applied."""

    plan: Plan
    report: Report

    def to_json(self) -> dict[str, Any]:
        """Return the plan as ``--dry-run`` shows it."""
        return self.plan.to_json()


def dry_run(request: ForkRequest, context: Context) -> DryRun:
    """Return the plan of a fork and change nothing."""
    with planned_fork(request, context) as (_, _, report, plan):
        return DryRun(plan, report)


@contextmanager
def planned_fork(request: ForkRequest, context: Context) -> Iterator[tuple[OpenTimeline, Draft, Report, Plan]]:
    """Read, check and plan a fork, and change nothing; raises ``ForkBlocked`` when it would be refused."""
    with gather_fork(request, context) as (timeline, point):
        draft, report = draft_and_check(request, context, timeline, point)
        if draft is None or not report.valid:
            raise ForkBlocked(report, request.kind)
        yield timeline, draft, report, plan_of(draft, report, request, timeline=timeline, context=context)


def plan_of(draft: Draft, report: Report, request: ForkRequest, *, timeline: OpenTimeline, context: Context) -> Plan:
    """Return the plan of a fork that was drafted and checked."""
    try:
        return plan_fork(draft, report, _files(draft.point, request, timeline, context.workspace))
    except NotJson as error:  # nested so deep that it can just be read, but not be looked through
        raise ChatUnreadable("header", chat=str(timeline.address), reason=str(error)) from error


def _files(point: ForkPoint, request: ForkRequest, timeline: OpenTimeline, workspace: Workspace) -> ForkFiles:
    fork_address = timeline.address.sibling(point.chat_name)
    return ForkFiles(
        address=str(fork_address),
        chat_name=point.chat_name,
        clone_name=point.clone_name,
        parent=timeline.path,
        chat=workspace.chat_path(fork_address),
        clones=clone_paths(point, timeline, workspace),
        group=group_path(timeline, workspace),
        read=timeline.read,
        leave_parent=request.leave_parent,
    )


def clone_paths(point: ForkPoint, timeline: OpenTimeline, workspace: Workspace) -> dict[str, tuple[str, str]]:
    """Return where each lorebook is that is cloned, and where its clone goes."""
    named = ((book, clone_of(book, timeline, point)) for book in timeline.books)
    return {
        book.name: (book.path, workspace.book_path(clone)) for book, clone in named if clone not in (None, book.name)
    }
