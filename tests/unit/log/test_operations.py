"""Operations: their order, and which of them are undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.log.changes import Unreadable
from forklore.log.operations import Operation, Turn, undone_ids
from forklore.model.stored import HIGHEST, number_in, operation_id


def operation(name: str, *, undoes: str | None = None, turn: Turn | None = None) -> Operation:
    return Operation(name, "undo" if undoes else "checkpoint", "Mira/Tale", "", (), undoes, turn=turn or Turn())


@given(st.integers(1, HIGHEST))
def test_an_id_tells_its_number(number: int) -> None:
    assert number_in(operation_id(number, "0badcafe")) == number


def test_an_id_of_before_there_were_numbers_comes_first() -> None:
    assert number_in("20261117-223940-123456-beef") == 0


@pytest.mark.parametrize(
    "name", ["00000100", "0-0badcafe", "1-0badcaf", "1-0badcafe-2", f"{HIGHEST + 1}-0badcafe", "x"]
)
def test_another_name_tells_nothing(name: str) -> None:
    assert number_in(name) is None


def test_the_number_counts_before_the_id() -> None:
    early, late, old = operation("b", turn=Turn(9)), operation("a", turn=Turn(10)), operation("z")

    assert sorted([late, early, old], key=lambda each: each.order) == [old, early, late]


@pytest.mark.parametrize(
    "stored",
    [
        {"number": 0},
        {"number": -1},
        {"number": True},
        {"number": 1.0},
        {"number": HIGHEST + 1},
        {"follows": "../x"},
        {"follows": 1},
        {"request": "a b"},
        {"request": ["x"]},
    ],
)
def test_what_is_no_turn_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        Turn.from_json(stored)


@given(st.integers(0, HIGHEST), st.none() | st.just("1-0badcafe"), st.none() | st.just("somebody"))
def test_a_turn_is_read_as_it_was_written(number: int, follows: str | None, request: str | None) -> None:
    turn = Turn(number, follows, request)

    assert Turn.from_json(turn.to_json()) == turn


@given(st.permutations(range(6)))
def test_which_operations_are_undone_does_not_depend_on_their_order(order: Sequence[int]) -> None:
    made = operation("made")
    undo = operation("undo", undoes="made")
    redo = operation("redo", undoes="undo")
    again = operation("again", undoes="made")
    kept, undone = operation("kept"), operation("undone", undoes="gone")
    log = [made, undo, redo, again, kept, undone]

    assert undone_ids(log[number] for number in order) == {"made", "undo", "gone"}
    assert undone_ids(log[number] for number in order if log[number] is not again) == {"undo", "gone"}


def test_undos_that_go_round_in_circles_come_to_an_end() -> None:
    circle = [operation(str(number), undoes=str((number + 1) % 3000)) for number in range(3000)]

    assert undone_ids(circle) <= {each.id for each in circle}
