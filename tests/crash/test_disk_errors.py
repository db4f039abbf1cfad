"""The disk refuses a single step, or every step from then on: a clear error, nothing left, nothing locked."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from forklore.app.check import ForkBlocked
from forklore.disk.system import IS_WINDOWS
from forklore.errors import ForkloreError
from forklore.model.fact import fact
from forklore.testing.sillytavern import HastyDisk
from tests.crash.disks import GROWING, STEPS, STRIDE, Fault, faulty, steps
from tests.crash.scenarios import (
    CHAT,
    SCENARIOS,
    Scenario,
    assert_tidy,
    log_of,
    model_of,
    open_with,
    read_workspace,
    treat_as_long,
    write_busy_story,
)

pytestmark = pytest.mark.crash

ONCE = (
    Fault("a-single-io-error", number=errno.EIO),
    Fault("a-rename-that-was-made-but-reported-as-failed", done="all", number=errno.EIO),
)
FOR_GOOD = (
    Fault("a-disk-that-is-full-from-then-on", done="half", number=errno.ENOSPC, lasting=GROWING),
    Fault("a-disk-that-is-read-only-from-then-on", number=errno.EROFS, lasting=frozenset(STEPS)),
    Fault("files-that-may-not-be-made-any-more", number=errno.EACCES, lasting=frozenset({"create", "make_folder"})),
    Fault("renames-that-are-refused", number=errno.EPERM, lasting=frozenset({"rename_new", "exchange", "replace"})),
)

KINDS = {"checkpoint", "group-checkpoint", "undo", "redo", "cancel", "delete", "cleanup", "restore"}
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
one_of_each_kind = pytest.mark.parametrize(
    "scenario",
    [each for each in SCENARIOS if each.name in KINDS],
    ids=str,
)


def assert_told(error: ForkloreError) -> None:
    """The error has a code, says what happened, and what to do."""
    assert error.code in {"DISK_FAILED", "READ_ONLY"}
    assert error.message.endswith(".")
    assert error.action.endswith(".")
    assert "Errno" not in error.message


def open_files() -> int:
    """Return how many files this process has open, where the system tells."""
    return len(os.listdir("/dev/fd")) if not IS_WINDOWS and os.path.isdir("/dev/fd") else 0


@pytest.mark.req(45, 46, 47, 48, 88, 89, 97, 99)
@pytest.mark.parametrize("fault, ahead", [(ONCE[0], False), (ONCE[1], False), (ONCE[0], True)])
@every_scenario
def test_one_error_at_any_step_is_told_and_leaves_nothing(
    scenario: Scenario, fault: Fault, ahead: bool, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    if ahead:
        treat_as_long(monkeypatch)
    descriptors = open_files()
    refused = 0

    for step in steps(str(scenario), str(fault)):
        disk = faulty(HastyDisk, fault, step)
        model.trial(root)
        try:
            model.act(root, disk)
        except ForkloreError as error:
            refused += 1
            assert_told(error)
            assert not model.assert_all_or_nothing(root, f"{fault} at {step} ({disk.steps[step]})")
        else:
            if not disk.struck:
                break
            # Past the commit the operation stands. What could not be written is pending, and all of it can be undone.
            open_with(root).recover()
            assert_tidy(root)
            latest = log_of(root)[-1]
            if not latest["pending"]:
                assert model.assert_all_or_nothing(root, f"{fault} at {step} ({disk.steps[step]})")
            elif latest["undoes"]:
                open_with(root, first_id=500).undo(latest["id"])
                assert read_workspace(root) == model.before
        if (fault is ONCE[0] and not ahead) or step % 5 == 0:
            model.assert_usable(root)

    assert refused > 10 or STRIDE > 1
    assert open_files() == descriptors


@pytest.mark.req(46, 48, 97)
@pytest.mark.parametrize("fault", FOR_GOOD, ids=str)
@one_of_each_kind
def test_a_disk_that_stays_broken_is_told_and_mended_at_the_next_start(
    scenario: Scenario, fault: Fault, scratch: Path
) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    refused = 0

    for step in steps(str(scenario), str(fault)):
        disk = faulty(HastyDisk, fault, step)
        model.trial(root)
        try:
            model.act(root, disk)
        except ForkloreError as error:
            refused += 1
            assert_told(error)
        else:
            if not disk.struck:
                break
        open_with(root).recover()
        what = f"{fault} at {step} ({disk.steps[step]})"
        if log_of(root) == model.log_before or not log_of(root)[-1]["pending"]:
            model.assert_all_or_nothing(root, what)
        else:
            assert_tidy(root)
        if step % 5 == 0:
            model.assert_usable(root)

    assert refused > 10 or STRIDE > 1


@pytest.mark.req(88, 97, 99)
@one_of_each_kind
def test_a_user_who_interrupts_at_any_step_finds_all_or_nothing(scenario: Scenario, scratch: Path) -> None:
    model, root = model_of(scenario, scratch), scratch / "trial"
    interrupt = Fault("interrupted", done="all", is_interrupt=True)
    outcomes = []

    for step in steps(str(scenario)):
        disk = faulty(HastyDisk, interrupt, step)
        model.trial(root)
        try:
            model.act(root, disk)
        except KeyboardInterrupt:
            open_with(root).recover()
            outcomes.append(model.assert_all_or_nothing(root, f"interrupted at {step} ({disk.steps[step]})"))
        else:
            if not disk.struck:
                break
    model.assert_usable(root)

    assert {*outcomes} == {True, False} or STRIDE > 1


@pytest.mark.req(47, 48)
@pytest.mark.parametrize(
    "number, code", [(errno.ENOSPC, "DISK_FAILED"), (errno.EACCES, "READ_ONLY"), (errno.EDQUOT, "DISK_FAILED")]
)
def test_a_lorebook_that_cannot_be_cloned_is_told_in_the_words_of_the_design(
    number: int, code: str, scratch: Path
) -> None:
    model = model_of(SCENARIOS[0], scratch)
    steps = faulty()
    model.act(model.trial(scratch / "counting"), steps)
    clone = steps.steps.index("rename_new")

    with pytest.raises(ForkloreError) as raised:
        model.act(model.trial(scratch / "trial"), faulty(HastyDisk, Fault("refused", number=number), clone))

    assert raised.value.code == code
    assert raised.value.message.startswith(
        "Failed to clone lorebook for checkpoint isolation. Checkpoint creation aborted to prevent data corruption"
    )
    assert read_workspace(scratch / "trial") == model.before


@pytest.mark.req(46)
def test_what_cannot_be_taken_back_is_told_and_taken_back_before_anything_else(scratch: Path) -> None:
    model, root = model_of(SCENARIOS[0], scratch), scratch / "trial"
    steps = faulty()
    model.act(model.trial(root), steps)
    commit = [number for number, name in enumerate(steps.steps) if name == "rename_new"][1]
    dead_end = Fault("nothing goes any more", number=errno.EROFS, lasting=frozenset(STEPS))

    with pytest.raises(ForkloreError, match="neither finished nor taken back") as raised:
        model.act(model.trial(root), faulty(HastyDisk, dead_end, commit))

    assert raised.value.code == "READ_ONLY"
    assert raised.value.params["case"] == "left_over"
    assert "before anything else" in raised.value.action
    assert read_workspace(root) != model.before  # the clone is still there …
    assert open_with(root).recover() == [
        fact("recovered", case="taken_back", kind="checkpoint", chat=f"{CHAT} - Checkpoint #1")
    ]
    assert not model.assert_all_or_nothing(root, "after the next start")  # … until the disk lets us


def test_a_log_that_cannot_be_written_is_pending_and_the_fork_stands(scratch: Path) -> None:
    model, root = model_of(SCENARIOS[0], scratch), scratch / "trial"
    steps = faulty()
    model.act(model.trial(root), steps)
    log = len(steps.steps) - steps.steps[::-1].index("create") - 1

    made = open_with(model.trial(root), faulty(HastyDisk, Fault("full", number=errno.ENOSPC), log), first_id=100)
    result = made.checkpoint(CHAT)

    assert [warning.details for warning in result.warnings if warning.code == "LINK_PENDING"] == [
        f"The entry in the operation log could not be written: {os.strerror(errno.ENOSPC)}"
    ]
    assert log_of(root) == []
    assert open_with(root).recover() == [
        fact("recovered", case="finished", kind="checkpoint", chat=f"{CHAT} - Checkpoint #1")
    ]
    assert model.assert_all_or_nothing(root, "after the next start")


@pytest.mark.req(97, 99)
def test_a_fork_that_is_refused_after_its_copies_were_begun_leaves_nothing(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_busy_story(scratch)
    (scratch / ".forklore").mkdir()
    before = read_workspace(scratch)
    disk = faulty()
    treat_as_long(monkeypatch)

    with pytest.raises(ForkBlocked):
        open_with(scratch, disk).checkpoint(CHAT)

    assert "copy" in disk.steps
    assert read_workspace(scratch) == before
    assert_tidy(scratch)
