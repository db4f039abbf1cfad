"""Settings that make no sense are told as they stand in the file."""

from typing import Any

import pytest

from forklore.checks.settings import SettingsInvalid, refuse_lowered, settings_of


@pytest.mark.parametrize(
    "stored, params",
    [
        ({"policy": "lax"}, {"case": "policy", "value": "lax"}),
        ({"policy": ["strict", "Ä", None]}, {"case": "policy", "value": '["strict", "Ä", null]'}),
        (
            {"requirements": {"NO_LOREBOOK": "maybe"}},
            {"case": "effect", "requirement": "NO_LOREBOOK", "value": "maybe"},
        ),
        ({"requirements": {"NO_LOREBOOK": True}}, {"case": "effect", "requirement": "NO_LOREBOOK", "value": "true"}),
        ({"requirements": {"NO_SUCH": "warn"}}, {"case": "requirement", "requirement": "NO_SUCH"}),
        ({"requirements": []}, {"case": "requirements"}),
        ({"names": {"checkpoint": 1}}, {"case": "names"}),
        ({"names": {"twig": "T", "leaf": "L"}}, {"case": "kinds", "kinds": ["leaf", "twig"]}),
        ({"shared_books": "Lore"}, {"case": "shared_books"}),
        ({"shared_books": ["Lore", 1]}, {"case": "shared_books"}),
    ],
)
def test_what_makes_no_sense_is_told_as_it_stands_there(stored: dict[str, Any], params: dict[str, Any]) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        settings_of(stored)

    assert refused.value.params == params


def test_what_always_blocks_is_set_to_nothing_less() -> None:
    refuse_lowered({"CHAT_DAMAGED": "block", "MESSAGE_NOT_FOUND": None, "NO_LOREBOOK": "ignore"})

    with pytest.raises(SettingsInvalid) as refused:
        refuse_lowered({"CHAT_DAMAGED": "warn"})
    assert refused.value.params == {"case": "fixed", "requirement": "CHAT_DAMAGED"}
