"""The power goes at every single step of every operation: afterwards everything is there, or nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forklore.disk.disk import Disk
from forklore.testing.sillytavern import HastyDisk
from tests.crash.deaths import AFTER, BEFORE, FEWEST_STEPS, HALF_WAY, deaths_of
from tests.crash.disks import Fault, ForgetfulDisk, LinkingDisk, PlainDisk, PowerLoss, faulty
from tests.crash.scenarios import SCENARIOS, Scenario, model_of, open_with

pytestmark = pytest.mark.crash

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)


@pytest.mark.req(45, 46, 89, 99)
@pytest.mark.parametrize(
    "system, death", [(HastyDisk, AFTER), (HastyDisk, HALF_WAY), (LinkingDisk, BEFORE), (PlainDisk, AFTER)]
)
@every_scenario
def test_a_power_loss_at_any_step_leaves_all_or_nothing(
    scenario: Scenario, death: Fault, system: type[Disk], tmp_path: Path
) -> None:
    model, root = model_of(scenario, tmp_path), tmp_path / "trial"
    outcomes = []

    for what, _ in deaths_of(model, root, system, death):
        open_with(root).recover()

        outcomes.append(model.assert_all_or_nothing(root, what))
        if (system, death) == (HastyDisk, AFTER) or len(outcomes) % 5 == 0:
            model.assert_usable(root)

    assert {*outcomes} == {True, False}  # some deaths came before the commit, some after it


@pytest.mark.parametrize("names_too", [True, False], ids=["names-lost-too", "names-kept"])
@every_scenario
def test_what_was_not_synced_may_be_forgotten(scenario: Scenario, names_too: bool, tmp_path: Path) -> None:
    model, root = model_of(scenario, tmp_path), tmp_path / "trial"

    for number, (what, disk) in enumerate(deaths_of(model, root, ForgetfulDisk, AFTER)):
        assert isinstance(disk, ForgetfulDisk)
        remains = tmp_path / f"remains-{number}"
        disk.write_remains(remains, names_too=names_too)
        open_with(remains).recover()

        model.assert_all_or_nothing(remains, what)
        if number % 5 == 0:
            model.assert_usable(remains)


@pytest.mark.slow
@every_scenario
def test_a_second_power_loss_during_the_recovery_changes_nothing(scenario: Scenario, tmp_path: Path) -> None:
    model, root = model_of(scenario, tmp_path), tmp_path / "trial"
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

    assert interrupted > FEWEST_STEPS
