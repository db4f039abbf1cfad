"""A new extension is one file with a table: nothing else has to be told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.adapters import made_up
from tests.unit.adapters.filling import ADDRESS, AT, BOOK, KNOWN, fill, of_later, read, teach


def test_one_short_file_is_all_that_a_fork_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teach(monkeypatch, made_up.ADAPTER)
    story = fill(tmp_path, (made_up.ADAPTER,))

    made = story.branch(ADDRESS, at=AT)

    clones = {book["original"]: book["name"] for book in made.lorebooks}
    fork = read(tmp_path, made.chat.partition("/")[2], clones.values())
    space = fork.metadata["tidewriter"]
    assert space.pop("id").startswith("tide-")
    assert space == {"diary": clones[f"{BOOK} diary"], "tides": [{"last": 2, "note": KNOWN}], "read_upto": AT}
    assert fork.messages[0]["extra"]["tide"] == {"lorebook": clones[BOOK]}
    assert of_later(fork) == []
    assert made.carried_from_present == ("tidewriter",)
    assert {(step["path"][-1], step["old"]) for step in made.settings} >= {("charts", BOOK)}


def test_who_does_not_know_it_takes_it_along_and_names_it(tmp_path: Path) -> None:
    story = fill(tmp_path, (made_up.ADAPTER,))

    made = story.branch(ADDRESS, at=AT)

    assert "tidewriter" in made.carried_from_present
    assert [book["original"] for book in made.lorebooks] == [BOOK]


def test_it_takes_thirty_lines_at_most() -> None:
    assert len(Path(made_up.__file__).read_text("utf-8").splitlines()) <= 30
