"""What can go wrong with a request: one exception, six kinds, stable codes.

A problem *in the story* is a ``Finding`` (data, see ``forklore.model.finding``); a request that cannot be fulfilled
is a ``ForkloreError``; everything else is a bug.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from forklore.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forklore.model.finding import Finding


class Kind(Enum):
    """The six ways a request can fail; only the edges know which number each one gets."""

    INVALID = "invalid"
    BLOCKED = "blocked"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    BUSY = "busy"
    DAMAGED = "damaged"


_LISTED = 20


class ForkloreError(Exception):
    """A request that cannot be fulfilled, with a stable code and what the user can do about it.

    The message is one line whatever names are in it; what the user may choose from follows, one line each.
    """

    code: ClassVar[str] = "ERROR"
    kind: ClassVar[Kind] = Kind.INVALID
    action: str = ""

    def __init__(
        self,
        message: str,
        *,
        action: str | None = None,
        findings: Sequence[Finding] = (),
        choices: Sequence[object] = (),
    ) -> None:
        more = [f"… and {len(choices) - _LISTED} more"] if len(choices) > _LISTED else []
        self.lines = (printable(message), *(f"  {printable(str(each))}" for each in [*choices[:_LISTED], *more]))
        self.message = "\n".join(self.lines)
        super().__init__(self.message)
        if action is not None:
            self.action = printable(action)
        self.findings = tuple(findings)

    def to_json(self) -> dict[str, Any]:
        """Return the one error shape of command line and service."""
        return {
            "error": {
                "code": self.code,
                "kind": self.kind.value,
                "message": self.message,
                "action": self.action,
                "findings": [finding.to_json() for finding in self.findings],
            }
        }


class BadRequest(ForkloreError):
    """The request itself makes no sense."""

    code = "BAD_REQUEST"
    kind = Kind.INVALID
    action = "Correct the command and try again; --help shows examples."


class ReadOnly(ForkloreError):
    """The folder can be read but not changed."""

    code = "READ_ONLY"
    kind = Kind.CONFLICT
    action = "Make the folder writable, then try again. Nothing was changed."


class DiskFailed(ForkloreError):
    """The disk refused a write; everything done so far was taken back."""

    code = "DISK_FAILED"
    kind = Kind.CONFLICT
    action = "Free some space or check the disk, then try again. Nothing was changed."


class FileInUse(ForkloreError):
    """Another program has a file open, and Windows lets nobody else change it meanwhile."""

    code = "FILE_IN_USE"
    kind = Kind.CONFLICT
    action = "Close the program that has the file open, or wait until it is done, then try again. Nothing was changed."


class FileOnlineOnly(ForkloreError):
    """A file of a cloud folder is not on this machine; it is never fetched unasked."""

    code = "FILE_ONLINE_ONLY"
    kind = Kind.CONFLICT
    action = "Let OneDrive keep the file on this device (“Always keep on this device”), then try again."


class ConfirmationNeeded(ForkloreError):
    """What cannot be taken back is done only after a clear yes."""

    code = "CONFIRMATION_NEEDED"
    kind = Kind.BLOCKED
    action = "Say yes if you mean it. Nothing was changed."


class PathOutside(ForkloreError):
    """A stored path leads out of the folders we work in."""

    code = "PATH_OUTSIDE"
    kind = Kind.DAMAGED
    action = "Somebody else wrote it: delete the file that holds the path, if it is not yours. Nothing was changed."


class LinkOutside(ForkloreError):
    """A link in the workspace leads to a file or folder elsewhere."""

    code = "LINK_OUTSIDE"
    kind = Kind.DAMAGED
    action = "Put the file itself there if you want it to be part of the story. Nothing was changed."


class OperationForeign(ForkloreError):
    """An unfinished operation that was not begun here."""

    code = "OPERATION_FOREIGN"
    kind = Kind.DAMAGED
    action = "Run `forklore doctor` to see it, then finish or discard it. Nothing was changed."


class FormatNewer(ForkloreError):
    """A newer version of Forklore wrote a file."""

    code = "FORMAT_NEWER"
    kind = Kind.DAMAGED
    action = "Update Forklore. The file was left alone."


class FileUnreadable(ForkloreError):
    """The system refused to read or write a file."""

    code = "FILE_UNREADABLE"
    kind = Kind.CONFLICT
    action = "Check that the file is there and that you may use it, then try again."

    @classmethod
    def of(cls, error: OSError) -> FileUnreadable:
        """Return what to tell a user of *error*."""
        name = f" {error.filename!r}" if error.filename else ""
        return cls(f"The file{name} cannot be used ({error.strerror or error}).")
