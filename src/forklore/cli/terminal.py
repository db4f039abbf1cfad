"""Writing for people and for programs: encodings, colours, and text that nobody may trust.

Names and comments come from stories, which come from anywhere. Everything a person sees passes through ``for_person``
line by line, so no text can move the cursor, change the window's title, hide what it says or write a line of its own.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import IO, Any

import click

from forklore.formats.json_text import escape_lone_surrogates
from forklore.printable import MISLEADING, printable

# Marks for colours while a text is put together. They are code points that stand for no character; a story that has
# one of them anyway changes a colour and nothing else.
GOOD, BAD, WARN, DIM, BOLD, PLAIN = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4", "\ufdd5"
_COLOURS = {GOOD: "32", BAD: "31", WARN: "33", DIM: "2", BOLD: "1", PLAIN: "0"}

_IN_JSON = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *MISLEADING)}  # JSON escapes the others itself
_PLAINER = str.maketrans({
    "├": "|", "└": "`", "│": "|", "─": "-", "━": "=", "→": "->", "✓": "ok", "✗": "no", "•": "*", "…": "...", "·": "-",
    "“": '"', "”": '"', "‘": "'", "’": "'",
})  # fmt: skip
_NEEDED = "├└│─━→✓✗•…·"


def prepare_streams() -> None:
    """Make standard output and error survive every character, also on a terminal with a narrow encoding."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def for_person(line: str, *, colour: bool = False, encoding: str | None = "utf-8") -> str:
    """Return *line* so that it does nothing but stand there: no control characters but our colours."""
    colours = {ord(mark): f"\x1b[{code}m" if colour else "" for mark, code in _COLOURS.items()}
    safe = printable(line).translate(colours)
    try:
        _NEEDED.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        safe = safe.translate(_PLAINER)
    return safe


def as_json(value: Any) -> str:
    """Return *value* as one JSON document that any stream and any terminal can take."""
    text = escape_lone_surrogates(json.dumps(value, ensure_ascii=False, indent=2))
    return text.translate(_IN_JSON)


def write(*lines: str) -> None:
    """Write a result for a person to standard output."""
    _put("".join(f"{_for_stream(line, sys.stdout)}\n" for line in lines), sys.stdout)


def write_json(value: Any) -> None:
    """Write one JSON document to standard output, in UTF-8 wherever it goes."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")
    _put(as_json(value) + "\n", sys.stdout)


def say(*lines: str, end: str = "\n") -> None:
    """Write prose to standard error; work goes on when nobody can hear it."""
    with suppress(OSError):
        _put("\n".join(_for_stream(line, sys.stderr) for line in lines) + end, sys.stderr)


def ask(*question: str) -> bool:
    """Ask a person on the terminal, and return whether the answer is yes; where nobody can answer it is no."""
    if not is_terminal(sys.stdin) or not is_terminal(sys.stderr):
        return False
    say(*question, end=" [y/N] ")
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person looks at *stream*."""
    return stream is not None and stream.isatty()


def _for_stream(text: str, stream: IO[str] | None) -> str:
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return for_person(text, colour=wanted and is_terminal(stream), encoding=getattr(stream, "encoding", None))


def _put(text: str, stream: IO[str] | None) -> None:
    """Write and flush at once, so that a reader who has gone is noticed here and not when Python ends."""
    if stream is None:
        return  # closed by whoever started us
    try:
        click.echo(text, file=stream, nl=False, color=True)
        stream.flush()
    except OSError as error:
        _silence(stream)  # what is still buffered would fail a second time when Python ends
        if not isinstance(error, BrokenPipeError):
            raise


def _silence(stream: IO[str]) -> None:
    """Send what is still buffered to nowhere: the reader has what it wanted."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return
