"""What a timeline's messages tell about lorebook entries."""

import pytest

from forklore.attribution.witnesses import last_in_common, name_of, terms_of, words_of, works_of
from forklore.formats.chat_jsonl import Chat
from forklore.testing.stories import (
    Json,
    chat_bytes,
    conversation,
    entry,
    message,
    recap_version,
    running_recap,
    scene,
    snapshot,
)


def chat(messages: list[Json], metadata: Json | None = None) -> Chat:
    return Chat.from_bytes(chat_bytes(metadata or {}, messages))


@pytest.mark.parametrize(
    "text, term, is_mentioned",
    [
        ("The smith's hammer.", "smith", True),
        ("A blacksmith.", "smith", False),
        ("Smithy", "smith", False),
        ("SMITH!", "smith", True),
        ("Blacksmith and smith", "smith", True),
        ("昨日、桜子が来た。", "桜子", True),
        ("Вошла Берта.", "берта", True),
    ],
)
def test_a_name_is_found_as_a_word(text: str, term: str, is_mentioned: bool) -> None:
    words = words_of(chat([message("Nothing."), message(text)]), since=0)

    assert words.first([term]) == (1 if is_mentioned else None)


def test_who_speaks_and_what_a_recap_says_count_too() -> None:
    spoken = [message("Hm.", extra=scene(recap="Berta came.")), message("Hm.", name="Anton")]

    words = words_of(chat(spoken), since=0)

    assert (words.first(["berta"]), words.first(["anton"]), words.first(["dora"])) == (0, 1, None)
    assert words_of(chat(spoken), since=1).first(["berta"]) is None


def test_terms_are_the_name_and_usable_keys() -> None:
    told = entry(1, "character-Maren Tolliver", key=["maren", "/mar.*/i", "ma", "麻", 7])

    assert terms_of(told) == (("maren tolliver",), ("maren", "麻"))
    assert name_of("The well") == "The well"


def test_a_scene_lists_what_it_made_unless_the_uid_is_another_entrys() -> None:
    known = snapshot([entry(1, "a"), entry(2, "b")], "Lore")
    (work,) = works_of(chat([message("x", extra=scene(entries=known, made=[1, 2, 3]))]), "Lore")

    assert work.lists((1, "a"))
    assert not work.lists((1, "another"))
    assert work.lists((3, "gone by then"))
    assert not work.lists((4, "d"))


def test_a_scene_that_worked_on_another_book_tells_nothing() -> None:
    extra = scene(entries=snapshot([entry(1, "a")], "Lore"), made=[1])
    extra["auto_recap_memory"]["scene_recap_metadata"]["1"]["chatLorebookName"] = "Elsewhere"

    (work,) = works_of(chat([message("x", extra=extra)]), "Lore")

    assert (work.touched, work.snapshot) == (frozenset(), {})


def test_events_of_a_running_version_belong_to_its_scene() -> None:
    version = recap_version(0, 1) | {"event_keys": ["0:Fall of: the tower:x7", "odd", 7]}
    told = [message("x"), message("y", extra=scene())]

    works = works_of(chat(told, running_recap("c", [version], 0)), "Lore")

    assert [work.message for work in works if work.lists((9, "event-Fall of: the tower"))] == [1]


def test_a_line_that_cannot_be_read_tells_nothing() -> None:
    broken = chat_bytes({}, [message("x", extra=scene(made=[1]))]) + b'\n{"scene_break"'

    assert len(works_of(Chat.from_bytes(broken), "Lore")) == 1
    assert words_of(Chat.from_bytes(broken), since=1).first(["x"]) is None


def test_chats_part_after_their_last_common_message() -> None:
    one = conversation(8)
    other = [*conversation(4), message("Otherwise."), message("Still."), conversation(7)[6]]
    other[1] = other[1] | {"mes": "Edited since."}
    other[2] = other[2] | {"extra": {"bookmark_link": "somewhere"}}

    assert last_in_common(chat(one), chat(other)) == 3
    assert last_in_common(chat(one), chat([message("Alone.")])) == -1
