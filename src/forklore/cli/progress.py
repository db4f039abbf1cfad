"""Progress on standard error: four steps with ticks, and a bar once it takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress

from forklore import texts
from forklore.cli.terminal import BAD, DIM, GOOD, PLAIN, is_terminal, say
from forklore.model.fact import Fact

_PATIENCE_SECONDS = 0.5
_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 2.0
_WIDTH = 30
_TICKS = {True: f"{GOOD}✓{PLAIN} ", False: f"{BAD}✗{PLAIN} ", None: ""}


class Steps:
    """Tells each thing once, however often it is tried while waiting; draws a bar only after half a second."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        """Count the time from the first thing that is told; *quiet* says nothing at all."""
        self._quiet = quiet
        self._clock = clock
        self._begun: float | None = None
        self._drawn = 0.0
        self._bar = False
        self._said: set[str] = set()

    def step(self, number: int, fact: Fact) -> None:
        """Name one of the four steps."""
        self._begin()
        self._say(f"[{number}/4] {texts.words(fact)}")

    def note(self, fact: Fact, *, good: bool | None = None) -> None:
        """Say what was found or done in the current step."""
        self._say(f"  {_TICKS[good]}{texts.words(fact)}")

    def advance(self, done: int, total: int) -> None:
        """Draw how far the work has come, if it takes longer than half a second."""
        now, since = self._clock(), self._begin()
        if self._quiet or not total or now - since < _PATIENCE_SECONDS or (done >= total and not self._bar):
            return
        terminal = is_terminal(sys.stderr)
        if now - self._drawn < (_REDRAW_SECONDS if terminal else _LINE_SECONDS) and self._bar:
            return
        share = min(1.0, done / total)
        self._drawn, was_there, self._bar = now, self._bar, True
        filled = round(share * _WIDTH)
        bar = f"  {'━' * filled}{DIM}{'·' * (_WIDTH - filled)}{PLAIN} {share:4.0%}"
        if terminal:
            _go_back(over=was_there)
        say(bar, end="" if terminal else "\n")

    def go_on(self) -> None:
        """Let the work go on: who wants to stop it presses Ctrl-C."""

    def close(self) -> None:
        """Take the bar away, so that what follows stands in a line of its own."""
        if self._bar and is_terminal(sys.stderr):
            _go_back(over=True)
        self._bar = False

    def _begin(self) -> float:
        if self._begun is None:
            self._begun = self._clock()
        return self._begun

    def _say(self, line: str) -> None:
        if self._quiet or line in self._said:
            return
        self._said.add(line)
        self.close()
        say(line)


def _go_back(*, over: bool) -> None:
    """Go to the start of the line and, *over* what is there, write blanks."""
    with suppress(OSError):  # work goes on when the terminal is gone
        sys.stderr.write(("\r" + " " * (_WIDTH + 8) if over else "") + "\r")
