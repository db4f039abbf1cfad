"""Making a fork: read, check, plan, apply, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from forklore.app.means import Means
from forklore.app.progress import Progress
from forklore.app.reading import Reading, reading
from forklore.app.results import DryRun, ForkBlocked, ForkMade
from forklore.app.settings import Settings
from forklore.channels.cut import ForkPoint, Parent
from forklore.channels.identity import own_identity
from forklore.channels.running_recap import RunningRecap
from forklore.checks.requirements import Subject, check, seek_while_counting
from forklore.disk.lock import workspace_lock
from forklore.disk.publishing import NameTaken
from forklore.disk.run import Run
from forklore.disk.workspace import ChatUnreadable, Workspace, comparable
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.json_text import NotJson
from forklore.formats.lorebook_json import unsurprising_lorebook
from forklore.log.telling import tell
from forklore.model import names
from forklore.model.address import ChatAddress
from forklore.model.finding import Finding, Report, Severity
from forklore.model.plan import Plan
from forklore.planning.fork import Draft, ForkFiles, clone_of, draft_fork, plan_fork
from forklore.planning.swipe import shown_swipe

_POLL_SECONDS = 0.25
_LARGE = 2 << 20  # below this the disk is done before anything could be gained


class NameInvalid(BadRequest):
    """A name that cannot be a file's name."""

    code = "NAME_INVALID"
    action = (
        "Choose another name: no reserved words of Windows, at most 235 bytes, not only dots or signs, no ._ first."
    )


class GroupMissing(ForkloreError):
    """A group chat that no group lists cannot be forked: SillyTavern could not open the fork."""

    code = "GROUP_MISSING"
    kind = Kind.NOT_FOUND
    action = "Open the chat's group in SillyTavern once, so that the group lists the chat."


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """What the caller wants."""

    kind: str
    chat: ChatAddress
    at: int | None = None
    name: str | None = None
    swipe: int | None = None
    wait: float | None = None
    """How many seconds to wait for an idle queue and a free workspace; None: not at all."""
    show_last_scene: bool = False
    leave_parent: bool = False
    """Make the new files alone: the parent is open in SillyTavern's page, which points to them itself."""


def fork(request: ForkRequest, means: Means) -> ForkMade:
    """Make a checkpoint or branch; raises ``ForkBlocked`` with every reason when the story is not ready."""
    deadline = None if request.wait is None else time.monotonic() + request.wait
    if deadline is not None:
        _wait_until_ready(request, means, deadline)  # without the lock: others may work meanwhile
    while True:
        wait, go_on = _left(deadline), means.progress.go_on
        with workspace_lock(means.workspace.root, what=request.kind, wait=wait, go_on=go_on):
            means.transactions.recover()
            with (
                reading(means.workspace, request.chat, with_book=False) as read,
                means.begin(_written(read, means)) as run,
            ):
                _stage_clone_ahead(run, request, means, read)
                point = _fork_point(request, means, read)
                guess = _stage_chats_ahead(run, point, request, means=means, read=read)
                read.parse_book()
                draft, report = draft_and_check(request, means, read, point)
                if draft is not None and report.valid:
                    _tell_checks(report, means.progress)
                    same = guess is not None and guess.report == report and guess.draft.writes_the_same_as(draft)
                    plan = guess.plan if guess and same else _plan(draft, report, request, read=read, means=means)
                    return _make(draft, report, read, plan, means=means, run=run)
        if not _may_wait(report, deadline):
            _refuse(report, request, means)
        _wait_until_ready(request, means, deadline)


def _wait_until_ready(request: ForkRequest, means: Means, deadline: float | None) -> None:
    """Return when nothing stands in the way of the fork any more; raises ``ForkBlocked`` when it does for too long."""
    told = ""
    while True:
        with reading(means.workspace, request.chat) as read:
            report = draft_and_check(request, means, read, _fork_point(request, means, read))[1]
        if report.valid:
            return
        if not _may_wait(report, deadline):
            _refuse(report, request, means)
        if report.errors[0].message != told:
            told = report.errors[0].message
            means.progress.note(told)
        means.progress.go_on()
        time.sleep(min(_POLL_SECONDS, _left(deadline)))


def _may_wait(report: Report, deadline: float | None) -> bool:
    """Whether only a busy queue is in the way, and there is time left to wait for it."""
    only_busy = {finding.code for finding in report.errors} == {"QUEUE_NOT_EMPTY"}
    return only_busy and deadline is not None and time.monotonic() < deadline


def _refuse(report: Report, request: ForkRequest, means: Means) -> NoReturn:
    _tell_checks(report, means.progress)
    tell("%s of %s is refused: %s", request.kind, request.chat, ", ".join(found.code for found in report.errors))
    raise ForkBlocked(report, request.kind)


def _left(deadline: float | None) -> float:
    return 0.0 if deadline is None else max(0.0, deadline - time.monotonic())


def dry_run(request: ForkRequest, means: Means) -> DryRun:
    """Return the plan of a fork and change nothing."""
    with planned_fork(request, means) as (_, _, report, plan):
        return DryRun(plan, report)


@contextmanager
def planned_fork(request: ForkRequest, means: Means) -> Iterator[tuple[Reading, Draft, Report, Plan]]:
    """Read, check and plan a fork, and change nothing; raises ``ForkBlocked`` when it would be refused."""
    with reading(means.workspace, request.chat) as read:
        draft, report = draft_and_check(request, means, read, _fork_point(request, means, read))
        if draft is None or not report.valid:
            raise ForkBlocked(report, request.kind)
        yield read, draft, report, _plan(draft, report, request, read=read, means=means)


# --- checking -----------------------------------------------------------------------------------------------------


def check_fork(request: ForkRequest, means: Means) -> Report:
    """Return what stands in the way of a fork, all of it at once."""
    with reading(means.workspace, request.chat) as read:
        return draft_and_check(request, means, read, _fork_point(request, means, read))[1]


def draft_and_check(
    request: ForkRequest, means: Means, read: Reading, point: ForkPoint | None
) -> tuple[Draft | None, Report]:
    """Cut the timeline at *point* and hold the result against every requirement."""
    means.settings.needs_known()
    damage = read.damage or _damage_at(read.parent.chat, _message(request, read))
    draft = None
    if not damage and point is not None:
        swipe = request.swipe if point.derived_upto < point.at else None
        try:
            draft = draft_fork(read.parent, point, swipe=swipe, show_last_scene=request.show_last_scene)
        except ChatDamaged as error:
            damage = str(error)
    subject = Subject(
        address=str(request.chat),
        kind=request.kind,
        at=_message(request, read),
        parent=read.parent,
        cuts=draft.cuts if draft else {},
        damage=damage,
        book_name=read.book_name,
        book_missing=read.book_missing,
        book_damage=read.book_damage,
        book_outside=read.book_outside,
        also_active=means.workspace.also_active(read.book_name, read.address) if read.book_name else (),
        shows_last_scene=request.show_last_scene,
        has_chat=lambda name: means.workspace.has_beside(read.address, name),
    )
    return draft, check(subject, means.policy)


def _message(request: ForkRequest, read: Reading) -> int | None:
    return request.at if request.at is not None else read.parent.chat.last


def _damage_at(chat: Chat, at: int | None) -> str:
    if at is None or not chat.has(at):
        return ""
    try:
        chat.message(at)
    except ChatDamaged as error:
        return str(error)
    return ""


def _fork_point(request: ForkRequest, means: Means, read: Reading) -> ForkPoint | None:
    """Return where the fork is cut and what it is called; None when there is no such message to be read."""
    if not read.damage:
        seek_while_counting(read.parent.chat)
    chat, at = read.parent.chat, _message(request, read)
    if read.damage or at is None or not chat.has(at) or _damage_at(chat, at):
        return None
    group_path(read, means.workspace)  # refused now, before anything is locked
    other_swipe = request.swipe is not None and request.swipe != shown_swipe(chat.line_bytes(at))
    chat_name, clone = _fork_names(request, means, read)
    identity = own_identity(chat.metadata, request.chat.name)
    return ForkPoint(
        kind=request.kind,
        at=at,
        is_head=at == chat.last and not other_swipe,
        derived_upto=at - 1 if other_swipe else at,
        chat_name=chat_name,
        clone_name=clone,
        parent_name=request.chat.name,
        parent_timeline=str(identity["timeline"]) if identity and "timeline" in identity else None,
        timeline=means.new_id(),
        integrity=means.new_id(),
        made_at=means.now_ms(),
        program_version=means.version,
    )


def _fork_names(request: ForkRequest, means: Means, read: Reading) -> tuple[str, str | None]:
    """Return the names of the new chat and of its lorebook."""
    chat_name, label = _chat_name(request, means.workspace, means.settings)
    if read.book_name is None or read.book_path is None:
        return chat_name, None
    books = means.workspace.book_names()
    return chat_name, names.clone_name(read.book_name, request.kind, label, lambda name: comparable(name) in books)


def _chat_name(request: ForkRequest, workspace: Workspace, settings: Settings) -> tuple[str, str]:
    """Return the new chat's name, and the text its lorebook is labelled with."""
    beside = workspace.names_beside(request.chat)
    if request.name is not None and request.name.strip():
        name = names.sanitise(request.name)
        if not name or not names.fits(name):
            raise NameInvalid(f"{request.name[:60]!r} cannot be the name of a chat.")
        if comparable(name) in beside:
            raise NameTaken(f"There is a chat {name!r} already.")
        return name, name
    name, number = names.default_fork_name(
        request.chat.name, request.kind, lambda name: comparable(name) in beside, settings.names
    )
    return name, f"{request.kind.capitalize()}_{number}"


# --- making -------------------------------------------------------------------------------------------------------


# Large files are given to the disk as early as can be, while we still read and check (docs/decisions/0006). What turns
# out otherwise is staged again, and a refusal removes it all. It is done at the head, where a book is copied as it is.


def _size(read: Reading) -> int:
    return sum(file.size for file in read.files.values())


def _stage_clone_ahead(run: Run, request: ForkRequest, means: Means, read: Reading) -> None:
    """Begin with the lorebook: a fork at the head copies it, whatever is in the chat."""
    if request.at is not None or request.swipe is not None or read.book_path is None or _size(read) < _LARGE:
        return
    clone = _fork_names(request, means, read)[1]
    if clone is not None:
        book = clone_of(means.workspace.book_path(clone), read.book_path, read.files[read.book_path].size)
        run.stage_ahead([book], read.files)


@dataclass(frozen=True, slots=True)
class _Guess:
    """A plan that was made before the lorebook was read, and what it was made from."""

    draft: Draft
    report: Report
    plan: Plan


def _stage_chats_ahead(
    run: Run, point: ForkPoint | None, request: ForkRequest, *, means: Means, read: Reading
) -> _Guess | None:
    """Go on with the new chat and its parent; the record in it is made as if the book held no surprise."""
    if point is None or not point.is_head or _size(read) < _LARGE:
        return None
    book = None
    if read.book_name is not None and read.book_path is not None:
        book = unsurprising_lorebook(read.book_name, read.files[read.book_path].size)
    unread = replace(read, parent=Parent(read.parent.chat, book))
    draft, report = draft_and_check(request, means, unread, point)
    if draft is None or not report.valid:
        return None
    guess = _Guess(draft, report, _plan(draft, report, request, read=read, means=means))
    run.stage_ahead(guess.plan.changes, read.files)
    return guess


def _written(read: Reading, means: Means) -> Callable[[int], None]:
    """Return what hears of bytes that were written, and tells how much of the whole they are."""
    total = sum(file.size for file in read.files.values()) + read.files[read.chat_path].size
    done = 0

    def written(count: int) -> None:
        nonlocal done
        done += count
        means.progress.advance(done, total)

    return written


def _make(draft: Draft, report: Report, read: Reading, plan: Plan, *, means: Means, run: Run) -> ForkMade:
    point, progress = draft.point, means.progress
    entries = len(draft.book.outline)
    progress.step(2, "Cloning lorebook...")
    if point.clone_name is None:
        progress.note("No lorebook is attached: there is nothing to clone.")
    else:
        progress.note(f'Source: "{read.book_name}"')
        progress.note(f'Clone: "{point.clone_name}"')
        progress.note(f"{entries} entries, {_SOURCES[draft.book.source]}", good=True)

    progress.step(3, f"Recording {point.kind} state...")
    running: RunningRecap = draft.cuts["running_recap"].value
    scenes = int((running.current or {}).get("scene_count") or 0)
    if running.current is not None:
        progress.note(f"Running recap version: {running.current_version} ({scenes} scenes)", good=True)
    scene = draft.cuts["scenes"].value
    name = scene.name or ("Unnamed Scene" if scene.is_break else "")
    progress.note(f'Scene: "{name}" at message {point.at}' if name else f"At message {point.at}", good=True)

    progress.step(4, f"Creating {point.kind}...")
    progress.go_on()
    applied = run.apply(plan, when=means.timestamp(), sources=read.files)
    progress.note(f'{point.kind.capitalize()} created: "{point.chat_name}"', good=True)
    told = told_of_fork(draft, report, read)
    told["warnings"] += tuple(_link_pending(reason) for reason in applied.pending)
    return ForkMade(
        **told,
        operation=applied.operation.id,
        running_version=running.current_version if running.current is not None else None,
        running_scenes=scenes,
        combined_messages=draft.cuts["combined_recap"].record["combined_recap_message_count"],
    )


def told_of_fork(draft: Draft, report: Report, read: Reading) -> dict[str, Any]:
    """Return what a ``ForkTold`` says of a fork."""
    point = draft.point
    return {
        "kind": point.kind,
        "chat": str(read.address.sibling(point.chat_name)),
        "parent": str(read.address),
        "at": point.at,
        "messages": point.at + 1,
        "lorebook": point.clone_name,
        "original_lorebook": read.book_name,
        "entries": len(draft.book.outline),
        "lorebook_source": draft.book.source,
        "warnings": report.warnings,
        "carried_from_present": tuple(draft.carried),
        "left_out": tuple(draft.left_out),
    }


_SOURCES = {
    "live": "copied byte for byte",
    "scene-snapshot": "as they were at the last scene snapshot",
    "present": "as they are in the present",
    "none": "",
}


def _link_pending(reason: str) -> Finding:
    message, action = "The fork is whole, but its parent could not be told", _LINK_IS_OPTIONAL
    if reason.startswith("group entry"):
        message, action = "The fork is whole, but its group does not list it yet", _GROUP_IS_NOT
    return Finding("LINK_PENDING", Severity.WARNING, message, action, reason)


_LINK_IS_OPTIONAL = "Nothing is lost: the story's tree does not need the link"
_GROUP_IS_NOT = "SillyTavern cannot open the chat until the group lists it: undo the fork and make it again"


def _plan(draft: Draft, report: Report, request: ForkRequest, *, read: Reading, means: Means) -> Plan:
    try:
        return plan_fork(draft, report, _files(draft.point, request, read, means.workspace))
    except NotJson as error:  # nested so deep that it can just be read, but not be looked through
        raise ChatUnreadable(f"The header of {str(read.address)!r} cannot be edited ({error}).") from error


def _files(point: ForkPoint, request: ForkRequest, read: Reading, workspace: Workspace) -> ForkFiles:
    fork_address = read.address.sibling(point.chat_name)
    return ForkFiles(
        address=str(fork_address),
        chat_name=point.chat_name,
        clone_name=point.clone_name,
        parent=read.chat_path,
        chat=workspace.chat_path(fork_address),
        book=read.book_path,
        clone=workspace.book_path(point.clone_name) if point.clone_name is not None else None,
        group=group_path(read, workspace),
        read=tuple((path, file.fingerprint) for path, file in read.files.items()),
        leave_parent=request.leave_parent,
    )


def group_path(read: Reading, workspace: Workspace) -> str | None:
    """Return the file of the chat's group, None for a solo chat; raises ``GroupMissing``."""
    if not read.address.is_group:
        return None
    path = workspace.group_path(read.address.group_id)
    if not read.address.group_id or not workspace.exists(path):
        raise GroupMissing(f"No group lists the chat {read.address.name!r}.")
    return path


def _tell_checks(report: Report, progress: Progress) -> None:
    progress.step(1, "Validating requirements...")
    codes = {finding.code for finding in (*report.errors, *report.warnings)}
    uses_recaps = report.state.has_scene_break or report.state.has_running_recap or "NO_SCENE_BREAK" in codes
    progress.note(
        "Operation queue is empty" if report.state.queue_empty else "Operation queue is not empty",
        good=report.state.queue_empty,
    )
    if uses_recaps:
        for holds, yes, no in (
            (report.state.has_scene_break, "Message is a scene break", "Message is not a scene break"),
            (report.state.has_scene_recap, "Scene has recap", "Scene has no recap"),
            (report.state.has_running_recap, "Running scene recap exists", "No running scene recap"),
        ):
            progress.note(yes if holds else no, good=holds)
