"""Repairing one finding of a timeline: what could be done, and doing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from forklore.app.applying import apply_alone, would_change
from forklore.app.around import Around
from forklore.app.isolating import isolate, share
from forklore.app.means import Means
from forklore.app.opening import opening
from forklore.app.reading import Reading, reading
from forklore.app.repairs import RepairOffered, Repairs
from forklore.channels import cut_channels
from forklore.channels.cut import ForkPoint
from forklore.channels.lorebook import BookCut
from forklore.channels.opened import Opened
from forklore.checks.opening import ON_REQUEST, OPENING, findings_on_opening
from forklore.disk.files import OpenFile
from forklore.errors import BadRequest, ForkloreError
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.log.operations import Operation
from forklore.model.address import ChatAddress, place_of
from forklore.model.finding import Finding
from forklore.model.plan import Change, EditFile, Plan
from forklore.planning.repairing import REPAIRS, Mending, Relative, plan_repair

OF_THEIR_OWN = {
    "isolate": "Give the timeline its own lorebook and record: `forklore isolate`",
    "share": "Declare that the lorebook is shared on purpose: `forklore isolate --share`",
}
"""Repairs that are operations with a command of their own."""


def offer_repairs(address: ChatAddress, code: str, means: Means, around: Around | None = None) -> Repairs:
    """Return what could be done about a finding; nothing is changed."""
    with _mending(address, means, around or Around(means)) as (mending, _):
        finding = _finding(mending.opened, code)
        offered = tuple(_offered(name, code, mending) for name in finding.repairs)
    return Repairs(str(address), finding, tuple(offer for offer in offered if offer is not None))


def repair(address: ChatAddress, code: str, name: str, means: Means, *, book: str | None = None) -> Repairs:
    """Make a repair as one operation; *book* is what a renamed lorebook is called now."""
    offered = offer_repairs(address, code, means, Around(means, book=book))
    names = [offer.name for offer in offered.offered]
    if name not in names:
        shown = ", ".join(names) or "none"
        raise BadRequest(f"{name!r} is no repair of {code} here; there are: {shown}.")

    if name in OF_THEIR_OWN:
        done = share(address, means) if name == "share" else isolate(address, means)
        return Repairs(str(address), offered.finding, offered.offered, name, done.operation)

    operation = make_repair(address, code, name, means, around=Around(means, book=book))
    return Repairs(str(address), offered.finding, offered.offered, name, operation.id, operation.pending)


def make_repair(
    address: ChatAddress,
    code: str,
    name: str,
    means: Means,
    *,
    around: Around,
    only_first: bool = False,
) -> Operation:
    """Make a repair if it is still offered, with *only_first* as the best one; raises ``BadRequest`` when it is not."""

    def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
        with _mending(address, means, around) as (mending, read):
            repairs = _finding(mending.opened, code).repairs[: 1 if only_first else None]
            changes = plan_repair(name, code, mending) if name in repairs else ()
            plan = _repair_plan(name, code, mending, changes, read) if changes else None
            if plan is None or not would_change(plan, means.workspace):
                raise BadRequest(f"There is nothing left to repair about {code}.", action="Nothing was changed.")
            return plan, {}

    return apply_alone(make_plan, means).operation


def _repair_plan(name: str, code: str, mending: Mending, changes: tuple[Change, ...], read: Reading) -> Plan:
    """Return the plan of a repair: everything that was read must still be so when it is made."""
    relatives = [each for each in (mending.parent, *mending.children) if each is not None]
    # What removes the finding counts: the files that come, then the chat itself; its relatives are told afterwards.
    files = [change for change in changes if not isinstance(change, EditFile)]
    own = [change for change in changes if change not in files and change.path in (mending.chat_path, read.book_path)]
    rest = [change for change in changes if change not in files and change not in own]
    return Plan(
        "repair",
        mending.opened.address,
        (*files, *own, *rest),
        commit=len(files) if own else max(0, len(files) - 1),
        unchanged=(
            *((path, file.fingerprint) for path, file in read.files.items()),
            *((each.path, each.fingerprint) for each in relatives),
        ),
        notes={"repair": name, "code": code},
    )


def _finding(opened: Opened, code: str) -> Finding:
    found = findings_on_opening(opened, (*OPENING, *ON_REQUEST))
    for finding in found:
        if finding.code == code:
            return finding
    codes = ", ".join(sorted({finding.code for finding in found})) or "none"
    raise BadRequest(f"{opened.address!r} has no finding {code!r}; it has: {codes}.")


def _offered(name: str, code: str, mending: Mending) -> RepairOffered | None:
    if name in OF_THEIR_OWN:
        return RepairOffered(name, OF_THEIR_OWN[name], ())
    changes = plan_repair(name, code, mending)
    if not changes:
        return None
    does = REPAIRS[name][0]
    if name == "from-parent" and mending.parents_book_source == "present":
        does = (
            "Copy the parent's lorebook as it is today: nothing tells how it was at the fork, so it may know the future"
        )
    return RepairOffered(name, does, tuple((_action(change), change.path) for change in changes))


def _action(change: Change) -> str:
    return type(change).__name__.removesuffix("File").lower()


# --- what repairs are made of -------------------------------------------------------------------------------------


@contextmanager
def _mending(address: ChatAddress, means: Means, around: Around) -> Iterator[tuple[Mending, Reading]]:
    with ExitStack() as stack:
        opened, read = stack.enter_context(opening(address, means, around))
        yield _mending_of(opened, read, means, around, stack), read


def _mending_of(opened: Opened, read: Reading, means: Means, around: Around, stack: ExitStack) -> Mending:
    """Return what the repairs of a timeline are made of; files that are opened for it stay open with *stack*."""
    workspace = means.workspace
    book_path = workspace.book_path(read.book_name) if read.book_name else None
    book, source = _parents_book(opened, read, means, stack) if read.book_missing else (None, "")
    return Mending(
        opened,
        read.chat_path,
        book_path,
        means.now_ms(),
        trashed=around.trashed.get(book_path or "") if read.book_missing else None,
        parents_book=book,
        parents_book_source=source,
        parent=_relative(opened.parent, means, stack),
        children=tuple(_children(read.address, opened.renamed_from, means, around, stack)),
    )


def _relative(address: str | None, means: Means, stack: ExitStack) -> Relative | None:
    parsed = ChatAddress.parse(address) if address else None
    if parsed is None:
        return None
    path = means.workspace.chat_path(parsed)
    try:
        file = stack.enter_context(OpenFile(means.workspace.file(path)))
        file.chat.metadata  # noqa: B018  # one that cannot be read is none
    except (OSError, ChatDamaged, ForkloreError):
        return None
    return Relative(parsed.name, path, file.chat, file.fingerprint)


def _children(
    address: ChatAddress, old: str | None, means: Means, around: Around, stack: ExitStack
) -> Iterator[Relative]:
    """Yield the chats that name this one as their parent under its old name."""
    for (folder, _), facts in around.facts.items():
        if old is not None and place_of(folder) == place_of(address.folder) and facts.main_chat == old:
            relative = _relative(facts.address, means, stack)
            if relative is not None:
                yield relative


def _parents_book(opened: Opened, read: Reading, means: Means, stack: ExitStack) -> tuple[bytes | None, str]:
    """Return the parent's lorebook cut to the fork point, and how that is known."""
    address = ChatAddress.parse(opened.parent or "")
    at = opened.forked_at if opened.forked_at is not None else opened.last
    if address is None or read.book_name is None:
        return None, ""
    try:
        parent = stack.enter_context(reading(means.workspace, address))
        if parent.damage or parent.parent.book is None or not parent.parent.chat.has(at):
            return None, ""
        is_head = at == parent.parent.chat.last
        point = ForkPoint(
            kind=opened.kind,
            at=at,
            is_head=is_head,
            derived_upto=at,
            chat_name=opened.name,
            clone_name=read.book_name,
            parent_name=address.name,
            parent_timeline=None,
            timeline="",
            integrity="",
            made_at=0,
            program_version="",
        )
        cut: BookCut = cut_channels(parent.parent, point)["lorebook"].value
        return cut.data if cut.data is not None else parent.parent.book.data, cut.source
    except (ChatDamaged, ForkloreError):
        return None, ""
