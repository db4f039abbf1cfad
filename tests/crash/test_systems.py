"""Systems that lack the calls Linux has: Windows, macOS, old kernels, FAT. The forks are the very same."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from forklore.disk import disk as disk_module
from forklore.disk.disk import Disk
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from tests.crash.disks import ContestedDisk, LinkingDisk, PlainDisk, another_system
from tests.crash.scenarios import (
    BOOK,
    CHAT,
    NAME,
    SCENARIOS,
    Scenario,
    assert_tidy,
    model_of,
    open_with,
    read_workspace,
    undo_everything,
)
from tests.crash.structure import assert_whole
from tests.needed import posix_only

pytestmark = pytest.mark.crash


def forget(monkeypatch: pytest.MonkeyPatch, *calls: str) -> None:
    """Take calls away from the system."""
    for call in calls:
        monkeypatch.delattr(os, call, raising=False)


@another_system
@pytest.mark.parametrize("system", [LinkingDisk, PlainDisk])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_every_operation_makes_the_same_files_on_every_system(
    scenario: Scenario, system: type[Disk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, root = model_of(scenario, tmp_path), tmp_path / "trial"
    forget(monkeypatch, "pread", "preadv", "pwrite", "copy_file_range", "fchown", "O_PATH")

    model.act(model.trial(root), system())

    assert model.assert_all_or_nothing(root, system.__name__)
    model.assert_usable(root)


def test_threads_that_read_one_file_do_not_disturb_each_other_where_a_file_has_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Windows cannot read at a place in one call, while digest, new chat and new parent are made from one open file.
    book = stories.lorebook([stories.entry(uid, f"character-{uid}", f"{uid} " * 400) for uid in range(600)])
    messages = [stories.message(f"{number} " * 400) for number in range(3000)]
    files = stories.solo_files(NAME, {"integrity": "a", "world_info": BOOK}, messages, books={BOOK: book})
    stories.write_workspace(tmp_path, files)
    before = read_workspace(tmp_path)
    forget(monkeypatch, "pread", "preadv", "pwrite", "copy_file_range")
    seek = os.lseek

    def seek_and_dawdle(descriptor: int, place: int, whence: int) -> int:
        found = seek(descriptor, place, whence)
        time.sleep(0.001)  # so that every other thread gets its turn between seeking and reading
        return found

    monkeypatch.setattr(os, "lseek", seek_and_dawdle)

    open_with(tmp_path).checkpoint(CHAT)
    open_with(tmp_path, first_id=100).checkpoint(CHAT, at=1500)

    assert len(assert_whole(tmp_path)) == 2  # every byte is as its digest says
    undo_everything(open_with(tmp_path, first_id=200))
    assert read_workspace(tmp_path) == before


def test_the_fallbacks_of_a_rename_never_overwrite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_module, "_special_rename", lambda: None)
    for number, refuses_links in enumerate((False, True)):
        if refuses_links:
            monkeypatch.setattr(os, "link", _refuse)
        source, target = tmp_path / f"source-{number}", tmp_path / f"target-{number}"
        source.write_bytes(b"new")
        target.write_bytes(b"old")

        with pytest.raises(FileExistsError):
            Disk().rename_new(source, target)
        assert (source.read_bytes(), target.read_bytes()) == (b"new", b"old")
        target.unlink()
        Disk().rename_new(source, target)

        assert target.read_bytes() == b"new"
        assert not source.exists()
        assert not Disk().exchange(target, target)


def _refuse(*_arguments: object, **_options: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_a_file_that_a_virus_scanner_holds_for_a_moment_is_renamed_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = ContestedDisk(at=0, attempts=2)
    (tmp_path / "source").write_bytes(b"new")

    disk.replace(tmp_path / "source", tmp_path / "target")

    assert (tmp_path / "target").read_bytes() == b"new"
    assert disk.refused == 2


@posix_only("it has no such call")
def test_a_kernel_that_copies_nothing_although_there_is_something_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(SCENARIOS[0], tmp_path)
    monkeypatch.setattr(os, "copy_file_range", lambda *_arguments, **_options: 0)

    model.act(model.trial(tmp_path / "trial"), HastyDisk())

    assert model.assert_all_or_nothing(tmp_path / "trial", "without a copy in the kernel")
    assert_tidy(tmp_path / "trial")
