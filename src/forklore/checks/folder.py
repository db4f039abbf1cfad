"""What can be wrong with the folder itself, apart from its stories.

A workspace may have been prepared by a stranger, be shared with another machine, or have been written by a newer
Forklore. What cannot be trusted or understood is told here, and left alone until the user decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from forklore.errors import FileInUse, FileOnlineOnly, FormatNewer, LinkOutside, OperationForeign, PathOutside
from forklore.gathered.folder import FolderState, Unfinished
from forklore.log.operations import Unread
from forklore.model.finding import Finding, Located, Severity
from forklore.model.stored import ALLOW, SETTINGS


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
OURS = "OPERATION_LEFTOVER"

FOLDER_FINDINGS: tuple[FolderFinding, ...] = (
    FolderFinding(
        _OPERATION,
        OURS,
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
_BY_CODE = {(each.of, each.code): each for each in FOLDER_FINDINGS}


def folder_findings(folder: FolderState) -> Iterator[Located]:
    """Yield every finding about the folder itself."""
    yield from map(_unfinished, folder.unfinished)
    yield from log_findings(folder.unread)
    if folder.settings_fault is not None:
        yield _BY_CODE[_SETTINGS, folder.settings_fault.code].at(SETTINGS, folder.settings_fault.message)
    for link in folder.links:
        finding = _BY_CODE[_FOLDER_LINK if link.is_folder else _FILE_LINK, LinkOutside.code]
        yield finding.at(link.path, f"It leads to {link.leads_to!r}.")


def _unfinished(operation: Unfinished) -> Located:
    fault, repairs = operation.fault, None
    finding = _BY_CODE.get((_OPERATION, fault.code if fault else OURS), _BY_CODE[_OPERATION, OURS])
    if isinstance(fault, LinkOutside):  # where Forklore never makes one
        finding = _BY_CODE[_OPERATION, PathOutside.code]._replace(code=fault.code)
    if isinstance(fault, OperationForeign) and operation.journal is None:
        repairs = ("discard",)
    return finding.at(operation.path, fault.message if fault else "", repairs)


def log_findings(unread: Iterable[Unread]) -> Iterator[Located]:
    """Yield what is to be told of files in the log that are no operations."""
    for file in unread:
        yield _BY_CODE[_LOG, file.fault.code].at(file.path, file.fault.message)


def unread_file(error: FileInUse | FileOnlineOnly, path: str) -> Located:
    """Return the finding that a file is not read for now."""
    return _BY_CODE[_FILE, error.code].at(path, error.message)
