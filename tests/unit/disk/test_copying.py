"""A byte range is copied as it is, wherever it stands and whichever way the system copies."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forklore.disk import disk
from forklore.disk.disk import Disk, is_for_kernel

_PAGE = 4096
_SIZE = (3 << 20) + 17


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file in which no two places look alike."""
    path = tmp_path / "source"
    path.write_bytes(random.Random(5).randbytes(_SIZE))
    return path


@contextmanager
def opened(source: Path, target: Path) -> Iterator[tuple[int, int]]:
    """Open a file to copy from and a new one to copy to."""
    binary = getattr(os, "O_BINARY", 0)
    reading, writing = os.open(source, os.O_RDONLY | binary), os.open(target, os.O_RDWR | os.O_CREAT | binary)
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def copied(source: Path, opening: bytes, start: int, end: int) -> bytes:
    """Return a file that begins with *opening* and goes on with a range of *source*."""
    target = source.with_name("target")
    with opened(source, target) as (reading, writing):
        Disk().write(writing, opening)
        Disk().copy(reading, writing, start, end)
    return target.read_bytes()


@pytest.fixture(params=["in the kernel", "in pieces", "no call for it"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How it is copied: a long range on a disk of this machine goes in pieces."""
    monkeypatch.setattr(os, "major", lambda _device: 8, raising=False)
    if request.param == "in pieces":
        monkeypatch.setattr(disk, "_MANY", 1 << 20)
    if request.param == "no call for it":
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("opening", [0, 1, _PAGE])
@pytest.mark.parametrize("start", [0, 1, _PAGE + 5])
@pytest.mark.parametrize("end", [_SIZE, _SIZE - 17, 1 << 20])
def test_a_range_arrives_as_it_is(source: Path, opening: int, start: int, end: int) -> None:
    assert copied(source, b"h" * opening, start, end) == b"h" * opening + source.read_bytes()[start:end]


@pytest.mark.usefixtures("way")
def test_a_file_that_became_shorter_is_an_error(source: Path) -> None:
    with opened(source, source.with_name("target")) as (reading, writing):
        Disk().write(writing, b"h")
        os.truncate(source, 2 << 20)
        with pytest.raises(OSError, match=os.strerror(errno.ESTALE)) as refused:
            Disk().copy(reading, writing, 0, _SIZE)
        assert refused.value.errno == errno.ESTALE


@pytest.mark.skipif(not hasattr(os, "copy_file_range"), reason="this system cannot copy by itself")
@pytest.mark.parametrize(
    "start, opening, device, expected",
    [
        pytest.param(1, 0, 8, False, id="a disk of this machine"),
        pytest.param(_PAGE, 2 * _PAGE, 8, True, id="blocks that may be shared"),
        pytest.param(_PAGE, 1, 8, False, id="blocks that lie otherwise"),
        pytest.param(1, 0, 0, True, id="a server"),
    ],
)
def test_a_long_range_is_left_to_the_kernel_where_that_may_do_better_than_copy(
    source: Path, start: int, opening: int, device: int, *, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_MANY", 1 << 20)
    monkeypatch.setattr(os, "major", lambda _device: device)
    with opened(source, source.with_name("target")) as (reading, writing):
        Disk().write(writing, b"h" * opening)

        assert is_for_kernel(reading, writing, start, _SIZE) is expected
        assert is_for_kernel(reading, writing, start, start + 9)


@pytest.mark.usefixtures("way")
def test_a_full_disk_is_told(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object, **_options: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with opened(source, source.with_name("target")) as (reading, writing):
        Disk().write(writing, b"h")
        monkeypatch.setattr(os, "write", full)
        if hasattr(os, "copy_file_range"):
            monkeypatch.setattr(os, "copy_file_range", full)
        with pytest.raises(OSError, match="No space"):
            Disk().copy(reading, writing, 1, _SIZE)
