"""The power goes at every single step of every operation: afterwards everything is there, or nothing."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from forklore.disk.disk import Disk
from forklore.errors import ForkloreError
from forklore.testing.sillytavern import HastyDisk
from tests.crash.deaths import AFTER, BEFORE, FEWEST_STEPS, HALF_WAY, deaths_of
from tests.crash.disks import STRIDE, Fault, ForgetfulDisk, LinkingDisk, PlainDisk, PowerLoss, another_system, faulty
from tests.crash.scenarios import SCENARIOS, Scenario, model_of, open_with, read_workspace, treat_as_long
from tests.needed import posix_only

pytestmark = pytest.mark.crash

SOME = ("checkpoint", "second-checkpoint-at-a-message", "undo", "redo", "isolate", "delete", "restore")

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)


@pytest.mark.req(45, 46, 89, 99)
@pytest.mark.parametrize(
    "system, death",
    [
        (HastyDisk, AFTER),
        (HastyDisk, HALF_WAY),
        pytest.param(LinkingDisk, BEFORE, marks=another_system),
        pytest.param(PlainDisk, AFTER, marks=another_system),
    ],
)
@every_scenario
def test_a_power_loss_at_any_step_leaves_all_or_nothing(
    scenario: Scenario, death: Fault, system: type[Disk], scratch: Path
) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    outcomes = []

    for what, _ in deaths_of(model, root, system, death):
        open_with(root).recover()

        outcomes.append(model.assert_all_or_nothing(root, what))
        if (system, death) == (HastyDisk, AFTER) or len(outcomes) % 5 == 0:
            model.assert_usable(root)

    assert {*outcomes} == {True, False} or STRIDE > 1  # some deaths came before the commit, some after it


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if "checkpoint" in each.name], ids=str)
def test_a_power_loss_while_copies_are_made_ahead_of_the_plan_leaves_all_or_nothing(
    scenario: Scenario, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    treat_as_long(monkeypatch)
    outcomes = []

    for what, _ in deaths_of(model, root, HastyDisk, HALF_WAY):
        open_with(root).recover()

        outcomes.append(model.assert_all_or_nothing(root, what))

    assert {*outcomes} == {True, False} or STRIDE > 1


FORGETS: dict[str, Callable[[Path], bool]] = {
    "contents": lambda folder: False,
    "contents-and-names": lambda folder: True,
    "contents-and-names-in-the-log": lambda folder: folder.name == "operations",
}


@posix_only("the forgetful disk needs pread")
@every_scenario
def test_what_was_not_synced_may_be_forgotten(scenario: Scenario, scratch: Path) -> None:
    model, root, remains = model_of(scenario, scratch), scratch / "trial", scratch / "remains"

    for number, (what, disk) in enumerate(deaths_of(model, root, ForgetfulDisk, AFTER)):
        assert isinstance(disk, ForgetfulDisk)
        for forgotten, forgets in FORGETS.items():
            disk.write_remains(remains, forgets=forgets)
            open_with(remains).recover()

            model.assert_all_or_nothing(remains, f"{what}, and {forgotten} were forgotten")
            if number % 5 == 0:
                model.assert_usable(remains)
            shutil.rmtree(remains)


@pytest.mark.slow
@every_scenario
def test_a_second_power_loss_during_the_recovery_changes_nothing(scenario: Scenario, scratch: Path) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    chance = random.Random(scenario.name)
    interrupted = 0

    for what, _ in deaths_of(model, root, HastyDisk, AFTER):
        for step in range(1000):
            again = faulty(HastyDisk, chance.choice((AFTER, HALF_WAY)), step)
            try:
                open_with(root, again).recover()
            except PowerLoss:
                interrupted += 1
            else:
                break

        model.assert_all_or_nothing(root, what)

    assert interrupted > FEWEST_STEPS or STRIDE > 1


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each.name in SOME], ids=str)
def test_what_another_machine_left_is_finished_on_request_also_after_a_second_power_loss(
    scenario: Scenario, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    chance = random.Random(scenario.name)
    finished = 0

    for number, (what, _) in enumerate(deaths_of(model, root, HastyDisk, AFTER)):
        monkeypatch.setenv("FORKLORE_STATE", str(scratch / f"another machine {number}"))
        left = read_workspace(root)
        assert open_with(root).recover() == []
        findings = [each for each in open_with(root).doctor().findings if each.finding.code == "OPERATION_FOREIGN"]
        assert read_workspace(root) == left
        for located in findings:
            finish(root, located.where, chance)
            finished += 1
        open_with(root).recover()

        # What was taken back is in the trash: whether it was made by the operation, only its journal says.
        assert read_workspace(root) in (model.before, model.after), what
        assert not any((root / ".forklore/staging").glob("*"))

    assert finished > 5 or STRIDE > 1


def finish(root: Path, where: str, chance: random.Random) -> None:
    """Finish what is not ours; the power goes in between, again and again."""
    for step in range(1000):
        again = faulty(HastyDisk, chance.choice((AFTER, HALF_WAY)), step)
        try:
            open_with(root, again).repair(where, "OPERATION_FOREIGN", repair="finish")
        except PowerLoss:
            open_with(root).recover()  # it may have become ours meanwhile
        except ForkloreError:
            pass  # there is nothing left to finish
        else:
            return
        if not (root / where).exists():
            return
