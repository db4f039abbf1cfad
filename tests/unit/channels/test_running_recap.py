from typing import Any

import pytest

from forklore.channels.running_recap import RunningRecap, read_running_recap, upto
from forklore.testing.cuts import cut, metadata_after, parent
from forklore.testing.stories import Json, conversation, recap_version, running_recap

KEY = "auto_recap_running_scene_recaps"


def recap(current: int, *versions: tuple[int, int], **members: Any) -> Json:
    stored = running_recap("Tale", [recap_version(number, ends) for number, ends in versions], current)[KEY]
    return {KEY: {**stored, **members}}


class TestReading:
    @pytest.mark.req(23, 24, 35, 73, 151)
    @pytest.mark.parametrize(
        "stored, number",
        [
            (recap(0, (0, 3)), 0),
            (recap(7, (2, 3), (7, 5), (4, 9)), 7),
            (recap(0), None),
            (recap(5, (0, 3)), None),
            ({KEY: {"versions": [recap_version(0, 3)]}}, None),
            ({KEY: {"versions": [recap_version(0, 3)], "current_version": None}}, None),
            ({KEY: "text"}, None),
            ({KEY: {"versions": "text", "current_version": 0}}, None),
            ({KEY: {"versions": [None, "x"], "current_version": 0}}, None),
            ({}, None),
        ],
    )
    def test_the_current_version_is_found_by_its_number(self, stored: Json, number: int | None) -> None:
        current = read_running_recap(stored).current

        assert (current["version"] if current else None) == number


class TestUpto:
    def test_only_versions_that_end_by_the_message_were_there(self) -> None:
        everything = read_running_recap(recap(9, (0, 3), (4, 8), (9, 12)))

        assert upto(everything, 8).numbers == (0, 4)
        assert upto(everything, 8).current_version == 4
        assert upto(everything, 2) == RunningRecap((), None)


class TestCut:
    @pytest.mark.req(67, 137)
    def test_at_the_head_everything_is_kept_but_the_chat_is_the_fork(self) -> None:
        origin = parent(recap(2, (0, 1), (2, 3), (5, 3), unknown="kept"), conversation(4))

        made = cut(origin, "running_recap")

        assert metadata_after(origin, made)[KEY] == {**origin.metadata[KEY], "chat_id": "Fork"}
        assert made.record["running_recap_version"] == 2
        assert made.record["running_recap_versions"] == origin.metadata[KEY]["versions"]

    @pytest.mark.req(134, 135)
    @pytest.mark.parametrize(
        "at, numbers, current",
        [(0, [], 0), (1, [0], 0), (3, [0, 2], 2), (4, [0, 2], 2), (5, [0, 2, 7], 7)],
    )
    def test_in_the_past_only_earlier_versions_are_kept_with_their_numbers(
        self, at: int, numbers: list[int], current: int
    ) -> None:
        origin = parent(recap(9, (0, 1), (2, 3), (7, 5), (9, 7)), conversation(9))

        after = metadata_after(origin, cut(origin, "running_recap", at))[KEY]

        assert [version["version"] for version in after["versions"]] == numbers
        assert after["current_version"] == current
        assert after["chat_id"] == "Fork"

    def test_a_selection_that_survives_is_kept(self) -> None:
        origin = parent(recap(2, (0, 1), (2, 3), (7, 5)), conversation(9))

        assert metadata_after(origin, cut(origin, "running_recap", 6))[KEY]["current_version"] == 2

    def test_another_swipe_does_not_know_the_version_of_its_message(self) -> None:
        origin = parent(recap(2, (0, 1), (2, 3)), conversation(4))

        made = cut(origin, "running_recap", 3, other_swipe=True)

        assert [v["version"] for v in metadata_after(origin, made)[KEY]["versions"]] == [0]

    @pytest.mark.parametrize("end", [None, "3", 3.5])
    def test_a_version_that_cannot_be_shown_to_lie_inside_is_left_out(self, end: Any) -> None:
        versions = [recap_version(0, 1), recap_version(1, 1) | {"new_scene_index": end}, None]
        origin = parent({KEY: {"chat_id": "Tale", "current_version": 1, "versions": versions}}, conversation(9))

        after = metadata_after(origin, cut(origin, "running_recap", 5))[KEY]

        assert [version["version"] for version in after["versions"]] == [0]
        assert after["current_version"] == 0

    @pytest.mark.req(66)
    def test_nothing_kept_is_recorded_as_null(self) -> None:
        origin = parent(recap(2, (2, 5)), conversation(9))

        made = cut(origin, "running_recap", 1)

        assert metadata_after(origin, made)[KEY] == {"chat_id": "Fork", "current_version": 0, "versions": []}
        assert made.record == {
            "has_running_recap": False,
            "running_recap_version": None,
            "running_recap_content": None,
            "running_recap_scene_count": 0,
            "running_recap_versions": [],
        }

    @pytest.mark.req(24, 66)
    def test_version_nought_is_recorded_as_nought(self) -> None:
        made = cut(parent(recap(0, (0, 1)), conversation(3)), "running_recap")

        assert made.record["has_running_recap"] is True
        assert made.record["running_recap_version"] == 0
        assert made.record["running_recap_content"] == "DEVELOPMENTS:\nversion 0"
        assert made.record["running_recap_scene_count"] == 1

    @pytest.mark.parametrize(
        "odd", [{KEY: "later"}, {KEY: {"versions": "later", "current_version": 1}}, recap(0, (0, 1), unknown="later")]
    )
    def test_what_is_not_understood_is_carried_and_named(self, odd: Json) -> None:
        origin = parent(odd, conversation(9))

        assert cut(origin, "running_recap", 5).carried == (KEY,)
        assert cut(origin, "running_recap").carried == ()

    def test_a_chat_without_one_gets_none(self) -> None:
        origin = parent({}, conversation(3))

        assert cut(origin, "running_recap", 1).edits == ()
        assert cut(origin, "running_recap", 1).carried == ()
