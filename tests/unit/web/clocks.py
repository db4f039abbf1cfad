"""A loop whose clock does not run by itself: whoever sleeps is woken at the right time, and nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class QuickLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer as soon as there is nothing else to do."""

    _now = 0.0
    _ready: Any
    _scheduled: Any

    def time(self) -> float:
        """Return the time, which passes only while everybody sleeps."""
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self._now = max(self._now, self._scheduled[0].when())
        super()._run_once()  # type: ignore[misc]  # of the loop itself; it is not told in its type


def run(scene: Coroutine[Any, Any, Result]) -> Result:
    """Run a scene in such a loop."""
    with asyncio.Runner(loop_factory=QuickLoop) as runner:
        return runner.run(scene)
