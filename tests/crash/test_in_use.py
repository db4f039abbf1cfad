"""Files that another program has open, as on Windows: waited for, else told, and nothing is half done."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from forklore.disk.disk import Disk, StillInUse
from forklore.errors import FileInUse, ReadOnly
from forklore.testing.sillytavern import HastyDisk
from tests.crash.disks import STRIDE, ContestedDisk, sharing_violation, steps
from tests.crash.scenarios import SCENARIOS, Scenario, assert_tidy, log_of, model_of, open_with

pytestmark = pytest.mark.crash

CODES = (5, 32, 33)
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
either_name = pytest.mark.parametrize("which", [0, 1], ids=["what-is-moved", "what-is-in-its-place"])


@pytest.mark.req(45, 46, 97)
@either_name
@every_scenario
def test_a_file_that_is_let_go_of_in_time_is_in_nobodys_way(scenario: Scenario, which: int, scratch: Path) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"

    for at in steps(str(scenario), which):
        disk = ContestedDisk(at, attempts=len(Disk._pauses), which=which, code=CODES[at % 3])
        model.act(model.trial(root), disk)

        assert model.assert_all_or_nothing(root, f"{disk.held} in use")
        if disk.held is None:
            break

    assert at > 3 or STRIDE > 1


def assert_told(error: FileInUse) -> None:
    """The error says what happened, and what to do."""
    assert error.message.endswith(".")
    assert error.action.endswith(".")


@pytest.mark.req(45, 46, 97)
@either_name
@every_scenario
def test_a_file_that_stays_open_is_told_and_nothing_is_half_done(scenario: Scenario, which: int, scratch: Path) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    refused = 0

    for at in steps(str(scenario), which):
        disk = ContestedDisk(at, which=which, code=CODES[at % 3])
        model.trial(root)
        try:
            model.act(root, disk)
        except FileInUse as error:
            refused += 1
            assert_told(error)
        if disk.held is None:
            break
        open_with(root).recover()  # the other program is gone
        if log_of(root) != model.log_before and log_of(root)[-1]["pending"]:
            assert_tidy(root)  # past the commit it stands, and what could not be written is told
            continue
        model.assert_all_or_nothing(root, f"{disk.held} in use")
        if at % 5 == 0:
            model.assert_usable(root)

    assert refused > 0 or STRIDE > 1


def test_it_is_waited_for_about_two_and_a_half_seconds() -> None:
    assert 2 < sum(Disk._pauses) < 3
    assert list(Disk._pauses) == sorted(Disk._pauses)


def test_who_waits_in_vain_learns_which_file_it_is(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"")

    with pytest.raises(StillInUse) as caught:
        ContestedDisk(at=0).replace(tmp_path / "source", tmp_path / "target")

    assert caught.value.filename == str(tmp_path / "target")
    assert caught.value.__cause__ is not None
    assert os.listdir(tmp_path) == ["source"]


def test_a_file_that_is_marked_as_read_only_is_not_waited_for(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"new")
    target.write_bytes(b"old")
    target.chmod(0o444)
    disk = ContestedDisk(at=0, code=5)

    with pytest.raises(PermissionError) as caught:
        disk.replace(source, target)

    assert not isinstance(caught.value, StillInUse)
    assert disk.refused == 1
    target.chmod(0o644)


@pytest.mark.req(46)
def test_other_refusals_are_not_waited_for(tmp_path: Path) -> None:
    class ClosedDisk(HastyDisk):
        def _attempt(self, *_: object) -> None:
            raise PermissionError(13, "Permission denied")

    begun = time.monotonic()

    with pytest.raises(PermissionError):
        ClosedDisk().remove(tmp_path / "file")

    assert time.monotonic() - begun < 1
    assert FileInUse.kind is ReadOnly.kind
    assert sharing_violation(tmp_path).errno == 13
