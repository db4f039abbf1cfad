"""The few things Forklore does to a disk, in one place, so that a test can let any of them fail."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

from forklore.model.plan import Fingerprint

_O_BINARY = getattr(os, "O_BINARY", 0)
_COPY_BYTES = 1 << 30
_NO_SUCH_CALL = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


def fingerprint(stat: os.stat_result) -> Fingerprint:
    """Return what tells that a file is still the very one."""
    return Fingerprint(stat.st_size, stat.st_mtime_ns, stat.st_ino)


def fingerprint_at(path: Path) -> Fingerprint | None:
    """Return the fingerprint of the file at *path*, None when there is none."""
    try:
        return fingerprint(os.stat(path))
    except FileNotFoundError:
        return None


class Disk:
    """Every change of a file goes through one of these methods."""

    def make_folder(self, path: Path) -> None:
        """Make the folder and its missing parents; an existing one is fine."""
        os.makedirs(path, exist_ok=True)

    def create(self, path: Path, mode: int = 0o644) -> int:
        """Make an empty file that must not exist and return its descriptor."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _O_BINARY, mode & 0o777)

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        """Write all of *data*."""
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]

    def copy(self, source: int, target: int, start: int, end: int) -> None:
        """Copy a byte range of *source* to the end of *target*, inside the kernel where it can be done."""
        while start < end:
            copied = _copy_some(source, target, start, min(end - start, _COPY_BYTES))
            if not copied:
                raise OSError(errno.ESTALE, "The file became shorter while it was copied")
            start += copied

    def patch(self, descriptor: int, offset: int, data: bytes) -> None:
        """Write *data* over what stands at *offset*."""
        if hasattr(os, "pwrite"):
            os.pwrite(descriptor, data, offset)
        else:  # Windows
            os.lseek(descriptor, offset, os.SEEK_SET)
            self.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Return when the content is on the disk."""
        os.fsync(descriptor)

    def sync_folder(self, path: Path) -> None:
        """Return when the names in the folder are on the disk."""
        if sys.platform == "win32":
            return  # the system has no such call; NTFS journals names itself
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in _NO_SUCH_CALL:  # some network and FUSE file systems cannot
                raise
        finally:
            os.close(descriptor)

    def rename_new(self, source: Path, target: Path) -> None:
        """Move *source* to *target*; raise ``FileExistsError`` rather than overwrite."""
        if sys.platform == "win32":
            os.rename(source, target)  # refuses an existing target by itself
        elif not _rename_specially(source, target, "new"):
            try:
                os.link(source, target)
            except OSError as error:
                if error.errno not in _NO_SUCH_CALL:
                    raise
                # No exclusive rename and no links (FAT, some phones): we hold the lock, so looking first is enough.
                if os.path.lexists(target):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
                os.rename(source, target)
            else:
                os.unlink(source)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two files in one step; return False where the system cannot."""
        return _rename_specially(one, other, "exchange")

    def replace(self, source: Path, target: Path) -> None:
        """Move *source* over *target* in one step."""
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        """Remove a file of ours; a missing one is fine."""
        path.unlink(missing_ok=True)

    def remove_tree(self, path: Path) -> None:
        """Remove a folder of ours with all that is in it; a missing one is fine."""
        shutil.rmtree(path, ignore_errors=True)


def _copy_some(source: int, target: int, start: int, count: int) -> int:
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(source, target, count, offset_src=start)
        except OSError as error:
            if error.errno not in _NO_SUCH_CALL | {errno.EXDEV, errno.EBADF, errno.EIO}:
                raise
    data = read_at(source, start, min(count, 1 << 20))
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]
    return len(data)


def read_at(descriptor: int, start: int, count: int) -> bytes:
    """Return up to *count* bytes from *start*."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, start)
    os.lseek(descriptor, start, os.SEEK_SET)  # Windows: every open file has one user at a time there
    return os.read(descriptor, count)


def _rename_specially(source: Path, target: Path, how: str) -> bool:
    """Rename without overwriting (``new``) or swap (``exchange``); return False where the system cannot."""
    call = _special_rename()
    if call is None:
        return False
    number = call(os.fsencode(source), os.fsencode(target), how)
    if number == 0:
        return True
    if number in _NO_SUCH_CALL:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _special_rename() -> Callable[[bytes, bytes, str], int] | None:
    """Return a call that answers 0 or an error number, None where the system has no such rename."""
    import ctypes  # noqa: PLC0415  # only who writes pays for it

    try:
        library = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        flags = {"new": 0x4, "exchange": 0x2}

        def on_mac(source: bytes, target: bytes, how: str) -> int:
            return 0 if library.renamex_np(source, target, flags[how]) == 0 else ctypes.get_errno()

        return on_mac
    if hasattr(library, "renameat2"):
        here, options = -100, {"new": 1, "exchange": 2}

        def on_linux(source: bytes, target: bytes, how: str) -> int:
            done = library.renameat2(here, source, here, target, options[how]) == 0
            return 0 if done else ctypes.get_errno()

        return on_linux
    return None
