"""What long work tells while it goes on, and hears; the faces decide how it looks."""

from __future__ import annotations

from typing import Protocol

from forklore.errors import ForkloreError, Kind
from forklore.model.fact import Fact


class Cancelled(ForkloreError):
    """Whoever asked for the work does not want it any more."""

    code = "CANCELLED"
    kind = Kind.CONFLICT


class Progress(Protocol):
    """Hears of steps, of what was found in each, and of bytes and files done; may say that it is enough."""

    def step(self, number: int, fact: Fact) -> None:
        """One of the four steps of a fork begins."""

    def note(self, fact: Fact, *, good: bool | None = None) -> None:
        """Something was found or done in the current step; good, bad, or neither."""

    def advance(self, done: int, total: int) -> None:
        """So much of the current step is done."""

    def go_on(self) -> None:
        """Work could stop here and leave nothing behind; raises ``Cancelled`` when it should."""


class Silent:
    """Nobody is listening."""

    def step(self, number: int, fact: Fact) -> None:
        """Say nothing."""

    def note(self, fact: Fact, *, good: bool | None = None) -> None:
        """Say nothing."""

    def advance(self, done: int, total: int) -> None:
        """Say nothing."""

    def go_on(self) -> None:
        """Let the work go on."""
