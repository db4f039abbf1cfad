import json
from pathlib import Path
from typing import Any

import pytest

from forklore.channels.lorebook import BookCut, empty_book
from forklore.formats.lorebook_json import parse_lorebook
from forklore.gathered.timeline import TimelineState
from forklore.testing import stories
from forklore.testing.cuts import cut, metadata_after, parent, timeline
from forklore.testing.stories import Json, conversation, entry, message, queue, scene, snapshot

SAMPLES = Path(__file__).parents[2] / "samples"


def book_of(origin: TimelineState, at: int | None = None, *, other_swipe: bool = False) -> BookCut:
    book: BookCut = cut(origin, "lorebook", at, other_swipe=other_swipe).value
    return book


def entries_of(book: BookCut) -> dict[str, Json]:
    assert book.data is not None
    entries: dict[str, Json] = json.loads(book.data)["entries"]
    return entries


def told(then: list[Json], now: list[Json], *, later: int = 3, **top: Any) -> TimelineState:
    """Return a story whose scene ends at message 1 with the entries *then*, and whose book has *now* in the present."""
    messages = [message("Turn 0."), message("Turn 1.", extra=scene(entries=snapshot(then, "Lore")))]
    return parent({}, [*messages, *conversation(later, first=2)], now, **top)


class TestAtTheHead:
    @pytest.mark.req(37, 38, 42)
    def test_the_bytes_are_the_books(self) -> None:
        origin = parent({}, conversation(2), [entry(0, "a"), queue()])

        book = book_of(origin)

        assert (book.source, book.data) == ("live", None)
        assert origin.book is not None
        assert book.outline == origin.book.outline

    @pytest.mark.req(41)
    def test_only_a_title_changes(self) -> None:
        origin = parent({}, conversation(2), [entry(0, "a")], name="Lore", extensions={"x": 1})

        book = book_of(origin)

        assert origin.book is not None
        assert book.data == origin.book.data.replace(b'"name": "Lore"', b'"name": "Lore__CP_Fork"')

    @pytest.mark.req(79)
    def test_the_fork_names_the_clone(self) -> None:
        origin = parent({}, conversation(2), [entry(0, "a")])

        assert metadata_after(origin, cut(origin, "lorebook"))["world_info"] == "Lore__CP_Fork"

    @pytest.mark.req(54)
    def test_without_a_book_there_is_nothing_to_clone(self) -> None:
        origin = parent({}, conversation(2))

        assert book_of(origin) == BookCut("none")
        assert cut(origin, "lorebook").edits == ()


class TestFromASnapshot:
    @pytest.mark.req(135)
    def test_the_snapshots_fields_count_and_the_live_entry_keeps_the_rest(self) -> None:
        then = entry(0, "Mira", "a cook", order=5)
        now = entry(0, "Mira", "a queen", order=9, keysecondary=["crown"], scanDepth=3, unknown={"a": 1})

        book = book_of(told([then], [now]), 2)

        assert book.source == "scene-snapshot"
        assert entries_of(book) == {"0": {**now, "content": "a cook", "order": 5, "tags": []}}

    @pytest.mark.req(135)
    def test_later_entries_are_not_there(self) -> None:
        book = book_of(told([entry(0, "Mira")], [entry(0, "Mira"), entry(1, "Later")]), 2)

        assert list(entries_of(book)) == ["0"]
        assert [each.comment for each in book.outline] == ["Mira"]

    @pytest.mark.req(39)
    def test_a_uid_that_was_given_away_again_is_not_the_same_entry(self) -> None:
        now = entry(0, "Impostor", "later", scanDepth=3)

        book = book_of(told([entry(0, "Mira", "a cook")], [now]), 2)

        assert entries_of(book) == {"0": {**entry(0, "Mira", "a cook"), "tags": []}}

    def test_an_entry_that_is_gone_comes_back_with_the_usual_fields(self) -> None:
        gone = entry(4, "Gone", "once", constant=True)

        book = book_of(told([gone], []), 2)

        assert entries_of(book) == {"4": {**gone, "tags": []}}

    def test_the_usual_fields_are_those_of_sillytavern(self) -> None:
        sample = SAMPLES / "sillytavern-1.19.0" / "lorebook_api_created_default_fields.json"
        real = json.loads(sample.read_bytes())["entries"]["0"]
        bare = {"uid": 4, "key": ["x"], "comment": "Gone", "content": "once", "addMemo": True}
        messages = [message("Turn 0.", extra=scene(entries=[bare])), *conversation(2, first=1)]

        book = book_of(parent({}, messages, []), 1)

        assert list(entries_of(book)["4"]) == list(real)
        assert entries_of(book)["4"] == {**real, **bare}

    def test_a_nameless_entry_has_an_empty_comment(self) -> None:
        then, now = entry(0, "", "a cook"), entry(0, "", "a queen", scanDepth=3)

        book = book_of(told([then], [now]), 2)

        assert entries_of(book)["0"]["comment"] == ""
        assert entries_of(book)["0"]["scanDepth"] == 3

    @pytest.mark.req(41)
    def test_file_level_keys_come_from_the_live_book_and_are_named_but_for_a_whole_book_among_them(self) -> None:
        origin = told([entry(0, "a")], [entry(0, "a")], name="Lore", extensions={"x": 1}, originalData={"y": 2})

        made = cut(origin, "lorebook", 2)

        assert made.value.data is not None
        top = json.loads(made.value.data)
        assert (top["name"], top["extensions"]) == ("Lore__CP_Fork", {"x": 1})
        assert "originalData" not in top
        assert (made.carried, made.left_out) == (("lorebook.extensions",), ("lorebook.originalData",))

    @pytest.mark.req(53, 163)
    def test_the_queue_keeps_entry_and_uid_but_no_operation(self) -> None:
        busy = queue([stories.operation(0, "cancelled")], uid=1762111859000)

        book = book_of(told([entry(0, "a")], [entry(0, "a"), busy]), 2)

        kept = entries_of(book)["1762111859000"]
        assert {**kept, "content": ""} == {**busy, "content": ""}
        assert json.loads(kept["content"])["queue"] == []

    @pytest.mark.req(39, 42)
    def test_entries_keep_their_keys_and_stand_in_the_order_of_javascript(self) -> None:
        then = [entry(10, "ten"), entry(2, "two"), entry(0, "nought")]

        assert list(entries_of(book_of(told(then, [*then, queue()]), 2))) == ["0", "2", "10", str(stories.QUEUE_UID)]

    @pytest.mark.req(39)
    def test_two_entries_that_claim_one_place_both_stay_with_their_uids(self) -> None:
        then = [entry(0, "first"), entry(0, "second")]

        entries = entries_of(book_of(told(then, []), 2))

        assert sorted(entries) == ["0", "1"]
        assert [(each["uid"], each["comment"]) for each in entries.values()] == [(0, "first"), (0, "second")]

    def test_numbers_and_half_emoji_survive(self) -> None:
        now = entry(0, "a", "\ud83d", big=123456789012345678901234567890, small=1e-7)

        data = book_of(told([entry(0, "a", "\ude00")], [now]), 2).data

        assert data is not None
        assert b'"content": "\\ude00"' in data
        assert b'"big": 123456789012345678901234567890' in data

    def test_a_number_beyond_javascript_leaves_a_book_that_javascript_can_read(self) -> None:
        origin = told([entry(0, "a")], [entry(0, "a", huge=1)])
        assert origin.book is not None
        live = parse_lorebook("Lore", origin.book.data.replace(b'"huge": 1', b'"huge": 1e400'))

        data = book_of(timeline(origin.chat, live), 2).data

        assert data is not None
        assert b"Infinity" not in data

    def test_a_uid_that_is_no_number_is_survived(self) -> None:
        odd = [entry(0, "a") | {"uid": [1]}, entry(1, "a") | {"uid": [2]}]

        entries = entries_of(book_of(told(odd, odd), 1))

        assert [each["uid"] for each in entries.values()] == [[1], [2]]

    def test_empty_slots_of_the_live_book_are_passed_over(self) -> None:
        origin = told([entry(0, "a")], [entry(0, "a")])
        assert origin.book is not None
        origin.book.content["entries"]["7"] = None

        assert list(entries_of(book_of(origin, 2))) == ["0"]


class TestWhichSnapshot:
    def story(self, *scenes: Json | None) -> TimelineState:
        messages = [
            message(f"Turn {number}.", extra=extra if extra is not None else {}) for number, extra in enumerate(scenes)
        ]
        return parent({}, [*messages, message("The end.")], [entry(9, "live")])

    def of(self, name: str, taken: int | None = stories.FIRST_MOMENT, **members: Any) -> Json:
        return scene(name, entries=snapshot([entry(0, name)], "Lore"), taken=taken, **members)

    def comments(self, origin: TimelineState, at: int) -> list[str]:
        return [each.comment for each in book_of(origin, at).outline]

    def test_the_last_one_at_or_before_the_message_counts(self) -> None:
        origin = self.story(self.of("first", 1), None, self.of("second", 2), None)

        assert [self.comments(origin, at) for at in range(4)] == [["first"], ["first"], ["second"], ["second"]]

    def test_one_that_was_taken_after_a_later_one_may_hold_the_future(self) -> None:
        origin = self.story(self.of("first", 1), self.of("worked over", 9), self.of("third", 3))

        assert self.comments(origin, 1) == ["first"]
        assert self.comments(origin, 2) == ["third"]

    def test_where_none_can_be_trusted_the_book_is_the_live_one(self) -> None:
        origin = self.story(self.of("worked over", 9), self.of("second", 3))

        assert book_of(origin, 0).source == "present"

    def test_the_time_of_the_version_counts_where_it_was_not_combined(self) -> None:
        undated = self.of("first", None)
        undated["auto_recap_memory"]["scene_recap_metadata"]["1"]["timestamp"] = 9
        origin = self.story(undated, self.of("second", 3))

        assert book_of(origin, 0).source == "present"

    @pytest.mark.parametrize("how", [{"scene_break_visible": False}, {"entries": ()}, {"other": True}])
    def test_whatever_was_made_of_a_later_scene_tells_that_an_earlier_one_was_worked_over(self, how: Json) -> None:
        later: Json = scene("later", entries=snapshot([entry(0, "second")], "Lore"), taken=9)
        data = later["auto_recap_memory"]
        if "entries" in how:
            data["scene_recap_metadata"][str(data["scene_recap_current_index"])] |= {"allEntries": [], "combined_at": 2}
        elif "other" in how:
            data["scene_recap_metadata"]["7"] = {"timestamp": 2}
        else:
            data |= how
            data["scene_recap_metadata"][str(data["scene_recap_current_index"])]["combined_at"] = 2

        assert book_of(self.story(self.of("first", 3), later), 0).source == "present"
        assert book_of(self.story(self.of("first", 2), later), 0).source == "scene-snapshot"

    def test_one_without_a_time_is_not_trusted(self) -> None:
        undated = self.of("first")
        for version in undated["auto_recap_memory"]["scene_recap_metadata"].values():
            version.pop("combined_at", None)
            version.pop("timestamp", None)

        assert book_of(self.story(undated, {}), 0).source == "present"

    def test_a_hidden_break_does_not_count(self) -> None:
        origin = self.story(self.of("first", 1), self.of("hidden", 2, scene_break_visible=False))

        assert self.comments(origin, 1) == ["first"]

    def test_an_empty_snapshot_does_not_count(self) -> None:
        origin = self.story(self.of("first", 1), scene("empty", entries=()))

        assert self.comments(origin, 1) == ["first"]

    def test_the_selected_version_counts(self) -> None:
        versions = {
            "0": {"timestamp": 1, "allEntries": snapshot([entry(0, "old")], "Lore")},
            "2": {"timestamp": 2, "allEntries": snapshot([entry(0, "new")], "Lore")},
        }
        origin = self.story(scene("x", scene_recap_metadata=versions, scene_recap_current_index=2))

        assert self.comments(origin, 0) == ["new"]

    def test_older_keys_of_the_extension_are_read(self) -> None:
        extra = self.of("old")
        extra["auto_summarize_memory"] = extra.pop("auto_recap_memory")

        assert self.comments(self.story(extra), 0) == ["old"]

    def test_another_swipe_does_not_know_the_snapshot_of_its_message(self) -> None:
        origin = self.story(self.of("first", 1), self.of("second", 2))

        assert book_of(origin, 1, other_swipe=True).outline.comments == ("first",)


class TestFromThePresent:
    @pytest.mark.req(163)
    def test_the_queue_of_the_present_stays_in_the_present(self) -> None:
        busy = queue([stories.operation(0, "failed", params={"index": 99})])
        origin = parent({}, conversation(4), [entry(0, "a"), busy], name="Lore")

        book = book_of(origin, 1)

        assert book.source == "present"
        entries = entries_of(book)
        assert json.loads(entries[str(stories.QUEUE_UID)]["content"])["queue"] == []
        assert {key: value for key, value in entries.items() if key == "0"} == {"0": entry(0, "a")}

    def test_a_book_with_an_idle_queue_keeps_its_bytes(self) -> None:
        origin = parent({}, conversation(4), [entry(0, "a"), queue()])

        assert origin.book is not None
        assert book_of(origin, 1).data == origin.book.data

    @pytest.mark.req(163)
    def test_a_queue_that_cannot_be_read_stays_in_the_present_too(self) -> None:
        garbled = queue() | {"content": '{"queue": [{"id": "later"'}

        for origin in (told([entry(0, "a")], [garbled]), parent({}, conversation(4), [garbled])):
            data = book_of(origin, 2).data
            assert data is not None
            assert b"later" not in data


def test_an_empty_book_has_an_idle_queue_as_st_auto_recap_writes_it() -> None:
    content = '{\n  "queue": [],\n  "current_operation_id": null,\n  "paused": false,\n  "version": 1\n}'
    queue_entry = {
        "uid": 17,
        "key": [],
        "keysecondary": [],
        "comment": "__operation_queue",
        "content": content,
        "constant": False,
        "disable": True,
        "order": 9999,
        "position": 0,
        "depth": 4,
        "excludeRecursion": True,
        "displayIndex": 17,
    }

    assert empty_book(17).decode() == json.dumps({"entries": {"17": queue_entry}}, indent=4)
