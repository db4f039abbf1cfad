"""Repairing the folder itself, apart from its stories: what was interrupted, and links that the user made."""

from __future__ import annotations

from collections.abc import Iterable

from forklore.app.context import Context
from forklore.app.repair import RepairOffered, Repairs
from forklore.checks.folder import FOLDER_FINDINGS, OURS, folder_findings
from forklore.disk.lock import workspace_lock
from forklore.disk.settings import read_settings
from forklore.disk.system import real_path
from forklore.errors import (
    BadRequest,
    ForkloreError,
    FormatNewer,
    LinkOutside,
    OperationForeign,
    PathOutside,
)
from forklore.gathered.folder import FolderState, LinkOut
from forklore.log.operations import Unread
from forklore.model.finding import Located
from forklore.model.stored import ALLOW, STAGING

FOLDER_REPAIRS = ("recover", "finish", "discard", ALLOW)
"""The repairs of findings about the folder."""


_FAULTS: dict[str, type[ForkloreError]] = {
    each.code: each for each in (PathOutside, LinkOutside, FormatNewer, OperationForeign)
}


# --- gathering ----------------------------------------------------------------------------------------------------


def gather_folder(context: Context, unread: Iterable[Unread] | None = None) -> FolderState:
    """Look at the folder; *unread* are the files of the log that are known to be none of its operations."""
    workspace = context.workspace
    links = (
        LinkOut(path, is_folder, real_path(workspace.root / path)) for path, is_folder in workspace.links_outside()
    )
    return FolderState(
        unfinished=tuple(context.transactions.unfinished()),
        unread=tuple(context.transactions.log.unread() if unread is None else unread),
        settings_fault=read_settings(workspace.places).fault,
        links=tuple(links),
    )


# --- repairing ----------------------------------------------------------------------------------------------------


def find_in_folder(where: str, code: str, context: Context) -> Located | None:
    """Return the finding about the folder that is meant: by its path, or by the id of its operation.

    Whatever is wrong with an unfinished operation, it can be asked for as one that is not ours.
    """
    if code not in {each.code for each in FOLDER_FINDINGS}:
        return None
    paths = (where, f"{STAGING}/{where}")
    found = [each for each in folder_findings(gather_folder(context)) if each.path in paths]
    fits = [each for each in found if each.finding.code == code]
    if not fits and code == OperationForeign.code:
        fits = [each for each in found if each.finding.code != OURS and (each.path or "").startswith(f"{STAGING}/")]
    return fits[0] if fits else None


def repair_folder(located: Located, context: Context, *, repair: str | None = None) -> Repairs:
    """Return what could be done about a finding of the folder; with *repair*, do it."""
    finding, where = located.finding, located.path or ""
    plan = _plan_of(where, context)
    offered = tuple(RepairOffered(name, plan if name == "finish" else ()) for name in finding.repairs)
    if repair is None:
        return Repairs(where, finding, offered)
    if repair == "finish" and repair not in finding.repairs and finding.code in _FAULTS:
        raise _FAULTS[finding.code]("not_finished", path=where, reason=finding.params.get("reason"))
    if repair not in finding.repairs:
        raise BadRequest("no_repair", repair=repair, finding=finding.code, repairs=list(finding.repairs))
    name, operation = where.rpartition("/")[2], None
    if repair == ALLOW:
        context.workspace.places.allow(where)
    else:
        _settle(name, repair, context)
        operation = name if any(each.id == name for each in context.transactions.log) else None
    return Repairs(where, finding, offered, repair, operation)


def _plan_of(where: str, context: Context) -> tuple[tuple[str, str], ...]:
    """Return what an unfinished operation is about to do with which files."""
    operations = (operation for operation in context.transactions.unfinished() if operation.path == where)
    journal = next((operation.journal for operation in operations), None)
    return tuple((change["do"], change["path"]) for change in journal["changes"]) if journal else ()


def _settle(name: str, repair: str, context: Context) -> None:
    with workspace_lock(context.workspace.root, what="repair"):
        match repair:
            case "discard":
                context.transactions.discard(name)
            case "recover":
                context.transactions.recover()
            case _:
                context.progress.note(context.transactions.finish_foreign(name))
