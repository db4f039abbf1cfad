"""Files that are open only while they are read, as on Windows; and files that are not read at all."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

import forklore
from forklore.disk import files, scan
from forklore.disk.disk import Disk
from forklore.disk.files import BriefFile, ContextChanged, OpenFile
from forklore.disk.system import read_shared
from forklore.errors import FileOnlineOnly
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import write_workspace
from tests.needed import posix_only

TEXT = b"".join(b"%d\n" % number for number in range(5000))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file."""
    (tmp_path / "chat.jsonl").write_bytes(TEXT)
    return tmp_path / "chat.jsonl"


@pytest.fixture(params=["at once", "in pieces"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to read a file."""
    if request.param == "in pieces":
        monkeypatch.setattr(files, "_AT_ONCE", 100)
        monkeypatch.setattr(files, "_PIECE", 1000)
    return str(request.param)


def replace(path: Path, content: bytes) -> None:
    """Save as SillyTavern does."""
    aside = path.with_name("aside")
    aside.write_bytes(content)
    aside.replace(path)


@pytest.mark.usefixtures("size")
def test_it_reads_what_a_file_reads_that_is_held_open(path: Path, tmp_path: Path) -> None:
    with BriefFile(path) as file:
        assert file.size == len(TEXT)
        assert file.read() == file.read_as_opened() == TEXT
        assert file.read(10, 20) == TEXT[10:20]
        assert b"".join(map(bytes, file.chunks(3, 4000, size=700))) == TEXT[3:4000]
        assert file.digest() == hashlib.sha256(TEXT).hexdigest()
        assert file.chat.lines.starts
        with OpenFile(path) as held:
            assert file.fingerprint == held.fingerprint
        copy = Disk().create(tmp_path / "copy", file.stat)
        file.copy_to(copy, 5, 4321, Disk())
        os.close(copy)

    assert (tmp_path / "copy").read_bytes() == TEXT[5:4321]


@posix_only("it does not tell what is open")
@pytest.mark.usefixtures("size")
def test_nothing_stays_open(path: Path) -> None:
    before = os.listdir("/dev/fd")

    file = BriefFile(path)
    file.read(0, 10)

    assert os.listdir("/dev/fd") == before


def test_what_was_read_at_once_stays_what_it_was(path: Path) -> None:
    with BriefFile(path) as file:
        replace(path, b"another")

        assert file.read() == TEXT


def test_a_large_file_that_is_replaced_between_two_looks_is_not_mixed_up(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_AT_ONCE", 100)
    file = BriefFile(path)
    replace(path, TEXT.replace(b"1", b"22"))

    with pytest.raises(ContextChanged):
        file.read(0, 10)


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saves = [b"first save", b"the second save"]

    def read_among_others(place: str | Path, size: int) -> bytes:
        if saves:
            replace(path, saves.pop(0))
        return read_shared(place, size)

    monkeypatch.setattr(files, "read_shared", read_among_others)

    assert BriefFile(path).read() == b"the second save"


def test_a_file_that_is_written_all_the_time_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = iter(range(10_000, 20_000))

    def read_among_others(place: str | Path, size: int) -> bytes:
        replace(path, b"x" * next(contents))
        return read_shared(place, size)

    monkeypatch.setattr(files, "read_shared", read_among_others)

    with pytest.raises(ContextChanged):
        BriefFile(path)


def test_what_was_read_just_now_is_not_opened_again_while_it_looks_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []

    def read_and_tell(place: str | Path, size: int) -> bytes:
        opened.append(place)
        return read_shared(place, size)

    monkeypatch.setattr(files, "read_shared", read_and_tell)

    first, second = BriefFile(path).read(), BriefFile(path).read()
    replace(path, b"another")
    third = BriefFile(path).read()
    monkeypatch.setattr(files, "_MOMENT", 0.0)
    fourth = BriefFile(path).read()

    assert (first, second, third, fourth) == (TEXT, TEXT, b"another", b"another")
    assert len(opened) == 3


def test_what_is_no_file_is_refused_as_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        BriefFile(tmp_path / "nothing")
    with pytest.raises(OSError, match=os.strerror(errno.EISDIR)):
        BriefFile(tmp_path)


# --- files that are only in the cloud -------------------------------------------------------------------------------


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A story with a second chat whose content is not on this machine; to open that one fails the test."""
    for name in ("Here", "There"):
        write_workspace(tmp_path, stories.solo_files(name, {"integrity": name}, stories.conversation(3)))
    numbers = {(tmp_path / "chats/Mira/There.jsonl").stat().st_mtime_ns}

    def read_here(place: str | Path, size: int) -> bytes:
        assert "There" not in str(place)
        return read_shared(place, size)

    for module in (files, scan):
        monkeypatch.setattr(module, "is_online_only", lambda found: found.st_mtime_ns in numbers)
    monkeypatch.setattr(files, "read_shared", read_here)
    for name in ("disk.gather", "disk.scan", "disk.naming", "disk.workspace"):
        monkeypatch.setattr(f"forklore.{name}.OpenFile", BriefFile)
    os.utime(tmp_path / "chats/Mira/Here.jsonl", ns=(1, 1))
    return tmp_path


def test_a_scan_tells_of_a_chat_in_the_cloud_and_does_not_fetch_it(cloud: Path) -> None:
    story = forklore.open(cloud, disk=HastyDisk())

    shown = {timeline.chat: timeline.messages for each in story.stories().stories for timeline in each.timelines}

    assert shown == {"Mira/Here": 3, "Mira/There": 0}


def test_doctor_tells_of_a_chat_in_the_cloud(cloud: Path) -> None:
    found = forklore.open(cloud, disk=HastyDisk()).doctor()

    assert [(each.finding.code, each.path) for each in found.findings] == [
        ("FILE_ONLINE_ONLY", "chats/Mira/There.jsonl")
    ]


@pytest.mark.parametrize("act", ["checkpoint", "verify", "check", "show"])
def test_who_asks_for_a_chat_in_the_cloud_is_told_what_to_do(cloud: Path, act: str) -> None:
    with pytest.raises(FileOnlineOnly) as caught:
        getattr(forklore.open(cloud, disk=HastyDisk()), act)("Mira/There")

    assert "Always keep on this device" in caught.value.action


def test_a_chat_that_was_fetched_meanwhile_is_read_the_next_time(cloud: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story = forklore.open(cloud, disk=HastyDisk())
    story.stories()
    monkeypatch.undo()

    shown = {timeline.chat: timeline.messages for each in story.stories().stories for timeline in each.timelines}

    assert shown == {"Mira/Here": 3, "Mira/There": 3}
