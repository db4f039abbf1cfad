import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.formats.settings_json import SettingsBooks, parse_settings

SAMPLE = Path(__file__).parents[2] / "samples/sillytavern-1.19.0/settings_excerpt_lorebook_referrers.json"
NO_BOOKS = SettingsBooks(frozenset(), {}, frozenset(), {})

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def parsed(settings: Any) -> SettingsBooks:
    return parse_settings(json.dumps(settings).encode())


def test_finds_every_book_in_real_settings() -> None:
    assert parse_settings(SAMPLE.read_bytes()) == SettingsBooks(
        global_books=frozenset({"Imported Lore"}),
        character_books={"Mira": frozenset({"Mira Lore"})},
        persona_books=frozenset({"Empty Lore"}),
        extensions={},
    )


@pytest.mark.parametrize(
    "selection", ["Old Lore", ["Old Lore"], ["Old Lore", "", 7, None], {"globalSelect": ["Old Lore"]}]
)
def test_older_forms_of_the_selection_are_read(selection: Any) -> None:
    nested = parsed({"world_info_settings": {"world_info": selection}})
    at_top = parsed({"world_info": selection})

    assert nested == at_top == SettingsBooks(frozenset({"Old Lore"}), {}, frozenset(), {})


def test_both_places_of_the_selection_count() -> None:
    books = parsed(
        {
            "world_info": {"globalSelect": ["A"], "charLore": [{"name": "Mira", "extraBooks": ["a"]}]},
            "world_info_settings": {
                "world_info": {"globalSelect": ["B"], "charLore": [{"name": "Mira", "extraBooks": ["b"]}]}
            },
        }
    )

    assert books.global_books == {"A", "B"}
    assert books.character_books == {"Mira": {"a", "b"}}


def test_every_persona_counts() -> None:
    books = parsed(
        {
            "power_user": {
                "persona_description_lorebook": "shown",
                "persona_descriptions": {
                    "a.png": {"lorebook": "A"},
                    "b.png": {"lorebook": ""},
                    "c.png": {"lorebook": "C"},
                },
            }
        }
    )

    assert books.persona_books == {"shown", "A", "C"}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"world_info_settings": None, "world_info": 7, "power_user": []},
        {"world_info_settings": {"world_info": ""}, "world_info": True},
        {"world_info": {"globalSelect": "Lore", "charLore": {"name": "Mira"}}},
        {"world_info": {"charLore": [None, "Mira", {}, {"name": 7, "extraBooks": ["x"]}, {"name": "Mira"}]}},
        {"world_info": {"charLore": [{"name": "Mira", "extraBooks": "Lore"}, {"name": "Ilse", "extraBooks": [7, ""]}]}},
        {
            "power_user": {
                "persona_description_lorebook": None,
                "persona_descriptions": [{"lorebook": "Lore"}],
            }
        },
        {
            "power_user": {
                "persona_description_lorebook": ["Lore"],
                "persona_descriptions": {"a": "Lore", "b": None},
            }
        },
    ],
)
def test_parts_of_an_unexpected_type_are_passed_over(settings: Any) -> None:
    assert parsed(settings) == NO_BOOKS


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe\xfd", b"[" * 100_000, b"\0"])
def test_what_is_not_a_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"settings\.json is not"):
        parse_settings(data)


def test_a_byte_order_mark_does_not_matter() -> None:
    assert parse_settings(b'\xef\xbb\xbf{"world_info":"Lore"}').global_books == {"Lore"}


@given(
    st.lists(st.text(min_size=1)),
    st.dictionaries(st.text(min_size=1), st.lists(st.text(min_size=1), min_size=1)),
)
def test_every_named_book_is_found(global_books: list[str], character_books: dict[str, list[str]]) -> None:
    lore = [{"name": stem, "extraBooks": books} for stem, books in character_books.items()]

    books = parsed({"world_info_settings": {"world_info": {"globalSelect": global_books, "charLore": lore}}})

    assert books.global_books == set(global_books)
    assert books.character_books == {stem: set(names) for stem, names in character_books.items()}


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "world_info": json_values | st.fixed_dictionaries({"globalSelect": json_values, "charLore": json_values}),
            "world_info_settings": json_values | st.fixed_dictionaries({"world_info": json_values}),
            "power_user": json_values
            | st.fixed_dictionaries({"persona_description_lorebook": json_values, "persona_descriptions": json_values}),
        },
    )
)
def test_any_object_can_be_read(settings: Any) -> None:
    books = parsed(settings)

    assert "" not in books.global_books | books.persona_books | set(books.character_books)
    assert all(names and "" not in names for names in books.character_books.values())
