from typing import Any

import pytest
from hypothesis import example, given, strategies

from forklore.channels.registry import RegistryLine, broken_lines, rebuilt, registry_lines
from forklore.formats.lorebook_json import EntryOutline, Outline, parse_lorebook
from forklore.model.fact import fact
from forklore.testing.cuts import cut, metadata_after, parent
from forklore.testing.stories import (
    Json,
    conversation,
    entry,
    lorebook_bytes,
    message,
    registry,
    registry_line,
    scene,
    snapshot,
)
from forklore.texts import words


def outline(*entries: Json) -> Outline:
    return parse_lorebook("Book", lorebook_bytes(entries)).outline


def registries(*entries: Json) -> tuple[EntryOutline, ...]:
    return outline(*entries).registry_entries


class TestLines:
    @pytest.mark.parametrize(
        "line",
        [
            "- UID=11 | name: character-Maren | aliases: maren; lampwoman | synopsis: Head lamplighter",
            "- uid: 11 | name: character-Maren | aliases: maren; lampwoman | synopsis: Head lamplighter",
            "  -uid = 11|name:character-Maren|aliases: maren ;lampwoman;|synopsis:Head lamplighter\r",
            "- name: character-Maren | UID=11 | synopsis: Head lamplighter | aliases: maren; lampwoman",
        ],
    )
    def test_the_older_and_the_newer_style_say_the_same(self, line: str) -> None:
        (found,) = registry_lines(registries(registry(0, "character", [line])))

        assert found == RegistryLine("character", 11, "character-Maren", ("maren", "lampwoman"), "Head lamplighter")

    def test_a_dash_stands_for_nothing(self) -> None:
        (found,) = registry_lines(registries(registry(0, "item", [registry_line(3, "item-Lamp")])))

        assert found == RegistryLine("item", 3, "item-Lamp", (), "")

    @pytest.mark.parametrize("line", ["", "[Registry: item]", "- name: no uid", "UID=3 | name: no dash", "- UID=x"])
    def test_lines_without_a_uid_are_no_items(self, line: str) -> None:
        assert list(registry_lines(registries(registry(0, "item", [line])))) == []

    def test_a_colon_in_the_synopsis_belongs_to_it(self) -> None:
        line = "- UID=3 | name: item-Lamp | synopsis: oil: one pint"

        (found,) = registry_lines(registries(registry(0, "item", [line])))

        assert found.synopsis == "oil: one pint"

    def test_every_registry_is_read_whatever_its_type(self) -> None:
        entries = registries(
            registry(0, "quest", [registry_line(3, "quest-Oil")]),
            registry(1, "recap"),
            entry(2, "not a registry", "- UID=9 | name: x"),
            entry(4, "_registry_empty") | {"content": None},
        )

        assert [(line.type, line.uid) for line in registry_lines(entries)] == [("quest", 3)]


class TestBroken:
    @pytest.mark.req(49, 50)
    def test_sound_registries_say_nothing(self) -> None:
        entries = outline(registry(0, "item", [registry_line(3, "item-Lamp")]), entry(3, "item-Lamp"))

        assert list(broken_lines(entries)) == []

    @pytest.mark.req(50)
    def test_each_wrong_line_is_named(self) -> None:
        lines = [registry_line(3, "item-Lamp"), registry_line(4, "item-Gone"), registry_line(5, "item-Other")]
        again = registry(1, "lore", [registry_line(3, "item-Lamp")])

        found = list(broken_lines(outline(registry(0, "item", lines), again, entry(3, "item-Lamp"), entry(5, "x"))))

        assert found == [
            fact("registry_line", case="missing", registry="item", uid=4, name="item-Gone"),
            fact("registry_line", case="other", entry="x", registry="item", uid=5, name="item-Other"),
            fact("registry_line", case="twice", registry="lore", uid=3, name="item-Lamp"),
        ]
        assert [words(each) for each in found] == [
            "The item registry lists UID 4 as “item-Gone”, but the book has no such entry.",
            "The item registry lists UID 5 as “item-Other”, but that entry is “x”.",
            "The lore registry lists UID 3 (“item-Lamp”) twice.",
        ]

    def test_a_bar_ends_a_name_so_no_line_names_an_entry_that_has_one(self) -> None:
        lines = ["- UID=3 | name: Y | synopsis: s | aliases: a"]

        found = list(broken_lines(outline(registry(0, "item", lines), entry(3, "Y | synopsis: s"))))

        assert found == [fact("registry_line", case="other", entry="Y | synopsis: s", registry="item", uid=3, name="Y")]


def cache(**members: Any) -> Json:
    records = {str(uid): {"uid": uid, "type": "item", "name": f"item-{uid}"} for uid in (3, 4)}
    known = {"lorebookName": "Lore", "attachedAt": 5, "registry": {"index": records}}
    return {"auto_lorebooks": {**known, **members}}


class TestCut:
    then = (registry(0, "item", [registry_line(3, "item-3", aliases=["lamp"], synopsis="A lamp")]), entry(3, "item-3"))
    now = (registry(0, "item", [registry_line(3, "item-3"), registry_line(4, "item-4")]), entry(3, "item-3"))

    def messages(self) -> list[Json]:
        ended = message("Turn 0.", extra=scene(entries=snapshot(self.then, "Lore")))
        return [ended, *conversation(3, first=1)]

    def test_at_the_head_only_the_books_name_changes(self) -> None:
        origin = parent(cache(), self.messages(), self.now)

        made = cut(origin, "registry")

        assert metadata_after(origin, made)["auto_lorebooks"] == {
            **cache()["auto_lorebooks"],
            "lorebookName": "Lore__CP_Fork",
        }
        assert (made.carried, made.left_out) == ((), ())

    @pytest.mark.req(135)
    def test_in_the_past_the_index_is_made_from_the_clones_lines(self) -> None:
        origin = parent(cache(), self.messages(), self.now)

        made = cut(origin, "registry", 1)

        assert metadata_after(origin, made)["auto_lorebooks"] == {
            "lorebookName": "Lore__CP_Fork",
            "attachedAt": 5,
            "registry": {
                "index": {
                    "3": {
                        "uid": 3,
                        "id": "3",
                        "type": "item",
                        "name": "item-3",
                        "comment": "item-3",
                        "synopsis": "A lamp",
                        "aliases": ["lamp"],
                    }
                }
            },
        }
        assert made.carried == ()

    @pytest.mark.req(135)
    def test_in_the_past_of_a_chat_without_a_book_nothing_is_known(self) -> None:
        origin = parent(cache(), self.messages())

        made = cut(origin, "registry", 1)

        assert metadata_after(origin, made) == {
            "auto_lorebooks": {**cache()["auto_lorebooks"], "lorebookName": None, "registry": {"index": {}}}
        }
        assert made.left_out == ("auto_lorebooks",)

    @pytest.mark.parametrize(
        "odd",
        [
            cache(unknown="later"),
            cache(registry={"index": {}, "counters": {"item": 9}}),
            cache(registry="later"),
            {"auto_lorebooks": "later"},
        ],
    )
    def test_what_is_not_understood_is_carried_and_named(self, odd: Json) -> None:
        origin = parent(odd, self.messages(), self.now)

        assert cut(origin, "registry", 1).carried == ("auto_lorebooks",)
        assert cut(origin, "registry").carried == ()

    def test_a_cache_without_a_registry_gets_none(self) -> None:
        origin = parent({"auto_lorebooks": {"lorebookName": "Lore"}}, self.messages(), self.now)

        assert metadata_after(origin, cut(origin, "registry", 1))["auto_lorebooks"] == {"lorebookName": "Lore__CP_Fork"}

    def test_a_chat_without_a_cache_gets_none(self) -> None:
        origin = parent({}, self.messages(), self.now)

        assert cut(origin, "registry", 1).edits == ()


_AS_WRITTEN = "- UID={} | name: {} | aliases: a; b | synopsis: c"
_FORMS = [
    _AS_WRITTEN,
    "- UID={} | name: {} | aliases: a | synopsis: c | synopsis: d | uid=1",
    "- UID={} | name: {} | aliases: a | uid=1",
    "- UID={} | name: {} | synopsis: b",
    "- UID={} | name: {}",
    "- UID={}",
    "{} | name: {} | aliases: a | synopsis: b",
    "- uid: {} | name: {}",
    "?{}{}",
]
_sound_lines = strategies.sampled_from([(0, "item-Lamp", _AS_WRITTEN), (1, "item-Key", _AS_WRITTEN)])
_any_lines = strategies.tuples(
    strategies.integers(0, 5),
    strategies.sampled_from(["item-Lamp", "item-Key", "item-Key", "a | b", " x", ""]),
    strategies.sampled_from(_FORMS),
)


@given(
    strategies.sampled_from(["[Registry: item]\n", "", "\n"]),
    strategies.lists(_sound_lines | _any_lines, max_size=6),
)
@example("", [(2, "", "- UID={}"), (0, "item-Lamp", _AS_WRITTEN)])
@example("", [(0, "item-Lamp", _FORMS[6]), (2, "", "- UID={}"), (1, "item-Key", _AS_WRITTEN)])
def test_the_quick_look_at_a_registry_finds_what_reading_every_line_finds(
    heading: str, items: list[tuple[int, str, str]]
) -> None:
    content = heading + "\n".join(form.format(uid, name) for uid, name, form in items)
    book = Outline(("9", "0", "1"), (9, 0, 1), ("_registry_item", "item-Lamp", "item-Key"), {"9": content})
    comments = book.by_uid
    lines = list(registry_lines(book.registry_entries))
    broken = any(comments.get(line.uid) != line.name for line in lines) or len({line.uid for line in lines}) < len(
        lines
    )

    assert any(True for _ in broken_lines(book)) == broken


class TestRebuilding:
    def test_each_line_names_the_entry_that_its_uid_has(self) -> None:
        lines = [
            "-uid = 1|name:Mira|aliases:—",
            registry_line(2, "Old", aliases=["the guest", "he"], synopsis="Knocks."),
            registry_line(3, "Other"),
            registry_line(4, "Gone"),
            registry_line(1, "Twice"),
        ]
        (entry_,) = registries(registry(9, "character", lines))
        seen: set[int] = {8}

        content = rebuilt(entry_, {1: "Mira", 2: "New", 3: "Third", 8: "Elsewhere"}, seen)

        assert content.split("\n")[1:] == [
            "-uid = 1|name:Mira|aliases:—",  # what is right stays as it is written
            "- UID=2 | name: New | aliases: the guest; he | synopsis: Knocks.",
            "- UID=3 | name: Third | aliases: — | synopsis: —",
        ]
        assert content.split("\n")[0] == (entry_.content or "").split("\n")[0]
        assert seen == {1, 2, 3, 8}

    def test_a_line_that_another_registry_has_goes(self) -> None:
        (entry_,) = registries(registry(9, "character", [registry_line(1, "Mira")]))

        assert "UID" not in rebuilt(entry_, {1: "Mira"}, {1})

    def test_a_registry_without_a_content_has_no_lines(self) -> None:
        (entry_,) = registries(registry(9, "character"))

        assert rebuilt(entry_._replace(content=None), {}, set()) == ""
