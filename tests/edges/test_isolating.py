"""``isolate`` and ``contamination`` on the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edges.running import MAREN, run, snapshot

KEY = "Maren Tolliver/The key in hand - 2025-11-02@21h04m23s"
BOOK = "z-AutoLB-Maren Tolliver-Maren Tolliver - 2025-11-02@19h14m08s"


@pytest.fixture
def legacy(sample: Callable[[str], Path]) -> Path:
    return sample("hollow_quay_legacy_shared")


def test_isolate_as_json_has_the_shape_of_the_contract(legacy: Path) -> None:
    done = run("isolate", KEY, "--data", legacy, "--json")

    assert done.code == 0
    operation = done.json["operation"]
    assert {key: done.json[key] for key in list(done.json)[:10]} == {
        "chat": KEY,
        "parent": MAREN,
        "at": 31,
        "lorebook": f"{BOOK}__CP_The_key_in_hand",
        "original_lorebook": BOOK,
        "entries": 28,
        "lorebook_source": "scene-snapshot",
        "kept_versions": [0, 1, 2],
        "removed_versions": [3, 4, 5],
        "operation": operation,
    }
    assert run("log", "--data", legacy, "--json").json["operations"][0]["id"] == operation


def test_isolate_says_what_was_done_and_how_to_take_it_back(legacy: Path) -> None:
    done = run("isolate", "The key", "--data", legacy)

    assert done.out.startswith(f"✓ Isolated: {KEY}\n")
    assert "character-Pim, location-Tide Market" in done.out
    assert "running recap version 3, 4, 5" in done.out
    assert "forklore undo " in done.out
    again = run("isolate", "The key", "--data", legacy)
    assert (again.code, again.out) == (0, f"✓ {KEY} is already isolated. Nothing was changed.\n")
    assert run("isolate", "The key", "--data", legacy, "--dry-run").out == "There is nothing to do.\n"


def test_a_dry_run_of_isolate_changes_nothing(legacy: Path) -> None:
    before = snapshot(legacy)

    planned = run("isolate", "The key", "--data", legacy, "--dry-run", "--json")

    assert [row["action"] for row in planned.json["plan"]] == ["create", "edit"]
    assert snapshot(legacy) == before


def test_a_dry_run_of_isolate_says_what_the_lorebook_would_hold(legacy: Path) -> None:
    everyone = run("isolate", "--all", "--data", legacy, "--dry-run", "--json").json["forks"]

    words = run("isolate", "The key", "--data", legacy, "--dry-run")
    planned = run("isolate", "The key", "--data", legacy, "--dry-run", "--json").json

    (same,) = (fork for fork in everyone if fork["chat"] == KEY)
    assert planned == same
    assert words.out.startswith(f"This is what would be done. Nothing was changed.\n\n✓ Isolate: {KEY}\n")
    assert f'"{planned["lorebook"]}", {planned["entries"]} entries\n' in words.out
    assert "character-Pim, location-Tide Market" in words.out
    assert "running recap version 3, 4, 5" in words.out
    assert all(row["path"] in words.out for row in planned["plan"])


def test_isolate_share(legacy: Path) -> None:
    planned = run("isolate", "The key", "--share", "--dry-run", "--data", legacy)
    assert "create  .forklore/settings.json" in planned.out
    done = run("isolate", "The key", "--share", "--data", legacy)
    assert f'The lorebook "{BOOK}" is declared shared.' in done.out
    assert "Nothing was changed." in run("isolate", "The key", "--share", "--data", legacy).out

    refused = run("isolate", "The key", "--data", legacy, "--json")

    assert (refused.code, refused.error["code"]) == (5, "SHARED_ON_PURPOSE")
    assert "forklore settings --unshare" in refused.error["action"]


def test_isolate_refuses_a_main_chat(legacy: Path) -> None:
    refused = run("isolate", MAREN, "--data", legacy, "--json")

    assert (refused.code, refused.error["code"]) == (2, "NOT_A_FORK")


def test_a_refused_isolation_lists_what_must_be_met(legacy: Path) -> None:
    (legacy / f"worlds/{BOOK}.json").unlink()

    refused = run("isolate", "The key", "--data", legacy)

    assert refused.code == 3
    assert "LOREBOOK_MISSING" in refused.err


def test_contamination_tells_whose_memories_are_in_the_book(legacy: Path) -> None:
    before = snapshot(legacy)

    shown = run("contamination", "The key", "--data", legacy)

    assert shown.code == 0
    assert shown.out.startswith(f'"{BOOK}" is used by 3 timelines:\n')
    assert "character-Pim UID 27\n  certain   Maren Tolliver - " in shown.out
    assert "  goes to   Maren Tolliver - 2025-11-02@19h14m08s, Branch #42 - 2025-11-02@21h05m23s\n" in shown.out
    assert snapshot(legacy) == before


def test_contamination_as_json(legacy: Path) -> None:
    shown = run("contamination", "The key", "--data", legacy, "--json").json

    assert (shown["story"], shown["book"], len(shown["timelines"])) == (MAREN, BOOK, 3)
    tower = next(entry for entry in shown["entries"] if entry["comment"] == "location-Light-Tower")
    because = "the scene that ends at message 53 made it or merged into it"
    reason = {"code": "wrote", "params": {"case": "scene", "message": 53}}
    assert tower == {
        "uid": 31,
        "comment": "location-Light-Tower",
        "produced_by": [{"chat": MAREN, "confidence": "certain", "because": because, "reason": reason}],
        "goes_to": [MAREN],
    }


def test_isolate_a_copy_of_a_main_chat(legacy: Path) -> None:
    main = legacy / f"chats/{MAREN}.jsonl"
    main.with_name(f"{main.stem} imported.jsonl").write_bytes(main.read_bytes())

    done = run("isolate", f"{MAREN} imported", "--data", legacy)

    assert done.code == 0
    assert "Isolated: " in done.out
    assert "its original" in done.out
    assert run("undo", "--data", legacy).code == 0
    assert main.with_name(f"{main.stem} imported.jsonl").read_bytes() == main.read_bytes()


def test_isolating_all_says_what_was_done_for_each(legacy: Path) -> None:
    planned = run("isolate", "--all", "--dry-run", "--data", legacy)
    assert planned.out.startswith("This is what would be done. Nothing was changed.\n")
    assert planned.out.count("create ") == 2

    done = run("isolate", KEY, "--all", "--data", legacy)

    assert (done.code, done.out.count("✓ Isolated: "), done.out.count("forklore undo ")) == (0, 2, 2)
    assert "character-Pim, location-Tide Market" in done.out
    again = run("isolate", "--all", "--data", legacy)
    assert (again.code, again.out) == (0, "✓ No fork shares its lorebook. Nothing was changed.\n")


def test_isolating_all_says_why_not_for_those_that_are_refused(legacy: Path) -> None:
    (legacy / f"worlds/{BOOK}.json").write_text("no lorebook")

    refused = run("isolate", "--all", "--data", legacy)

    assert refused.code == 3
    assert refused.out.count("✗ Not isolated: ") == 2
    assert "LOREBOOK_UNREADABLE" in refused.out
    assert "0 forks isolated, 2 refused." in refused.out
    assert "\nCannot Isolate This Timeline\n" in run("isolate", KEY, "--data", legacy).err
    assert run("isolate", "Nobody", "--data", legacy).err.startswith("Failed to isolate the timeline: There is no chat")


def test_isolate_without_a_chat_says_what_is_missing(legacy: Path) -> None:
    asked = run("isolate", "--data", legacy)

    assert asked.code == 2
    assert "--all" in asked.err


def test_the_doctor_tells_of_the_way_to_isolate_all(legacy: Path) -> None:
    assert "`forklore isolate --all`" in run("doctor", "--data", legacy).out
    run("isolate", "--all", "--data", legacy)

    assert run("doctor", "--data", legacy).out == "✓ Everything is in order.\n"
