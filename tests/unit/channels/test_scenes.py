from typing import Any

import pytest

from forklore.channels import scenes
from forklore.channels.scenes import (
    Scene,
    has_recap_messages,
    last_scene_break,
    recap_data,
    scene_at,
    scene_breaks,
    scene_start,
)
from forklore.channels.survey import Survey
from forklore.formats.chat_jsonl import Chat
from forklore.testing.cuts import cut, parent
from forklore.testing.stories import RECAP, Json, chat_bytes, conversation, message, scene


def chat(*extras: Json | None) -> Chat:
    messages = (message(f"Turn {number}.", extra=extra or {}) for number, extra in enumerate(extras))
    return Chat.from_bytes(chat_bytes({}, messages))


class TestTheMessageKey:
    @pytest.mark.parametrize("key", ["auto_recap_memory", "auto_summarize_memory", "auto_recap"])
    def test_every_age_of_the_extension_is_read(self, key: str) -> None:
        assert recap_data({"extra": {key: {"scene_break": True}}}) == {"scene_break": True}

    def test_the_newest_key_counts(self) -> None:
        extra = {"auto_recap": {"a": 1}, "auto_summarize_memory": {"a": 2}, "auto_recap_memory": {"a": 3}}

        assert recap_data({"extra": extra}) == {"a": 3}

    @pytest.mark.parametrize("odd", [{}, {"extra": None}, {"extra": []}, {"extra": {"auto_recap_memory": "x"}}])
    def test_anything_else_is_nothing(self, odd: Json) -> None:
        assert recap_data(odd) == {}


class TestBreaks:
    @pytest.mark.req(20, 35, 151)
    @pytest.mark.parametrize(
        "members, counts",
        [
            ({"scene_break": True, "scene_break_visible": True}, True),
            ({"scene_break": True}, True),
            ({"scene_break": True, "scene_break_visible": None}, True),
            ({"scene_break": True, "scene_break_visible": False}, False),
            ({"scene_break": False, "scene_break_visible": True}, False),
            ({"scene_break_visible": True}, False),
            ({"scene_break": "yes"}, False),
            ({}, False),
        ],
    )
    def test_a_break_counts_unless_it_is_hidden(self, members: Json, counts: bool) -> None:
        assert Scene(0, members).is_break is counts

    def test_only_visible_breaks_up_to_the_message_are_found(self) -> None:
        story = chat(scene("a"), None, scene("b", scene_break_visible=False), scene("c"), scene("d"))

        assert [(each.message, each.name) for each in scene_breaks(story, upto=3)] == [(0, "a"), (3, "c")]

    @pytest.mark.parametrize("at, start", [(0, 0), (1, 0), (2, 2), (3, 2), (4, 2)])
    def test_a_scene_begins_after_the_break_before(self, at: int, start: int) -> None:
        story = chat(None, scene("first"), None, scene("hidden", scene_break_visible=False), None)

        assert scene_start(story, at) == start


class TestRecaps:
    @pytest.mark.req(21, 22, 35, 151)
    @pytest.mark.parametrize(
        "members, recap",
        [
            ({"scene_recap_memory": "It happened."}, "It happened."),
            ({"scene_recap_memory": "", "scene_break_recap": "Older."}, "Older."),
            ({"scene_recap_memory": " \n\t"}, ""),
            ({"scene_recap_memory": None}, ""),
            ({"scene_recap_memory": 5}, ""),
            ({}, ""),
        ],
    )
    def test_a_blank_recap_is_none(self, members: Json, recap: str) -> None:
        assert Scene(0, members).recap == recap

    @pytest.mark.parametrize(
        "members, unfinished",
        [
            ({"scene_recap_memory": '{"stage1":{"sn":"x"}}'}, True),
            ({"scene_recap_memory": RECAP}, False),
            ({"scene_recap_memory": '{"stage1":{},"stage2":{}}'}, False),
            ({"scene_recap_memory": "Plain text."}, False),
            ({"scene_recap_memory": '{"plot":"x"}'}, False),
            ({"scene_recap_memory": RECAP, "stage1_lorebook_metadata": {"entries": []}}, True),
            ({"scene_recap_memory": RECAP, "stage1_lorebook_metadata": None}, False),
        ],
    )
    def test_a_recap_that_stopped_half_way_is_unfinished(self, members: Json, unfinished: bool) -> None:
        assert Scene(0, members).recap_is_unfinished is unfinished

    def test_pipelines_in_flight_are_found(self) -> None:
        flying = scene("b", stage1_lorebook_metadata={"entries": []})
        story = chat(scene("a"), flying, {"auto_recap_memory": {"stage1_lorebook_metadata": None}}, flying)

        assert Survey(story).unfinished_recaps(upto=2) == [1]


class TestVersions:
    @pytest.mark.parametrize("index, found", [(1, 7), (0, None), (None, None), ("1", 7)])
    def test_the_selected_version_is_looked_up_by_its_index(self, index: Any, found: int | None) -> None:
        members = {"scene_recap_current_index": index, "scene_recap_metadata": {"1": {"timestamp": 7}}}

        assert Scene(0, members).version.get("timestamp") == found

    @pytest.mark.parametrize("odd", [None, "text", {"0": "text"}])
    def test_odd_versions_are_none(self, odd: Any) -> None:
        assert Scene(0, {"scene_recap_metadata": odd}).version == {}

    @pytest.mark.req(26)
    @pytest.mark.parametrize("activated, done", [(1, True), (0, False), (None, False)])
    def test_the_lorebook_work_is_done_when_an_entry_was_activated(self, activated: Any, done: bool) -> None:
        assert Scene(0, scene(activated=activated)["auto_recap_memory"]).lorebook_is_done is done


class TestWhetherThereIsAnything:
    def test_a_message_of_the_extension_tells(self) -> None:
        assert has_recap_messages(chat(None, {"auto_summarize_memory": {"memory": "old"}}))

    @pytest.mark.parametrize("extra", [None, {"auto_recap_memory": {}}, {"note": '"auto_recap_memory"'}])
    def test_a_word_alone_does_not(self, extra: Json | None) -> None:
        assert not has_recap_messages(chat(None, extra))


class TestCut:
    @pytest.mark.req(64, 69)
    def test_the_record_says_what_the_message_is(self) -> None:
        origin = parent({}, [message("Turn 0."), message("Turn 1.", extra=scene("The storm")), *conversation(2)])

        assert cut(origin, "scenes", 1).record == {
            "has_scene_break": True,
            "has_scene_recap": True,
            "scene_break_name": "The storm",
            "scene_recap": RECAP,
        }
        assert cut(origin, "scenes", 0).record == {
            "has_scene_break": False,
            "has_scene_recap": False,
            "scene_break_name": None,
            "scene_recap": None,
        }

    @pytest.mark.req(164)
    def test_another_swipe_of_the_message_is_not_that_scene(self) -> None:
        origin = parent({}, [message("Turn 0.", extra=scene("The storm"))])

        assert cut(origin, "scenes", 0, other_swipe=True).record["has_scene_break"] is False

    def test_a_scene_is_read_from_the_message_not_from_a_swipe(self) -> None:
        swipes = [{"extra": scene("elsewhere")}]
        origin = parent({}, [message("Turn 0.", swipe_info=swipes, extra={})])

        assert not scene_at(origin.chat, 0).is_break


@pytest.mark.parametrize("at", range(8))
def test_the_last_break_is_found_however_far_back_it_is(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "_LOOKED_BACK", 400)  # bytes: two or three messages at a time
    story = chat(*({} if number > at else scene(f"Scene {number}") for number in range(8)))

    found = last_scene_break(story, upto=7)

    assert found is not None
    assert found.message == at
    assert last_scene_break(chat({}, {}, {}), upto=2) is None
