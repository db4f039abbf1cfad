"""Which lines of a chat cannot be read: found quickly, and the same as line by line."""

import json

from hypothesis import example, given, strategies

from forklore.formats.chat_jsonl import Chat
from forklore.formats.chat_lines import unreadable_lines


def one_by_one(data: bytes) -> list[int]:
    chat = Chat.from_bytes(data)
    broken = []
    for line in range(len(chat.lines.starts)):
        try:
            sound = isinstance(json.loads(chat.line_bytes(line - 1)), dict)
        except ValueError:
            sound = False
        if not sound:
            broken.append(line)
    return broken


def test_a_sound_chat_has_none() -> None:
    assert unreadable_lines(Chat.from_bytes(b'{"chat_metadata":{}}\n{"mes":"a"}\r\n\n{"mes":"b"}')) == []


_PARTS = [
    b"{}",
    b'{"a":1}',
    b'{"a":',
    b"{",
    b"}",
    b"{}}",
    b'{"a":{}}',
    b"[{}]",
    b'"x"}',
    b" ",
    b"\n",
    b"\r\n",
    b"\n",
    b"x",
]


@given(strategies.lists(strategies.sampled_from(_PARTS), max_size=9).map(b"".join))
@example(b'{"a":\n{}}{"a":1}')
@example(b'{}{"a":\n{}}')
@example(b'{"a":\n{}}\n{}{"a":1}')
@example(b"{}{\n}")
@example(b'{}{"a":\n{}}\n"x"}')
def test_torn_and_joined_lines_are_found_as_if_each_were_read_alone(data: bytes) -> None:
    assert unreadable_lines(Chat.from_bytes(data)) == one_by_one(data)
