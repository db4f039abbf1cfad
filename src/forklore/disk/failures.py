"""What a disk refuses, as errors that say what could not be done and what to do about it."""

from __future__ import annotations

import errno
import os
from typing import NoReturn

from forklore.disk.disk import StillInUse
from forklore.disk.files import ContextChanged
from forklore.disk.system import is_in_use, usual_path
from forklore.errors import DiskFailed, FileInUse, FileUnreadable, ForkloreError, Kind, ReadOnly
from forklore.formats.json_text import NotJson
from forklore.model.plan import Plan

_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_FORKS = ("checkpoint", "branch")


class FileDamaged(ForkloreError):
    """A file that an operation has to edit is not what it should be."""

    code = "FILE_DAMAGED"
    kind = Kind.DAMAGED
    action = "Restore the file from a backup, then try again. Nothing was changed."


def refusal_of(error: BaseException) -> type[ForkloreError]:
    """Return the kind of error for one of the system: is a file in use, may we not write, or can the disk not."""
    if isinstance(error, StillInUse) or is_in_use(error):
        return FileInUse
    return ReadOnly if getattr(error, "errno", None) in _READ_ONLY else DiskFailed


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
        return ContextChanged(f"A file vanished while the {plan.kind} was being made ({usual_path(error.filename)}).")
    failed = f"Failed to create {plan.kind}" if plan.kind in _FORKS else f"Failed to {plan.kind}"
    if plan.kind in _FORKS and path.startswith("worlds/"):
        failed = (
            f"Failed to clone lorebook for {plan.kind} isolation. "
            f"{plan.kind.capitalize()} creation aborted to prevent data corruption"
        )
    reason = error.strerror or str(error)
    if refusal_of(error) is FileInUse:
        return FileInUse(f"{failed}: {_name_of(error)} is open in another program.")
    if refusal_of(error) is ReadOnly:
        return ReadOnly(f"{failed}: the folder cannot be written ({reason}).")
    if error.errno == errno.ENAMETOOLONG:
        return DiskFailed(f"{failed}: {reason}.", action="Choose a shorter name. Nothing was changed.")
    return DiskFailed(f"{failed}: {reason}.")


def unusable(error: OSError) -> ForkloreError:
    """Return what to tell of a file that the system does not let us use."""
    if refusal_of(error) is FileInUse:
        return FileInUse(f"{_name_of(error)} is open in another program.")
    if isinstance(error.filename, str):
        error.filename = usual_path(error.filename)
    return FileUnreadable.of(error)


def _name_of(error: OSError) -> str:
    return repr(os.path.basename(error.filename)) if isinstance(error.filename, str) else "a file"


def left_over(error: OSError) -> ForkloreError:
    """Return an error that says that the disk does not even let us tidy up, and that this is not forgotten."""
    return refusal_of(error)(
        f"An interrupted operation could be neither finished nor taken back ({error.strerror or error}).",
        action="Check the disk, then try again: Forklore sees to it before anything else is done.",
    )
