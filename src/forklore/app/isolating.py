"""Isolating a timeline that was forked without Forklore: read, check, plan, apply, report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from forklore.app.applying import apply_alone
from forklore.app.around import Around
from forklore.app.kinship import Family, copied_by_memory_books, family_of, owns_book, witnesses_of
from forklore.app.means import Means
from forklore.app.reading import Reading, reading, refuse_newer_identity
from forklore.app.results import DryRun, ForkBlocked
from forklore.app.sharing import is_shared_on_purpose, share_on_purpose, share_plan
from forklore.channels.checkpoint_map import STATE_KEY
from forklore.channels.cut import ForkPoint
from forklore.channels.identity import own_identity
from forklore.channels.isolation import OwnBook
from forklore.channels.running_recap import read_running_recap
from forklore.channels.splitting import Kin
from forklore.checks.requirements import Policy, Subject, check
from forklore.disk.files import OpenFile
from forklore.disk.workspace import ChatUnreadable, comparable
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.formats.json_text import NotJson
from forklore.model import names
from forklore.model.address import ChatAddress
from forklore.model.finding import Finding, Report
from forklore.model.plan import Plan
from forklore.planning.fork import Draft
from forklore.planning.isolating import IsolationFiles, draft_isolation, plan_isolation
from forklore.planning.kinship import kin_of
from forklore.printable import shell_word

_WHAT = "a lorebook of its own"
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
    action = (
        "Isolate the forks and copies that share its lorebook: `forklore tree CHAT` and `forklore doctor` show them."
    )


class SharedOnPurpose(ForkloreError):
    """The lorebook was declared to be shared on purpose."""

    code = "SHARED_ON_PURPOSE"
    kind = Kind.CONFLICT
    action = "Take the declaration back first: `forklore settings --unshare BOOK`."


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


def isolate(address: ChatAddress, means: Means) -> Isolated:
    """Give the timeline a lorebook of its own; raises ``ForkBlocked`` when the shared one is not at rest."""
    with _prepared(address, means) as prepared:
        if prepared.plan is None:
            return prepared.result  # nothing is locked, and nothing is written
    made: list[_Prepared] = []

    def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
        with _prepared(address, means) as prepared:
            made[:] = [prepared]
            if prepared.plan is None:
                raise _NothingToDo
            # Opened anew: what was read is closed when we leave, and must be the same when it counts.
            paths = [path for path, _ in prepared.plan.unchanged]
        return prepared.plan, {path: OpenFile(means.workspace.file(path)) for path in paths}

    try:
        operation = apply_alone(make_plan, means, what="isolation").operation
    except _NothingToDo:
        return made[0].result  # somebody else did it meanwhile
    return replace(made[0].result, operation=operation.id)


class _NothingToDo(Exception):
    """There is nothing left to isolate."""


def share(address: ChatAddress, means: Means) -> Isolated:
    """Declare the timeline's lorebook shared on purpose, and leave it alone from now on."""
    with reading(means.workspace, address) as read:
        book = _book_to_share(read)
        family = family_of(address, book, means)
        result = replace(_as_it_is(read, family, "shared"), original_lorebook=book)
    if is_shared_on_purpose(book, means):
        return result
    return replace(result, operation=share_on_purpose(book, str(address), means))


def dry_run(address: ChatAddress, means: Means, *, share: bool = False) -> DryRun:
    """Return the plan of an isolation, or of sharing on purpose, and change nothing."""
    nothing = Plan("isolate", str(address), (), commit=-1)
    if share:
        with reading(means.workspace, address) as read:
            book = _book_to_share(read)
        plan = nothing if is_shared_on_purpose(book, means) else share_plan(book, str(address), means)
        return DryRun(plan, Report(str(address), None))
    with _prepared(address, means) as prepared:
        return IsolationPlanned(prepared.plan or nothing, prepared.report, prepared.result)


def foresee(address: ChatAddress, means: Means) -> tuple[Isolated, Plan | None]:
    """Return what isolating would come to, and its plan, None when there is nothing to do; nothing is changed."""
    with _prepared(address, means) as prepared:
        return prepared.result, prepared.plan


def _book_to_share(read: Reading) -> str:
    read.needs_header()
    if read.book_name is None:
        raise BadRequest(f"{str(read.address)!r} has no lorebook that could be shared.")
    return read.book_name


# --- planning -----------------------------------------------------------------------------------------------------


@contextmanager
def _prepared(address: ChatAddress, means: Means) -> Iterator[_Prepared]:
    with reading(means.workspace, address) as read:
        read.needs_header()
        refuse_newer_identity(read)
        family = family_of(address, read.book_name, means)
        if _is_isolated(read, family):
            yield _Prepared(_as_it_is(read, family, "already"), None, Report(str(address), None))
            return
        if family.timeline.kind == "main":
            family = replace(family, original=Around(means).original_of(address, is_asked_for=True))
            if family.original is None:
                raise NotAFork(f"{str(address)!r} is a main chat.")
        if read.book_name is not None and is_shared_on_purpose(read.book_name, means):
            raise SharedOnPurpose(
                f"The lorebook {read.book_name!r} is shared on purpose.",
                action=f"Take the declaration back first: `forklore settings --unshare {shell_word(read.book_name)}`.",
            )
        yield _prepare(read, family, means)


def _is_isolated(read: Reading, family: Family) -> bool:
    recorded = own_identity(read.parent.metadata, read.address.name) is not None
    return recorded and (owns_book(read) or not family.others)


def _prepare(read: Reading, family: Family, means: Means) -> _Prepared:
    copied_from = copied_by_memory_books(read)
    adopts = read.book_name is not None and (copied_from is not None or not family.others)
    point = _point(read, family, means, adopts=adopts)
    draft, damage = _draft(read, family, point, means=means, adopts=adopts)
    report = _check(read, draft, damage, means)
    if draft is None or not report.valid:
        raise ForkBlocked(report, _WHAT)
    files = IsolationFiles(
        address=str(read.address),
        chat=read.chat_path,
        clone=means.workspace.book_path(point.clone_name) if point.clone_name is not None and not adopts else None,
        original_lorebook=copied_from or read.book_name,
        read=tuple((path, file.fingerprint) for path, file in read.files.items()),
    )
    try:
        plan = plan_isolation(draft, report, files)
    except NotJson as error:  # nested so deep that it can just be read, but not be looked through
        raise ChatUnreadable(f"The header of {str(read.address)!r} cannot be edited ({error}).") from error
    return _Prepared(_outcome(draft, report, read, family=family, files=files, adopts=adopts), plan, report)


def _point(read: Reading, family: Family, means: Means, *, adopts: bool) -> ForkPoint:
    chat, timeline = read.parent.chat, family.timeline
    main_chat = read.parent.metadata.get("main_chat")
    parent = timeline.parent.partition("/")[2] if timeline.parent else names.parent_from_name(read.address.name)
    last = chat.last if chat.last is not None else 0
    clone = read.book_name if adopts else _clone_name(read, timeline.kind, means)
    return ForkPoint(
        kind=timeline.kind,
        at=last,
        is_head=False,  # its metadata came from its parent's present
        derived_upto=last,
        chat_name=read.address.name,
        clone_name=clone if read.book_path is not None else None,
        # The name as the chat has it: a parent that is gone may come back under it.
        parent_name=main_chat if isinstance(main_chat, str) and main_chat else parent or "",
        parent_timeline=None,
        timeline=means.new_id(),
        integrity=means.new_id(),
        made_at=means.now_ms(),
        program_version=means.version,
    )


def _clone_name(read: Reading, kind: str, means: Means) -> str | None:
    if read.book_name is None:
        return None
    books = means.workspace.book_names()
    label = names.fork_label(read.address.name)
    # The copy of a main chat goes its own way from where both were the same, as a branch does.
    kind = "branch" if kind == "main" else kind
    return names.clone_name(read.book_name, kind, label, lambda name: comparable(name) in books)


def _draft(read: Reading, family: Family, point: ForkPoint, *, means: Means, adopts: bool) -> tuple[Draft | None, str]:
    """Return the timeline cut at its last message, or why it cannot be."""
    if read.parent.chat.last is None:
        return None, ""
    try:
        with witnesses_of(family, read, means.workspace) as witnesses:
            # What a copy and its original have in common tells where they parted, as with a fork and its parent.
            beside = family.timeline._replace(parent=family.original or family.timeline.parent)
            kin = kin_of(beside, witnesses, family.members)
            if family.original is None:
                point = replace(point, parent_timeline=_timeline_above(kin))
            else:
                point = replace(point, is_head=_is_book_its_own(family, kin))
                # It was copied with all there was, so what nobody else can be shown to have written may be its own.
                kin = replace(kin, gone_on=True)
            draft = draft_isolation(read.parent, point, kin, adopts=adopts)
    except ChatDamaged as error:
        return None, str(error)
    return draft, ""


def _timeline_above(kin: Kin) -> str | None:
    """Return the id of the parent, if it has one."""
    above = kin.parent and own_identity(kin.parent.text.metadata, kin.parent.chat.partition("/")[2])
    return above["timeline"] if above and isinstance(above.get("timeline"), str) else None


def _is_book_its_own(family: Family, kin: Kin) -> bool:
    """Whether everybody who can have written into a copy's lorebook has no message that the copy has not."""
    ended = {each.chat for each in kin.relatives if each.last <= each.shared}
    return all(each.chat in ended for each in family.others)


def _check(read: Reading, draft: Draft | None, damage: str, means: Means) -> Report:
    subject = Subject(
        address=str(read.address),
        kind=_WHAT,
        at=read.parent.chat.last,
        parent=read.parent,
        cuts=draft.cuts if draft else {},
        damage=damage,
        book_name=read.book_name,
        book_missing=read.book_missing,
        book_damage=read.book_damage,
        book_outside=read.book_outside,
        also_active=means.workspace.also_active(read.book_name, read.address) if read.book_name else (),
    )
    policy: Policy = means.policy
    for code in _ABOUT_FORKING:
        policy = policy.without(code)
    return check(subject, policy)


# --- reporting ----------------------------------------------------------------------------------------------------


def _outcome(
    draft: Draft, report: Report, read: Reading, *, family: Family, files: IsolationFiles, adopts: bool
) -> Isolated:
    before = read_running_recap(read.parent.metadata).numbers
    kept: tuple[int, ...] = draft.cuts["running_recap"].value.numbers
    book = draft.book
    gone = book.split.left_out if isinstance(book, OwnBook) else ()
    return Isolated(
        chat=str(read.address),
        parent=family.timeline.parent,
        at=draft.point.at if family.original is None else None,
        lorebook=draft.point.clone_name,
        original_lorebook=files.original_lorebook,
        entries=len(book.outline),
        lorebook_source=book.source,
        kept_versions=kept,
        removed_versions=tuple(number for number in before if number not in kept),
        operation=None,
        warnings=report.warnings,
        carried_from_present=tuple(draft.carried),
        left_out=tuple(draft.left_out),
        left_out_entries=tuple(share.comment for share in gone),
        outcome="adopted" if adopts else "isolated",
    )


def _as_it_is(read: Reading, family: Family, outcome: str) -> Isolated:
    """Return a timeline in which nothing is changed."""
    record = read.parent.metadata.get(STATE_KEY)
    original = record.get("original_lorebook_name") if isinstance(record, dict) else None
    book = read.parent.book
    return Isolated(
        chat=str(read.address),
        parent=family.timeline.parent,
        at=family.timeline.at,
        lorebook=read.book_name,
        original_lorebook=original if isinstance(original, str) else None,
        entries=len(book.outline) if book else 0,
        lorebook_source="live" if book else "none",
        kept_versions=read_running_recap(read.parent.metadata).numbers,
        removed_versions=(),
        operation=None,
        outcome=outcome,
    )
