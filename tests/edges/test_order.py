"""The log has an order of its own: whatever the clock says, and whoever else writes into the folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forklore
from forklore.app.forklore import Forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import read_workspace, write_workspace
from tests.edges.running import MAREN, Ran, command_line
from tests.needed import missing

DAYS = ("2026-11-15", "2026-11-14", "2026-11-10", "2026-11-13", "2020-01-01", "2026-11-16")
"""A clock that jumps: back, further back, forward again, to where a machine without a battery begins."""


def at(day: str, *arguments: str | Path) -> Ran:
    """Run a command as a process whose clock says that it is *day*."""
    if shutil.which("faketime") is None:
        missing("faketime is needed to set a clock back: make test gets it")
    ran = subprocess.run(
        ["faketime", f"{day} 12:00:00", *command_line("--json", *arguments)],
        capture_output=True,
        env=os.environ,
        timeout=60,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def operations(root: Path) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = opened(root).log().to_json()["operations"]
    return told


def opened(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


def test_a_clock_that_steps_back_changes_nothing(sample: Callable[[str], Path]) -> None:
    root = sample("hollow_quay_clean")
    states, made = [read_workspace(root)], []
    for day, kind in zip(DAYS, ("checkpoint", "branch", "branch", "checkpoint", "branch", "branch"), strict=True):
        made.append(at(day, "--data", root, kind, MAREN).json["operation"])
        states.append(read_workspace(root))

    log = operations(root)
    assert [each["id"] for each in log] == made[::-1]
    assert [each["number"] for each in log] == [6, 5, 4, 3, 2, 1]
    assert [each["follows"] for each in log] == [*made[-2::-1], None]
    assert [each["when"][:10] for each in log] == list(DAYS[::-1])

    for operation, before in zip(made[::-1], states[-2::-1], strict=True):
        assert at("2026-11-01", "--data", root, "undo").json["undone"] == operation
        assert read_workspace(root) == before


def test_undo_of_undo_is_right_while_the_clock_steps_back(sample: Callable[[str], Path]) -> None:
    root = sample("hollow_quay_clean")
    before = read_workspace(root)
    made = at("2026-11-15", "--data", root, "branch", MAREN).json["operation"]
    after = read_workspace(root)
    for days in (("2026-11-14", "2026-11-13"), ("2026-11-12", "2026-11-11")):
        undo = at(days[0], "--data", root, "undo").json
        assert undo["undone"] == made
        assert read_workspace(root) == before
        assert at(days[1], "--data", root, "undo", undo["operation"]).json["undone"] == undo["operation"]
        assert read_workspace(root) == after

    assert at("2026-11-01", "--data", root, "undo").json["undone"] == made
    assert read_workspace(root) == before
    assert at("2026-11-01", "--data", root, "undo").error["code"] == "OPERATION_NOT_FOUND"


def test_two_machines_that_share_a_folder_agree_on_the_order(tmp_path: Path) -> None:
    root, other = tmp_path / "here", tmp_path / "there"
    files: dict[str, bytes] = {}
    for name in ("Tale", "Saga"):
        book = {f"{name} Lore": stories.lorebook([stories.entry(0, "Mira", "a cook")])}
        files |= stories.solo_files(name, {"world_info": f"{name} Lore"}, stories.conversation(4), books=book)
    write_workspace(root, files)
    before = read_workspace(root)
    first = opened(root).checkpoint("Mira/Tale", name="Together").operation
    shutil.copytree(root, other)
    here = opened(root).branch("Mira/Tale").operation
    there = [opened(other).checkpoint("Mira/Saga", name=name).operation for name in ("One", "Two")]

    # Each machine has changed files of its own; then the folder is synchronised.
    theirs = {path: data for path, data in read_workspace(other).items() if "Tale" not in path}
    write_workspace(root, theirs)
    shutil.copytree(other / ".forklore", root / ".forklore", dirs_exist_ok=True)

    log = operations(root)
    tied = sorted([here, there[0]], reverse=True)
    assert [each["id"] for each in log] == [there[1], *tied, first]
    assert [each["number"] for each in log] == [3, 2, 2, 1]
    follows = {first: None, here: first, there[0]: first, there[1]: there[0]}
    assert {each["id"]: each["follows"] for each in log} == follows
    for operation in [there[1], *tied, first]:
        assert opened(root).log().next_undo == operation
        assert opened(root).undo().undone == operation
    assert opened(root).log().next_undo is None
    assert read_workspace(root) == before


def test_an_operation_is_found_by_the_request_that_asked_for_it(sample: Callable[[str], Path]) -> None:
    root = sample("hollow_quay_clean")
    asked = forklore.open(root, disk=HastyDisk(), request="request-0001").branch(MAREN)
    opened(root).branch(MAREN)

    (found,) = opened(root).log(request="request-0001").operations
    assert found.id == asked.operation
    assert found.turn.request == "request-0001"
    nothing = opened(root).log(request="request-0002")
    assert nothing.operations == ()
    assert nothing.next_undo == opened(root).log().operations[0].id


def test_a_number_is_enough_to_name_an_operation(sample: Callable[[str], Path]) -> None:
    root = sample("hollow_quay_clean")
    made = opened(root).branch(MAREN)

    assert opened(root).undo("1").undone == made.operation
