"""What can go wrong with a request: one exception, six kinds, stable codes.

A problem *in the story* is a ``Finding`` (data, see ``forklore.model.finding``); a request that cannot be fulfilled
is a ``ForkloreError``; everything else is a bug.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from forklore import texts

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
    """A request that cannot be fulfilled: a stable code, and parameters from which each face makes its sentences.

    What differs by the situation has a *case*; what the user may choose from are its *choices*, told one line each.
    """

    code: ClassVar[str] = "ERROR"
    kind: ClassVar[Kind] = Kind.INVALID

    def __init__(
        self,
        case: str | None = None,
        *,
        findings: Sequence[Finding] = (),
        choices: Sequence[object] = (),
        **params: Any,
    ) -> None:
        if case is not None:
            params = {"case": case, **params}
        if choices:
            params["choices"] = [str(each) for each in choices[:_LISTED]]
            params["more_choices"] = max(0, len(choices) - _LISTED)
        super().__init__(self.code, params)
        self.params = params
        self.findings = tuple(findings)

    def __str__(self) -> str:
        return self.message

    @property
    def fact(self) -> dict[str, Any]:
        """The error as a fact, as it stands in the parameters of another one."""
        return {"code": self.code, "params": self.params}

    def part(self, part: str, language: str = "en") -> str:
        """Return one part of what is told: ``message`` or ``action``."""
        return texts.part_of(f"error.{self.code}", part, self.params, language)

    @property
    def lines(self) -> tuple[str, ...]:
        """What happened, and then what the user may choose from, one line each."""
        return (self.part("message"), *(f"  {line}" for line in texts.choices(self.params)))

    @property
    def message(self) -> str:
        """What happened."""
        return "\n".join(self.lines)

    @property
    def action(self) -> str:
        """What the user can do about it."""
        return self.part("action")

    def to_json(self) -> dict[str, Any]:
        """Return the one error shape of command line and service."""
        return {
            "error": {
                "code": self.code,
                "params": self.params,
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


class ReadOnly(ForkloreError):
    """The folder can be read but not changed."""

    code = "READ_ONLY"
    kind = Kind.CONFLICT


class DiskFailed(ForkloreError):
    """The disk refused a write; everything done so far was taken back."""

    code = "DISK_FAILED"
    kind = Kind.CONFLICT


class FileInUse(ForkloreError):
    """Another program has a file open, and Windows lets nobody else change it meanwhile."""

    code = "FILE_IN_USE"
    kind = Kind.CONFLICT


class FileOnlineOnly(ForkloreError):
    """A file of a cloud folder is not on this machine; it is never fetched unasked."""

    code = "FILE_ONLINE_ONLY"
    kind = Kind.CONFLICT


class ConfirmationNeeded(ForkloreError):
    """What cannot be taken back is done only after a clear yes."""

    code = "CONFIRMATION_NEEDED"
    kind = Kind.BLOCKED


class PathOutside(ForkloreError):
    """A stored path leads out of the folders we work in."""

    code = "PATH_OUTSIDE"
    kind = Kind.DAMAGED


class LinkOutside(ForkloreError):
    """A link in the workspace leads to a file or folder elsewhere."""

    code = "LINK_OUTSIDE"
    kind = Kind.DAMAGED


class OperationForeign(ForkloreError):
    """An unfinished operation that was not begun here."""

    code = "OPERATION_FOREIGN"
    kind = Kind.DAMAGED


class FormatNewer(ForkloreError):
    """A newer version of Forklore wrote a file."""

    code = "FORMAT_NEWER"
    kind = Kind.DAMAGED


class NameTaken(ForkloreError):
    """A file of that name exists already; nothing is ever overwritten."""

    code = "NAME_TAKEN"
    kind = Kind.CONFLICT


class FileUnreadable(ForkloreError):
    """The system refused to read or write a file."""

    code = "FILE_UNREADABLE"
    kind = Kind.CONFLICT

    @classmethod
    def of(cls, error: OSError) -> FileUnreadable:
        """Return what to tell a user of *error*."""
        return cls(file=error.filename, reason=error.strerror or str(error))
