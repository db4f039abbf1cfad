"""Which service runs: it says so in the state folder, and holds a lock for as long as it listens.

The lock ends with the process, however it ends, and only this user can hold it. So who finds it held knows that the
port belongs to a service of this user, and that the process named beside it is that service.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from forklore.disk.state import State, make_private
from forklore.errors import FormatNewer

_WAIT_SECONDS = 1.0  # somebody may be looking whether it is held
_LOOK_SECONDS = 0.05  # who only looks holds it for less


@dataclass(frozen=True, slots=True)
class Running:
    """A service that runs."""

    address: str
    roots: tuple[str, ...]
    pid: int
    version: str
    log: str | None = None
    """Where it writes what it has to say; None when that is a terminal."""


@contextmanager
def announced(state: State, port: int, running: Running) -> Iterator[None]:
    """Say that a service listens on *port* while it does; where that cannot be said, it serves all the same."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # a heavy import that only a service needs

    record = _record(state, port)
    lock = FileLock(_lock(state, port), is_singleton=False, thread_local=False)
    try:
        make_private(state.folder, upto=state.folder)
        lock.acquire(timeout=_WAIT_SECONDS, poll_interval=0.02)
        state.write(record, asdict(running))
    except (OSError, NotImplementedError, Timeout):  # some disks know no locks
        lock.release()
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            record.unlink(missing_ok=True)
        lock.release()


def find_running(state: State, port: int) -> Running | None:
    """Return this user's service on *port*, None when there is none."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  # as above

    if not _lock(state, port).exists():
        return None
    lock = FileLock(_lock(state, port), is_singleton=False, thread_local=False)
    try:
        lock.acquire(timeout=_LOOK_SECONDS, poll_interval=0.01)
    except Timeout:
        return _read(state, port)
    except (OSError, NotImplementedError):
        return None
    lock.release()
    return None


def forget_running(state: State, port: int) -> None:
    """Remove what a service on *port* that runs no more may have left."""
    for path in (_record(state, port), _lock(state, port)):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _read(state: State, port: int) -> Running | None:
    try:
        stored = state.read(_record(state, port))
        roots, log = tuple(map(str, stored["roots"])), stored["log"]
        told = Running(str(stored["address"]), roots, int(stored["pid"]), str(stored["version"]), log)
    except (FormatNewer, KeyError, TypeError, ValueError):
        return None  # it has only just begun, or is about to end
    return told if told.pid > 0 and isinstance(log, str | None) else None


def _record(state: State, port: int) -> Path:
    return state.folder / f"serving-{port}.json"


def _lock(state: State, port: int) -> Path:
    return state.folder / f"serving-{port}.lock"
