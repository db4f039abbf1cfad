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
from forklore.model.fact import fact
from forklore.model.plan import Plan

_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_FORKS = ("checkpoint", "branch")


class FileDamaged(ForkloreError):
    """A file that an operation has to edit is not what it should be."""

    code = "FILE_DAMAGED"
    kind = Kind.DAMAGED


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
        raise FileDamaged(file=path, reason=str(error)) from error
    if isinstance(error, IndexError):
        raise ContextChanged("shorter", file=path.rpartition("/")[2]) from error
    raise error


def _translated(error: OSError, plan: Plan, path: str) -> ForkloreError:
    if error.errno == errno.ESTALE:
        return ContextChanged("making", file=None, kind=plan.kind)
    if isinstance(error, FileNotFoundError):
        return ContextChanged("vanished", file=usual_path(error.filename), kind=plan.kind)
    is_clone = plan.kind in _FORKS and path.startswith("worlds/")
    failed = fact("failed", **({"case": "clone"} if is_clone else {}), kind=plan.kind)
    refusal, reason = refusal_of(error), error.strerror or str(error)
    if refusal is FileInUse:
        return FileInUse("applying", failed=failed, file=_name_of(error))
    if error.errno == errno.ENAMETOOLONG:
        return DiskFailed("name_too_long", failed=failed, reason=reason)
    return refusal("applying", failed=failed, reason=reason)


def unusable(error: OSError) -> ForkloreError:
    """Return what to tell of a file that the system does not let us use."""
    if refusal_of(error) is FileInUse:
        return FileInUse(file=_name_of(error))
    if isinstance(error.filename, str):
        error.filename = usual_path(error.filename)
    return FileUnreadable.of(error)


def _name_of(error: OSError) -> str | None:
    return os.path.basename(error.filename) if isinstance(error.filename, str) else None


def left_over(error: OSError) -> ForkloreError:
    """Return an error that says that the disk does not even let us tidy up, and that this is not forgotten."""
    return refusal_of(error)("left_over", reason=error.strerror or str(error))
