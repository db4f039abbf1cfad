"""Isolating a timeline that was forked without Forklore: read, check, plan, apply, report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from forklore.adapters.memory_books import copied_from
from forklore.app.applying import apply_alone
from forklore.app.check import ForkBlocked, clone_names
from forklore.app.context import Context
from forklore.app.dry_run import DryRun, clone_paths
from forklore.app.settings import share_on_purpose, share_plan
from forklore.attribution.isolation import OwnBook
from forklore.attribution.kinship import accounts_of, kin_of
from forklore.attribution.splitting import Kin
from forklore.attribution.witnesses import Accounts
from forklore.channels.running_recap import read_running_recap
from forklore.checks.requirements import ForkAttempt, Policy, check
from forklore.disk.gather import (
    OpenTimeline,
    in_place,
    may_name_others,
    open_timeline,
    open_timelines,
    read_book,
    with_more,
)
from forklore.disk.workspace import ChatUnreadable
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.formats.json_text import NotJson
from forklore.formats.record import RECORD_KEY, own_identity
from forklore.gathered.timeline import BookState, TimelineState
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model import names
from forklore.model.address import ChatAddress
from forklore.model.cut import ForkPoint
from forklore.model.fact import Fact
from forklore.model.finding import Finding, Report
from forklore.model.plan import Fingerprint, Plan
from forklore.model.timeline import Timeline
from forklore.planning.draft import Draft
from forklore.planning.isolating import IsolationFiles, draft_isolation, plan_isolation
from forklore.printable import shell_word

_WHAT = "isolation"
_ABOUT_FORKING = (
    "NO_SCENE_BREAK",
    "NO_SCENE_RECAP",
    "NO_LOREBOOK_ENTRY",
    "NO_RUNNING_RECAP",
    "SCENE_NOT_IN_RUNNING_RECAP",
    "HISTORY_HIDDEN",
    "NO_LOREBOOK",
)
"""Requirements that speak of a good place for a fork: this one was made long ago."""


class NotAFork(BadRequest):
    """A main chat keeps its lorebook; it is its forks and its copies that can be isolated."""

    code = "NOT_A_FORK"


class SharedOnPurpose(ForkloreError):
    """The lorebook was declared to be shared on purpose."""

    code = "SHARED_ON_PURPOSE"
    kind = Kind.CONFLICT


@dataclass(frozen=True, slots=True)
class Isolated:
    """What isolating a timeline came to."""

    chat: str
    parent: str | None
    at: int | None
    lorebook: str | None
    original_lorebook: str | None
    entries: int
    lorebook_source: str
    kept_versions: tuple[int, ...]
    removed_versions: tuple[int, ...]
    operation: str | None
    """None when there was nothing to do."""
    warnings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    carried_from_present: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    left_out_entries: tuple[str, ...] = ()
    outcome: str = "isolated"
    """``isolated``, ``adopted`` (it had a book of its own), ``already`` or ``shared`` (on purpose)."""

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as ``isolate`` shows it."""
        return {
            "chat": self.chat,
            "parent": self.parent,
            "at": self.at,
            "lorebook": self.lorebook,
            "original_lorebook": self.original_lorebook,
            "entries": self.entries,
            "lorebook_source": self.lorebook_source,
            "kept_versions": list(self.kept_versions),
            "removed_versions": list(self.removed_versions),
            "operation": self.operation,
            "outcome": self.outcome,
            "warnings": [finding.to_json() for finding in self.warnings],
            "notes": [finding.to_json() for finding in self.notes],
            "carried_from_present": list(self.carried_from_present),
            "left_out": list(self.left_out),
            "left_out_entries": list(self.left_out_entries),
        }


@dataclass(frozen=True, slots=True)
class IsolationPlanned(DryRun):
    """A plan of an isolation that was not applied, and what it would come to."""

    result: Isolated

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as ``isolate`` shows it, with the plan."""
        return {**self.result.to_json(), **self.plan.to_json()}


@dataclass(frozen=True)
class _Prepared:
    """An isolation that was read, checked and planned."""

    result: Isolated
    """What it will come to; its operation is not yet known."""
    plan: Plan | None
    """None when there is nothing to do."""
    report: Report


def isolate(address: ChatAddress, context: Context, gathered: Gathered | None = None) -> Isolated:
    """Give the timeline a lorebook of its own; raises ``ForkBlocked`` when the shared one is not at rest.

    Who isolates several hands over what was *gathered* for all of them.
    """
    made: list[_Prepared] = []

    def make_plan() -> Plan:
        with _prepared(address, context, gathered) as prepared:
            made[:] = [prepared]
            if prepared.plan is None:
                raise _NothingToDo
            return prepared.plan

    try:
        operation = apply_alone(make_plan, context, what="isolation").operation
    except _NothingToDo:
        return made[0].result
    return replace(made[0].result, operation=operation.id)


class _NothingToDo(Exception):
    """There is nothing left to isolate."""


def share(address: ChatAddress, context: Context) -> Isolated:
    """Declare the timeline's lorebook shared on purpose, and leave it alone from now on."""
    index = context.index(of=address, with_log=False)
    with open_timeline(context.workspace, address) as opened:
        book = _book_to_share(opened)
        result = replace(_as_it_is(in_place(opened, index), "shared"), original_lorebook=book)
    if index.is_shared_on_purpose(book):
        return result
    return replace(result, operation=share_on_purpose(book, str(address), context))


def dry_run(address: ChatAddress, context: Context, *, share: bool = False) -> DryRun:
    """Return the plan of an isolation, or of sharing on purpose, and change nothing."""
    nothing = Plan("isolate", str(address), (), commit=-1)
    if share:
        with open_timeline(context.workspace, address, with_books=False) as opened:
            book = _book_to_share(opened)
        plan = nothing if context.is_shared_on_purpose(book) else share_plan(book, str(address), context)
        return DryRun(plan, Report(str(address), None))
    with _prepared(address, context) as prepared:
        return IsolationPlanned(prepared.plan or nothing, prepared.report, prepared.result)


def foresee(address: ChatAddress, context: Context, gathered: Gathered | None = None) -> tuple[Isolated, Plan | None]:
    """Return what isolating would come to, and its plan, None when there is nothing to do; nothing is changed."""
    with _prepared(address, context, gathered) as prepared:
        return prepared.result, prepared.plan


def _book_to_share(opened: OpenTimeline) -> str:
    opened.needs_header()
    if opened.book_name is None:
        raise BadRequest("nothing_to_share", chat=str(opened.address))
    return opened.book_name


# --- gathering and planning ---------------------------------------------------------------------------------------


class Gathered:
    """What isolating needs to know of the workspace; what several timelines have in common is read once."""

    def __init__(self, context: Context, index: WorkspaceIndex) -> None:
        """Read in the workspace of *context*, as *index* knows it; ``close`` when all are isolated."""
        self._context = context
        self.index = index
        self._open = ExitStack()
        self._read: dict[str, TimelineState] = {}
        self._accounts: dict[tuple[str, tuple[Timeline, ...]], Accounts] = {}
        self._books: dict[tuple[str, Fingerprint], BookState] = {}
        self._active: dict[tuple[str, str], tuple[Fact, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def complete(self, opened: OpenTimeline) -> OpenTimeline:
        """Return a timeline with its place, its lorebook and where that is active besides."""
        opened = with_more(opened, self._context.workspace)
        if may_name_others(opened, self._context.workspace):
            opened = replace(opened, family=self.index.family_names(opened.address) - {opened.name})
        timeline, book, file = in_place(opened, self.index), opened.lorebook, opened.book_file
        if book is None:
            return timeline
        if file is not None:
            key = (book.path, file.fingerprint)
            if key not in self._books:
                self._books.clear()  # one at a time: a book may be large
                self._books[key] = read_book(book, file)
            book = self._books[key]._replace(name=book.name)
        where = (book.name, opened.address.folder)
        if where not in self._active:
            self._active[where] = self._context.workspace.also_active(book.name, opened.address)
        return replace(timeline, lorebook=book._replace(active=self._active[where]))

    def accounts(self, asked: _Isolation, members: tuple[Timeline, ...]) -> Accounts:
        """Return what everybody knows of the timeline's lorebook."""
        book = asked.timeline.book_name
        key = (self.index.key(book) if book is not None else "", members)
        if key not in self._accounts:
            missing = [each.chat for each in members if each.chat not in self._read]
            self._read |= self._open.enter_context(open_timelines(self._context.workspace, missing))
            self._accounts[key] = accounts_of(members, self._read, {asked.place.chat, *asked.others}, book)
        return self._accounts[key]


@contextmanager
def _prepared(address: ChatAddress, context: Context, given: Gathered | None = None) -> Iterator[_Prepared]:
    with ExitStack() as stack:
        gathered = given or stack.enter_context(Gathered(context, context.index(of=address, with_log=False)))
        yield stack.enter_context(_prepared_from(gathered, address, context))


@contextmanager
def _prepared_from(gathered: Gathered, address: ChatAddress, context: Context) -> Iterator[_Prepared]:
    index = gathered.index
    with open_timeline(context.workspace, address, with_books=False) as opened:
        opened.needs_header()
        opened.refuse_newer()
        timeline = gathered.complete(opened)
        if timeline.place is None:
            raise ChatUnreadable("unplaced", chat=str(address))
        if index.is_shared_on_purpose(timeline.book_name) and not timeline.is_recorded:
            book = timeline.book_name or ""
            raise SharedOnPurpose(lorebook=book, argument=shell_word(book))
        if timeline.is_recorded and (not index.sharers(address) or index.is_owner(address)):
            yield _Prepared(_as_it_is(timeline, "already"), None, Report(str(address), None))
            return
        if timeline.kind == "main" and not _may_leave_its_book(address, index):
            raise NotAFork(chat=str(address))
        yield _prepare(_Isolation(timeline, timeline.place, gathered), context)


def _may_leave_its_book(address: ChatAddress, index: WorkspaceIndex) -> bool:
    """Whether a main chat names another one's lorebook; of two that are the same, the one that is asked for does."""
    if not index.sharers(address):
        return False
    return not index.is_owner(address) or index.original_of(address, is_asked_for=True) is not None


@dataclass(frozen=True)
class _Isolation:
    """A timeline that is to be isolated, in its workspace."""

    timeline: OpenTimeline
    place: Timeline
    gathered: Gathered

    @property
    def index(self) -> WorkspaceIndex:
        """What is known of the workspace."""
        return self.gathered.index

    @cached_property
    def others(self) -> tuple[str, ...]:
        """Those that name its lorebook besides itself."""
        return self.index.other_users(self.timeline.book_name, self.place.chat)

    @cached_property
    def members(self) -> tuple[Timeline, ...]:
        """Everybody of its story, and everybody else who names its lorebook."""
        story = self.index.story(self.place.chat)
        family = story.timelines if story else (self.place,)
        known = {each.chat for each in family}
        strangers = (self.index.timeline(chat) for chat in self.others if chat not in known)
        return (*family, *(each for each in strangers if each is not None))

    @cached_property
    def original(self) -> str | None:
        """The chat that a main chat parted from: the one of which it is a copy, else whose lorebook it names."""
        if self.place.kind != "main" or self.timeline.book_name is None:
            return None
        owner = self.index.owner(self.timeline.book_name)
        return self.index.original_of(self.place.chat, is_asked_for=True) or (owner.address if owner else None)


def _prepare(asked: _Isolation, context: Context) -> _Prepared:
    timeline = asked.timeline
    copied = copied_from(timeline.metadata, timeline.name, timeline.book_name)
    adopts = timeline.lorebook is not None and (copied is not None or not asked.others)
    point = _point(asked, context, adopts=adopts)
    draft, damage = _draft(asked, point, adopts=adopts)
    report = _check(timeline, draft, damage, context)
    if draft is None or not report.valid:
        raise ForkBlocked(report, _WHAT)
    files = IsolationFiles(
        address=str(timeline.address),
        chat=timeline.path,
        clones=clone_paths(point, timeline, context.workspace),
        original_lorebook=copied or timeline.book_name,
        read=timeline.read,
    )
    try:
        plan = plan_isolation(draft, report, files)
    except NotJson as error:  # nested so deep that it can just be read, but not be looked through
        raise ChatUnreadable("header", chat=str(timeline.address), reason=str(error)) from error
    return _Prepared(_outcome(draft, report, asked, files=files, adopts=adopts), plan, report)


def _point(asked: _Isolation, context: Context, *, adopts: bool) -> ForkPoint:
    timeline, place = asked.timeline, asked.place
    main_chat = timeline.metadata.get("main_chat")
    parent = place.parent.partition("/")[2] if place.parent else names.parent_from_name(timeline.name)
    last = max(timeline.last, 0)
    clones = _clones(asked, context, adopts=adopts)
    clone = clones.pop(timeline.book_name, None) if timeline.book_name is not None else None
    return ForkPoint(
        kind=place.kind,
        at=last,
        is_head=False,  # its metadata came from its parent's present
        derived_upto=last,
        chat_name=timeline.name,
        clone_name=clone,
        # The name as the chat has it: a parent that is gone may come back under it.
        parent_name=main_chat if isinstance(main_chat, str) and main_chat else parent or "",
        parent_timeline=None,
        timeline=context.new_id(),
        integrity=context.new_id(),
        made_at=context.now_ms(),
        program_version=context.version,
        clones=clones,
    )


def _clones(asked: _Isolation, context: Context, *, adopts: bool) -> dict[str, str]:
    """Return what each lorebook is called in future: one that it has for itself already keeps its name."""
    timeline = asked.timeline
    # The copy of a main chat goes its own way from where both were the same, as a branch does.
    kind = "branch" if timeline.kind == "main" else timeline.kind
    clones = clone_names(timeline, kind, names.fork_label(timeline.name), context)
    for book in timeline.books:
        is_own = adopts if book is timeline.lorebook else not asked.index.other_users(book.name, asked.place.chat)
        if is_own and book.name in clones:
            clones[book.name] = book.name
    return clones


def _draft(asked: _Isolation, point: ForkPoint, *, adopts: bool) -> tuple[Draft | None, Fact | None]:
    """Return the timeline cut at its last message, or why it cannot be."""
    timeline, original, place = asked.timeline, asked.original, asked.place
    # What a copy and its original have in common tells where they parted, as with a fork and its parent.
    beside = place._replace(parent=original or place.parent)
    members = tuple(beside if each.chat == place.chat else each for each in asked.members)
    try:
        kin = kin_of(beside, asked.gathered.accounts(asked, members), members)
        if kin is None:
            return None, None
        if original is None:
            point = point._replace(parent_timeline=_timeline_above(kin))
        else:
            point = point._replace(is_head=_is_book_its_own(asked, kin))
            # It was copied with all there was, so what nobody else can be shown to have written may be its own.
            kin = replace(kin, gone_on=True)
        return draft_isolation(timeline, point, kin, adopts=adopts), None
    except ChatDamaged as error:
        return None, error.fact


def _timeline_above(kin: Kin) -> str | None:
    """Return the id of the parent, if it has one."""
    above = kin.parent and own_identity(kin.parent.text.metadata, kin.parent.chat.partition("/")[2])
    return above["timeline"] if above and isinstance(above.get("timeline"), str) else None


def _is_book_its_own(asked: _Isolation, kin: Kin) -> bool:
    """Whether everybody who can have written into a copy's lorebook has no message that the copy has not."""
    ended = {each.chat for each in kin.accounts if each.last <= kin.shared_with(each)}
    return all(chat in ended for chat in asked.others)


def _check(timeline: TimelineState, draft: Draft | None, damage: Fact | None, context: Context) -> Report:
    attempt = ForkAttempt(timeline, _WHAT, timeline.chat.last, draft.cuts if draft else {}, damage)
    policy: Policy = context.policy
    for code in _ABOUT_FORKING:
        policy = policy.without(code)
    return check(attempt, policy)


# --- reporting ----------------------------------------------------------------------------------------------------


def _outcome(draft: Draft, report: Report, asked: _Isolation, *, files: IsolationFiles, adopts: bool) -> Isolated:
    before = read_running_recap(asked.timeline.metadata).numbers
    kept: tuple[int, ...] = draft.cuts["running_recap"].value.numbers
    book = draft.book
    gone = book.split.left_out if isinstance(book, OwnBook) else ()
    return Isolated(
        chat=str(asked.timeline.address),
        parent=asked.place.parent,
        at=draft.point.at if asked.original is None else None,
        lorebook=draft.point.clone_name,
        original_lorebook=files.original_lorebook,
        entries=len(book.outline),
        lorebook_source=book.source,
        kept_versions=kept,
        removed_versions=tuple(number for number in before if number not in kept),
        operation=None,
        warnings=report.warnings,
        notes=report.notes,
        carried_from_present=tuple(draft.carried),
        left_out=tuple(draft.left_out),
        left_out_entries=tuple(share.comment for share in gone),
        outcome="adopted" if adopts else "isolated",
    )


def _as_it_is(timeline: TimelineState, outcome: str) -> Isolated:
    """Return a timeline in which nothing is changed."""
    record = timeline.metadata.get(RECORD_KEY)
    original = record.get("original_lorebook_name") if isinstance(record, dict) else None
    place, book = timeline.place, timeline.book
    return Isolated(
        chat=str(timeline.address),
        parent=place.parent if place else None,
        at=place.at if place else None,
        lorebook=timeline.book_name,
        original_lorebook=original if isinstance(original, str) else None,
        entries=len(book.outline) if book else 0,
        lorebook_source="live" if book else "none",
        kept_versions=read_running_recap(timeline.metadata).numbers,
        removed_versions=(),
        operation=None,
        outcome=outcome,
    )
