"""Random walks of operations and undos: every unwinding is byte-exact, and every refusal has a reason.

Names come back again and again on purpose: default names are numbered anew when their owner was deleted.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forklore
from forklore.app.forklore import Forklore
from forklore.errors import ForkloreError
from forklore.formats.chat_jsonl import Chat
from forklore.planning.undo import UndoRefused
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import read_workspace, write_workspace

Files = dict[str, bytes]
PLENTY = settings(max_examples=(settings.default.max_examples if settings.default is not None else 100) * 3 // 10)
MOST_STEPS = 9


class Step(NamedTuple):
    """One thing that somebody does, to which of those there are, and how."""

    what: str
    which: int = 0
    how: int = 0


@dataclass
class Done:
    """An operation that stands, and what it did to which files."""

    id: str
    before: Files
    after: Files

    @property
    def touched(self) -> set[str]:
        paths = self.before.keys() | self.after.keys()
        return {path for path in paths if self.before.get(path) != self.after.get(path)}

    @property
    def needed(self) -> set[str]:
        """The files without which it cannot be undone: those it touched, and the lorebooks of chats that come or go."""
        moved = self.before.keys() ^ self.after.keys()
        chats = [{**self.before, **self.after}[path] for path in moved if path.endswith(".jsonl")]
        books = {Chat.from_bytes(chat).metadata.get("world_info") for chat in chats}
        return self.touched | {f"worlds/{book}.json" for book in books}


@dataclass
class Walk:
    """A workspace on its way."""

    root: Path
    standing: list[Done] = field(default_factory=list)
    """The operations that are not undone, the first one first."""

    @property
    def forklore(self) -> Forklore:
        return forklore.open(self.root, disk=HastyDisk())

    @property
    def files(self) -> Files:
        return read_workspace(self.root)

    def chats(self) -> list[str]:
        return sorted(timeline.chat for story in self.forklore.stories().stories for timeline in story.timelines)

    def take(self, step: Step) -> None:
        if step.what == "undo":
            self.undo(self.standing[-1 - step.how % len(self.standing)]) if self.standing else None
            return
        before = self.files
        try:
            operation = self.ask(step)
        except ForkloreError:
            assert self.files == before
            return
        if operation is not None:
            self.standing.append(Done(operation, before, self.files))

    def ask(self, step: Step) -> str | None:
        chats, app = self.chats(), self.forklore
        chat = chats[step.which % len(chats)] if chats else "Tale"
        match step.what:
            case "checkpoint":
                return app.checkpoint(chat, at=step.how % 3, name=(None, "Then", "Now")[step.how % 3]).operation
            case "branch":
                return app.branch(chat, at=step.how % 3).operation
            case "delete":
                return app.delete(chat, yes=True).operation
            case "isolate":
                return app.isolate(chat).operation
            case "restore":
                items = app.trash().items
                return app.restore(items[step.which % len(items)].item).operation if items else None
        raise AssertionError(step.what)

    def undo(self, done: Done) -> None:
        """Undo an operation that stands; the latest one can always be undone, and leaves what was there before it."""
        before, place = self.files, self.standing.index(done)
        try:
            self.forklore.undo(done.id)
        except UndoRefused:
            later = self.standing[place + 1 :]
            assert [each for each in later if each.touched & done.needed], "it is refused without a reason"
            assert self.files == before
            return
        if place == len(self.standing) - 1:
            assert_same(self.files, done.before)
            self.standing.pop()
            return
        # In the middle: what it did is gone, and undoing that brings back what was there, to the byte.
        undo = self.forklore.log().operations[0].id
        self.forklore.undo(undo)
        assert_same(self.files, before)

    def unwind(self) -> None:
        while self.standing:
            latest = self.standing[-1]
            assert self.forklore.undo().undone == latest.id
            assert_same(self.files, latest.before)
            self.standing.pop()


def assert_same(found: Files, expected: Files) -> None:
    assert sorted(found) == sorted(expected)
    for path, content in expected.items():
        assert found[path] == content, path


def tale(odd: bool) -> dict[str, bytes]:
    """Return a chat with a lorebook, and a fork that SillyTavern has made of it."""
    book = {"Lore": stories.lorebook([stories.entry(0, "Mira", "a cook")])}
    said = stories.conversation(4)
    files = stories.solo_files("Tale", {"world_info": "Lore", "integrity": "one"}, said, books=book)
    native = {"world_info": "Lore", "integrity": "two", "main_chat": "Tale"}
    files |= stories.solo_files("Tale - Branch #1", native, said[:3])
    if odd:
        files = {path: spaced(data) if path.endswith(".jsonl") else data for path, data in files.items()}
    return files


def spaced(data: bytes) -> bytes:
    """Return a chat as another program might have written it: blanks everywhere, an order of its own."""
    return data.replace(b'{"', b'{ "').replace(b'":', b'" : ').replace(b',"', b' ,\t"').replace(b"}", b" }")


WENT_WRONG = {
    "a child of an earlier chat of that name": [
        Step("branch", 0, 2), Step("checkpoint", 2), Step("delete", 2), Step("branch", 0, 2), Step("undo"),
    ],
    "an inherited link under a name that is used again": [
        Step("checkpoint", 0, 1), Step("branch", 1, 2), Step("delete", 0), Step("checkpoint", 2, 1), Step("undo"),
    ],
    "a name that was taken while its owner was in the trash": [
        Step("branch", 1, 1), Step("delete", 2), Step("branch", 1, 1), Step("undo", 0, 1),
    ],
    "a parent that came back to its forks": [
        Step("isolate", 1), Step("delete", 1), Step("delete", 0), Step("restore", 3), Step("undo", 0, 1),
    ],
}  # fmt: skip

what = st.sampled_from(["checkpoint", "branch", "branch", "delete", "restore", "isolate", "undo"])
steps = st.lists(st.builds(Step, what, st.integers(0, 7), st.integers(0, 5)), max_size=MOST_STEPS)


def walk(path: list[Step], *, odd: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        way = Walk(write_workspace(Path(folder), tale(odd)))
        first = way.files
        for step in path:
            way.take(step)
        way.unwind()
        assert_same(way.files, first)


@pytest.mark.timeout(600)
@PLENTY
@given(steps, st.booleans())
def test_whatever_is_done_can_be_undone_to_the_byte(path: list[Step], odd: bool) -> None:
    walk(path, odd=odd)


@pytest.mark.parametrize("name", sorted(WENT_WRONG))
@pytest.mark.parametrize("odd", [False, True])
def test_a_walk_that_once_went_wrong(name: str, odd: bool) -> None:
    walk(WENT_WRONG[name], odd=odd)
