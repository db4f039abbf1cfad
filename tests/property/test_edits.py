"""Edits of any JSON text: the value is as wanted, and what was put comes back byte for byte."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from forklore.formats.json_edit import apply_edits, item_texts, value_text
from forklore.formats.json_text import encode, parse
from forklore.model.plan import Append, Drop, Edit, Put, Take
from forklore.testing.strategies import json_texts, objects

KEYS = ("a", "b", "zz", "鍵", 'quo"te', "")
# The same few keys in texts and in paths, so that they meet.
members = st.lists(st.tuples(st.sampled_from(KEYS), json_texts), max_size=4)
inner = members.flatmap(objects)
texts = st.lists(st.tuples(st.sampled_from(KEYS), inner | json_texts), max_size=4).flatmap(objects)
paths = st.lists(st.sampled_from([*KEYS, "new"]), min_size=1, max_size=3).map(tuple)
values = json_texts

# As they are planned: where something stood before is known to an inverse alone.
puts = st.builds(Put, paths, values, only_if=st.none(), slot=st.none())
appends = st.builds(Append, paths, values, slot=st.none())
additions: st.SearchStrategy[list[Edit]] = st.lists(puts | appends, min_size=1, max_size=4)
any_edits: st.SearchStrategy[list[Edit]] = st.lists(
    puts
    | appends
    | st.builds(Drop, paths, st.none(), st.integers(0, 2))
    | st.builds(Take, paths, values, prune=st.just(0)),
    max_size=5,
)


def after(value: Any, edit: Edit) -> Any:
    """Return what *edit* should make of a value, worked out on values alone."""
    return changed(value, edit.path, edit)


def changed(value: Any, path: tuple[str | int, ...], edit: Edit) -> Any:
    step, *rest = path
    if not isinstance(value, dict):
        return value if isinstance(edit, Drop | Take) else changed({}, path, edit)
    value = dict(value)
    if rest:
        if step not in value and isinstance(edit, Drop | Take):
            return value
        below = changed(value.get(step), tuple(rest), edit)
        pruned = isinstance(edit, Drop) and below == {} != value[step] and len(rest) <= edit.prune
        return {key: each for key, each in value.items() if key != step} if pruned else {**value, step: below}
    return changed_here(value, str(step), edit)


def changed_here(value: dict[str, Any], key: str, edit: Edit) -> dict[str, Any]:
    held = value.get(key)
    match edit:
        case Put():
            return {**value, key: parse(edit.text)}
        case Drop():
            return {each: held for each, held in value.items() if each != key}
        case Append():
            held = held if isinstance(held, list) else []
            return {**value, key: held if contains(held, edit.text) else [*held, parse(edit.text)]}
        case Take():
            is_list = isinstance(held, list)
            left = [each for each in held if not contains([each], edit.text)] if is_list and held else held
            return {**value, key: left} if is_list else value


def contains(values: list[Any], text: str) -> bool:
    return encode(parse(text)) in [encode(value) for value in values] or any(
        value == parse(text) and str(value).lower() not in ("true", "false") for value in values
    )


@given(texts, additions)
def test_what_was_put_or_appended_comes_back_byte_for_byte(text: str, edits: list[Edit]) -> None:
    made = apply_edits(text, edits)

    assert apply_edits(made.text, made.inverse).text == text


@given(texts, puts)
@example('{"a":1,"a":{"b":2}}', Put(("a", "b"), "3"))
def test_a_put_value_is_there_as_it_was_spelled(text: str, edit: Put) -> None:
    made = apply_edits(text, [edit]).text

    assert value_text(made, edit.path) == edit.text
    assert parse(made) == after(parse(text), edit)


@given(texts, st.builds(Drop, paths, st.none(), st.integers(0, 2)))
def test_a_dropped_value_is_gone_and_nothing_else(text: str, edit: Drop) -> None:
    made = apply_edits(text, [edit]).text

    assert value_text(made, edit.path) is None
    assert parse(made) == after(parse(text), edit)


@given(texts, appends)
def test_an_appended_item_is_the_last_one_and_there_once(text: str, edit: Append) -> None:
    once = apply_edits(text, [edit]).text

    twice = apply_edits(once, [edit])

    assert (twice.text, twice.inverse) == (once, ())
    assert edit.text in item_texts(once, edit.path) or contains(parse(value_text(once, edit.path) or ""), edit.text)


@given(texts, any_edits)
def test_edits_made_together_are_edits_made_one_after_the_other(text: str, edits: list[Edit]) -> None:
    together = apply_edits(text, edits).text

    one_by_one = text
    for edit in edits:
        one_by_one = apply_edits(one_by_one, [edit]).text
    assert parse(together) == parse(one_by_one)


@given(texts, any_edits)
def test_the_inverse_of_anything_brings_the_value_back(text: str, edits: list[Edit]) -> None:
    drops = [edit for edit in edits if not isinstance(edit, Drop) or not edit.prune]

    made = apply_edits(text, drops)

    assert parse(apply_edits(made.text, made.inverse).text) == parse(text)
