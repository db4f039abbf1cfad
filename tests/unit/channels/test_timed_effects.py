import json
from pathlib import Path
from typing import Any

import pytest

from forklore.model.javascript import entry_hash
from forklore.testing.cuts import cut, metadata_after, parent
from forklore.testing.stories import Json, conversation, entry, message, scene, snapshot

SAMPLES = Path(__file__).parents[2] / "samples" / "sillytavern-1.19.0"
CLONE = "Lore__CP_Fork"


def effect(start: int = 1, known_hash: int = 1) -> Json:
    return {"hash": known_hash, "start": start, "end": start + 4, "protected": False}


def effects(**cooldowns: Any) -> Json:
    keyed = {key.replace("_", "."): value for key, value in cooldowns.items()}
    return {"timedWorldInfo": {"sticky": {}, "cooldown": keyed}}


class TestAtTheHead:
    def test_the_known_answer_of_sillytavern_is_made_anew_for_the_clone(self) -> None:
        book = json.loads((SAMPLES / "lorebook_api_created_default_fields.json").read_bytes())["entries"]
        stored = json.loads((SAMPLES / "chat_main.jsonl").read_bytes().split(b"\n")[0])["chat_metadata"]
        origin = parent(stored, conversation(7), book.values(), book="Mira Lore")
        assert stored["timedWorldInfo"]["cooldown"]["Mira Lore.1"]["hash"] == 6568490484769124
        assert entry_hash(book["1"], "Mira Lore") == 6568490484769124

        made = metadata_after(origin, cut(origin, "timed_effects"))["timedWorldInfo"]

        renewed = {**stored["timedWorldInfo"]["cooldown"]["Mira Lore.1"], "hash": entry_hash(book["1"], CLONE)}
        assert made == {"sticky": {}, "cooldown": {f"{CLONE}.1": renewed}}

    def test_effects_of_other_books_stay_as_they_are(self) -> None:
        stored = effects(Lore_0=effect(), Other_0=effect(9))
        origin = parent(stored, conversation(3), [entry(0, "a")])

        made = cut(origin, "timed_effects")

        after = metadata_after(origin, made)["timedWorldInfo"]["cooldown"]
        assert after["Other.0"] == effect(9)
        assert set(after) == {"Other.0", f"{CLONE}.0"}
        assert (made.carried, made.left_out) == ((), ())

    def test_a_book_whose_name_has_a_dot_is_told_from_another(self) -> None:
        stored = {"timedWorldInfo": {"sticky": {"Lore.1.0": effect(), "Lore.0": effect(2)}, "cooldown": {}}}
        origin = parent(stored, conversation(3), [entry(0, "a")], book="Lore.1")

        after = metadata_after(origin, cut(origin, "timed_effects"))["timedWorldInfo"]["sticky"]

        assert set(after) == {"Lore.0", f"{CLONE}.0"}

    def test_an_effect_without_an_entry_goes_on_without_one(self) -> None:
        origin = parent(effects(Lore_7=effect()), conversation(3), [entry(0, "a")])

        after = metadata_after(origin, cut(origin, "timed_effects"))["timedWorldInfo"]["cooldown"]

        assert after == {f"{CLONE}.7": effect()}

    @pytest.mark.parametrize("odd", [None, "text", [], {"sticky": None}, {"sticky": {"Lore.0": "text"}}])
    def test_odd_shapes_are_survived(self, odd: Any) -> None:
        origin = parent({"timedWorldInfo": odd}, conversation(3), [entry(0, "a")])

        assert cut(origin, "timed_effects").left_out == ()


class TestInThePast:
    def test_an_effect_that_had_begun_goes_on(self) -> None:
        origin = parent(effects(Lore_0=effect(3)), conversation(6), [entry(0, "a")])

        made = cut(origin, "timed_effects", 2)

        after = metadata_after(origin, made)["timedWorldInfo"]["cooldown"]
        assert after == {f"{CLONE}.0": effect(3) | {"hash": entry_hash(entry(0, "a"), CLONE)}}
        assert made.left_out == ()

    def test_an_effect_that_began_later_is_left_out(self) -> None:
        origin = parent(effects(Lore_0=effect(4)), conversation(6), [entry(0, "a")])

        made = cut(origin, "timed_effects", 2)

        assert metadata_after(origin, made)["timedWorldInfo"]["cooldown"] == {}
        assert made.left_out == ("timedWorldInfo",)

    def test_while_a_message_is_hidden_nobody_can_tell_when_it_began(self) -> None:
        messages = [message("Hidden.", is_system=True), *conversation(5, first=1)]
        origin = parent(effects(Lore_0=effect(1)), messages, [entry(0, "a")])

        made = cut(origin, "timed_effects", 2)

        assert metadata_after(origin, made)["timedWorldInfo"]["cooldown"] == {}
        assert made.left_out == ("timedWorldInfo",)

    def test_a_message_hidden_after_the_fork_point_makes_the_count_of_an_effect_unknown(self) -> None:
        messages = [*conversation(3), message("Hidden.", is_system=True), message("The end.")]
        origin = parent(effects(Lore_0=effect(1)), messages, [entry(0, "a")])

        assert cut(origin, "timed_effects", 2).left_out == ("timedWorldInfo",)

    def test_an_effect_of_an_entry_that_was_not_there_yet_is_left_out(self) -> None:
        then = snapshot([entry(0, "a", "then")], "Lore")
        messages = [message("Turn 0.", extra=scene(entries=then)), *conversation(5, first=1)]
        origin = parent(effects(Lore_0=effect(1), Lore_1=effect(1)), messages, [entry(0, "a", "now"), entry(1, "b")])

        made = cut(origin, "timed_effects", 2)

        after = metadata_after(origin, made)["timedWorldInfo"]["cooldown"]
        renewed = entry_hash({**entry(0, "a", "then"), "tags": []}, CLONE)
        assert after == {f"{CLONE}.0": effect(1) | {"hash": renewed}}
        assert made.left_out == ("timedWorldInfo",)

    def test_effects_of_other_books_are_carried_and_named(self) -> None:
        origin = parent(effects(Other_0=effect(9)), conversation(6), [entry(0, "a")])

        made = cut(origin, "timed_effects", 2)

        assert metadata_after(origin, made)["timedWorldInfo"]["cooldown"] == {"Other.0": effect(9)}
        assert made.carried == ("timedWorldInfo",)

    def test_without_a_book_all_effects_are_others(self) -> None:
        origin = parent(effects(Other_0=effect(9)), conversation(6))

        assert cut(origin, "timed_effects", 2).carried == ("timedWorldInfo",)

    def test_no_effects_are_nothing_to_name(self) -> None:
        origin = parent(effects(), conversation(6), [entry(0, "a")])

        made = cut(origin, "timed_effects", 2)

        assert (made.edits, made.carried, made.left_out) == ((), (), ())

    @pytest.mark.parametrize("odd", ["later", ["later"], {"sticky": "later"}])
    @pytest.mark.parametrize("entries", [None, [entry(0, "a")]])
    def test_what_is_not_understood_is_carried_and_named(self, odd: Any, entries: list[Json] | None) -> None:
        origin = parent({"timedWorldInfo": odd}, conversation(6), entries)

        assert cut(origin, "timed_effects", 2).carried == ("timedWorldInfo",)
