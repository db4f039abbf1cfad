"""Chat files: a header line, then one message a line; found by byte offsets and read only where needed."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from itertools import accumulate, chain
from types import MappingProxyType
from typing import Any, NamedTuple

from forklore.formats.json_text import NotJson, parse_object
from forklore.model.fact import Cause
from forklore.model.plan import HEADER

_BRACE = ord("{")
_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r"
_MAY_BE_HIDDEN = re.compile(rb'"is_system"\s*:\s*true').search
_OPENING = 4096  # more blanks than this at the start of a line are not looked through

ReadRange = Callable[[int, int], bytes]
"""Returns the bytes from an offset up to another one of a file that cannot change any more."""

ReadChunks = Callable[[int, int], Iterator[Any]]
"""Yields the bytes from an offset up to another one in pieces; each is gone when the next one comes."""

SCAN_BYTES = 256 << 10
_HEADER_BYTES = 256 << 10  # longer than most headers are


class ChatDamaged(Cause):
    """The chat cannot be read, or a line of it."""


class LineIndex(NamedTuple):
    """Where each line of a chat begins and ends; blank lines do not count, as in SillyTavern."""

    starts: array[int]
    ends: array[int]
    size: int
    odd_lines: tuple[int, ...] = ()
    """Lines (counted from 0, the header's) that do not even begin like an object."""
    places: Mapping[bytes, Sequence[int]] = MappingProxyType({})
    """Where those texts stand that were looked for on the way."""


def index_lines(chunks: Iterable[Any], sought: Iterable[bytes] = ()) -> LineIndex:
    """Return the line index of a file that comes in *chunks*: objects with ``find``, ``[]`` and ``len``.

    *sought* are texts to look for on the way: reading a long file once more costs as much as the search.
    """
    starts: array[int] = array("Q")
    ends: array[int] = array("Q")
    odd: list[int] = []
    offset = line_start = 0
    opening = b""  # the first bytes of a line that began in an earlier chunk
    searches = {needle: _Search(needle, 0) for needle in sought}
    places: dict[bytes, array[int]] = {needle: array("Q") for needle in searches}

    def add(end: int, begins_with: bytes) -> None:
        begins_with = begins_with.lstrip(_BLANKS)
        if not begins_with:
            return
        if not begins_with.startswith(b"{") and (starts or not begins_with.startswith(_BOM + b"{")):
            odd.append(len(starts))
        starts.append(line_start)
        ends.append(end)

    for chunk in chunks:
        for needle, search in searches.items():
            places[needle].extend(search.go_on(chunk))
        at = 0
        while (newline := chunk.find(b"\n", at)) >= 0:
            if not opening and chunk[at] == _BRACE:  # nearly always: worth its own short path
                starts.append(line_start)
                ends.append(offset + newline)
            else:
                add(offset + newline, opening + bytes(chunk[at : min(newline, at + _OPENING)]))
            opening = b""
            at = newline + 1
            line_start = offset + at
        if len(opening) < _OPENING:
            opening += bytes(chunk[at : at + _OPENING])
        offset += len(chunk)
    add(offset, opening)
    return LineIndex(starts, ends, offset, tuple(odd), places)


def index_of(data: bytes) -> LineIndex:
    """Return the line index of a file that is wholly in memory."""
    return _index_plainly(data) or index_lines([data])


def _index_plainly(data: bytes) -> LineIndex | None:
    """Return the line index of a whole file in which every line begins like an object, None for any other."""
    lines = BytesIO(data).readlines()
    if not lines or min(lines) < b"{" or max(lines) >= b"|":  # the character after "{"
        return None
    starts = array("Q", accumulate(map(len, lines), initial=0))
    ends = array("Q", [start - 1 for start in starts[1:]])
    starts.pop()
    if not data.endswith(b"\n"):
        ends[-1] = len(data)
    return LineIndex(starts, ends, len(data))


class _Search:
    """The search for a text in a file that comes piece by piece; also across their borders."""

    def __init__(self, needle: bytes, start: int) -> None:
        self._needle, self._start = needle, start
        self._before = b""  # the end of what came before, one byte too short to hold the needle

    def go_on(self, chunk: Any) -> list[int]:
        """Look through the next piece and return where the needle is."""
        most = len(self._needle) - 1
        found = []
        if self._before:
            across = self._before + chunk[:most]
            found = [self._start - len(self._before) + at for at in places_in(across, self._needle)]
        found += [self._start + at for at in places_in(chunk, self._needle)]
        self._start += len(chunk)
        if most:
            self._before = chunk[-most:] if len(chunk) >= most else (self._before + chunk[:])[-most:]
        return found


def places_in(data: Any, needle: bytes) -> list[int]:
    """Return where *needle* begins in *data*."""
    places = []
    at = data.find(needle)
    while at >= 0:
        places.append(at)
        at = data.find(needle, at + 1)
    return places


def _between(places: Sequence[int], start: int, end: int) -> Sequence[int]:
    return places[bisect_left(places, start) : bisect_left(places, end)]


_OF_THE_HEADER = ("header", "_first_line")  # what is known of a chat whose lines nobody has counted


@dataclass(frozen=True, eq=False)
class Chat:
    """A chat whose lines are known by their place; each is parsed when it is asked for."""

    index: Callable[[Iterable[bytes]], LineIndex]
    """Looks through the whole file, and for these texts on the way; asked only when more than the header is wanted."""
    read: ReadRange
    chunks: ReadChunks
    read_from_start: Callable[[int], bytes] | None = None
    """Returns the first bytes of the file, as many as there are."""
    sought: tuple[bytes, ...] = ()
    """What ``messages_with`` will be asked for: it is looked for while the lines are counted."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Chat:
        """Return a chat that is wholly in memory."""
        return cls(
            lambda _sought: index_of(data),
            lambda start, end: data[start:end],
            lambda start, end: iter((data[start:end],)),
            lambda count: data[:count],
        )

    def seeking(self, *needles: bytes) -> Chat:
        """Return the chat so that these texts are looked for while its lines are counted."""
        other = replace(self, sought=needles)
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name in _OF_THE_HEADER})
        return other

    @cached_property
    def lines(self) -> LineIndex:
        """Where each line is."""
        return self.index(self.sought)

    @property
    def message_count(self) -> int:
        """How many messages the chat has."""
        return max(0, len(self.lines.starts) - 1)

    @property
    def last(self) -> int | None:
        """The number of the last message, None when there is none."""
        return self.message_count - 1 if self.message_count else None

    def has(self, message: int) -> bool:
        """Whether there is a message with this number."""
        return 0 <= message < self.message_count

    def span(self, line: int) -> tuple[int, int]:
        """Return where a message, or the ``HEADER``, begins and ends (without its line break)."""
        return self.lines.starts[line + 1], self.lines.ends[line + 1]

    def line_bytes(self, line: int) -> bytes:
        """Return a message, or the ``HEADER``, as it is written."""
        return self.read(*self.span(line))

    @cached_property
    def header(self) -> dict[str, Any]:
        """The first line; raises ``ChatDamaged`` when it is no header."""
        if not isinstance(self._first_line.get("chat_metadata"), dict):
            raise ChatDamaged("header_missing")
        return self._first_line

    @property
    def begins_with_message(self) -> bool:
        """Whether there is no header at all, as in the group chats of older versions of SillyTavern."""
        try:
            return "mes" in self._first_line and "chat_metadata" not in self._first_line
        except ChatDamaged:
            return False

    @cached_property
    def _first_line(self) -> dict[str, Any]:
        line = self._plain_header()
        if not line and not self.lines.starts:
            raise ChatDamaged("chat_empty")
        try:
            return parse_object(line or self.line_bytes(HEADER))
        except NotJson as error:
            raise ChatDamaged("header_not_json", reason=str(error)) from error

    def _plain_header(self) -> bytes:
        """Return the first line if it is where it always is, so that nobody has to look through the file for it."""
        if self.read_from_start is None or "lines" in self.__dict__:
            return b""
        count = _HEADER_BYTES
        start = self.read_from_start(count)
        while start.startswith(b"{") and b"\n" not in start and len(start) == count:
            count *= 4
            start = self.read_from_start(count)
        line, newline, _ = start.partition(b"\n")
        return line if newline and line.startswith(b"{") else b""

    @property
    def metadata(self) -> dict[str, Any]:
        """The ``chat_metadata`` of the header."""
        metadata: dict[str, Any] = self.header["chat_metadata"]
        return metadata

    def message(self, number: int) -> dict[str, Any]:
        """Return a message; raises ``ChatDamaged`` when its line is not readable."""
        # Not kept: a chat may be larger than memory ought to be, and few messages are asked for twice.
        try:
            return parse_object(self.line_bytes(number))
        except NotJson as error:
            raise ChatDamaged("message_not_json", message=number, reason=str(error)) from error

    def messages_with(self, *needles: bytes, upto: int, since: int = 0) -> Iterator[int]:
        """Yield the numbers of the messages *since*…*upto* whose line contains one of the *needles*, in order."""
        if upto < since:
            return
        start, end = self.span(since)[0], self.span(upto)[1]
        line = since
        for at in self._occurrences(needles, start, end):
            if at < self.lines.starts[line + 1]:
                continue  # a second hit in a line that was yielded
            line = bisect_right(self.lines.starts, at, lo=line + 1) - 2
            yield line
            line += 1
            if line > upto:
                return

    def _occurrences(self, needles: tuple[bytes, ...], start: int, end: int) -> Iterator[int]:
        """Yield where the *needles* stand, in order."""
        known = self.lines.places
        if known.keys() >= set(needles):
            each = [_between(known[needle], start, end) for needle in needles]
            yield from each[0] if len(each) == 1 else sorted(chain(*each))
            return
        searches = [_Search(needle, start) for needle in needles]
        for chunk in self.chunks(start, end):
            yield from sorted(at for search in searches for at in search.go_on(chunk))

    def first_of_last(self, size: int, *, upto: int | None = None) -> int:
        """Return the first of the last messages that have *size* bytes together; *upto*: the last that counts."""
        starts = self.lines.starts
        last = starts[-1] if upto is None else starts[upto + 1]
        return bisect_left(starts, last - size, lo=1) - 1 if self.message_count else 0

    def is_shown(self, number: int) -> bool:
        """Whether the model sees a message."""
        try:
            return parse_object(self.line_bytes(number)).get("is_system") is not True
        except NotJson:
            return False  # SillyTavern drops a line it cannot read

    def is_hidden(self, number: int) -> bool:
        """Whether a message is hidden from the model (``is_system``); most need not be parsed to tell."""
        return _MAY_BE_HIDDEN(self.line_bytes(number)) is not None and not self.is_shown(number)
