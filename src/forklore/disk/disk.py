"""The few things Forklore does to a disk, in one place, so that a test can let any of them fail."""

from __future__ import annotations

import errno
import mmap
import os
import sys
import time
from _thread import allocate_lock
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.disk.system import IN_USE, IS_WINDOWS, Look, look, may_write
from forklore.model.plan import Fingerprint

if TYPE_CHECKING:
    import ctypes

_O_BINARY = getattr(os, "O_BINARY", 0)
_AT_ONCE = 1 << 30
_PIECE = 512 << 10
_MANY = 16 << 20  # for less, a buffer costs more than it saves
_BLOCK = 4096
_NO_SUCH_CALL = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
_NO_SPACE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DENIED = 5
_NO_KERNEL_COPY = _NO_SUCH_CALL | {errno.EXDEV, errno.EBADF, errno.EIO, errno.EINTR}
_seeking = allocate_lock()


class StillInUse(PermissionError):
    """Others have had a file open for as long as we are willing to wait; it was neither moved nor removed."""


def fingerprint(stat: os.stat_result | Look) -> Fingerprint:
    """Return what tells that a file is still the very one."""
    return Fingerprint(stat.st_size, stat.st_mtime_ns, 0 if IS_WINDOWS else stat.st_ino)


def fingerprint_at(path: Path, *, follow: bool = True) -> Fingerprint | None:
    """Return the fingerprint of the file at *path*, None when there is none; of a link itself unless *follow*."""
    try:
        return fingerprint(look(path, follow_symlinks=follow))
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_there(path: Path) -> bool:
    """Whether there is such a name; unlike ``Path.exists`` it takes no error for an answer."""
    return fingerprint_at(path, follow=False) is not None


def same_disk(one: Path, other: Path) -> bool:
    """Whether a file can be renamed from one folder into the other: not between disks, and not between mounts."""
    return _disk_of(one) == _disk_of(other)


def _disk_of(folder: Path) -> tuple[int, str]:
    device = os.stat(folder).st_dev
    if not hasattr(os, "O_PATH"):
        return device, ""
    descriptor = os.open(folder, os.O_PATH)
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as facts:
            return device, next((line for line in facts if line.startswith("mnt_id:")), "")
    except OSError:
        return device, ""
    finally:
        os.close(descriptor)


class Disk:
    """Every change of a file goes through one of these methods.

    Where others can be in the way of a change of names (on Windows: a virus scanner, an indexer, whoever reads), it is
    tried again for about two and a half seconds; then it is refused with ``StillInUse``, and nothing was changed.
    """

    _pauses: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # seconds

    def make_folder(self, path: Path, *, durable: bool = True) -> None:
        """Make the folder and its missing parents; an existing one is fine.

        Its name is on the disk at the return, unless the caller syncs its parents later anyway (*durable*).
        """
        if os.path.isdir(path):
            return
        self.make_folder(path.parent, durable=durable)
        try:
            os.mkdir(path)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
        if durable:
            self.sync_folder(path.parent)

    def create(self, path: Path, like: os.stat_result | Look | None = None, *, mode: int = 0o644) -> int:
        """Make an empty file that must not exist, with mode and owner of *like*, and return its descriptor."""
        mode = like.st_mode & 0o777 if like else mode
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _O_BINARY, mode)
        if isinstance(like, os.stat_result) and hasattr(os, "fchown"):
            made = os.fstat(descriptor)
            # Whoever may not give a file away keeps it: best effort, as SillyTavern's own saves.
            with suppress(OSError):
                if (made.st_uid, made.st_gid) != (like.st_uid, like.st_gid):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
            with suppress(OSError):
                if made.st_mode & 0o777 != mode:
                    os.fchmod(descriptor, mode)
        return descriptor

    def reserve(self, descriptor: int, size: int) -> None:
        """Set space aside for a file; raises ``OSError`` when there is not enough, before anything was copied."""
        number = _reserve(descriptor, size)
        if number in _NO_SPACE:
            raise OSError(number, os.strerror(number))  # anything else: the disk cannot, and need not

    def write(self, descriptor: int, data: bytes | mmap.mmap) -> None:
        """Write all of *data*."""
        written = 0
        with memoryview(data) as whole:
            while written < len(whole):
                with whole[written:] as rest:  # let go of also when the disk is full: a buffer is only lent to us
                    written += os.write(descriptor, rest)

    def copy(self, source: int | bytes, target: int, start: int, end: int) -> None:
        """Copy a byte range of *source*, an open file or its content, to where *target* is being written."""
        if isinstance(source, bytes):
            self.write(target, source[start:end])
            return
        if is_for_kernel(source, target, start, end):
            start = _copy_in_kernel(source, target, start, end)
        # Some file systems answer that nothing was left to copy although there is: reading tells for sure.
        # Pieces that begin where the page cache's largest pages may begin: it makes one page of each.
        first = _PIECE - os.lseek(target, 0, os.SEEK_CUR) % _PIECE
        for piece in read_in_pieces(source, start, end, _PIECE, first=first):
            self.write(target, piece)
            start += len(piece)
        if start < end:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))  # it became shorter meanwhile

    def patch(self, descriptor: int, offset: int, data: bytes) -> None:
        """Write *data* over what stands at *offset*."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        self.write(descriptor, data)

    def begin_sync(self, descriptor: int) -> None:
        """Let the disk begin with what was written so far, so that a later ``sync`` has less to wait for."""
        library = _system_library() if sys.platform == "linux" else None
        if library is not None and hasattr(library, "sync_file_range"):
            import ctypes  # noqa: PLC0415  # only who writes pays for it

            # A mere hint: that it was refused does not matter.
            begin_writing, all_of_it = 2, ctypes.c_int64(0)
            library.sync_file_range(descriptor, all_of_it, all_of_it, begin_writing)

    def sync(self, descriptor: int) -> None:
        """Return when the content is on the disk."""
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415  # not on Windows

            with suppress(OSError):  # network disks have no such call
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # a mere fsync there stops at the drive's cache
                return
        os.fsync(descriptor)

    def sync_folder(self, path: Path) -> None:
        """Return when the names in the folder are on the disk."""
        if IS_WINDOWS:
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
        self._patiently(_rename_new, source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two files in one step; return False where the system cannot."""
        return _rename_specially(one, other, "exchange")

    def replace(self, source: Path, target: Path) -> None:
        """Move *source* over *target* in one step."""
        self._patiently(os.replace, source, target)

    def remove(self, path: Path) -> None:
        """Remove a file of ours; a missing one is fine."""
        with suppress(FileNotFoundError):
            self._patiently(os.unlink, path)

    def remove_tree(self, path: Path) -> None:
        """Remove a folder of ours with all that is in it; a missing one is fine, and so is one that does not go."""
        import shutil  # noqa: PLC0415  # a heavy import that few need

        try:
            self._patiently(shutil.rmtree, path)
        except OSError:
            shutil.rmtree(path, ignore_errors=True)  # as much of it as can be

    def _patiently(self, change: Callable[..., object], *names: Path) -> None:
        """Make a change of names; while others have a file open, try again, bounded."""
        for pause in (*self._pauses, None):
            try:
                self._attempt(change, *names)
            except PermissionError as error:
                code = getattr(error, "winerror", None)
                if code not in IN_USE or (code == _DENIED and not all(map(may_write, names))):
                    raise
                if pause is None:
                    raise StillInUse(error.errno, error.strerror, str(names[-1])) from error
            else:
                return
            time.sleep(pause)

    def _attempt(self, change: Callable[..., object], *names: Path) -> None:
        """Make a change of names, once; a test lets it fail here."""
        change(*names)


def write_whole(path: Path, content: bytes, disk: Disk | None = None, *, private: bool = False) -> None:
    """Replace a small file of ours as a whole, or make it: who reads it meanwhile sees the old one or the new one."""
    disk = disk or Disk()
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    disk.remove(new)
    descriptor = disk.create(new, mode=0o600 if private else 0o644)
    try:
        disk.write(descriptor, content)
        disk.sync(descriptor)
    finally:
        os.close(descriptor)
    disk.replace(new, path)
    disk.sync_folder(path.parent)


def is_for_kernel(source: int, target: int, start: int, end: int) -> bool:
    """Whether a byte range is left to the kernel, so that nobody in here has to do anything while it is copied.

    The kernel may do better than copy: share the blocks, if they lie alike in both files, or let a server do it.
    Else it may copy by small pages (ext4 does), while of large pieces that are written to it it makes large pages: less
    work now, and once more when they go to the disk.
    """
    if not hasattr(os, "copy_file_range"):
        return False
    lie_alike = start % _BLOCK == os.lseek(target, 0, os.SEEK_CUR) % _BLOCK == 0
    has_no_device = os.major(os.fstat(source).st_dev) == 0  # a server, or a disk whose files share blocks
    return end - start < _MANY or lie_alike or has_no_device


def _copy_in_kernel(source: int, target: int, start: int, end: int) -> int:
    """Return how far the kernel got before it could not, or would not, go on."""
    while start < end:
        try:
            count = os.copy_file_range(source, target, min(end - start, _AT_ONCE), offset_src=start)
        except OSError as error:
            if error.errno not in _NO_KERNEL_COPY:
                raise
            break
        if not count:
            break
        start += count
    return start


def read_at(descriptor: int, start: int, count: int) -> bytes:
    """Return up to *count* bytes from *start*; several threads may read one file at the same time."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, count, start)
    with _seeking:  # Windows: place and reading are two calls, and a file has one place only
        os.lseek(descriptor, start, os.SEEK_SET)
        return os.read(descriptor, count)


def read_in_pieces(descriptor: int, start: int, end: int, size: int, *, first: int | None = None) -> Iterator[Any]:
    """Yield a byte range in pieces of *size*, the *first* one shorter if asked, fewer when the file became shorter.

    Each piece is gone when the next one comes: one buffer is used again and again, because fresh memory costs more
    than the reading.
    """
    if end - start <= size or not hasattr(os, "preadv"):
        while start < end and (data := read_at(descriptor, start, min(size, end - start))):
            yield data
            start += len(data)
        return
    nobody_elses = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # memory that could be shared costs more
    with mmap.mmap(-1, size, nobody_elses) as buffer, memoryview(buffer) as view:
        wanted = first or size
        while start < end:
            with view[: min(wanted, end - start)] as part:
                count = os.preadv(descriptor, [part], start)
            if not count:
                return
            wanted = size
            yield buffer if count == size else buffer[:count]
            start += count


def _rename_new(source: Path, target: Path) -> None:
    if IS_WINDOWS:
        os.rename(source, target)  # refuses an existing target by itself
    elif not _rename_specially(source, target, "new"):
        try:
            os.link(source, target, follow_symlinks=False)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in _NO_SUCH_CALL:
                raise
            # No exclusive rename and no links (FAT, some phones): we hold the lock, so looking first is enough.
            if is_there(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
            os.rename(source, target)
        else:
            os.unlink(source)


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


def _reserve(descriptor: int, size: int) -> int:
    """Return 0 or an error number. ``posix_fallocate`` is no help: where a disk cannot, it writes every block."""
    library = _system_library() if sys.platform == "linux" else None
    if library is None or not hasattr(library, "fallocate64") or not size:
        return 0
    import ctypes  # noqa: PLC0415  # only who writes pays for it

    keep_size, long = 1, ctypes.c_int64
    return 0 if library.fallocate64(descriptor, keep_size, long(0), long(size)) == 0 else ctypes.get_errno()


@cache
def _system_library() -> ctypes.CDLL | None:
    """Return the C library, None where it cannot be had."""
    import ctypes  # noqa: PLC0415  # only who writes pays for it

    try:
        return ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None


@cache
def _special_rename() -> Callable[[bytes, bytes, str], int] | None:
    """Return a call that answers 0 or an error number, None where the system has no such rename."""
    import ctypes  # noqa: PLC0415  # only who writes pays for it

    library = _system_library()
    if library is None:
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
