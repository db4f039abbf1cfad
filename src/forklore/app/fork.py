"""Making a fork: read, check, plan, apply, report.

What it looks at before it changes anything is in ``forklore.app.check``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from forklore.app.check import (
    ForkBlocked,
    ForkRequest,
    check_fork,
    draft_and_check,
    fork_names,
    fork_point,
    with_family,
)
from forklore.app.context import Context
from forklore.app.dry_run import plan_of
from forklore.app.left_to_page import LeftToPage, left_by
from forklore.app.progress import Progress
from forklore.channels.running_recap import RunningRecap
from forklore.disk.gather import OpenTimeline, open_timeline, with_book, with_more, with_surroundings
from forklore.disk.lock import workspace_lock
from forklore.disk.transaction.run import Run
from forklore.errors import ForkloreError
from forklore.formats.lorebook_json import unread_lorebook
from forklore.log.telling import tell
from forklore.model.cut import ForkPoint
from forklore.model.fact import Fact, fact
from forklore.model.finding import Finding, Report, Severity
from forklore.model.plan import Plan
from forklore.planning.draft import Draft
from forklore.planning.fork import whole_clone

_POLL_SECONDS = 0.25
_LARGE = 2 << 20  # below this the disk is done before anything could be gained


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkTold:
    """What a fork comes to, whether it was made or is only planned."""

    kind: str
    chat: str
    parent: str
    at: int
    messages: int
    lorebook: str | None
    original_lorebook: str | None
    entries: int
    lorebook_source: str
    lorebooks: tuple[Mapping[str, Any], ...]
    """All lorebooks that it has for itself, with what each was cloned from."""
    settings: tuple[Mapping[str, Any], ...]
    """What SillyTavern's page copies in its settings, for extensions that keep something there."""
    warnings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    carried_from_present: tuple[str, ...]
    left_out: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what the contract shows of every fork."""
        return {
            "kind": self.kind,
            "chat": self.chat,
            "parent": self.parent,
            "at": self.at,
            "messages": self.messages,
            "lorebook": self.lorebook,
            "original_lorebook": self.original_lorebook,
            "entries": self.entries,
            "lorebook_source": self.lorebook_source,
            "lorebooks": list(self.lorebooks),
            "settings": list(self.settings),
            "warnings": [finding.to_json() for finding in self.warnings],
            "notes": [finding.to_json() for finding in self.notes],
            "carried_from_present": list(self.carried_from_present),
            "left_out": list(self.left_out),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkMade(ForkTold):
    """A fork that was made."""

    operation: str
    left: tuple[LeftToPage, ...] = ()
    """What points to it, where that is left to SillyTavern's page."""
    running_version: int | None = None
    running_scenes: int = 0
    combined_messages: int | None = None
    """How many messages the combined recap covers, None when there is none."""

    def to_json(self) -> dict[str, Any]:
        """Return the fork as the contract shows it."""
        left = [each.to_json() for each in self.left]
        return {**ForkTold.to_json(self), "operation": self.operation, "left": left}


def fork(request: ForkRequest, context: Context) -> ForkMade:
    """Make a checkpoint or branch; raises ``ForkBlocked`` with every reason when the story is not ready."""
    deadline = None if request.wait is None else time.monotonic() + request.wait
    if deadline is not None:
        _wait_until_ready(request, context, deadline)  # without the lock: others may work meanwhile
    while True:
        wait, go_on = _left(deadline), context.progress.go_on
        with workspace_lock(context.workspace.root, what=request.kind, wait=wait, go_on=go_on):
            context.transactions.recover()
            with (
                open_timeline(context.workspace, request.chat, with_books=False) as opened,
                context.begin(_written(opened, context)) as run,
            ):
                _copy_book_ahead(run, request, opened, context)
                unread = with_surroundings(with_more(opened, context.workspace), context.workspace)
                unread = with_family(unread, context)
                point = fork_point(request, context, unread)
                _begin_ahead(run, point, request, unread, context)
                timeline = with_book(unread, context.workspace)
                draft, report = draft_and_check(request, context, timeline, point)
                if draft is not None and report.valid:
                    _tell_checks(report, context.progress)
                    plan = plan_of(draft, report, request, timeline=timeline, context=context)
                    return _make(draft, report, timeline, plan, context=context, run=run)
        if not _may_wait(report, deadline):
            _refuse(report, request, context)
        _wait_until_ready(request, context, deadline)


def _wait_until_ready(request: ForkRequest, context: Context, deadline: float | None) -> None:
    """Return when nothing stands in the way of the fork any more; raises ``ForkBlocked`` when it does for too long."""
    told: Mapping[str, Any] | None = None
    while True:
        report = check_fork(request, context)
        if report.valid:
            return
        if not _may_wait(report, deadline):
            _refuse(report, request, context)
        params = report.errors[0].params
        if params != told:
            told = params
            context.progress.note(fact("waiting_for_queue", kind=request.kind, count=params["count"]))
        context.progress.go_on()
        time.sleep(min(_POLL_SECONDS, _left(deadline)))


def _may_wait(report: Report, deadline: float | None) -> bool:
    """Whether only a busy queue is in the way, and there is time left to wait for it."""
    only_busy = {finding.code for finding in report.errors} == {"QUEUE_NOT_EMPTY"}
    return only_busy and deadline is not None and time.monotonic() < deadline


def _refuse(report: Report, request: ForkRequest, context: Context) -> NoReturn:
    _tell_checks(report, context.progress)
    tell("%s of %s is refused: %s", request.kind, request.chat, ", ".join(found.code for found in report.errors))
    raise ForkBlocked(report, request.kind)


def _left(deadline: float | None) -> float:
    return 0.0 if deadline is None else max(0.0, deadline - time.monotonic())


# --- making -------------------------------------------------------------------------------------------------------


# A large fork at the head is given to the disk while we still read and check (docs/decisions/0006): hardly anything
# that it writes depends on what is in the lorebook. What the plan asks for in the end and has been begun is taken, what
# turns out otherwise is staged again, and a refusal removes it all.


def _copy_book_ahead(run: Run, request: ForkRequest, opened: OpenTimeline, context: Context) -> None:
    """Begin with the lorebook, which is copied as it is, before the chat is even looked through."""
    book = opened.book_file
    if request.at is None and request.swipe is None and book is not None and opened.size >= _LARGE:
        with suppress(ForkloreError):  # told where the fork point is looked for
            clone = fork_names(request, context, opened)[1]
            if clone is not None and opened.lorebook is not None:
                path = context.workspace.book_path(clone)
                run.stage_ahead([whole_clone(path, opened.lorebook.path, book.size)], opened.files)


def _begin_ahead(
    run: Run, point: ForkPoint | None, request: ForkRequest, unread: OpenTimeline, context: Context
) -> None:
    """Go on with the new chat and its parent, as if the lorebook that is still *unread* held no surprise."""
    if point is None or not point.is_head or unread.size < _LARGE:
        return
    if unread.lorebook is not None and unread.book_file is not None:
        book = unread_lorebook(unread.lorebook.name, unread.book_file.size)
        unread = replace(unread, lorebook=unread.lorebook._replace(content=book))
    draft, report = draft_and_check(request, context, unread, point)
    if draft is not None and report.valid:
        plan = plan_of(draft, report, request, timeline=unread, context=context)
        run.stage_ahead(plan.changes, unread.files)


def _written(timeline: OpenTimeline, context: Context) -> Callable[[int], None]:
    """Return what hears of bytes that were written, and tells how much of the whole they are."""
    total = timeline.size + timeline.chat_file.size
    done = 0

    def written(count: int) -> None:
        nonlocal done
        done += count
        context.progress.advance(done, total)

    return written


def _make(draft: Draft, report: Report, timeline: OpenTimeline, plan: Plan, *, context: Context, run: Run) -> ForkMade:
    point, progress = draft.point, context.progress
    entries = len(draft.book.outline)
    progress.step(2, fact("step", case="clone"))
    if point.clone_name is None:
        progress.note(fact("nothing_to_clone"))
    else:
        progress.note(fact("lorebook_source", lorebook=timeline.book_name))
        progress.note(fact("lorebook_clone", lorebook=point.clone_name))
        progress.note(fact("entries_cloned", count=entries, source=draft.book.source), good=True)

    progress.step(3, fact("step", case="record", kind=point.kind))
    running: RunningRecap = draft.cuts["running_recap"].value
    scenes = int((running.current or {}).get("scene_count") or 0)
    if running.current is not None:
        progress.note(fact("running_recap_recorded", version=running.current_version, scenes=scenes), good=True)
    scene = draft.cuts["scenes"].value
    is_scene = scene.name or scene.is_break
    at_scene = fact("at_scene", scene=scene.name or None, at=point.at)
    progress.note(at_scene if is_scene else fact("at_message", at=point.at), good=True)

    progress.step(4, fact("step", case="create", kind=point.kind))
    progress.go_on()
    applied = run.apply(plan, when=context.timestamp(), sources=timeline.files)
    progress.note(fact("fork_created", kind=point.kind, chat=point.chat_name), good=True)
    told = told_of_fork(draft, report, timeline, is_made=True)
    told["warnings"] += tuple(_link_pending(reason) for reason in applied.pending)
    return ForkMade(
        **told,
        operation=applied.operation.id,
        left=left_by(applied.operation),
        running_version=running.current_version if running.current is not None else None,
        running_scenes=scenes,
        combined_messages=draft.cuts["combined_recap"].record["combined_recap_message_count"],
    )


def told_of_fork(draft: Draft, report: Report, timeline: OpenTimeline, *, is_made: bool = False) -> dict[str, Any]:
    """Return what a ``ForkTold`` says of a fork; of one that *is made* it is too late to say how to make it."""
    point = draft.point
    return {
        "kind": point.kind,
        "chat": str(timeline.address.sibling(point.chat_name)),
        "parent": str(timeline.address),
        "at": point.at,
        "messages": point.at + 1,
        "lorebook": point.clone_name,
        "original_lorebook": timeline.book_name,
        "entries": len(draft.book.outline),
        "lorebook_source": draft.book.source,
        "lorebooks": tuple(clone.to_json() for clone in draft.clones),
        "settings": draft.extended.settings,
        "warnings": _of_made_fork(report.warnings) if is_made else report.warnings,
        "notes": _of_made_fork(report.notes) if is_made else report.notes,
        "carried_from_present": tuple(draft.carried),
        "left_out": tuple(draft.left_out),
    }


def _of_made_fork(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return what was found before a fork was made, as it is told of the fork that is there."""
    return tuple(
        replace(each, params={**each.params, "case": "made"}) if each.params.get("case") == "fork" else each
        for each in findings
    )


def _link_pending(reason: Fact) -> Finding:
    case = "group" if reason["params"]["what"] == "group_entry" else "link"
    return Finding("LINK_PENDING", Severity.WARNING, {"case": case, "reason": reason})


def _tell_checks(report: Report, progress: Progress) -> None:
    progress.step(1, fact("step", case="validate"))
    codes = {finding.code for finding in (*report.errors, *report.warnings)}
    uses_recaps = report.state.has_scene_break or report.state.has_running_recap or "NO_SCENE_BREAK" in codes
    idle = report.state.queue_empty
    progress.note(fact("queue_is_empty" if idle else "queue_is_not_empty"), good=idle)
    if uses_recaps:
        for holds, yes, no in (
            (report.state.has_scene_break, "message_is_scene_break", "message_is_no_scene_break"),
            (report.state.has_scene_recap, "scene_has_recap", "scene_has_no_recap"),
            (report.state.has_running_recap, "running_recap_exists", "no_running_recap"),
        ):
            progress.note(fact(yes if holds else no), good=holds)
