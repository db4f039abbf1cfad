"""delete, cleanup, trash and restore on the command line, for a person and for a program."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from forklore.cli import terminal
from tests.edges.running import MAREN, run, snapshot

Sample = Callable[[str], Path]


@pytest.fixture
def quay(sample: Sample) -> Path:
    """A copy of a story with a checkpoint "Mine"."""
    root = sample("hollow_quay_clean")
    assert run("--data", root, "checkpoint", MAREN, "--name", "Mine").code == 0
    return root


def answer(monkeypatch: pytest.MonkeyPatch, *, yes: bool) -> None:
    """Let a person sit at the terminal who gives every question the same answer."""
    for name in ("delete", "trash"):
        monkeypatch.setattr(f"forklore.cli.commands.{name}.ask", lambda *_question: yes)


def test_delete_as_json(quay: Path) -> None:
    deleted = run("--data", quay, "delete", "Mine", "--json").json

    assert set(deleted) == {"chat", "book", "more_books", "kept_because", "kept_facts", "children", "operation"}
    assert deleted["chat"] == "Maren Tolliver/Mine"
    assert deleted["book"].endswith("__CP_Mine")
    assert (deleted["kept_because"], deleted["kept_facts"], deleted["children"]) == ([], [], [])


def test_delete_tells_a_person_what_stayed_and_how_to_take_it_back(quay: Path) -> None:
    (quay / "settings.json").write_bytes(b"{")

    ran = run("--data", quay, "delete", "Mine")

    assert ran.code == 0
    assert "✓ Moved to the trash: Maren Tolliver/Mine" in ran.out
    assert '__CP_Mine" was kept\n' in ran.out
    assert "SillyTavern's settings.json cannot be read." in ran.out
    assert "forklore undo " in ran.out


def test_delete_of_a_parent_without_a_terminal_is_refused(quay: Path) -> None:
    before = snapshot(quay)

    words, document = run("--data", quay, "delete", MAREN), run("--data", quay, "delete", MAREN, "--json")

    assert words.code == document.code == 3
    assert document.error["code"] == "CHAT_HAS_FORKS"
    assert "--yes" in document.error["action"]
    assert "Maren Tolliver/Mine" in words.err
    assert snapshot(quay) == before


def test_delete_of_a_parent_asks_on_a_terminal(quay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, yes=False)
    assert run("--data", quay, "delete", MAREN).code == 3
    answer(monkeypatch, yes=True)

    ran = run("--data", quay, "delete", MAREN)

    assert ran.code == 0
    assert "1 fork, complete without it" in ran.out
    assert run("--data", quay, "show", "Mine", "--json").json["parent"] is None


def test_delete_of_a_parent_with_yes(quay: Path) -> None:
    assert run("--data", quay, "delete", MAREN, "--yes", "--json").json["children"] == ["Maren Tolliver/Mine"]


def test_cleanup_lists_and_applies(quay: Path) -> None:
    assert run("--data", quay, "cleanup").out == "There is nothing to clean up.\n"
    (quay / "chats/Maren Tolliver/Mine.jsonl").unlink()

    listed = run("--data", quay, "cleanup")
    document = run("--data", quay, "cleanup", "--json").json
    applied = run("--data", quay, "cleanup", "--apply")

    assert "Lorebooks that nothing uses\n" in listed.out
    assert "Nothing was changed." in listed.out
    assert set(document) == {"books", "map_entries", "kept_because", "kept_facts", "operation"}
    assert [set(book) for book in document["books"]] == [{"name", "size", "age_days", "from", "origin"}]
    assert [entry["fork"] for entry in document["map_entries"]] == ["Mine"]
    assert document["operation"] is None
    assert "✓ Moved to the trash." in applied.out
    assert run("--data", quay, "undo").code == 0


def test_cleanup_tells_why_it_cannot_tell(quay: Path) -> None:
    (quay / "settings.json").write_bytes(b"{")

    ran = run("--data", quay, "cleanup")

    assert "not certain that a lorebook is unused\n  SillyTavern's settings.json cannot be read." in ran.out


def test_trash_and_restore(quay: Path) -> None:
    assert run("--data", quay, "trash").out == "The trash is empty.\n"
    run("--data", quay, "delete", "Mine")

    listed = run("--data", quay, "trash")
    items = run("--data", quay, "trash", "--json").json["items"]
    restored = run("--data", quay, "restore", items[1]["item"], "--json").json

    assert "2 files, " in listed.out
    assert all(set(item) == {"item", "path", "when", "size", "operation"} for item in items)
    assert set(restored) == {"item", "path", "operation", "pending", "pending_facts"}
    assert restored["path"] == "chats/Maren Tolliver/Mine.jsonl"
    assert run("--data", quay, "restore", "Mine", "--json").error["code"] == "ITEM_NOT_FOUND"


def test_restore_tells_a_person_what_came_along(quay: Path) -> None:
    run("--data", quay, "delete", "Mine")

    ran = run("--data", quay, "restore", "Mine.jsonl")

    assert "✓ Restored: chats/Maren Tolliver/Mine.jsonl\n  with it  worlds/" in ran.out


def test_emptying_needs_an_age_and_a_yes(quay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("--data", quay, "delete", "Mine")
    before = snapshot(quay)

    assert run("--data", quay, "trash", "--empty", "--json").error["code"] == "BAD_REQUEST"
    assert run("--data", quay, "trash", "--older-than", "3", "--json").error["code"] == "BAD_REQUEST"
    refused = run("--data", quay, "trash", "--empty", "--older-than", "0", "--json")
    assert (refused.code, refused.error["code"]) == (3, "CONFIRMATION_NEEDED")
    answer(monkeypatch, yes=False)
    assert run("--data", quay, "trash", "--empty", "--older-than", "0").code == 3
    assert snapshot(quay) == before

    answer(monkeypatch, yes=True)
    assert "✓ Deleted for good: 2 files" in run("--data", quay, "trash", "--empty", "--older-than", "0").out
    assert run("--data", quay, "undo", "--json").error["code"] == "UNDO_REFUSED"


def test_emptying_with_yes(quay: Path) -> None:
    run("--data", quay, "delete", "Mine")

    assert (
        "Nothing in the trash is that old." in run("--data", quay, "trash", "--empty", "--older-than", "1", "--yes").out
    )
    assert len(run("--data", quay, "trash", "--empty", "--older-than=0", "--yes", "--json").json["items"]) == 2


@pytest.mark.parametrize("typed, yes", [("y\n", True), ("Yes\n", True), ("\n", False), ("", False), ("no\n", False)])
def test_a_question_is_answered_with_yes_or_not_at_all(typed: str, yes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert not terminal.ask("Really?")  # nobody is there

    monkeypatch.setattr(terminal, "is_terminal", lambda _stream: True)
    assert terminal.ask("Really?") is yes
