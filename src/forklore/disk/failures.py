"""What a disk refuses, as errors that say what could not be done and what to do about it."""

from __future__ import annotations

import errno
from typing import NoReturn

from forklore.disk.files import ContextChanged
from forklore.errors import DiskFailed, ForkloreError, Kind, ReadOnly
from forklore.formats.json_text import NotJson
from forklore.model.plan import Plan

_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_FORKS = ("checkpoint", "branch")


class FileDamaged(ForkloreError):
    """A file that an operation has to edit is not what it should be."""

    code = "FILE_DAMAGED"
    kind = Kind.DAMAGED
    action = "Restore the file from a backup, then try again. Nothing was changed."


def refusal_of(number: int | None) -> type[ForkloreError]:
    """Return the kind of error for an error number of the system: may we not write, or can the disk not."""
    return ReadOnly if number in _READ_ONLY else DiskFailed


def raise_translated(error: BaseException, plan: Plan, path: str) -> NoReturn:
    """Raise an error that says what could not be done, and that nothing was changed."""
    if isinstance(error, OSError):
        raise _translated(error, plan, path) from error
    if isinstance(error, NotJson):
        raise FileDamaged(f"{path!r} is not readable JSON ({error}).") from error
    if isinstance(error, IndexError):
        raise ContextChanged(f"{path.rpartition('/')[2]!r} became shorter meanwhile.") from error
    raise error


def _translated(error: OSError, plan: Plan, path: str) -> ForkloreError:
    if error.errno == errno.ESTALE:
        return ContextChanged(f"A file changed while the {plan.kind} was being made.")
    if isinstance(error, FileNotFoundError):
        return ContextChanged(f"A file vanished while the {plan.kind} was being made ({error.filename}).")
    failed = f"Failed to create {plan.kind}" if plan.kind in _FORKS else f"Failed to {plan.kind}"
    if plan.kind in _FORKS and path.startswith("worlds/"):
        failed = (
            f"Failed to clone lorebook for {plan.kind} isolation. "
            f"{plan.kind.capitalize()} creation aborted to prevent data corruption"
        )
    reason = error.strerror or str(error)
    if refusal_of(error.errno) is ReadOnly:
        return ReadOnly(f"{failed}: the folder cannot be written ({reason}).")
    if error.errno == errno.ENAMETOOLONG:
        return DiskFailed(f"{failed}: {reason}.", action="Choose a shorter name. Nothing was changed.")
    return DiskFailed(f"{failed}: {reason}.")


def left_over(error: OSError) -> ForkloreError:
    """Return an error that says that the disk does not even let us tidy up, and that this is not forgotten."""
    return refusal_of(error.errno)(
        f"An interrupted operation could be neither finished nor taken back ({error.strerror or error}).",
        action="Check the disk, then try again: Forklore sees to it before anything else is done.",
    )
