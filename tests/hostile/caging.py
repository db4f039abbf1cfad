"""A cage for code that is expected to do harm: nothing outside of one folder is written, moved or removed.

The code under test may follow whatever it is given, so three things keep the machine whole, each without the others:
no enemy names anything real, and none climbs as high as the folder is deep (see ``crafting``); Python tells us about
every change of a file before it is made, and one that leads out is refused; and where Linux has Landlock, the kernel
refuses it for good.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forklore.disk import disk as disk_module


class Escaped(BaseException):
    """Something was about to be changed outside of the cage; nothing catches it."""


_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "shutil.rmtree": ((0, 1),),
}
"""Which arguments of an event are a path, and which one is the folder that it is relative to."""


class _Watch:
    """What is watched now; a hook stays for the life of a process, so it looks here."""

    folder: str | None = None
    is_hooked = False


@contextmanager
def caged(folder: Path) -> Iterator[None]:
    """Refuse every change outside of *folder* until the block ends; raises ``Escaped`` where one was tried."""
    if not _Watch.is_hooked:
        sys.addaudithook(_heed)
        _Watch.is_hooked = True
    before, writes_bytecode = _Watch.folder, sys.dont_write_bytecode
    _Watch.folder, sys.dont_write_bytecode = os.path.realpath(folder), True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_module, "_special_rename", _special_rename)
        try:
            yield
        finally:
            _Watch.folder, sys.dont_write_bytecode = before, writes_bytecode


@contextmanager
def trusted() -> Iterator[None]:
    """Do not watch while the block runs: it is our own, follows no link, and is done sixty times a case."""
    before, _Watch.folder = _Watch.folder, None
    try:
        yield
    finally:
        _Watch.folder = before


def _heed(event: str, arguments: tuple[Any, ...]) -> None:
    if _Watch.folder is None:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITES and not isinstance(path, int):
            _refuse_outside(os.path.realpath(path), event)
    elif event in _CHANGES:
        for number, relative_to in _CHANGES[event]:
            base = arguments[relative_to] if relative_to is not None and relative_to < len(arguments) else None
            _refuse_outside(_place(arguments[number], base), event)


def _place(path: Any, base: Any) -> str:
    """Return where the name *path* itself really is; what it leads to does not matter."""
    if isinstance(path, int):
        return os.path.realpath(f"/proc/self/fd/{path}")
    path = os.fsdecode(path)
    if isinstance(base, int) and base >= 0:
        path = os.path.join(f"/proc/self/fd/{base}", path)
    folder, name = os.path.split(path.rstrip("/") or "/")
    return os.path.join(os.path.realpath(folder), name) if name not in ("", ".", "..") else os.path.realpath(path)


def _refuse_outside(place: str, event: str) -> None:
    if _Watch.folder is not None and place != _Watch.folder and not place.startswith(f"{_Watch.folder}/"):
        raise Escaped(f"{event} {place}")


_usual_rename = disk_module._special_rename


def _special_rename() -> Any:
    """Return the rename that Python does not tell us about, made to ask first."""
    usual = _usual_rename()
    if usual is None:
        return None

    def asks_first(source: bytes, target: bytes, how: str) -> int:
        for path in (source, target):
            _refuse_outside(_place(path, None), "rename")
        return usual(source, target, how)

    return asks_first


# --- Landlock -----------------------------------------------------------------------------------------------------


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _NO_NEW_PRIVILEGES = 444, 445, 446, 38
_WRITING = (1 << 1) | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14


def lock_in(folder: Path) -> bool:
    """Let this process write nowhere but in *folder*, for good; return whether the system can do that."""
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    version = library.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    rights = _WRITING | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    rules = library.syscall(_CREATE_RULESET, struct.pack("=Q", rights), 8, 0)
    place = os.open(folder, os.O_PATH)
    try:
        allowed = library.syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, place), 0) == 0
        library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(allowed and library.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(place)
        if rules >= 0:
            os.close(rules)
