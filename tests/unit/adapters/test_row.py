"""Places: how a path is read, and where it leads."""

from __future__ import annotations

from typing import Any

import pytest

from forklore.adapters.row import METADATA, Adapter, Row, item_of, places, steps_of, texts_in
from forklore.adapters.rules import Clamp, Keep
from forklore.model.plan import JsonPath


@pytest.mark.parametrize(
    "path, steps",
    [
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ("a[].b", ("a", "[]", "b")),
        ("a{}", ("a", "{}")),
        ("a{}[].b*", ("a", "{}", "[]", "b*")),
        ("[].a", ("[]", "a")),
    ],
)
def test_a_path_is_read_step_by_step(path: str, steps: tuple[str, ...]) -> None:
    assert steps_of(path) == steps


@pytest.mark.parametrize(
    "value, path, found",
    [
        ({"a": 1}, "a", {("a",): 1}),
        ({"a": None}, "a", {("a",): None}),
        ({"a": {"b": 1}}, "a.b", {("a", "b"): 1}),
        ({"a": [1, 2]}, "a[]", {("a", 0): 1, ("a", 1): 2}),
        ({"a": [{"b": 1}, {}, 3]}, "a[].b", {("a", 0, "b"): 1}),
        ({"a": {"x": 1, "y": 2}}, "a{}", {("a", "x"): 1, ("a", "y"): 2}),
        ({"last1Idx": 1, "first": 2}, "last*Idx", {("last1Idx",): 1}),
        ({"t_a": {"n": 1}, "t_b": 5, "u": {"n": 2}}, "t_*.n", {("t_a", "n"): 1}),
        ({"a.b": 1}, "a.b", {}),
        ({}, "a", {}),
        ({"a": "text"}, "a[]", {}),
        ({"a": [1]}, "a{}", {}),
        ({"a": {"x": 1}}, "a[]", {}),
        ({"a": [1]}, "a.b", {}),
        (None, "a", {}),
        ([{"a": 1}], "a", {}),
    ],
)
def test_a_path_leads_to_all_that_is_there_and_to_nothing_else(
    value: Any, path: str, found: dict[JsonPath, Any]
) -> None:
    assert dict(places(value, path)) == found


@pytest.mark.parametrize(
    "at, path, item",
    [
        (("a",), "a", ("a",)),
        (("a", "b"), "a.b", ("a", "b")),
        (("a", 1), "a[]", ("a", 1)),
        (("a", 1, "b"), "a[].b", ("a", 1)),
        (("a", "x", "b", "c"), "a{}.b.c", ("a", "x")),
        (("a", 1, "b", 2, "c"), "a[].b[].c", ("a", 1, "b", 2)),
        (("swipe_info", 0, "extra", "a", 1, "b"), "extra.a[].b", ("swipe_info", 0, "extra", "a", 1)),
    ],
)
def test_a_place_belongs_to_the_innermost_item(at: JsonPath, path: str, item: JsonPath) -> None:
    assert item_of(at, path) == item


def test_texts_are_values_and_no_names() -> None:
    assert list(texts_in({"a": "one", "b": [{"c": "two"}, 3, None], "d": {}})) == ["one", "two"]


def test_the_past_comes_after_what_is_always_so() -> None:
    row = Row(METADATA, "a", always=Keep(), past=Clamp())

    assert row.rules(is_head=True) == (Keep(),)
    assert row.rules(is_head=False) == (Keep(), Clamp())
    assert Row(METADATA, "a").rules(is_head=False) == ()


@pytest.mark.parametrize("metadata, known", [({"t_one": 1}, True), ({"space": {}}, True), ({"other": 1}, False)])
def test_an_extension_is_known_by_its_keys(metadata: dict[str, Any], known: bool) -> None:
    adapter = Adapter("Name", "1", (Row(METADATA, "t_*"), Row(METADATA, "space.a"), Row("message", "other")))

    assert adapter.knows(metadata) is known
