"""What is wrong with the folder itself, apart from its stories, and what can be done about it.

A workspace may have been prepared by a stranger, be shared with another machine, or have been written by a newer
Forklore. What cannot be trusted or understood is told here, and left alone until the user decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from forklore.app.context import Context
from forklore.app.repair import RepairOffered, Repairs
from forklore.disk.lock import workspace_lock
from forklore.disk.places import ALLOW
from forklore.disk.settings import read_settings
from forklore.disk.system import real_path
from forklore.disk.transaction.folder import Unfinished
from forklore.errors import (
    BadRequest,
    FileInUse,
    FileOnlineOnly,
    ForkloreError,
    FormatNewer,
    LinkOutside,
    OperationForeign,
    PathOutside,
)
from forklore.log.operations import Unread
from forklore.model.finding import Finding, Located, Severity
from forklore.model.stored import SETTINGS, STAGING

FOLDER_REPAIRS = {
    "recover": "Finish or take back what was interrupted",
    "finish": "Finish it, or take it back where nothing of it can be seen yet; what that removes goes to the trash",
    "discard": "Move the operation to the trash as it is: none of your files is touched",
    ALLOW: "Follow this folder from now on, for as long as it leads where it leads now",
}
"""The repairs of findings about the folder."""


class FolderFinding(NamedTuple):
    """One thing that can be wrong with the folder."""

    of: str
    """What it is about: an unfinished operation, an entry of the log, the settings, a link."""
    code: str
    severity: Severity
    message: str
    action: str
    repairs: tuple[str, ...] = ()

    def at(self, path: str, details: str = "", repairs: tuple[str, ...] | None = None) -> Located:
        """Return the finding at a path of the workspace."""
        offered = self.repairs if repairs is None else repairs
        return Located(Finding(self.code, self.severity, self.message, self.action, details, offered), path=path)


_OPERATION, _LOG, _SETTINGS, _FOLDER_LINK, _FILE_LINK = "operation", "log", "settings", "linked folder", "linked file"
_FILE = "file"
_ERROR, _WARNING = Severity.ERROR, Severity.WARNING
_OURS = "OPERATION_LEFTOVER"

FOLDER_FINDINGS: tuple[FolderFinding, ...] = (
    FolderFinding(
        _OPERATION,
        _OURS,
        _WARNING,
        "An operation was interrupted, or is running",
        "It is finished or taken back by the next operation, or by --fix",
        ("recover",),
    ),
    FolderFinding(
        _OPERATION,
        OperationForeign.code,
        _ERROR,
        "An unfinished operation comes from another machine, another user or a stranger",
        "Finish it if you began it yourself; else discard it, which leaves your files as they are",
        ("finish", "discard"),
    ),
    FolderFinding(
        _OPERATION,
        PathOutside.code,
        _ERROR,
        "An unfinished operation speaks of files outside of the data folder",
        "Discard it; nothing of it was done",
        ("discard",),
    ),
    FolderFinding(
        _OPERATION,
        FormatNewer.code,
        _ERROR,
        "An unfinished operation was begun by a newer Forklore",
        "Update Forklore; until then it is left alone",
    ),
    FolderFinding(
        _LOG,
        "OPERATION_UNREADABLE",
        _WARNING,
        "An entry of the operation log cannot be read",
        "Wait until the folder is synchronised, or restore the file; without it nothing of that can be undone",
    ),
    FolderFinding(
        _LOG,
        PathOutside.code,
        _ERROR,
        "An entry of the operation log speaks of files outside of the data folder",
        "Delete the file if it is not yours; nothing of it can be undone",
    ),
    FolderFinding(
        _LOG,
        FormatNewer.code,
        _ERROR,
        "An entry of the operation log was written by a newer Forklore",
        "Update Forklore; until then it is left alone and cannot be undone",
    ),
    FolderFinding(
        _LOG,
        LinkOutside.code,
        _ERROR,
        "The operation log, or an entry of it, is a link",
        "Remove the link; Forklore never makes one there",
    ),
    FolderFinding(
        _SETTINGS,
        FormatNewer.code,
        _ERROR,
        "The settings were written by a newer Forklore",
        "Update Forklore; until then no fork is made, since what you decided is not known",
    ),
    FolderFinding(
        _FOLDER_LINK,
        LinkOutside.code,
        _ERROR,
        "A folder is a link to a place outside of the data folder, so it is passed over",
        "Allow it if you made this link; Forklore then follows it for as long as it leads there",
        (ALLOW,),
    ),
    FolderFinding(
        _FILE_LINK,
        LinkOutside.code,
        _ERROR,
        "A file is a link to one outside of the data folder, so it is not read",
        "Put the file itself there if it should be part of the story",
    ),
    FolderFinding(
        _FILE,
        FileOnlineOnly.code,
        _ERROR,
        "A file is in the cloud and not on this machine, so it is not read",
        "Let OneDrive keep it on this device (“Always keep on this device”)",
    ),
    FolderFinding(
        _FILE,
        FileInUse.code,
        _ERROR,
        "A file is open in another program, so it cannot be read",
        "Close that program, or wait until it is done",
    ),
)
"""Everything that is told of a folder, each once."""

_FAULTS: dict[str, type[ForkloreError]] = {
    each.code: each for each in (PathOutside, LinkOutside, FormatNewer, OperationForeign)
}
_BY_CODE = {(each.of, each.code): each for each in FOLDER_FINDINGS}


# --- finding ------------------------------------------------------------------------------------------------------


def folder_findings(context: Context, unread: Sequence[Unread] | None = None) -> Iterator[Located]:
    """Yield every finding about the folder itself; *unread* are the files of the log that are known to be none."""
    yield from map(_unfinished, context.transactions.unfinished())
    yield from log_findings(context.transactions.log.unread() if unread is None else unread)
    yield from _settings(context)
    yield from _links(context)


def _unfinished(operation: Unfinished) -> Located:
    fault, repairs = operation.fault, None
    finding = _BY_CODE.get((_OPERATION, fault.code if fault else _OURS), _BY_CODE[_OPERATION, _OURS])
    if isinstance(fault, LinkOutside):  # where Forklore never makes one
        finding = _BY_CODE[_OPERATION, PathOutside.code]._replace(code=fault.code)
    if isinstance(fault, OperationForeign) and operation.journal is None:
        repairs = ("discard",)
    return finding.at(operation.path, fault.message if fault else "", repairs)


def log_findings(unread: Sequence[Unread]) -> Iterator[Located]:
    """Yield what is to be told of files in the log that are no operations."""
    for file in unread:
        yield _BY_CODE[_LOG, file.fault.code].at(file.path, file.fault.message)


def _settings(context: Context) -> Iterator[Located]:
    fault = read_settings(context.workspace.places).fault
    if fault is not None:
        yield _BY_CODE[_SETTINGS, fault.code].at(SETTINGS, fault.message)


def _links(context: Context) -> Iterator[Located]:
    """Yield the links that lead out of the workspace and are not followed."""
    for path, is_folder in context.workspace.links_outside():
        leads_to = real_path(context.workspace.root / path)
        finding = _BY_CODE[_FOLDER_LINK if is_folder else _FILE_LINK, LinkOutside.code]
        yield finding.at(path, f"It leads to {leads_to!r}.")


def unread_file(error: FileInUse | FileOnlineOnly, path: str) -> Located:
    """Return the finding that a file is not read for now."""
    return _BY_CODE[_FILE, error.code].at(path, error.message)


# --- repairing ----------------------------------------------------------------------------------------------------


def find_in_folder(where: str, code: str, context: Context) -> Located | None:
    """Return the finding about the folder that is meant: by its path, or by the id of its operation.

    Whatever is wrong with an unfinished operation, it can be asked for as one that is not ours.
    """
    if code not in {each.code for each in FOLDER_FINDINGS}:
        return None
    paths = (where, f"{STAGING}/{where}")
    found = [each for each in folder_findings(context) if each.path in paths]
    fits = [each for each in found if each.finding.code == code]
    if not fits and code == OperationForeign.code:
        fits = [each for each in found if each.finding.code != _OURS and (each.path or "").startswith(f"{STAGING}/")]
    return fits[0] if fits else None


def repair_folder(located: Located, context: Context, *, repair: str | None = None) -> Repairs:
    """Return what could be done about a finding of the folder; with *repair*, do it."""
    finding, where = located.finding, located.path or ""
    plan = _plan_of(where, context)
    offered = tuple(
        RepairOffered(name, FOLDER_REPAIRS[name], plan if name == "finish" else ()) for name in finding.repairs
    )
    if repair is None:
        return Repairs(where, finding, offered)
    if repair == "finish" and repair not in finding.repairs and finding.code in _FAULTS:
        raise _FAULTS[finding.code](
            finding.details or finding.message, action=f"{finding.action}. Nothing was changed."
        )
    if repair not in finding.repairs:
        shown = ", ".join(finding.repairs) or "none"
        raise BadRequest(f"{repair!r} is no repair of {finding.code} here; there are: {shown}.")
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
    with workspace_lock(context.workspace.root, what="operation"):
        match repair:
            case "discard":
                context.transactions.discard(name)
            case "recover":
                context.transactions.recover()
            case _:
                context.progress.note(context.transactions.finish_foreign(name))
