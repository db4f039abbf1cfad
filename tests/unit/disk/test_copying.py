"""A byte range is copied as it is, wherever it stands and whichever way the system copies."""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forklore.disk import disk as disk_module
from forklore.disk.disk import Disk

_PAGE = mmap.ALLOCATIONGRANULARITY
_SIZE = (3 << 20) + 17


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file that is worth mapping, in which no two places look alike."""
    path = tmp_path / "source"
    path.write_bytes(random.Random(5).randbytes(_SIZE))
    return path


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a range be mapped in several pieces."""
    monkeypatch.setattr(disk_module, "_MAPPED_AT_ONCE", 1 << 20)


@contextmanager
def opened(source: Path, target: Path) -> Iterator[tuple[int, int]]:
    """Open a file to copy from and a new one to copy to."""
    reading, writing = os.open(source, os.O_RDONLY), os.open(target, os.O_RDWR | os.O_CREAT)
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


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("is_mapped", [True, False])
@pytest.mark.parametrize("opening", [0, 1, _PAGE - 1, _PAGE])
@pytest.mark.parametrize("start", [0, 1, _PAGE, _PAGE + 5])
@pytest.mark.parametrize("end", [_SIZE, _SIZE - _PAGE, _SIZE - 17, 1 << 20])
def test_a_range_arrives_as_it_is(
    source: Path, opening: int, start: int, end: int, *, is_mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_mapped:
        monkeypatch.delattr(mmap, "MAP_POPULATE", raising=False)

    assert copied(source, b"h" * opening, start, end) == b"h" * opening + source.read_bytes()[start:end]


@pytest.mark.skipif(not hasattr(mmap, "MAP_POPULATE"), reason="only Linux maps")
@pytest.mark.usefixtures("small_pieces")
def test_a_large_range_that_moves_within_its_block_is_mapped_and_no_other(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[int] = []
    in_kernel = disk_module._copy_in_kernel

    def noted(source: int, target: int, start: int, count: int) -> int:
        others.append(count)
        return in_kernel(source, target, start, count)

    monkeypatch.setattr(disk_module, "_copy_in_kernel", noted)

    copied(source, b"h", 0, _SIZE)
    assert sum(others) < 1 << 20  # the rest, which is not worth it
    others.clear()
    copied(source, b"h" * _PAGE, 0, _SIZE)  # blocks that a file system may share
    assert others == [_SIZE]


def test_a_file_that_became_shorter_is_an_error_and_nothing_worse(source: Path) -> None:
    with opened(source, source.with_name("target")) as (reading, writing):
        Disk().write(writing, b"h")
        os.truncate(source, 2 << 20)
        with pytest.raises(OSError, match="became shorter"):
            Disk().copy(reading, writing, 0, _SIZE)


@pytest.mark.skipif(not hasattr(mmap, "MAP_POPULATE"), reason="only Linux maps")
def test_a_file_that_becomes_shorter_while_it_is_mapped_does_not_kill_us(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def shortened_first(descriptor: int, data: memoryview) -> int:
        os.truncate(source, _PAGE)
        return write(descriptor, data)

    with opened(source, source.with_name("target")) as (reading, writing):
        Disk().write(writing, b"h")
        monkeypatch.setattr(os, "write", shortened_first)
        with pytest.raises(OSError, match="became shorter"):
            Disk().copy(reading, writing, 0, _SIZE)
    assert (source.with_name("target")).stat().st_size <= _PAGE + 1
