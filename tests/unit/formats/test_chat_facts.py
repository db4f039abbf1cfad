import json
from typing import Any

import pytest

from forklore.channels.running_recap import read_running_recap
from forklore.formats.chat_facts import HeaderFacts, count_messages, links_of, lorebook_name, read_header
from forklore.formats.chat_jsonl import Chat
from forklore.model.timeline import Link
from forklore.testing.stories import chat_bytes, conversation, line, message, swiped


def header(metadata: Any, *, long: bool = False) -> bytes:
    padding = "x" * 5000 if long else ""
    return line({"chat_metadata": metadata, "padding": padding})


@pytest.mark.parametrize("long", [False, True])
class TestHeader:
    @pytest.mark.req(107)
    def test_a_fork_is_known_by_the_parent_it_names(self, long: bool) -> None:
        facts = read_header(header({"main_chat": "Parent", "world_info": "Book"}, long=long), "Fork")

        assert facts == HeaderFacts(main_chat="Parent", lorebook="Book")

    @pytest.mark.req(110)
    def test_a_record_of_its_own_counts(self, long: bool) -> None:
        own = {"chat": "Fork", "kind": "branch", "message": 7, "timeline": "t1"}

        facts = read_header(header({"forklore": own}, long=long), "Fork")

        assert facts == HeaderFacts(kind="branch", at=7, timeline="t1")

    @pytest.mark.req(110)
    def test_an_inherited_record_does_not(self, long: bool) -> None:
        own = {"chat": "Another", "kind": "branch", "message": 7, "timeline": "t1"}

        assert read_header(header({"forklore": own, "main_chat": "Another"}, long=long), "Copy") == HeaderFacts(
            main_chat="Another", parent_timeline="t1"
        )

    @pytest.mark.parametrize("metadata", [None, [], "x", 1])
    def test_metadata_that_is_no_object_is_damage(self, metadata: Any, long: bool) -> None:
        assert read_header(header(metadata, long=long), "Chat").damaged

    def test_values_of_another_type_count_as_absent(self, long: bool) -> None:
        odd = {"main_chat": 5, "world_info": {"a": 1}, "forklore": "x"}

        assert read_header(header(odd, long=long), "Chat") == HeaderFacts()

    def test_half_an_emoji_is_no_damage(self, long: bool) -> None:
        facts = read_header(header({"main_chat": "half \ud83d"}, long=long), "Chat")

        assert facts.main_chat == "half \ud83d"

    def test_a_byte_order_mark_is_no_damage(self, long: bool) -> None:
        assert read_header(b"\xef\xbb\xbf" + header({"main_chat": "P"}, long=long), "Chat").main_chat == "P"

    def test_broken_json_is_damage(self, long: bool) -> None:
        assert read_header(header({}, long=long)[:-1], "Chat").damaged


class TestLorebookName:
    @pytest.mark.parametrize(
        "value, name",
        [("Book", "Book"), (["Book"], "Book"), ("", None), (None, None), (["A", "B"], None), ([], None), (5, None)],
    )
    def test_a_list_of_one_counts_as_that_one(self, value: Any, name: str | None) -> None:
        assert lorebook_name({"world_info": value}) == name


class TestCount:
    @pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\n\n", b"\n  ", b"\n\t"])
    @pytest.mark.parametrize("beginning", [b"", b"\n", b"\xef\xbb\xbf", b" \n"])
    @pytest.mark.parametrize("between", [b"\n", b"\r\n", b"\n\n", b"\n  "])
    def test_the_end_and_blank_lines_do_not_matter(self, beginning: bytes, between: bytes, ending: bytes) -> None:
        data = beginning + between.join([header({}), b'{"a":1}', b'{"b":"\\n{"}']) + ending

        assert count_messages(data) == Chat.from_bytes(data).message_count == 2

    @pytest.mark.parametrize("data", [b"", b"\n", b"{}", b"{}\n"])
    def test_a_file_of_a_header_has_none(self, data: bytes) -> None:
        assert count_messages(data) == 0


class TestLinks:
    def test_links_are_read_from_the_message_and_from_every_swipe(self) -> None:
        swipes = swiped("One.", "Two.", extras=[{"bookmark_link": "Hidden"}, {"branches": ["B1", "B2"]}], shown=1)
        messages = [*conversation(2), message("Here.", extra={"bookmark_link": "Shown"}), swipes]

        links = list(links_of(Chat.from_bytes(chat_bytes({}, messages))))

        assert links == [
            Link(2, "checkpoint", "Shown"),
            Link(3, "branch", "B1"),
            Link(3, "branch", "B2"),
            Link(3, "checkpoint", "Hidden"),
        ]

    @pytest.mark.parametrize("since, found", [(0, ["A", "B"]), (1, ["B"]), (2, []), (9, [])])
    def test_only_those_from_a_message_on_are_read_when_that_is_asked_for(self, since: int, found: list[str]) -> None:
        messages = [message("Here.", extra={"bookmark_link": name}) for name in ("A", "B")]

        links = links_of(Chat.from_bytes(chat_bytes({}, messages)), since=since)

        assert [link.chat for link in links] == found

    def test_a_link_in_both_places_is_one(self) -> None:
        swipes = swiped("One.", "Two.", extras=[{"bookmark_link": "A"}, {"bookmark_link": "A"}])

        assert list(links_of(Chat.from_bytes(chat_bytes({}, [swipes])))) == [Link(0, "checkpoint", "A")]

    @pytest.mark.parametrize(
        "extra",
        [
            {"bookmark_link": None},
            {"bookmark_link": 5},
            {"bookmark_link": ""},
            {"branches": "text"},
            {"branches": [None, 5]},
            "text",
        ],
    )
    def test_odd_values_are_no_links(self, extra: Any) -> None:
        messages = [message("Odd.", extra=extra, swipe_info=["x", {"extra": [extra]}])]

        assert list(links_of(Chat.from_bytes(chat_bytes({}, messages)))) == []

    def test_a_broken_line_hides_no_other(self) -> None:
        good = line(message("Good.", extra={"branches": ["B"]}))
        data = chat_bytes({}, []) + b'\n{"extra":{"bookmark_link":"A"\n' + good

        assert list(links_of(Chat.from_bytes(data))) == [Link(1, "branch", "B")]

    def test_words_in_a_text_are_no_links(self) -> None:
        messages = [message('He wrote "bookmark_link" and "branches".')]

        assert list(links_of(Chat.from_bytes(chat_bytes({}, messages)))) == []
        assert '\\"bookmark_link\\"' in json.dumps(messages)


class TestRunningVersion:
    @pytest.mark.parametrize("long", [False, True])
    @pytest.mark.parametrize(
        "stored, version",
        [
            ({"current_version": 0, "versions": [{"version": 0, "content": "x"}]}, 0),
            ({"current_version": 3, "versions": [{"version": 1}, {"version": 3}]}, 3),
            ({"current_version": 2, "versions": [{"version": 1}, {"version": 3}]}, None),
            ({"current_version": 0, "versions": []}, None),
            ({"versions": [{"version": 1}]}, None),
            ({"current_version": "1", "versions": [{"version": "1"}]}, None),
            ({"current_version": 1, "versions": ["odd", {"version": 1}]}, 1),
            ({"current_version": 1, "versions": {"1": {}}}, None),
            ("odd", None),
            (None, None),
        ],
    )
    def test_the_current_version_counts_if_it_is_there(self, stored: Any, version: int | None, long: bool) -> None:
        metadata = {"auto_recap_running_scene_recaps": stored}

        assert read_header(header(metadata, long=long), "Tale").running_version == version
        running = read_running_recap(metadata)
        assert (running.current_version if running.current is not None else None) == version
