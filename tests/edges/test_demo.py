"""The demonstration proves what it says."""

from pathlib import Path

import pytest

from forklore.testing import stories
from tests.edges.running import run, snapshot


def test_the_demo_shows_the_tree_and_the_proof(tmp_path: Path) -> None:
    ran = run("demo", tmp_path / "quay", "--no-serve")

    assert ran.code == 0
    assert "The key in hand  checkpoint @31, 32 messages" in ran.out
    assert "Branch #1  branch @42, 44 messages" in ran.out
    assert ran.out.count("and nowhere else.") == 2
    assert "checkpoint  32 messages, recap versions 0 1 2\n" in ran.out
    assert "✓ Nothing leaked.\n" in ran.out
    assert ran.err == ""


def test_the_facts_of_the_demo_can_be_found_again_in_its_files(tmp_path: Path) -> None:
    shown = run("demo", tmp_path / "quay", "--json").json

    files = stories.read_workspace(tmp_path / "quay")
    assert shown["ok"] is True
    for mark in shown["marks"]:
        holding = sorted(path for path, content in files.items() if mark["words"].encode() in content)
        assert mark["found"] == mark["expected"] == holding
        assert len(holding) == 2
    assert len({path for mark in shown["marks"] for path in mark["found"]}) == 4
    assert [digest["part"] for digest in shown["digests"]] == ["messages", "lorebook"]
    assert list(shown["running_versions"].values()) == [[0, 1, 2, 3, 4, 5], [0, 1, 2], [0, 1, 2, 3]]
    assert "Pim" in shown["learned_later"]


def test_the_demo_without_a_folder_makes_and_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    shown = run("demo", "--json").json

    assert Path(shown["folder"]).parent == tmp_path
    assert run("--data", shown["folder"], "tree").code == 0


def test_the_demo_takes_an_empty_folder(tmp_path: Path) -> None:
    assert run("demo", tmp_path, "--no-serve").code == 0


@pytest.mark.parametrize("there", ["a folder with a file", "a file"])
def test_the_demo_refuses_a_folder_that_holds_something(tmp_path: Path, there: str) -> None:
    target = tmp_path / "mine"
    if there == "a file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / "diary.txt").write_text("mine")
    before = snapshot(tmp_path)

    ran = run("demo", target, "--json")

    assert ran.code == 5
    assert ran.error["code"] == "FOLDER_NOT_EMPTY"
    assert snapshot(tmp_path) == before


def test_the_sample_story_of_the_demo_is_the_one_of_the_tests() -> None:
    root = Path(__file__).parents[2]

    assert snapshot(root / "src/forklore/demo/story") == snapshot(root / "tests/samples/hollow_quay_clean")
