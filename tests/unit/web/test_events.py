"""Events are written so that every reader takes them apart in the same way."""

import json

import pytest

from forklore.web.events import on_the_wire


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\n", "\r", "\x85", "\ud83d"])
def test_a_name_breaks_no_line(odd: str) -> None:
    data = {"chat": f"Maren/before{odd}after"}

    written = on_the_wire("open_chat", data)

    name, line, *rest = written.split("\n")
    assert (name, rest) == ("event: open_chat", ["", ""])
    assert not {"\u2028", "\u2029", "\r"} & set(line)
    assert json.loads(line.removeprefix("data: ")) == data
