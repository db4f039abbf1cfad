"""Examining a whole workspace in one pass, and mending what can be mended without losing anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forklore.app.applying import apply_alone
from forklore.app.around import Around
from forklore.app.examining import examine
from forklore.app.means import Means
from forklore.app.progress import Cancelled
from forklore.app.repairing import make_repair
from forklore.disk.lock import workspace_lock
from forklore.errors import BadRequest, ForkloreError
from forklore.log.operations import Operation
from forklore.model.address import ChatAddress
from forklore.model.finding import Located
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
        """Whether nothing was found, or nothing is left."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """Return the answer of ``doctor``."""
        return {
            "ok": self.ok,
            "findings": [{**located.to_json(), "safe": _is_safe(located)} for located in self.findings],
            "fixed": [fixed.to_json() for fixed in self.fixed],
        }


def doctor(means: Means, *, fix: bool = False) -> Examined:
    """Examine every timeline, lorebook and group; with *fix*, mend what cannot lose anything."""
    findings = tuple(examine(means))
    if not fix:
        return Examined(findings)
    fixed: list[Fixed] = []
    try:
        for each in _fix(findings, means):
            fixed.append(each)
            means.progress.go_on()
    except Cancelled as error:
        if not fixed:
            raise
        raise Cancelled(error.message, action=_SOME_MENDED) from error
    return Examined(tuple(examine(means)) if fixed else findings, tuple(fixed))


_SOME_MENDED = "What was mended until then stays so; `forklore log` shows it, and each can be undone."


def _fix(findings: tuple[Located, ...], means: Means) -> Iterator[Fixed]:
    yield from _recovered(findings, means)
    for located in _safe("GROUP_CHAT_UNLISTED", findings):
        operation = _listed(located, means)
        if operation is not None:
            yield Fixed("GROUP_CHAT_UNLISTED", located.where, "list-chat", operation)
    around: Around | None = None
    for code, repair in _SAFE_IN_CHATS.items():
        for located in _safe(code, findings):
            around = around or Around(means)
            operation = _repaired(located, repair, means, around)
            if operation is not None:
                yield Fixed(code, located.where, repair, operation)
                around = None if repair == "follow-rename" else around  # it may have mended others too


def _is_safe(located: Located) -> bool:
    """Whether ``--fix`` mends it: its first repair cannot lose anything."""
    return _SAFE.get(located.finding.code) in located.finding.repairs[:1]


def _safe(code: str, findings: tuple[Located, ...]) -> list[Located]:
    return [each for each in findings if each.finding.code == code and _is_safe(each)]


def _recovered(findings: tuple[Located, ...], means: Means) -> Iterator[Fixed]:
    leftovers = _safe("OPERATION_LEFTOVER", findings)
    if leftovers:
        with workspace_lock(means.workspace.root, what="operation"):
            means.transactions.recover()
        for located in leftovers:
            yield Fixed("OPERATION_LEFTOVER", located.where, "recover", None)


def _repaired(located: Located, name: str, means: Means, around: Around) -> str | None:
    """Make a safe repair; None when the finding is gone, or the repair is refused."""
    address = ChatAddress.parse(located.chat or "")
    if address is None:
        return None
    try:
        made = make_repair(address, located.finding.code, name, means, around=around, only_first=True)
    except Cancelled:
        raise
    except (BadRequest, FileNotFoundError):
        return None
    except ForkloreError as error:
        means.progress.note(f"{located.where}: {error.message}")
        return None
    return _done(made, located, means)


def _done(made: Operation, located: Located, means: Means) -> str | None:
    """Return the id of a repair that is wholly made; what is pending of another one is told."""
    for reason in made.pending:
        means.progress.note(f"{located.where}: {reason}")
    return None if made.pending else made.id


def _listed(located: Located, means: Means) -> str | None:
    """Let its group list a chat again, so that SillyTavern can open it."""
    address = ChatAddress.parse(located.chat or "")
    if address is None or located.group is None:
        return None
    path, name = means.workspace.group_path(located.group), address.name
    notes = {"repair": "list-chat", "code": "GROUP_CHAT_UNLISTED"}
    plan = Plan("repair", str(address), (group_entry(path, name),), commit=0, notes=notes)
    try:
        return _done(apply_alone(lambda: (plan, {}), means).operation, located, means)
    except Cancelled:
        raise
    except ForkloreError as error:
        means.progress.note(f"{located.where}: {error.message}")
        return None
