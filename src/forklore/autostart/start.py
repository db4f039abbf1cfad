"""What is to be started, as one small record that each system writes down in its own way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from forklore.errors import BadRequest


class PathUnwritable(BadRequest):
    """A path has characters that the system's own file cannot hold."""

    code = "SERVICE_PATH"


@dataclass(frozen=True, slots=True)
class Start:
    """A program to start, with everything it is told."""

    command: tuple[str, ...]
    """The program, as an absolute path, and its arguments."""
    environment: tuple[tuple[str, str], ...] = ()
    """What it is told besides."""


ABOUT = "Forklore, the page with your SillyTavern stories"
WRITTEN_BY = "Written by `forklore service install`; `forklore service uninstall` removes it."
WAIT_SECONDS = 30
"""After a failure, before it is tried again: a disk may not be there yet, or the port be taken for a while."""
STOP_SECONDS = 45
"""For what is being written when it is told to stop; the service takes at most thirty."""


def refuse_unwritable(texts: Iterable[str]) -> None:
    """Raise ``PathUnwritable`` for a text that XML, or a line of a file, cannot hold as it is."""
    for text in texts:
        if any(each < " " or each == "\x7f" or "\ud800" <= each <= "\udfff" or each in "\ufffe\uffff" for each in text):
            raise PathUnwritable(path=text)
