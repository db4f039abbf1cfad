"""What the page makes of an edit in memory is what the service makes of it in a file."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import IO, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forklore.app.extension import SOURCE
from forklore.app.left_to_page import LeftToPage
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import NotJson
from forklore.model.plan import Append, Drop, Edit, LineEdit, Put, Take

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

_PROGRAM = """
    import { createInterface } from 'node:readline';
    const { makeEdit } = await import('data:text/javascript,' + encodeURIComponent(%s));
    for await (const line of createInterface({ input: process.stdin })) {
        const { value, edits } = JSON.parse(line);
        const made = edits.map((edit) => makeEdit(value, edit));
        console.log(JSON.stringify({ value, made }));
    }
"""

KEYS = ("a", "b", "__proto__", "鍵")
# The same few keys and values in documents and in edits, so that they meet.
leaves = st.sampled_from([None, True, False, 0, 1, "", "a", "Branch #1", "\ud83d"])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
documents = st.dictionaries(st.sampled_from(KEYS), values, max_size=3)
steps: st.SearchStrategy[str | int] = st.sampled_from([*KEYS, 0, 1])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, Edit]:
    """Return a document, and an edit of something that is mostly in it."""
    document: Any = draw(documents)
    found = document
    path: list[str | int] = []
    while not path or (found and isinstance(found, dict | list) and draw(st.integers(0, 3))):
        there: list[Any] = list(found) if isinstance(found, dict) else list(range(len(found)))
        is_there = there != [] and draw(st.integers(0, 4)) > 0
        step = draw(st.sampled_from(there) if is_there else steps)
        path.append(step)
        found = found[step] if step in there else None
    items = found if isinstance(found, list) and found else [found]
    text = json.dumps(draw(st.sampled_from(items) | values))
    condition = draw(st.none() | st.just(json.dumps(found)) | values.map(json.dumps))
    levels = draw(st.integers(0, 3))
    edits: tuple[Edit, ...] = (
        Put(tuple(path), text, condition),
        Drop(tuple(path), condition, levels),
        Append(tuple(path), text),
        Take(tuple(path), text, levels),
    )
    return document, draw(st.sampled_from(edits))


class Node:
    """The page's module, which makes edits for whoever asks."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._asked: IO[str] = process.stdin
        self._answers: IO[str] = process.stdout

    def make(self, value: Any, *edits: Edit) -> tuple[Any, list[bool]]:
        """Return what the edits make of a value, and which of them have done something."""
        told = LeftToPage(None, None, tuple(LineEdit(None, edit) for edit in edits)).to_json()["edits"]
        self._asked.write(json.dumps({"value": value, "edits": told}) + "\n")
        self._asked.flush()
        answer = json.loads(self._answers.readline())
        return answer["value"], answer["made"]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    program = _PROGRAM % json.dumps((SOURCE / "edits.js").read_text("utf-8"))
    command = ["node", "--input-type=module", "-e", program]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as process:
        yield Node(process)


def made_in_a_file(value: Any, edit: Edit) -> Any:
    try:
        return json.loads(apply_edits(json.dumps(value), [edit]).text)
    except NotJson:
        return value  # it cannot be made; the page passes over it


@given(cases())
@example(({"a": {"b": {"c": ["a"]}}}, Take(("a", "b", "c"), '"a"', prune=2)))
@example(({"a": {}}, Drop(("a",), only_if='{"b":1}')))
@example(({"a": [{"a": ["a"]}]}, Take(("a", 0, "a"), '"a"', prune=3)))
def test_an_edit_makes_of_a_value_what_it_makes_of_a_file(node: Node, case: tuple[Any, Edit]) -> None:
    value, edit = case
    wanted = made_in_a_file(value, edit)

    found, (is_made,) = node.make(value, edit)

    assert found == wanted
    assert is_made == (json.dumps(found) != json.dumps(value))


def test_the_flag_goes_back_to_an_earlier_checkpoint(node: Node) -> None:
    edit = Put(("extra", "bookmark_link"), '"First"', only_if='"Second"')

    assert node.make({"extra": {"bookmark_link": "Second"}}, edit) == ({"extra": {"bookmark_link": "First"}}, [True])
    assert node.make({"extra": {"bookmark_link": "Third"}}, edit) == ({"extra": {"bookmark_link": "Third"}}, [False])
    assert node.make({"extra": {}}, edit) == ({"extra": {}}, [False])


def test_what_was_made_for_a_link_goes_with_the_last_one(node: Node) -> None:
    taken = Take(("extra", "branches"), '"Branch #1"', prune=2)
    mapped = Drop(("chat_metadata", "auto_recap", "checkpoint_lorebook_map", "__proto__"), only_if='"Lore"', prune=2)
    map_of = {"checkpoint_lorebook_map": json.loads('{"__proto__":"Lore"}')}

    assert node.make({"mes": "Hello.", "extra": {"branches": ["Branch #1"]}}, taken) == ({"mes": "Hello."}, [True])
    assert node.make({"chat_metadata": {"auto_recap": map_of}}, mapped) == ({"chat_metadata": {}}, [True])
