"""Any story, however oddly it is written: forks lose no byte, share no file, and can be undone."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forklore
from forklore.app.fork import ForkMade
from forklore.app.forklore import Forklore
from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_text import parse
from forklore.formats.lorebook_json import parse_lorebook
from forklore.model.plan import HEADER
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import Json, read_workspace, write_workspace
from forklore.testing.strategies import WildStory, wild_stories

kinds = st.sampled_from(["checkpoint", "branch"])
all_of_them = settings.default.max_examples if settings.default is not None else 100
some, few = settings(max_examples=all_of_them * 4 // 10), settings(max_examples=all_of_them * 2 // 10)


@contextmanager
def workspace(story: WildStory) -> Iterator[Forklore]:
    with tempfile.TemporaryDirectory() as folder:
        yield forklore.open(write_workspace(Path(folder), story.files), disk=HastyDisk())


def strictly(data: bytes) -> Any:
    """Return the value of *data* as SillyTavern would read it: no NaN, no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(data.decode("utf-8-sig", "replace"), parse_constant=refuse)


def chat_of(opened: Forklore, made: ForkMade) -> Chat:
    return Chat.from_bytes((opened.root / "chats" / f"{made.chat}.jsonl").read_bytes())


def book_of(opened: Forklore, made: ForkMade) -> bytes:
    return (opened.root / "worlds" / f"{made.lorebook}.json").read_bytes()


def known(entries: Json) -> dict[Any, str]:
    return {entry["uid"]: entry["comment"] for entry in entries.values() if isinstance(entry, dict)}


@pytest.mark.req(6, 37, 38, 74, 76)
@some
@given(wild_stories(), kinds)
def test_a_fork_at_the_head_has_the_parents_bytes_and_undo_restores_them(story: WildStory, kind: str) -> None:
    with workspace(story) as opened:
        before = read_workspace(opened.root)
        parent = Chat.from_bytes(story.chat)

        made = getattr(opened, kind)("Mira/Tale")

        fork = chat_of(opened, made)
        fork_bytes = fork.read(0, fork.lines.size)
        assert fork_bytes[fork.span(HEADER)[1] :] == story.chat[parent.span(HEADER)[1] :]
        assert fork_bytes[: fork.span(HEADER)[0]] == story.chat[: parent.span(HEADER)[0]]
        strictly(fork.line_bytes(HEADER))
        assert fork.metadata.get("world_info") == made.lorebook
        if story.book is not None:
            title = parse_lorebook("Book", story.book).title
            if title is None:
                assert book_of(opened, made) == story.book
            else:
                assert parse(book_of(opened, made)) == {**parse(story.book), "name": made.lorebook}
        opened.undo()
        assert read_workspace(opened.root) == before


@pytest.mark.req(5, 74, 134, 135, 163)
@some
@given(wild_stories(), kinds, st.integers(0, 4))
def test_a_fork_anywhere_has_nothing_later_and_undo_restores_every_byte(story: WildStory, kind: str, at: int) -> None:
    with workspace(story) as opened:
        before = read_workspace(opened.root)
        parent = Chat.from_bytes(story.chat)
        at = min(at, parent.message_count - 1)
        is_head = at == parent.message_count - 1

        made = getattr(opened, kind)("Mira/Tale", at=at)

        fork = chat_of(opened, made)
        assert [fork.line_bytes(number) for number in range(at + 1)] == [
            parent.line_bytes(number) for number in range(at + 1)
        ]
        assert fork.message_count == at + 1
        strictly(fork.line_bytes(HEADER))
        recap = fork.metadata.get("auto_recap_running_scene_recaps")
        if recap is not None and not is_head:
            assert all(version["new_scene_index"] <= at for version in recap["versions"])
            assert recap["current_version"] in {0, *(version["version"] for version in recap["versions"])}
        if story.book is not None:
            entries = strictly(book_of(opened, made))["entries"]
            if made.lorebook_source in ("live", "present"):
                assert known(entries) == known(parse(story.book)["entries"])
            queues = [e for e in entries.values() if isinstance(e, dict) and e["comment"] == "__operation_queue"]
            assert is_head or all(json.loads(each["content"])["queue"] == [] for each in queues)
        opened.undo()
        assert read_workspace(opened.root) == before


@pytest.mark.req(76)
@some
@given(wild_stories(), st.data())
def test_a_branch_from_any_swipe_shows_it_and_changes_no_other_message(story: WildStory, data: st.DataObject) -> None:
    parent = Chat.from_bytes(story.chat)
    at = parent.message_count - 1
    swipes = parent.message(at).get("swipes", [parent.message(at)["mes"]])
    swipe = data.draw(st.integers(0, len(swipes) - 1))
    with workspace(story) as opened:
        before = read_workspace(opened.root)

        made = opened.branch("Mira/Tale", swipe=swipe)

        fork = chat_of(opened, made)
        assert fork.message(at)["mes"] == (swipes[swipe] if swipe else parent.message(at)["mes"])
        assert [fork.line_bytes(number) for number in range(at)] == [parent.line_bytes(number) for number in range(at)]
        strictly(fork.line_bytes(at))
        opened.undo()
        assert read_workspace(opened.root) == before


@few
@given(wild_stories())
def test_showing_the_last_scene_changes_nothing_but_what_is_hidden(story: WildStory) -> None:
    parent = Chat.from_bytes(story.chat)
    with workspace(story) as opened:
        made = opened.checkpoint("Mira/Tale", show_last_scene=True)

        fork = chat_of(opened, made)
        for number in range(parent.message_count):
            shown, old = fork.message(number), parent.message(number)
            assert {**shown, "is_system": None} == {**old, "is_system": None}
            assert not (shown["is_system"] and not old["is_system"])


@pytest.mark.req(101)
@few
@given(wild_stories(), st.lists(st.tuples(kinds, st.integers(0, 4)), min_size=2, max_size=4), st.randoms())
def test_forks_undone_in_any_order_leave_no_trace(story: WildStory, forks: list[tuple[str, int]], random: Any) -> None:
    with workspace(story) as opened:
        before = read_workspace(opened.root)
        last = Chat.from_bytes(story.chat).message_count - 1
        made = [getattr(opened, kind)("Mira/Tale", at=min(at, last)) for kind, at in forks]
        random.shuffle(made)

        for each in made:
            opened.undo(each.operation)

        assert read_workspace(opened.root) == before


@pytest.mark.req(2, 94)
@few
@given(wild_stories(with_book=True), st.lists(st.tuples(kinds, st.integers(0, 4)), min_size=1, max_size=4))
def test_forks_share_no_book(story: WildStory, forks: list[tuple[str, int]]) -> None:
    with workspace(story) as opened:
        last = Chat.from_bytes(story.chat).message_count - 1

        made = [getattr(opened, kind)("Mira/Tale", at=min(at, last)) for kind, at in forks]

        named = ["Book", *(chat_of(opened, each).metadata["world_info"] for each in made)]
        assert len(set(named)) == len(named)
        assert all(timeline.isolated for timeline in opened.tree("Mira/Tale").timelines)
        assert len(opened.tree("Mira/Tale").timelines) == len(named)


@pytest.mark.req(29)
@some
@given(wild_stories(), st.integers(-1, 6))
def test_a_check_says_what_the_fork_will_say(story: WildStory, at: int) -> None:
    with workspace(story) as opened:
        report = opened.check("Mira/Tale", at=at)

        if report.valid:
            made = opened.checkpoint("Mira/Tale", at=at)
            assert _told(made.warnings) == _told(report.warnings)
            assert _told(made.notes) == _told(report.notes)
        else:
            with pytest.raises(forklore.ForkBlocked):
                opened.checkpoint("Mira/Tale", at=at)


def _told(findings: tuple[forklore.Finding, ...]) -> list[Any]:
    """Return what was found, but not whether the fork is still to be made."""
    return [(found.code, found.severity, {**found.params, "case": None}, found.repairs) for found in findings]
