"""How the log is written: a record is one line, and the message of an error is one line of its traceback."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import TypeAlias

from forklore.printable import printable

_Failure: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

# What Python writes around the messages of errors; in a message nothing is trusted.
_AROUND = re.compile(
    r'[ |+]*(File "|Exception Group Traceback|Traceback \(most|\[Previous line|-+|\s*$)|\n(The above|During)'
)


class OneLine(logging.Formatter):
    """Lets no name in a record write lines of its own."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # its name in logging
        """Return the record as one line."""
        return printable(super().formatMessage(record))

    def formatException(self, ei: _Failure) -> str:  # noqa: N802  # its name in logging
        """Return the traceback."""
        return "\n".join(traceback_lines(ei[1])) if ei[1] is not None else ""


def log_on_stderr(level: int, form: str) -> None:
    """Write what is at least of *level* to standard error, unless something is written already."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine(form))
    logging.basicConfig(level=level, handlers=[handler])


def traceback_lines(error: BaseException) -> Iterator[str]:
    """Yield the lines of a traceback; the message of each error is one of them, whatever is in it."""
    for block in traceback.TracebackException.from_exception(error).format():
        text = block.removesuffix("\n")
        yield from text.split("\n") if _AROUND.match(text) else [printable(text)]
