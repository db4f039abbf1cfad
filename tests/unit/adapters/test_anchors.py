"""Anchors: what an extension knows of a lorebook at a past message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forklore.adapters import canonize, tunnelvision
from forklore.adapters.row import Anchor
from forklore.channels import cut_channels
from forklore.channels.lorebook import BookCut
from forklore.formats.lorebook_json import parse_lorebook
from forklore.gathered.timeline import BookState, TimelineState
from forklore.testing.cuts import cut, parent, point
from forklore.testing.stories import Json, conversation, entry, lorebook, lorebook_bytes, scene, snapshot

# --- TunnelVision ---------------------------------------------------------------------------------------------


def written_in_turns(turns: int) -> tuple[TimelineState, list[dict[str, Json]]]:
    """Return a story in which every message made an entry and rewrote the one before, and its book after each."""
    said, log, book = conversation(turns), {}, {"0": entry(0, "first", "as it began")}
    history: list[dict[str, Json]] = []
    for number, message in enumerate(said):
        message["tunnelvision_message_id"] = f"m{number}"
        log[f"v2:m{number}:ab"] = {
            "createdUids": [{"bookName": "Lore", "uid": number + 1}, {"bookName": "Other", "uid": 0}],
            "modifiedEntries": {f"Lore:{number}": dict(book[str(number)]), "Other:0": {"content": "elsewhere"}},
        }
        book[str(number)] = {**book[str(number)], "content": f"rewritten at {number}"}
        book[str(number + 1)] = entry(number + 1, f"made at {number}")
        history.append(dict(book))
    return parent({"tunnelvision_snapshots": log}, said, book.values()), history


@pytest.mark.parametrize("turns", [1, 7, 20])
def test_turns_undone_give_exactly_the_book_of_then(turns: int) -> None:
    origin, history = written_in_turns(turns)

    told = [tunnelvision._book_then(origin, "Lore", number) for number in range(turns)]

    assert told == [Anchor(number, book, is_whole=False) for number, book in enumerate(history)]


def test_a_log_that_was_cut_off_tells_nothing_from_before_it() -> None:
    origin, _ = written_in_turns(25)
    last = dict(list(origin.metadata["tunnelvision_snapshots"].items())[-20:])
    origin = replace(origin, metadata={**origin.metadata, "tunnelvision_snapshots": last})

    assert tunnelvision._book_then(origin, "Lore", 3) is None
    assert tunnelvision._book_then(origin, "Lore", 10) is not None


@pytest.mark.parametrize("log", [None, {}, "text", {"v1:5": {}}, {"v2:gone:ab": {}}, {"v2:m0:ab": "text"}])
def test_a_log_that_cannot_be_placed_tells_nothing(log: Any) -> None:
    origin, _ = written_in_turns(3)
    origin = replace(origin, metadata={**origin.metadata, "tunnelvision_snapshots": log})

    assert tunnelvision._book_then(origin, "Lore", 1) is None


def test_a_book_that_is_not_the_timelines_own_is_not_known() -> None:
    assert tunnelvision._book_then(written_in_turns(3)[0], "Other", 1) is None


# --- Canonize -----------------------------------------------------------------------------------------------------


def anchored(*numbers: int, book: str = "Lore", more: Json | None = None) -> TimelineState:
    """Return a story of ten messages with anchors on some, each with an entry that tells its number."""
    said = conversation(10)
    for number in numbers:
        entries = lorebook([entry(1, "Mira", f"as of {number}")])
        said[number]["extra"] = {"cnz": {"lorebook": {"name": book, **entries}}, **(more or {})}
    return parent({}, said, [entry(1, "Mira", "now"), entry(2, "Bob", "now")])


@pytest.mark.parametrize("upto, found", [(0, None), (2, None), (3, 3), (5, 3), (6, 6), (9, 6)])
def test_the_last_anchor_up_to_a_message_counts(upto: int, found: int | None) -> None:
    told = canonize._last_anchor(anchored(3, 6), "Lore", upto)

    assert (told.message if told else None) == found


def test_an_anchor_of_another_book_says_nothing() -> None:
    assert canonize._last_anchor(anchored(3, book="Other"), "Lore", 9) is None


@pytest.mark.parametrize("extra", [None, "cnz", [{"cnz": 1}], {"cnz": None}, {"cnz": {"lorebook": {"name": "Lore"}}}])
def test_what_is_no_anchor_is_passed_over(extra: Any) -> None:
    said = [{**each, "extra": extra, "note": {"cnz": 1}} for each in conversation(3)]

    assert canonize._last_anchor(parent({}, said, []), "Lore", 2) is None


# --- the lorebook of a fork ---------------------------------------------------------------------------------------


def contents(book: BookCut) -> list[str]:
    assert book.data is not None
    return [each["content"] for each in parse_lorebook("", book.data).entries.values()]


def test_a_fork_of_the_past_takes_the_anchor_for_its_lorebook() -> None:
    book = cut(anchored(3, 6), "lorebook", 5).value

    assert (book.source, contents(book)) == ("anchor", ["as of 3"])


@pytest.mark.parametrize("at, source", [(1, "present"), (9, "live")])
def test_without_an_anchor_before_it_or_at_the_head_nothing_changes(at: int, source: str) -> None:
    assert cut(anchored(3, 6), "lorebook", at).value.source == source


@pytest.mark.parametrize("scene_at, source", [(2, "anchor"), (5, "scene-snapshot")])
def test_of_an_anchor_and_a_scene_the_later_one_counts(scene_at: int, source: str) -> None:
    origin = anchored(3)
    said = [origin.chat.message(number) for number in range(10)]
    known = snapshot([entry(1, "Mira", "as of the scene")], "Lore")
    said[scene_at] = {**said[scene_at], "extra": scene(entries=known)}

    book = cut(parent({}, said, [entry(1, "Mira", "now")]), "lorebook", 7).value

    assert book.source == source


def test_each_lorebook_of_a_fork_tells_where_it_comes_from() -> None:
    origin = anchored(3, more={"cnz_addlb": [{"name": "Added"}]})
    added = BookState("Added", "worlds/Added.json", parse_lorebook("Added", lorebook_bytes([])), role="added")
    origin = replace(origin, more=(added,))

    cuts = cut_channels(origin, point(origin, 5)._replace(clones={"Added": "Added__CP_Fork"}))

    assert cuts["lorebook"].value.source == "anchor"
    assert [clone.to_json() for clone in cuts["more_lorebooks"].value] == [
        {"name": "Added__CP_Fork", "original": "Added", "role": "added", "source": "present", "entries": 0}
    ]


def test_the_settings_of_a_clone_forget_what_is_not_in_it() -> None:
    origin, _ = written_in_turns(3)

    (step,) = [each for each in cut(origin, "extensions", 1).value.settings if each["path"][-1] == "trees"]

    assert (step["old"], step["new"], step["lists"], step["uids"]) == ("Lore", "Lore__CP_Fork", "entryUids", [3])
