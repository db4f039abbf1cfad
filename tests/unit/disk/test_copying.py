"""A byte range is copied as it is, wherever it stands and whichever way the system copies."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forklore.disk.disk import Disk

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


@pytest.mark.parametrize("in_kernel", [True, False])
@pytest.mark.parametrize("opening", [0, 1, _PAGE])
@pytest.mark.parametrize("start", [0, 1, _PAGE + 5])
@pytest.mark.parametrize("end", [_SIZE, _SIZE - 17, 1 << 20])
def test_a_range_arrives_as_it_is(
    source: Path, opening: int, start: int, end: int, *, in_kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_kernel:
        monkeypatch.delattr(os, "copy_file_range", raising=False)

    assert copied(source, b"h" * opening, start, end) == b"h" * opening + source.read_bytes()[start:end]


def test_a_file_that_became_shorter_is_an_error(source: Path) -> None:
    with opened(source, source.with_name("target")) as (reading, writing):
        Disk().write(writing, b"h")
        os.truncate(source, 2 << 20)
        with pytest.raises(OSError, match="became shorter"):
            Disk().copy(reading, writing, 0, _SIZE)
