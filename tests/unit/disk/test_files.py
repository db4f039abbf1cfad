"""A file that is open for reading has one content, and says so when it has not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forklore.disk.files import ContextChanged, OpenFile
from tests.needed import posix_only


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "book.json"
    path.write_bytes(b"The tide comes in.")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def test_a_file_that_was_replaced_is_still_the_one_that_was_opened(path: Path) -> None:
    with OpenFile(path) as file:
        path.with_suffix(".new").write_bytes(b"The tide goes out.")
        path.with_suffix(".new").replace(path)

        assert file.read_as_opened() == b"The tide comes in."


@posix_only("what was read once is kept")
@pytest.mark.parametrize("content", [b"The tide goes out.", b"The tide comes in. And out."])
def test_a_file_that_was_written_over_is_not(path: Path, content: bytes) -> None:
    with OpenFile(path) as file:
        path.write_bytes(content)

        with pytest.raises(ContextChanged, match="changed"):
            file.read_as_opened()
