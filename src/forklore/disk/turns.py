"""How long a thread keeps the interpreter while others wait for it."""

from __future__ import annotations

import sys
from _thread import allocate_lock
from collections.abc import Iterator
from contextlib import contextmanager

_SHORT = 1e-3 if sys.platform == "win32" else 20e-6  # seconds; who waits there for less than 1 ms does not sleep at all

_lock = allocate_lock()
_asked: list[float] = []
"""The usual length, once for everybody who asked for short turns: it is one setting for the whole program."""


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads that copy have the interpreter at once, also from a thread that runs Python code all the time.

    They need it for a few microseconds between two calls of the system, again and again. With Python's usual turns of
    five milliseconds they would mostly wait, and the disk with them.
    """
    with _lock:
        _asked.append(_asked[0] if _asked else sys.getswitchinterval())
        sys.setswitchinterval(min(_SHORT, _asked[0]))
    try:
        yield
    finally:
        with _lock:
            usual = _asked.pop()
            if not _asked:
                sys.setswitchinterval(usual)
