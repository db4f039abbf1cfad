"""Disks that are really full, really read-only, really limited."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import forklore
from forklore.disk.disk import Disk
from forklore.disk.system import IS_WINDOWS
from forklore.errors import DiskFailed, ReadOnly
from forklore.testing.sillytavern import HastyDisk
from tests.crash.children import fork_server, fork_with_a_limit, start
from tests.crash.disks import Fault, PowerLoss, faulty
from tests.crash.mounts import ext4_disk, memory_disk, remount
from tests.crash.scenarios import (
    CHAT,
    SCENARIOS,
    assert_tidy,
    checkpoint,
    model_of,
    open_with,
    read_workspace,
    undo_everything,
    write_story,
)
from tests.crash.structure import assert_whole
from tests.needed import posix_only

pytestmark = [pytest.mark.crash, pytest.mark.slow]


class Filler:
    """A file beside the workspace that leaves so much space as is asked for."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "filler"
        self._disk = disk

    def leave(self, count: int) -> None:
        """Leave *count* bytes, or a little more: a disk needs some of its room to tell where the rest is."""
        self.remove()
        room = os.statvfs(self._disk)
        for blocks in range((room.f_bavail * room.f_frsize - count) // room.f_frsize, 0, -1):
            try:
                with self._path.open("wb") as file:
                    os.posix_fallocate(file.fileno(), 0, blocks * room.f_frsize)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            else:
                return

    def remove(self) -> None:
        """Leave everything."""
        self._path.unlink(missing_ok=True)


@pytest.fixture(params=["tmpfs", "ext4"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    small = memory_disk if request.param == "tmpfs" else ext4_disk
    with small(tmp_path / "disk") as disk:
        yield disk


@pytest.mark.req(46, 48, 97)
def test_a_full_disk_refuses_the_fork_at_whatever_moment_it_is_full(small_disk: Path) -> None:
    root, filler = small_disk / "story", Filler(small_disk)
    write_story(root)
    undo_everything(open_with(root))
    checkpoint(open_with(root, first_id=100))  # so that all folders are there
    undo_everything(open_with(root, first_id=200))
    before, number = read_workspace(root), 300
    outcomes: list[str] = []

    for kilobytes in range(0, 200, 4):
        number += 100
        filler.leave(kilobytes << 10)
        try:
            made = open_with(root, Disk(), first_id=number).checkpoint(CHAT)
        except DiskFailed:
            outcomes.append("refused")
            assert read_workspace(root) == before
            assert_tidy(root)
        else:
            outcomes.append("pending" if any(each.code == "LINK_PENDING" for each in made.warnings) else "made")
            filler.remove()
            open_with(root).recover()
            assert_tidy(root)
            assert_whole(root)
            undo_everything(open_with(root, first_id=number + 50))
            assert read_workspace(root) == before
        if outcomes[-3:] == ["made"] * 3:
            break

    assert outcomes[0] == "refused"
    assert outcomes[-1] == "made"


@pytest.mark.req(46, 48)
def test_a_disk_without_room_for_another_file_refuses_the_fork(tmp_path: Path) -> None:
    with memory_disk(tmp_path / "disk", files=60) as disk:
        root = disk / "story"
        write_story(root)
        before, number = read_workspace(root), 0
        outcomes: list[str] = []

        while os.statvfs(disk).f_favail:
            (disk / f"filler-{number}").touch()
            number += 1
        while number and outcomes[-1:] != ["made"]:
            try:
                open_with(root, first_id=number * 100).checkpoint(CHAT)
            except DiskFailed:
                outcomes.append("refused")
                assert read_workspace(root) == before
                assert_tidy(root)
            else:
                outcomes.append("made")
            number -= 1
            (disk / f"filler-{number}").unlink()

        assert len(outcomes) > 3
        for filler in disk.glob("filler-*"):
            filler.unlink()
        open_with(root).recover()
        assert_tidy(root)
        assert_whole(root)


@pytest.mark.req(48, 97)
def test_a_read_only_disk_can_be_read_and_refuses_every_change(tmp_path: Path) -> None:
    with memory_disk(tmp_path / "disk") as disk:
        root = disk / "story"
        write_story(root)
        open_with(root).checkpoint(CHAT)
        before = read_workspace(root)
        remount(disk, "ro")
        try:
            opened = forklore.open(root)

            assert len(opened.stories().to_json()["stories"]) == 1
            assert opened.check(CHAT).valid
            for change in (lambda: opened.checkpoint(CHAT), lambda: opened.branch(CHAT), opened.undo):
                with pytest.raises(ReadOnly) as refused:
                    change()
                assert refused.value.action == "Make the folder writable, then try again. Nothing was changed."
        finally:
            remount(disk, "rw")

        assert read_workspace(root) == before
        assert_tidy(root)
        open_with(root, first_id=100).checkpoint(CHAT)


def test_leftovers_on_a_read_only_disk_are_seen_to_once_it_can_be_written(tmp_path: Path) -> None:
    model = model_of(SCENARIOS[0], tmp_path)
    counting = faulty()
    model.act(model.trial(tmp_path / "counting"), counting)
    clone = counting.steps.index("rename_new")
    with memory_disk(tmp_path / "disk") as disk:
        root = model.trial(disk / "story")
        with pytest.raises(PowerLoss):
            model.act(root, faulty(HastyDisk, Fault("dies", done="all"), clone))
        remount(disk, "ro")
        try:
            assert len(forklore.open(root).stories().to_json()["stories"]) == 1
            with pytest.raises(ReadOnly):
                forklore.open(root).checkpoint(CHAT)
        finally:
            remount(disk, "rw")

        forklore.open(root).recover()

        assert not model.assert_all_or_nothing(root, "writable again")


@pytest.mark.req(48)
@posix_only("there are no such limits")
def test_a_limit_on_the_size_of_files_refuses_the_fork_without_a_trace(tmp_path: Path) -> None:
    root = tmp_path / "story"
    write_story(root)
    before = read_workspace(root)
    largest = max(len(content) for content in before.values())
    outcomes = []

    for most in (0, 100, 1000, 3000, largest // 2, largest, 2 * largest):
        hears, tells = fork_server().Pipe(duplex=False)
        child = start(fork_with_a_limit, root, most, tells)
        assert hears.poll(60)
        told = hears.recv()
        child.join()
        outcomes.append(told["error"]["code"] if "error" in told else "made")
        assert_tidy(root)
        if outcomes[-1] != "made":
            assert read_workspace(root) == before
        else:
            assert_whole(root)
            undo_everything(forklore.open(root))

    assert outcomes[0] == "DISK_FAILED"
    assert outcomes[-1] == "made"
    assert read_workspace(root) == before


def test_a_file_where_a_folder_of_ours_should_be_is_told(tmp_path: Path) -> None:
    write_story(tmp_path)
    (tmp_path / ".forklore").mkdir()
    (tmp_path / ".forklore/staging").write_bytes(b"not a folder")
    before = read_workspace(tmp_path)

    with pytest.raises(DiskFailed, match="Invalid name" if IS_WINDOWS else "File exists"):
        forklore.open(tmp_path).checkpoint(CHAT)

    assert read_workspace(tmp_path) == before
