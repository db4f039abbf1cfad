"""The log as its folder has it: in which order, and whose turn it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forklore.disk.operation_log import OperationLog, OperationUnreadable
from forklore.disk.places import Places
from forklore.log.operations import Turn
from forklore.model.stored import HIGHEST

FOLDER = ".forklore/operations"
BEFORE = "20261117-223940-123456-beef"


def write(root: Path, name: str, **more: Any) -> None:
    stored = {"format": 1, "id": name, "kind": "checkpoint", "chat": "Mira/Tale", "when": "", "changes": [], **more}
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    (root / FOLDER / f"{name}.json").write_text(json.dumps(stored))


def log_of(root: Path) -> OperationLog:
    return OperationLog(Places(root))


def test_the_first_operation_has_the_first_turn(tmp_path: Path) -> None:
    assert log_of(tmp_path).next_turn("somebody") == Turn(1, None, "somebody")


def test_a_turn_comes_after_all_that_was_seen(tmp_path: Path) -> None:
    write(tmp_path, BEFORE)
    write(tmp_path, "9-ffffffff", number=9)
    write(tmp_path, "10-00000000", number=10)
    write(tmp_path, "10-00000001", number=10)

    assert log_of(tmp_path).next_turn() == Turn(11, "10-00000001")


def test_operations_of_before_there_were_numbers_come_first(tmp_path: Path) -> None:
    write(tmp_path, BEFORE)
    assert log_of(tmp_path).next_turn() == Turn(1, BEFORE)

    write(tmp_path, "1-0badcafe", number=1)
    assert [each.id for each in log_of(tmp_path)] == ["1-0badcafe", BEFORE]


def test_a_name_that_tells_no_number_is_looked_into(tmp_path: Path) -> None:
    write(tmp_path, "strange", number=41)

    assert log_of(tmp_path).next_turn() == Turn(42, "strange")


def test_a_file_that_is_not_whole_yet_has_its_number_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, "41-0badcafe", number=41)
    (tmp_path / FOLDER / "41-0badcafe.json").write_text("{")

    assert log_of(tmp_path).next_turn() == Turn(42, "41-0badcafe")


def test_the_highest_number_is_not_passed(tmp_path: Path) -> None:
    write(tmp_path, f"{HIGHEST}-0badcafe", number=HIGHEST)

    assert log_of(tmp_path).next_turn().number == HIGHEST


@pytest.mark.parametrize("number", [None, 2])
def test_the_number_in_a_file_is_that_of_its_name(tmp_path: Path, number: int | None) -> None:
    write(tmp_path, "1-0badcafe", number=number)

    (unread,) = log_of(tmp_path).unread()
    assert isinstance(unread.fault, OperationUnreadable)
