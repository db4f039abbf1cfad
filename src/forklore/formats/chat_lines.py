"""Whether every line of a chat can be read, found out as fast as the bytes can be looked through."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_text import REFUSALS, NotJson, faster_reader, parse_object

_AT_ONCE = 1 << 20
_ENDINGS = (b"}", b"}\r")


def unreadable_lines(chat: Chat) -> list[int]:
    """Return the lines (counted from 0, the header's) that are no JSON objects."""
    broken = set(chat.lines.odd_lines)
    starts, ends = chat.lines.starts, chat.lines.ends
    first = 0
    while first < len(starts):
        last = max(first, bisect_right(ends, starts[first] + _AT_ONCE) - 1)
        lines = range(first, last + 1)
        ends_there = [ends[line] - starts[first] for line in lines]
        if not broken.isdisjoint(lines) or not _are_sound(chat.read(starts[first], ends[last]), ends_there):
            broken.update(line for line in lines if not _is_object(chat, line))
        first = last + 1
    return sorted(broken)


def _is_object(chat: Chat, line: int) -> bool:
    try:
        parse_object(chat.line_bytes(line - 1))
    except NotJson:
        return False
    return True


def _are_sound(data: bytes, ends: Sequence[int]) -> bool:
    """Whether every line of *data* is an object; that it does not look so says nothing.

    All lines begin with a brace, and the faster reader tells how many objects there are, whatever the lines. If each
    line *ends* with a brace too, none of them goes on in the next one: so as many objects as lines are one in each.
    """
    if faster_reader(is_worth_it=True) is None or not all(data.endswith(_ENDINGS, 0, end) for end in ends):
        return False
    try:
        return len(_quick_decoder()(data)) == len(ends)
    except REFUSALS:
        return False


@cache
def _quick_decoder() -> Callable[[bytes], Any]:
    import msgspec  # noqa: PLC0415

    line = msgspec.defstruct("Line", [])
    return msgspec.json.Decoder(line).decode_lines
