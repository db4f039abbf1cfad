"""A workspace whose folders lie on several disks: everything that holds on one disk holds there, too."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forklore.app.open import user_state
from forklore.disk.disk import same_disk
from forklore.disk.places import Places
from forklore.errors import DiskFailed, ForkloreError
from forklore.testing.sillytavern import HastyDisk
from tests.crash.deaths import HALF_WAY, deaths_of
from tests.crash.disks import STRIDE, CrowdedDisk, Fault, LinkingDisk, PowerLoss, faulty, power_loss, steps
from tests.crash.mounts import memory_disk, mounted
from tests.crash.scenarios import (
    BOOK,
    NAME,
    SCENARIOS,
    Scenario,
    assert_tidy,
    checkpoint,
    model_of,
    open_with,
    read_workspace,
    said,
    save,
    undo_everything,
    write_story,
)
from tests.needed import posix_only

pytestmark = [
    pytest.mark.crash,
    pytest.mark.slow,
    posix_only("a link to another disk needs a privilege there"),
]

Arrange = Callable[[Path], None]

SOME = ("checkpoint", "second-checkpoint-at-a-message", "undo", "redo", "cancel", "undo-of-cancel")
some_scenarios = pytest.mark.parametrize(
    "scenario",
    [each for each in SCENARIOS if each.name in (*SOME, "isolate", "undo-of-isolate")],
    ids=str,
)


@pytest.fixture
def second(tmp_path: Path, scratch: Path) -> Iterator[Path]:
    """A folder on another disk than ``tmp_path``: in memory, or on a disk that is mounted for it."""
    if scratch.stat().st_dev != tmp_path.stat().st_dev:
        yield scratch
    else:
        with memory_disk(tmp_path / "second", size="64m") as folder:
            yield folder


def move_elsewhere(root: Path, name: str, second: Path) -> None:
    """Move a folder to the second disk, link to it, and allow the link as the user would."""
    shutil.rmtree(second / name, ignore_errors=True)
    shutil.move(root / name, second / name)
    (root / name).symlink_to(second / name)
    Places(root, user_state).allow(name)


@pytest.fixture(params=["worlds", "chats", "chats worlds"])
def arrange(request: pytest.FixtureRequest, second: Path) -> Arrange:
    """Moves some folders of a workspace to the second disk."""

    def arranged(root: Path) -> None:
        for name in request.param.split():
            move_elsewhere(root, name, second)

    return arranged


@some_scenarios
def test_a_power_loss_at_any_step_leaves_all_or_nothing_on_two_disks(
    scenario: Scenario, arrange: Arrange, tmp_path: Path
) -> None:
    model, root = model_of(scenario, tmp_path, arrange), tmp_path / "trial"
    outcomes = []

    for what, _ in deaths_of(model, root, HastyDisk, HALF_WAY):
        open_with(root).recover()

        outcomes.append(model.assert_all_or_nothing(root, what))
        if len(outcomes) % 5 == 0:
            model.assert_usable(root)

    assert {*outcomes} == {True, False} or STRIDE > 1


@some_scenarios
def test_an_error_at_any_step_leaves_nothing_on_two_disks(scenario: Scenario, arrange: Arrange, tmp_path: Path) -> None:
    model, root = model_of(scenario, tmp_path, arrange), tmp_path / "trial"
    fault = Fault("full", done="half", number=errno.ENOSPC)

    for step in steps(str(scenario)):
        disk = faulty(LinkingDisk if step % 2 else HastyDisk, fault, step)
        model.trial(root)
        try:
            model.act(root, disk)
        except DiskFailed:
            assert not model.assert_all_or_nothing(root, f"{fault} at {step} ({disk.steps[step]})")
        else:
            if not disk.struck:
                break
            open_with(root).recover()
            assert_tidy(root)


def test_a_save_at_the_last_moment_is_not_lost_on_another_disk(second: Path, tmp_path: Path) -> None:
    root = tmp_path / "story"
    write_story(root)
    move_elsewhere(root, "chats", second)
    checkpoint(open_with(root))
    before = read_workspace(root)
    fork = root / f"chats/Mira/{NAME} - Checkpoint #1.jsonl"
    content = said(fork.read_bytes(), "Wait!")
    # The first rename brings the copy into the trash, the second one hides the chat.
    disk = CrowdedDisk().before("rename_new", lambda: None, lambda: save(fork, content))
    disk.after("rename_new", lambda: None, power_loss)

    with pytest.raises(PowerLoss):
        open_with(root, disk, first_id=100).undo()
    open_with(root).recover()

    assert read_workspace(root) == {**before, f"chats/Mira/{fork.name}": content}
    assert_tidy(root, kept=1)  # the chat as it was before that save: nowhere else is it whole


def test_leftovers_wait_for_a_disk_that_is_not_connected(second: Path, tmp_path: Path) -> None:
    (scenario,) = (each for each in SCENARIOS if each.name == "checkpoint")

    model, root = model_of(scenario, tmp_path, lambda root: move_elsewhere(root, "worlds", second)), tmp_path / "trial"
    counting = faulty()
    model.act(model.trial(root), counting)
    clone = counting.steps.index("rename_new")
    with pytest.raises(PowerLoss):
        model.act(model.trial(root), faulty(HastyDisk, Fault("dies", done="all"), clone))
    (second / "worlds").rename(second / "away")

    with pytest.raises(DiskFailed, match="is not there") as refused:
        checkpoint(open_with(root))

    assert "Connect the disk" in refused.value.action
    assert open_with(root).recover() == []  # and whoever only looks is not disturbed
    (second / "away").rename(second / "worlds")
    open_with(root).recover()
    assert not model.assert_all_or_nothing(root, "connected again")


def test_a_mount_of_the_same_disk_counts_as_another_disk(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "story", tmp_path / "elsewhere"
    write_story(root)
    before = read_workspace(root)
    shutil.move(root / "worlds", elsewhere)
    with mounted(root / "worlds", "--bind", elsewhere):
        assert (root / "worlds").stat().st_dev == root.stat().st_dev
        assert not same_disk(root, root / "worlds")
        with pytest.raises(OSError, match="cross-device"):
            os.rename(root / f"worlds/{BOOK}.json", root / "moved.json")

        checkpoint(open_with(root))
        assert (elsewhere / f"{BOOK}__CP_Checkpoint_1.json").exists()
        undo_everything(open_with(root, first_id=100))

        assert read_workspace(root) == before
        assert_tidy(root)


def test_a_book_that_is_a_link_to_another_disk_is_not_read_and_stays_as_it_is(second: Path, tmp_path: Path) -> None:
    root, book = tmp_path / "story", second / "book.json"
    write_story(root)
    shutil.move(root / f"worlds/{BOOK}.json", book)
    (root / f"worlds/{BOOK}.json").symlink_to(book)
    before, content = read_workspace(root), book.read_bytes()

    with pytest.raises(ForkloreError) as refused:
        checkpoint(open_with(root))

    assert refused.value.code == "LINK_OUTSIDE"
    assert (read_workspace(root), book.read_bytes()) == (before, content)


def test_a_book_that_is_a_link_in_its_own_folder_can_be_forked_and_its_queue_cancelled(tmp_path: Path) -> None:
    (scenario,) = (each for each in SCENARIOS if each.name == "cancel")

    def arrange(root: Path) -> None:
        (root / f"worlds/{BOOK}.json").rename(root / "worlds/real.json")
        (root / f"worlds/{BOOK}.json").symlink_to("real.json")

    model, root = model_of(scenario, tmp_path, arrange), tmp_path / "trial"

    model.act(model.trial(root), HastyDisk())

    assert (root / f"worlds/{BOOK}.json").is_symlink()
    assert (root / f"worlds/{BOOK}.json").read_bytes() == model.after[f"worlds/{BOOK}.json"]
    assert_tidy(root)
