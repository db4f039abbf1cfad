"""What a large story needs is written before the plan is made: once, and just as without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forklore.app import fork as forking
from forklore.disk.system import Look
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import read_workspace, write_workspace
from tests.crash.scenarios import open_with

MAIN = "Mira/Tale"


class CountingDisk(HastyDisk):
    """A disk that notes which files are made on it."""

    def __init__(self) -> None:
        """Begin with none."""
        self.made: list[str] = []

    def create(self, path: Path, like: os.stat_result | Look | None = None, *, mode: int = 0o644) -> int:
        """Make a file."""
        self.made.append(path.name)
        return super().create(path, like, mode=mode)


def tale(root: Path, last: bytes = b"") -> Path:
    """Write a story in which nothing stands in the way of a fork."""
    book = stories.lorebook([stories.entry(3, "character-Mira", "a cook")])
    files = stories.solo_files(
        "Tale", {"world_info": "Lore", "integrity": "a"}, stories.conversation(9), books={"Lore": book}
    )
    write_workspace(root, files)
    with (root / "chats/Mira/Tale.jsonl").open("ab") as chat:
        chat.write(last)
    return root


@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
@pytest.mark.parametrize(
    "last", [b"", b"\n", b"\n \t\r\n\n", b"\r\n"], ids=["none", "line break", "blank lines", "Windows"]
)
def test_it_is_written_once_and_just_as_without(
    kind: str, last: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for least in (1 << 30, 0):
        monkeypatch.setattr(forking, "_LARGE", least)
        root, disk = tale(tmp_path / str(least), last), CountingDisk()
        getattr(open_with(root, disk), kind)(MAIN)
        results.append((read_workspace(root), sorted(name.lstrip("0123456789") for name in disk.made)))

    assert results[0] == results[1]
