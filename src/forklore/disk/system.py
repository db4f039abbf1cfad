"""What a file is to the system we run on: the one place that knows how Windows differs in this.

On Windows a file that somebody has open cannot be replaced, a path may not be longer than 260 characters unless it is
spelled in a special way, and a file may be a mere promise that a cloud keeps.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

IS_WINDOWS: Final = sys.platform == "win32"
READING: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)  # no pipe may make us wait

IN_USE: Final = frozenset({5, 32, 33})
"""What Windows says of a file that others have open: access denied, sharing violation, lock violation."""
_IN_USE_FOR_SURE: Final = IN_USE - {5}
_OPENING_PAUSES: Final = (0.01, 0.02, 0.05, 0.1)  # seconds
_OFFLINE, _RECALL_ON_OPEN, _RECALL_ON_DATA_ACCESS = 0x1000, 0x40000, 0x400000
_ONLINE_ONLY: Final = _OFFLINE | _RECALL_ON_OPEN | _RECALL_ON_DATA_ACCESS
_LONG, _LONG_SHARE = "\\\\?\\", "\\\\?\\UNC\\"


class Look(NamedTuple):
    """What Windows tells of a file without opening it, named as in ``os.stat``.

    The file's number is not in it. It is told only to who opens the file, and on some disks it is not for good.
    """

    st_mode: int
    st_size: int
    st_mtime_ns: int
    st_file_attributes: int
    st_ino: int = 0


def is_in_use(error: BaseException) -> bool:
    """Whether Windows refused something because others have the file open; a file of that kind may be free soon."""
    return getattr(error, "winerror", None) in _IN_USE_FOR_SURE


def is_online_only(found: os.stat_result | Look) -> bool:
    """Whether the content of a file is not on this machine: reading it would make OneDrive, or its like, fetch it."""
    return bool(getattr(found, "st_file_attributes", 0) & _ONLINE_ONLY)


if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _create_file = _kernel.CreateFileW
    _create_file.argtypes = (
        wintypes.LPCWSTR,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.LPVOID,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.HANDLE,
    )
    _create_file.restype = wintypes.HANDLE
    _close_handle = _kernel.CloseHandle
    _close_handle.argtypes = (wintypes.HANDLE,)
    _INVALID = wintypes.HANDLE(-1).value
    _GENERIC_READ, _SHARE_ALL, _OPEN_EXISTING, _NORMAL = 0x80000000, 0x7, 3, 0x80

    _read_file = _kernel.ReadFile
    _read_file.argtypes = (
        wintypes.HANDLE,
        wintypes.LPVOID,
        wintypes.DWORD,
        ctypes.POINTER(wintypes.DWORD),
        wintypes.LPVOID,
    )

    def open_shared(path: str | Path) -> int:
        """Open a file for reading while others may read, write, rename and remove it; raises ``OSError``."""
        handle = _handle_of(path)
        try:
            return msvcrt.open_osfhandle(handle, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)
        except OSError:
            _close_handle(handle)
            raise

    def read_shared(path: str | Path, size: int) -> bytes:
        """Return up to *size* bytes of a file, which is open for as short as can be; raises ``OSError``."""
        buffer, count = ctypes.create_string_buffer(max(size, 1)), wintypes.DWORD()
        handle = _handle_of(path)
        done = _read_file(handle, buffer, size, ctypes.byref(count), None)
        code = 0 if done else ctypes.get_last_error()
        _close_handle(handle)
        if code:
            raise OSError(None, ctypes.FormatError(code), str(path), code)
        return buffer.raw[: count.value]

    def _handle_of(path: str | Path) -> int:
        for pause in (*_OPENING_PAUSES, None):
            try:
                return _opened_handle(str(path))
            except PermissionError as error:
                if error.winerror == 5 and os.path.isdir(path):
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path)) from None
                if pause is None or not is_in_use(error):
                    raise
            time.sleep(pause)
        raise AssertionError

    def _opened_handle(path: str) -> int:
        handle: int | None = _create_file(path, _GENERIC_READ, _SHARE_ALL, None, _OPEN_EXISTING, _NORMAL, None)
        if handle is None or handle == _INVALID:
            code = ctypes.get_last_error()
            raise OSError(None, ctypes.FormatError(code), path, code)
        return handle

    _attributes_of = _kernel.GetFileAttributesW
    _attributes_of.argtypes = (wintypes.LPCWSTR,)
    _attributes_of.restype = wintypes.DWORD
    _NONE, _FOLDER, _REPARSED = 0xFFFFFFFF, 0x10, 0x400

    class _Facts(ctypes.Structure):
        _fields_ = (
            ("attributes", wintypes.DWORD),
            ("made", wintypes.FILETIME),
            ("used", wintypes.FILETIME),
            ("written", wintypes.FILETIME),
            ("size_high", wintypes.DWORD),
            ("size_low", wintypes.DWORD),
        )

    _facts_of = _kernel.GetFileAttributesExW
    _facts_of.argtypes = (wintypes.LPCWSTR, ctypes.c_int, ctypes.POINTER(_Facts))
    _facts_of.restype = wintypes.BOOL
    _EPOCH = 116_444_736_000_000_000  # 1970, in steps of 100 ns since 1601

    # Python opens a file to tell what it is, and whoever saves it at that moment is refused. These three do not.

    def look(path: str | Path, *, follow_symlinks: bool = True) -> Look:
        """Return what tells the file at *path* from another one; raises ``OSError``."""
        facts = _Facts()
        if not _facts_of(str(path), 0, ctypes.byref(facts)):
            code = ctypes.get_last_error()
            raise OSError(None, ctypes.FormatError(code), str(path), code)
        if facts.attributes & _REPARSED:  # a link, or a file that a cloud looks after
            found = os.stat(path, follow_symlinks=follow_symlinks)
            return Look(found.st_mode, found.st_size, found.st_mtime_ns, found.st_file_attributes)
        mode = stat.S_IFDIR | 0o755 if facts.attributes & _FOLDER else stat.S_IFREG | 0o644
        ticks = (facts.written.dwHighDateTime << 32) + facts.written.dwLowDateTime - _EPOCH
        return Look(mode, (facts.size_high << 32) + facts.size_low, ticks * 100, facts.attributes)

    def is_link(place: str | Path) -> bool:
        """Whether a name is a link, of whatever kind the system has."""
        found = _attributes_of(str(place))
        if found == _NONE or not found & _REPARSED:
            return False
        try:
            reparsed = os.lstat(place)
        except (OSError, ValueError):
            return False
        return stat.S_ISLNK(reparsed.st_mode) or reparsed.st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT

    def is_file(place: str | Path) -> bool:
        """Whether there is a file of that name."""
        found = _attributes_of(str(place))
        if found != _NONE and not found & _REPARSED:
            return not found & _FOLDER
        return os.path.isfile(place)

    def long_path(path: Path) -> Path:
        """Return *path* so that it and all below it may be longer than 260 characters."""
        text = str(path)
        if text.startswith(_LONG):
            return path
        text = os.path.abspath(text)
        return Path(f"{_LONG_SHARE}{text[2:]}" if text.startswith("\\\\") else f"{_LONG}{text}")

else:

    def open_shared(path: str | Path) -> int:
        """Open a file for reading; raises ``OSError``."""
        return os.open(path, READING)

    def read_shared(path: str | Path, size: int) -> bytes:
        """Return up to *size* bytes of a file; raises ``OSError``."""
        descriptor = open_shared(path)
        try:
            return os.read(descriptor, size)
        finally:
            os.close(descriptor)

    def is_link(place: str | Path) -> bool:
        """Whether a name is a link."""
        try:
            return stat.S_ISLNK(os.lstat(place).st_mode)
        except (OSError, ValueError):
            return False

    is_file = os.path.isfile
    look = os.stat

    def long_path(path: Path) -> Path:
        """Return *path*: there is nothing special about long ones."""
        return path


def usual_path(path: str | Path) -> str:
    """Return a path as people write it, however long it is."""
    text = str(path)
    if text.startswith(_LONG_SHARE):
        return "\\\\" + text.removeprefix(_LONG_SHARE)
    return text.removeprefix(_LONG)


def real_path(path: str | Path) -> str:
    """Return where a path really leads, as people write it."""
    return usual_path(os.path.realpath(path))


def may_write(path: Path) -> bool:
    """Whether a file is not marked as one that is only to be read; what is not there is not marked either."""
    try:
        return bool(os.lstat(path).st_mode & stat.S_IWUSR)
    except OSError:
        return True
