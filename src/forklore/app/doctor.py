"""Examining a whole workspace in one pass, and mending what can be mended without losing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from forklore.app.applying import apply_alone
from forklore.app.cleanup import free_clones
from forklore.app.context import Context
from forklore.app.folder import gather_folder
from forklore.app.progress import Cancelled
from forklore.app.repair import make_repair
from forklore.checks import doctor as checks
from forklore.checks.folder import folder_findings, unread_file
from forklore.checks.settings import ignored_settings
from forklore.checks.verify import verify
from forklore.disk.files import read_small
from forklore.disk.gather import looked_through, open_timeline
from forklore.disk.gather_index import refreshed
from forklore.disk.lock import workspace_lock
from forklore.disk.settings import read_settings
from forklore.disk.spreading import spread
from forklore.disk.workspace import ChatNotFound, Workspace
from forklore.errors import BadRequest, FileInUse, FileOnlineOnly, ForkloreError, LinkOutside
from forklore.formats.lorebook_json import LorebookUnreadable, parse_lorebook
from forklore.gathered.workspace import WorkspaceIndex
from forklore.log.operations import Operation
from forklore.model.address import ChatAddress, place_of
from forklore.model.fact import fact
from forklore.model.finding import Finding, Located, Severity
from forklore.model.plan import Plan
from forklore.planning.fork import group_entry

_SAFE_IN_CHATS = {
    "CHAT_RENAMED": "follow-rename",  # first: its children miss their parent only because of it
    "PARENT_MISSING": "follow-rename",
    "RUNNING_RECAP_FOREIGN": "take-over",
    "LINK_PENDING": "relink",
    "MAP_STALE": "remove-entry",
}
_SAFE = {"OPERATION_LEFTOVER": "recover", "GROUP_CHAT_UNLISTED": "list-chat", **_SAFE_IN_CHATS}
"""What cannot lose anything: names that are followed, and hints that are written or removed."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """One finding that was mended."""

    code: str
    where: str
    repair: str
    operation: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the fix as ``doctor --fix`` shows it."""
        return {"code": self.code, "where": self.where, "repair": self.repair, "operation": self.operation}


@dataclass(frozen=True, slots=True)
class Examined:
    """What is wrong in a workspace, and what was mended."""

    findings: tuple[Located, ...]
    fixed: tuple[Fixed, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return not any(located.finding.severity is Severity.ERROR for located in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the answer of ``doctor``."""
        return {
            "ok": self.ok,
            "findings": [{**located.to_json(), "safe": _is_safe(located)} for located in self.findings],
            "fixed": [fixed.to_json() for fixed in self.fixed],
        }


def doctor(context: Context, *, fix: bool = False) -> Examined:
    """Examine every timeline, lorebook and group; with *fix*, mend what cannot lose anything."""
    index = context.index()
    findings = tuple(_examine(context, index))
    if not fix:
        return Examined(findings)
    fixing = Fixing(context, index)
    try:
        for _ in fixing.fix(findings):
            context.progress.go_on()
    except Cancelled as error:
        if not fixing.fixed:
            raise
        raise Cancelled("mended") from error
    fixed = tuple(fixing.fixed)
    return Examined(tuple(_examine(context, fixing.index)) if fixed else findings, fixed)


# --- examining ----------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What one look found, and the lorebook that a timeline names."""

    findings: tuple[Located, ...] = ()
    book: str | None = None


def _examine(context: Context, index: WorkspaceIndex) -> Iterator[Located]:
    """Yield every finding of every timeline, lorebook and group."""
    yield from folder_findings(gather_folder(context, index.unread))
    yield from ignored_settings(read_settings(context.workspace.places))
    looks: list[Callable[[], Seen]] = [
        lambda: Seen(tuple(_unused_clones(context, index))),
        lambda: Seen(tuple(_groups(context.workspace, index))),
        *(
            partial(examine_timeline, ChatAddress(chat.folder, chat.name), context, index)
            for chat in sorted(index.chats)
        ),
    ]
    parts = spread(lambda part: [look() for look in part], looks, context.advance)
    clones, groups, *timelines = [seen for part in parts for seen in part]
    for timeline in timelines:
        yield from timeline.findings
    yield from checks.duplicates(index)
    yield from clones.findings
    yield from _other_books(context.workspace, index, {timeline.book for timeline in timelines})
    yield from groups.findings
    yield from _unreadable_places(context.workspace, index)


def examine_timeline(address: ChatAddress, context: Context, index: WorkspaceIndex) -> Seen:
    """Return every finding of one timeline; none of one that is gone."""
    try:
        with open_timeline(context.workspace, address) as opened:
            timeline = looked_through(opened, index, context.workspace)
            findings = tuple([Located(finding, chat=str(address)) for finding in verify(timeline, index)])
            return Seen(findings, timeline.book_name)
    except ChatNotFound:
        return Seen()  # removed while we look
    except (FileInUse, FileOnlineOnly) as error:
        return Seen((unread_file(error, context.workspace.chat_path(address)),))
    except ForkloreError as error:
        finding = Finding("CHAT_DAMAGED", Severity.ERROR, {"reason": error.fact})
        return Seen((Located(finding, chat=str(address)),))


def _unused_clones(context: Context, index: WorkspaceIndex) -> Iterator[Located]:
    return checks.unused_clones(free_clones(context, index)[0])


def _groups(workspace: Workspace, index: WorkspaceIndex) -> Iterator[Located]:
    listed = list(workspace.groups())
    return checks.groups(listed, index, {each.group_id: workspace.group_path(each.group_id) for each in listed})


def _other_books(workspace: Workspace, index: WorkspaceIndex, known: set[str | None]) -> Iterator[Located]:
    """Yield the lorebooks that no timeline names and nobody could read."""
    seen = {index.key(book) for book in known if book is not None}
    for key, book in sorted(index.books.items()):
        if key in seen:
            continue
        try:
            parse_lorebook(book.name, read_small(workspace.file(book.path)))
        except LinkOutside:
            continue  # told among the links
        except FileOnlineOnly as error:
            yield unread_file(error, book.path)
        except LorebookUnreadable as error:
            yield checks.unreadable_book(book.name, book.path, error.fact)
        except OSError as error:
            reason = fact("not_readable", reason=error.strerror or str(error))
            yield checks.unreadable_book(book.name, book.path, reason)


def _unreadable_places(workspace: Workspace, index: WorkspaceIndex) -> Iterator[Located]:
    """Yield the folders that may not be looked into, and the chats that may not be read."""
    for path, why in workspace.unreadable({(place_of(chat.folder), chat.name) for chat in index.chats}):
        yield checks.unreadable_place(path, why)


# --- mending ------------------------------------------------------------------------------------------------------


class Fixing:
    """Mends one finding after the other; what each changed is looked at anew, and nothing else."""

    def __init__(self, context: Context, index: WorkspaceIndex) -> None:
        self._context = context
        self.index = index
        self.fixed: list[Fixed] = []

    def fix(self, findings: Sequence[Located]) -> Iterator[Fixed]:
        """Mend what is safe, and tell of each."""
        yield from self._recovered(findings)
        for located in _safe("GROUP_CHAT_UNLISTED", findings):
            yield from self._done("list-chat", located, self._listed)
        for code, repair in _SAFE_IN_CHATS.items():
            for located in _safe(code, findings):
                yield from self.repair(repair, located)

    def repair(self, repair: str, located: Located) -> Iterator[Fixed]:
        """Make a repair of one finding, if it is the best one, and tell of it."""
        yield from self._done(repair, located, partial(self._repaired, repair))

    def _done(self, repair: str, located: Located, mend: Callable[[Located], Operation]) -> Iterator[Fixed]:
        """Mend one finding, unless it is gone or that is refused; what is pending of it is told."""
        try:
            operation = mend(located)
        except Cancelled:
            raise
        except (BadRequest, FileNotFoundError):
            return
        except ForkloreError as error:
            self._context.progress.note(fact("not_mended", where=located.where, reason=error.fact))
            return
        self.index = refreshed(self.index, operation, self._context.workspace)
        for reason in operation.pending:
            self._context.progress.note(fact("not_mended", where=located.where, reason=reason))
        if not operation.pending:
            self.fixed.append(Fixed(located.finding.code, located.where, repair, operation.id))
            yield self.fixed[-1]

    def _recovered(self, findings: Sequence[Located]) -> Iterator[Fixed]:
        leftovers = _safe("OPERATION_LEFTOVER", findings)
        if leftovers:
            with workspace_lock(self._context.workspace.root, what="repair"):
                self._context.transactions.recover()
            self.index = self._context.index()  # whatever it was that was finished or taken back
            for located in leftovers:
                self.fixed.append(Fixed("OPERATION_LEFTOVER", located.where, "recover", None))
                yield self.fixed[-1]

    def _repaired(self, name: str, located: Located) -> Operation:
        address = _address(located)
        return make_repair(address, located.finding.code, name, self._context, index=self.index, only_first=True)

    def _listed(self, located: Located) -> Operation:
        """Let its group list a chat again, so that SillyTavern can open it."""
        address = _address(located)
        path = self._context.workspace.group_path(located.group or "")
        notes = {"repair": "list-chat", "code": "GROUP_CHAT_UNLISTED"}
        plan = Plan("repair", str(address), (group_entry(path, address.name),), commit=0, notes=notes)
        return apply_alone(lambda: plan, self._context, what="repair").operation


def _address(located: Located) -> ChatAddress:
    address = ChatAddress.parse(located.chat or "")
    if address is None:
        raise BadRequest("no_chat", where=located.where)
    return address


def _is_safe(located: Located) -> bool:
    """Whether ``--fix`` mends it: its first repair cannot lose anything."""
    return _SAFE.get(located.finding.code) in located.finding.repairs[:1]


def _safe(code: str, findings: Sequence[Located]) -> list[Located]:
    return [each for each in findings if each.finding.code == code and _is_safe(each)]
