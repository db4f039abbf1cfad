"""One operation at a time in a workspace, across processes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forklore.disk.failures import refusal_of
from forklore.disk.files import read_small
from forklore.disk.places import Places
from forklore.disk.state import close_to_others
from forklore.disk.system import is_link, usual_path
from forklore.errors import ForkloreError, Kind
from forklore.model.stored import FOLDER

_HOLDER = "holder"
_KIND = re.compile(r"[a-z]{1,20}").fullmatch
_FORKS = ("checkpoint", "branch")
_ANY = "operation"
_SLICE_SECONDS = 0.25  # so often who waits may say that it is enough
_ATTEMPTS = 5  # others may remove the folder again between our making it and our locking in it


class CreationInProgress(ForkloreError):
    """Somebody else is changing the workspace."""

    code = "CREATION_IN_PROGRESS"
    kind = Kind.BUSY


@contextmanager
def workspace_lock(
    root: Path, *, what: str, wait: float = 0.0, go_on: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the workspace's lock; raises ``CreationInProgress`` when somebody else holds it for longer than *wait*.

    While it waits it asks *go_on* again and again, which may raise what ends the waiting.
    Who holds the lock says *what* it does, so that whoever is refused can be told.
    Where there was no folder of ours and nothing was done in the end, there is none afterwards.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  # a heavy import that only writers need

    places = Places(root)
    folder = Path(places.folder(FOLDER))  # neither it nor the lock is a link: what that leads to would be emptied
    lock_file, holder = places.file(f"{FOLDER}/lock"), folder / _HOLDER
    deadline = time.monotonic() + wait
    try:
        for attempt in range(_ATTEMPTS):
            is_new = not folder.is_dir()
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
                close_to_others(folder)
                # A lock of its own for each use: two threads of one process exclude each other like two processes.
                lock = FileLock(lock_file, is_singleton=False, thread_local=False)
                while (left := deadline - time.monotonic()) > _SLICE_SECONDS:
                    with suppress(Timeout):
                        lock.acquire(timeout=_SLICE_SECONDS, poll_interval=0.02)
                        break
                    go_on()
                else:
                    lock.acquire(timeout=max(0.0, left), poll_interval=0.02)
                break
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise
    except Timeout as error:
        raise _in_progress(holder) from error
    except (OSError, NotImplementedError) as error:  # the latter where a disk knows no locks
        reason = getattr(error, "strerror", None) or error
        raise refusal_of(error)("folder", folder=usual_path(root), reason=str(reason)) from error
    try:
        _say(holder, what)
        yield
    finally:
        _remove(holder)
        if is_new:
            _remove_unused(folder, lock.release)
        lock.release()


def _say(holder: Path, what: str) -> None:
    """Write down what is done while the lock is held: a courtesy, without which everything works too."""
    _remove(holder)
    with suppress(OSError):
        descriptor = os.open(holder, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.write(descriptor, what.encode())
        finally:
            os.close(descriptor)


def _remove(holder: Path) -> None:
    with suppress(OSError):
        holder.unlink()


def _in_progress(holder: Path) -> CreationInProgress:
    """Return what to tell of whoever holds the lock; it may be over already, and anybody can write that file."""
    try:
        kind = read_small(holder).decode() if not is_link(holder) else ""
    except (OSError, ValueError, ForkloreError):
        kind = ""
    if kind in _FORKS:
        return CreationInProgress(kind)
    return CreationInProgress("running", kind=kind) if _KIND(kind) and kind != _ANY else CreationInProgress()


def _remove_unused(folder: Path, release: Callable[[], None]) -> None:
    """Remove our folder if nothing is in it but the lock, which we hold: whoever waits for it will make a new one."""
    with suppress(OSError):
        if {path.name for path in folder.iterdir()} - {"lock", "staging"}:
            return
        with suppress(FileNotFoundError):
            (folder / "staging").rmdir()
        try:
            (folder / "lock").unlink()
        except PermissionError:
            release()  # on Windows no open file is removed: ours is closed now, and one that others have taken stays
            (folder / "lock").unlink(missing_ok=True)
        folder.rmdir()
