"""Where in a chat a fork may be made; that it agrees with ``check`` is in tests/unit/app/views and tests/property."""

from dataclasses import replace
from typing import Any

import pytest

from forklore.channels.lorebook import book_at
from forklore.checks.readiness import Readiness, asks_book
from forklore.checks.requirements import REQUIREMENTS, Effect, Policy
from forklore.formats.chat_jsonl import Chat
from forklore.formats.lorebook_json import parse_lorebook
from forklore.gathered.timeline import TimelineState
from forklore.model.fact import fact
from forklore.testing import stories
from forklore.testing.cuts import timeline
from forklore.testing.stories import chat_bytes, conversation, lorebook_bytes, operation, queue, recap_version

STRICT = Policy(strict=True)


def story(*, busy: bool = False, hidden: int = 0) -> TimelineState:
    said = conversation(8)
    said[3]["extra"] = stories.scene()
    said[6]["extra"] = stories.scene()
    for each in said[:hidden]:
        each["is_system"] = True
    metadata = stories.running_recap("Tale", [recap_version(0, 3), recap_version(1, 6)], 1)
    book = parse_lorebook("Lore", lorebook_bytes([queue([operation()] if busy else [])]))
    chat = Chat.from_bytes(chat_bytes(metadata, said))
    return timeline(chat, book)


def test_a_finished_scene_is_ready_and_what_follows_it_is_not() -> None:
    ready = Readiness(story(), STRICT)

    assert ready.codes_at(3) == ready.codes_at(6) == ()
    assert ready.codes_at(4) == ("NO_SCENE_BREAK", "NO_SCENE_RECAP", "SCENE_NOT_IN_RUNNING_RECAP")
    assert ready.codes_at(1) == ("NO_SCENE_BREAK", "NO_SCENE_RECAP", "NO_RUNNING_RECAP")


def test_codes_come_in_the_order_of_the_table() -> None:
    assert Readiness(story(busy=True), STRICT).codes_at(99) == ("MESSAGE_NOT_FOUND", "QUEUE_NOT_EMPTY")
    assert Readiness(story(busy=True), STRICT).codes_at(1)[:2] == ("QUEUE_NOT_EMPTY", "NO_SCENE_BREAK")


def test_the_book_is_cut_once_for_all_messages_between_two_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def noted(parent: TimelineState, upto: int, **how: Any) -> object:
        made.append(upto)
        return book_at(parent, upto, **how)

    monkeypatch.setattr("forklore.checks.readiness.book_at", noted)
    policy = Policy(overrides={"LOREBOOK_FROM_PRESENT": Effect.BLOCK})
    ready = Readiness(story(), policy)

    assert {ready.codes_at(number) for number in range(7)} == {("LOREBOOK_FROM_PRESENT",)}
    assert ready.codes_at(7) == ()
    assert made == [0, 7]


def test_no_book_is_cut_for_rows_that_only_warn() -> None:
    assert not asks_book(Policy())
    assert not asks_book(STRICT)
    assert asks_book(Policy(overrides={"REGISTRY_BROKEN": Effect.BLOCK}))


@pytest.mark.parametrize("hidden, blocked", [(0, []), (1, [0]), (5, [0, 1, 2, 3, 4]), (8, list(range(8)))])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_visible_message_is_found_from_wherever_one_asks(hidden: int, blocked: list[int], backwards: bool) -> None:
    ready = Readiness(story(hidden=hidden), Policy(overrides={"HISTORY_HIDDEN": Effect.BLOCK}))

    order = reversed(range(8)) if backwards else range(8)

    assert sorted(number for number in order if ready.codes_at(number)) == blocked


@pytest.mark.parametrize("backwards", [False, True])
def test_an_unfinished_recap_counts_from_its_message_on_and_a_broken_line_too(backwards: bool) -> None:
    said = conversation(8)
    said[2]["extra"] = stories.scene(stage1_lorebook_metadata={"x": 1})
    lines = chat_bytes({}, said).split(b"\n")
    lines[6] = b'{"mes":"x","extra":{"stage1_lorebook_metadata'  # message 5
    lines[6] += b'":1'
    whole = timeline(Chat.from_bytes(b"\n".join(lines)))
    ready = Readiness(whole, Policy(overrides={"RECAP_IN_PROGRESS": Effect.BLOCK}))

    order = reversed(range(8)) if backwards else range(8)
    codes = {number: ready.codes_at(number) for number in order}

    assert [codes[number] for number in range(8)] == [(), (), *[("RECAP_IN_PROGRESS",)] * 3, *[("CHAT_DAMAGED",)] * 3]


def test_rows_that_hold_everywhere_ask_nothing_of_a_message() -> None:
    everywhere = {row.code for row in REQUIREMENTS if row.everywhere}

    assert everywhere == {
        "LINK_OUTSIDE",
        "LOREBOOK_MISSING",
        "LOREBOOK_UNREADABLE",
        "QUEUE_NOT_EMPTY",
        "QUEUE_UNREADABLE",
        "LOREBOOK_ALSO_ACTIVE",
    }


def test_a_chat_that_cannot_be_read_is_damaged_everywhere() -> None:
    ready = Readiness(replace(story(), damage=fact("header_missing")), STRICT)

    assert {ready.codes_at(number) for number in range(9)} == {("CHAT_DAMAGED",)}
