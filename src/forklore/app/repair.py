"""Repairing one finding of a timeline: what could be done, and doing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from forklore import texts
from forklore.app.applying import apply_alone, would_change
from forklore.app.context import Context
from forklore.app.isolate import isolate, share
from forklore.channels import cut_channels
from forklore.channels.lorebook import BookCut
from forklore.checks.verify import ON_REQUEST, OPENING, names_of_others, verify
from forklore.disk.gather import OpenTimeline, looked_through, open_timeline
from forklore.errors import BadRequest, ForkloreError
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.gathered.timeline import MISSING, TimelineState
from forklore.gathered.workspace import WorkspaceIndex
from forklore.log.operations import Operation
from forklore.model.address import ChatAddress, place_of
from forklore.model.cut import ForkPoint
from forklore.model.fact import Fact
from forklore.model.finding import Finding
from forklore.model.plan import Change, EditFile, Plan
from forklore.planning.repairing import RepairCase, plan_repair

OF_THEIR_OWN = ("isolate", "isolate-others", "share")
"""Repairs that are operations with a command of their own, with the keys of their texts."""


@dataclass(frozen=True, slots=True)
class RepairOffered:
    """One repair of a finding, with what it would change."""

    name: str
    plan: tuple[tuple[str, str], ...]
    source: str | None = None
    """``present`` where it can only use the lorebook of today."""

    @property
    def does(self) -> str:
        """What it does, in one line."""
        return texts.text(f"repair.{self.name}.{self.source}" if self.source else f"repair.{self.name}")

    def to_json(self) -> dict[str, Any]:
        """Return the repair as ``repair`` lists it."""
        return {
            "repair": self.name,
            "source": self.source,
            "does": self.does,
            "plan": [{"action": action, "path": path} for action, path in self.plan],
        }


@dataclass(frozen=True, slots=True)
class Repairs:
    """A finding and its repairs, best first; with an operation, the one that was made."""

    chat: str
    finding: Finding
    offered: tuple[RepairOffered, ...]
    applied: str | None = None
    operation: str | None = None
    pending: tuple[Fact, ...] = ()
    """What could not be written any more after the finding was gone."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer of ``repair``."""
        return {
            "chat": self.chat,
            "finding": self.finding.to_json(),
            "repairs": [offer.to_json() for offer in self.offered],
            "applied": self.applied,
            "operation": self.operation,
            "pending": [texts.words(each) for each in self.pending],
            "pending_facts": list(self.pending),
        }


def offer_repairs(address: ChatAddress, code: str, context: Context, *, book: str | None = None) -> Repairs:
    """Return what could be done about a finding; nothing is changed. *book* is what a lost lorebook is called now."""
    with _gathered(address, code, context, context.index(of=address, told_book=book)) as (case, finding):
        offered = tuple(_offered(name, case) for name in finding.repairs)
    return Repairs(str(address), finding, tuple(offer for offer in offered if offer is not None))


def repair(address: ChatAddress, code: str, name: str, context: Context, *, book: str | None = None) -> Repairs:
    """Make a repair as one operation; *book* is what a lost lorebook is called now."""
    offered = offer_repairs(address, code, context, book=book)
    names = [offer.name for offer in offered.offered]
    if name not in names:
        raise BadRequest("no_repair", repair=name, finding=code, repairs=names)

    if name in OF_THEIR_OWN:
        operation_id = _by_its_own_command(address, name, context)
        if operation_id is None:
            raise _nothing_left(code)
        return Repairs(str(address), offered.finding, offered.offered, name, operation_id)

    operation = make_repair(address, code, name, context, index=context.index(of=address, told_book=book))
    return Repairs(str(address), offered.finding, offered.offered, name, operation.id, operation.pending)


def _by_its_own_command(address: ChatAddress, name: str, context: Context) -> str | None:
    """Make a repair that is an operation with a command of its own; return the operation, None without any."""
    if name == "share":
        return share(address, context).operation
    if name == "isolate":
        return isolate(address, context).operation
    index = context.index(of=address, with_log=False)
    last = None
    for other in map(ChatAddress.parse, index.sharers(address)):
        if other is None:
            continue
        with suppress(BadRequest):  # its own lorebook is gone, or nobody knows which that is
            last = make_repair(other, "SHARED_LOREBOOK", "reattach", context, index=context.index(of=other)).id
            continue
        last = isolate(other, context).operation or last
    return last


def make_repair(
    address: ChatAddress,
    code: str,
    name: str,
    context: Context,
    *,
    index: WorkspaceIndex,
    only_first: bool = False,
) -> Operation:
    """Make a repair if it is still offered, with *only_first* as the best one; raises ``BadRequest`` when it is not."""

    def make_plan() -> Plan:
        with _gathered(address, code, context, index) as (case, finding):
            repairs = finding.repairs[: 1 if only_first else None]
            changes = plan_repair(name, case) if name in repairs else ()
            plan = _repair_plan(name, case, changes) if changes else None
            if plan is None or not would_change(plan, context.workspace):
                raise _nothing_left(code)
            return plan

    return apply_alone(make_plan, context, what="repair").operation


def _nothing_left(code: str) -> BadRequest:
    return BadRequest("nothing_to_repair", finding=code)


def _repair_plan(name: str, case: RepairCase, changes: tuple[Change, ...]) -> Plan:
    """Return the plan of a repair: everything that was read must still be so when it is made."""
    timeline = case.timeline
    relatives = [each for each in (case.parent, *case.children) if each is not None]
    # What removes the finding counts: the files that come, then the chat itself; its relatives are told afterwards.
    files = [change for change in changes if not isinstance(change, EditFile)]
    counts = (timeline.path, timeline.lorebook.path if timeline.lorebook else None)
    own = [change for change in changes if change not in files and change.path in counts]
    rest = [change for change in changes if change not in files and change not in own]
    return Plan(
        "repair",
        str(timeline.address),
        (*files, *own, *rest),
        commit=len(files) if own else max(0, len(files) - 1),
        unchanged=(*timeline.read, *(each.read[0] for each in relatives)),
        notes={"repair": name, "code": case.code},
    )


def _finding(timeline: TimelineState, index: WorkspaceIndex, code: str) -> Finding:
    found = verify(timeline, index, (*OPENING, *ON_REQUEST))
    for finding in found:
        if finding.code == code:
            return finding
    codes = sorted({finding.code for finding in found})
    raise BadRequest("no_finding", chat=str(timeline.address), finding=code, codes=codes)


def _offered(name: str, case: RepairCase) -> RepairOffered | None:
    if name in OF_THEIR_OWN:
        return RepairOffered(name, ())
    changes = plan_repair(name, case)
    if not changes:
        return None
    of_today = name == "from-parent" and case.parents_book and case.parents_book.source == "present"
    plan = tuple((_action(change), change.path) for change in changes)
    return RepairOffered(name, plan, "present" if of_today else None)


def _action(change: Change) -> str:
    return type(change).__name__.removesuffix("File").lower()


# --- what repairs are made of -------------------------------------------------------------------------------------


@contextmanager
def _gathered(
    address: ChatAddress, code: str, context: Context, index: WorkspaceIndex
) -> Iterator[tuple[RepairCase, Finding]]:
    """Read a timeline and those around it that its repairs are made of; raises ``BadRequest`` without the finding."""
    with ExitStack() as stack:
        opened = stack.enter_context(open_timeline(context.workspace, address))
        timeline = looked_through(opened, index, context.workspace)
        finding = _finding(timeline, index, code)
        is_lost = timeline.book_fault == MISSING
        relatives = _Relatives(context, stack)
        parent = relatives.read(timeline.parent, with_book=is_lost)
        case = RepairCase(
            code,
            timeline,
            index,
            context.now_ms(),
            parent=parent,
            children=tuple(_children(timeline, index, relatives)),
            parents_book=_parents_book(timeline, parent) if parent is not None and is_lost else None,
            namings=tuple(names_of_others(timeline, index)) if code == "NAMES_PARENT" else (),
        )
        yield case, finding


@dataclass(frozen=True)
class _Relatives:
    """Reads other timelines; their files stay open with the stack."""

    context: Context
    stack: ExitStack

    def read(self, address: str | None, *, with_book: bool = False) -> OpenTimeline | None:
        """Return a timeline; None when there is none, or it cannot be read."""
        parsed = ChatAddress.parse(address) if address else None
        if parsed is None:
            return None
        with suppress(ForkloreError):
            opened = self.stack.enter_context(open_timeline(self.context.workspace, parsed, with_books=with_book))
            return None if opened.damage else opened
        return None


def _children(timeline: TimelineState, index: WorkspaceIndex, relatives: _Relatives) -> Iterator[TimelineState]:
    """Yield the chats that name this one as their parent under its old name."""
    old, place = timeline.renamed_from, place_of(timeline.address.folder)
    for chat in index.chats if old is not None else ():
        if place_of(chat.folder) == place and chat.main_chat == old:
            child = relatives.read(chat.address)
            if child is not None:
                yield child


def _parents_book(timeline: TimelineState, parent: TimelineState) -> BookCut | None:
    """Return the parent's lorebook cut to the fork point."""
    at = timeline.forked_at if timeline.forked_at is not None else timeline.last
    if parent.book is None or not parent.chat.has(at):
        return None
    point = ForkPoint(
        kind=timeline.kind,
        at=at,
        is_head=at == parent.chat.last,
        derived_upto=at,
        chat_name=timeline.name,
        clone_name=timeline.book_name,
        parent_name=parent.name,
        parent_timeline=None,
        timeline="",
        integrity="",
        made_at=0,
        program_version="",
    )
    with suppress(ChatDamaged, ForkloreError):
        cut: BookCut = cut_channels(parent, point)["lorebook"].value
        return cut if cut.data is not None else replace(cut, data=parent.book.data)
    return None
