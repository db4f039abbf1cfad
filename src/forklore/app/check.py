"""Whether a fork can be made: read, cut and check, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from forklore.adapters import ADAPTERS
from forklore.adapters.engine import books_named
from forklore.app.context import Context
from forklore.checks.requirements import ForkAttempt, check
from forklore.checks.settings import Settings
from forklore.disk.gather import OpenTimeline, may_name_others, open_timeline, with_surroundings
from forklore.disk.workspace import Workspace
from forklore.errors import BadRequest, ForkloreError, Kind, LinkOutside, NameTaken
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.record import own_identity
from forklore.gathered.timeline import TimelineState
from forklore.model import names
from forklore.model.address import ChatAddress
from forklore.model.cut import ForkPoint
from forklore.model.fact import Fact
from forklore.model.finding import Report
from forklore.model.names import comparable
from forklore.planning.draft import Draft, draft_fork
from forklore.planning.swipe import shown_swipe


class NameInvalid(BadRequest):
    """A name that cannot be a file's name."""

    code = "NAME_INVALID"


class GroupMissing(ForkloreError):
    """A group chat that no group lists cannot be forked: SillyTavern could not open the fork."""

    code = "GROUP_MISSING"
    kind = Kind.NOT_FOUND


class ForkBlocked(ForkloreError):
    """The story breaks a requirement."""

    kind = Kind.BLOCKED

    def __init__(self, report: Report, kind: str) -> None:
        """Speak for every blocking finding of *report*."""
        self._only = only = report.errors[0] if len(report.errors) == 1 else None
        self.code = only.code if only else "FORK_BLOCKED"  # type: ignore[misc]  # the only error whose code varies
        params = only.params if only else {"kind": kind, "count": len(report.errors)}
        super().__init__(findings=(*report.errors, *report.warnings), **params)
        if only and only.code == LinkOutside.code:
            self.kind = LinkOutside.kind  # type: ignore[misc]  # it is the folder that is wrong, not the story
        self.report = report

    def part(self, part: str, language: str = "en") -> str:
        """Return one part of what is told; of one finding alone, what that says."""
        return self._only.part(part, language) if self._only else super().part(part, language)


KINDS = ("checkpoint", "branch")
"""The kinds of forks there are."""


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """What the caller wants; raises ``BadRequest`` for a kind that there is not."""

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

    def __post_init__(self) -> None:
        """Refuse what is no fork."""
        if self.kind not in KINDS:
            raise BadRequest("no_fork_kind", kind=self.kind, kinds=list(KINDS))


def check_fork(request: ForkRequest, context: Context) -> Report:
    """Return what stands in the way of a fork, all of it at once."""
    with gather_fork(request, context) as (timeline, point):
        return draft_and_check(request, context, timeline, point)[1]


@contextmanager
def gather_fork(request: ForkRequest, context: Context) -> Iterator[tuple[OpenTimeline, ForkPoint | None]]:
    """Read everything that a fork may be made from, and nothing else."""
    with open_timeline(context.workspace, request.chat) as opened:
        timeline = with_family(with_surroundings(opened, context.workspace), context)
        yield timeline, fork_point(request, context, timeline)


def with_family(timeline: OpenTimeline, context: Context) -> OpenTimeline:
    """Return a timeline with the names of its family, where something in it may be one of them."""
    if timeline.damage or not may_name_others(timeline, context.workspace):
        return timeline
    index = context.index(of=timeline.address, with_log=False)
    return replace(timeline, family=index.family_names(timeline.address))


def draft_and_check(
    request: ForkRequest, context: Context, timeline: TimelineState, point: ForkPoint | None
) -> tuple[Draft | None, Report]:
    """Cut the timeline at *point* and hold the result against every requirement."""
    context.settings.needs_known()
    damage = timeline.damage or _damage_at(timeline.chat, _message(request, timeline))
    draft = None
    if not damage and point is not None:
        swipe = request.swipe if point.derived_upto < point.at else None
        try:
            draft = draft_fork(timeline, point, swipe=swipe, show_last_scene=request.show_last_scene)
        except ChatDamaged as error:
            damage = error.fact
    attempt = ForkAttempt(
        timeline,
        request.kind,
        _message(request, timeline),
        draft.cuts if draft else {},
        damage,
        shows_last_scene=request.show_last_scene,
    )
    return draft, check(attempt, context.policy)


def _message(request: ForkRequest, timeline: TimelineState) -> int | None:
    return request.at if request.at is not None else timeline.chat.last


def _damage_at(chat: Chat, at: int | None) -> Fact | None:
    if at is None or not chat.has(at):
        return None
    try:
        chat.message(at)
    except ChatDamaged as error:
        return error.fact
    return None


def fork_point(request: ForkRequest, context: Context, timeline: OpenTimeline) -> ForkPoint | None:
    """Return where the fork is cut and what it is called; None when there is no such message to be read."""
    chat, at = timeline.chat, _message(request, timeline)
    if timeline.damage or at is None or not chat.has(at) or _damage_at(chat, at):
        return None
    group_path(timeline, context.workspace)  # refused now, before anything is locked
    other_swipe = request.swipe is not None and request.swipe != shown_swipe(chat.line_bytes(at))
    chat_name, clone, clones = fork_names(request, context, timeline)
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
        timeline=context.new_id(),
        integrity=context.new_id(),
        made_at=context.now_ms(),
        program_version=context.version,
        clones=clones,
    )


def fork_names(
    request: ForkRequest, context: Context, timeline: OpenTimeline
) -> tuple[str, str | None, dict[str, str]]:
    """Return the names of the new chat, of its lorebook, and of its other lorebooks by those they are cloned from."""
    chat_name, label = _chat_name(request, context.workspace, context.settings)
    at = request.at if request.at is not None and timeline.chat.has(request.at) else None
    clones = clone_names(timeline, request.kind, label, context, upto=at)
    clone = clones.pop(timeline.book_name, None) if timeline.book_name is not None else None
    return chat_name, clone, clones


def clone_names(
    timeline: OpenTimeline, kind: str, label: str, context: Context, *, upto: int | None = None
) -> dict[str, str]:
    """Return what the clone of each lorebook is called that is there to be cloned.

    One that only messages after *upto* name is not needed.
    """
    of_later = {book.name for book in timeline.more} - _named_upto(timeline, upto) if upto is not None else set()
    taken = context.workspace.book_names() if timeline.books else frozenset()
    named: dict[str, str] = {}
    for book in timeline.books:
        if book.path in timeline.files and book.name not in of_later:
            used = {comparable(name) for name in named.values()} | taken
            named[book.name] = names.clone_name(book.name, kind, label, lambda name: comparable(name) in used)  # noqa: B023  # called at once
    return named


def _named_upto(timeline: OpenTimeline, upto: int) -> set[str]:
    with suppress(ChatDamaged):
        return {book.name for book in books_named(timeline.metadata, timeline.chat, ADAPTERS, upto=upto)}
    return {book.name for book in timeline.more}


def _chat_name(request: ForkRequest, workspace: Workspace, settings: Settings) -> tuple[str, str]:
    """Return the new chat's name, and the text its lorebook is labelled with."""
    beside = workspace.names_beside(request.chat)
    if request.name is not None and request.name.strip():
        name = names.sanitise(request.name)
        if not name or not names.fits(name):
            raise NameInvalid(name=request.name[:60])
        if comparable(name) in beside:
            raise NameTaken(name=name)
        return name, name
    name, number = names.default_fork_name(
        request.chat.name, request.kind, lambda name: comparable(name) in beside, settings.names
    )
    return name, f"{request.kind.capitalize()}_{number}"


def group_path(timeline: OpenTimeline, workspace: Workspace) -> str | None:
    """Return the file of the chat's group, None for a solo chat; raises ``GroupMissing``."""
    if not timeline.address.is_group:
        return None
    path = workspace.group_path(timeline.address.group_id)
    if not timeline.address.group_id or not workspace.exists(path):
        raise GroupMissing(chat=timeline.address.name)
    return path
