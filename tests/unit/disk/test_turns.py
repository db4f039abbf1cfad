"""Threads that copy get the interpreter at once, and the program its usual turns back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forklore.disk.disk import Disk
from forklore.disk.files import OpenFile
from forklore.disk.staging import Stager
from forklore.disk.turns import short_turns
from forklore.model.plan import Range

_USUAL = 0.004
_SHORT = 0.0011 if sys.platform == "win32" else 0.0001


@pytest.fixture(autouse=True)
def usual_turns() -> Iterator[None]:
    """Turns of a length that nobody else asks for."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_USUAL)
    yield
    sys.setswitchinterval(before)


def test_turns_are_short_until_the_last_one_who_asked_is_done() -> None:
    first, second = short_turns(), short_turns()
    with first:
        second.__enter__()
    short = sys.getswitchinterval()
    second.__exit__(None, None, None)

    assert short < _SHORT
    assert sys.getswitchinterval() == pytest.approx(_USUAL)


def test_turns_that_are_shorter_already_stay() -> None:
    sys.setswitchinterval(1e-6)
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(1e-6)


def test_turns_are_short_while_a_large_file_is_written_and_as_before_afterwards(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(bytes(2 << 20))
    stager = Stager(Disk())
    with OpenFile(tmp_path / "source") as source:
        stager.begin(tmp_path / "new", (Range("source", 0, source.size),), {"source": source}, None)
        short = sys.getswitchinterval()
        stager.close()

    assert short < _SHORT
    assert sys.getswitchinterval() == pytest.approx(_USUAL)
