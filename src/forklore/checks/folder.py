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
from forklore.model.fact import NO_PARAMS, Params
from forklore.model.finding import Finding, Located, Severity
from forklore.model.stored import ALLOW, SETTINGS


class FolderFinding(NamedTuple):
    """One thing that can be wrong with the folder."""

    of: str
    """What it is about: an unfinished operation, an entry of the log, the settings, a link."""
    code: str
    severity: Severity
    repairs: tuple[str, ...] = ()

    def at(self, path: str, params: Params = NO_PARAMS, repairs: tuple[str, ...] | None = None) -> Located:
        """Return the finding at a path of the workspace."""
        offered = self.repairs if repairs is None else repairs
        return Located(Finding(self.code, self.severity, {"case": self.of, **params}, offered), path=path)


_OPERATION, _LOG, _SETTINGS, _FOLDER_LINK, _FILE_LINK = "operation", "log", "settings", "linked_folder", "linked_file"
_FILE = "file"
_ERROR, _WARNING = Severity.ERROR, Severity.WARNING
OURS = "OPERATION_LEFTOVER"

FOLDER_FINDINGS: tuple[FolderFinding, ...] = (
    FolderFinding(_OPERATION, OURS, _WARNING, ("recover",)),
    FolderFinding(_OPERATION, OperationForeign.code, _ERROR, ("finish", "discard")),
    FolderFinding(_OPERATION, PathOutside.code, _ERROR, ("discard",)),
    FolderFinding(_OPERATION, FormatNewer.code, _ERROR),
    FolderFinding(_LOG, "OPERATION_UNREADABLE", _WARNING),
    FolderFinding(_LOG, PathOutside.code, _ERROR),
    FolderFinding(_LOG, FormatNewer.code, _ERROR),
    FolderFinding(_LOG, LinkOutside.code, _ERROR),
    FolderFinding(_SETTINGS, FormatNewer.code, _ERROR),
    FolderFinding(_FOLDER_LINK, LinkOutside.code, _ERROR, (ALLOW,)),
    FolderFinding(_FILE_LINK, LinkOutside.code, _ERROR),
    FolderFinding(_FILE, FileOnlineOnly.code, _ERROR),
    FolderFinding(_FILE, FileInUse.code, _ERROR),
)
"""Everything that is told of a folder, each once."""
_BY_CODE = {(each.of, each.code): each for each in FOLDER_FINDINGS}


def folder_findings(folder: FolderState) -> Iterator[Located]:
    """Yield every finding about the folder itself."""
    yield from map(_unfinished, folder.unfinished)
    yield from log_findings(folder.unread)
    if folder.settings_fault is not None:
        yield _BY_CODE[_SETTINGS, folder.settings_fault.code].at(SETTINGS, {"reason": folder.settings_fault.fact})
    for link in folder.links:
        finding = _BY_CODE[_FOLDER_LINK if link.is_folder else _FILE_LINK, LinkOutside.code]
        yield finding.at(link.path, {"target": link.leads_to})


def _unfinished(operation: Unfinished) -> Located:
    fault, repairs = operation.fault, None
    finding = _BY_CODE.get((_OPERATION, fault.code if fault else OURS), _BY_CODE[_OPERATION, OURS])
    if isinstance(fault, LinkOutside):  # where Forklore never makes one
        finding = _BY_CODE[_OPERATION, PathOutside.code]._replace(code=fault.code)
    if isinstance(fault, OperationForeign) and operation.journal is None:
        repairs = ("discard",)
    return finding.at(operation.path, {"reason": fault.fact if fault else None}, repairs)


def log_findings(unread: Iterable[Unread]) -> Iterator[Located]:
    """Yield what is to be told of files in the log that are no operations."""
    for file in unread:
        yield _BY_CODE[_LOG, file.fault.code].at(file.path, {"reason": file.fault.fact})


def unread_file(error: FileInUse | FileOnlineOnly, path: str) -> Located:
    """Return the finding that a file is not read for now."""
    return _BY_CODE[_FILE, error.code].at(path, {"reason": error.fact})
