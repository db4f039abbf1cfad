"""The command that shows and changes the settings."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edges.running import run

BOOK = "z-AutoLB-Maren Tolliver-Maren Tolliver - 2025-11-02@19h14m08s"

Sample = Callable[[str], Path]


@pytest.fixture
def root(sample: Sample) -> Path:
    return sample("hollow_quay_legacy_shared")


def test_the_settings_are_shown(root: Path) -> None:
    shown = run("--data", root, "settings")

    assert shown.code == 0
    assert "policy       standard" in shown.out
    assert "{parent} - Branch #{n}" in shown.out
    assert "undo" not in shown.out


def test_every_option_writes_what_it_says(root: Path) -> None:
    shown = run(
        *("--data", root, "settings", "--default-policy", "strict", "--checkpoint-name", "Save {n}"),
        *("--require", "NO_SCENE_BREAK=warn", "--require", "NO_LOREBOOK=ignore", "--share", BOOK),
    )

    assert shown.code == 0
    assert "Requirements that differ from the policy\n  NO_SCENE_BREAK  warn\n" in shown.out
    assert f"Lorebooks shared on purpose\n  {BOOK}\n" in shown.out
    assert json.loads((root / ".forklore/settings.json").read_bytes()) == {
        "format": 1,
        "policy": "strict",
        "names": {"checkpoint": "Save {n}"},
        "requirements": {"NO_SCENE_BREAK": "warn", "NO_LOREBOOK": "ignore"},
        "shared_books": [BOOK],
    }


def test_options_take_back_what_they_said(root: Path) -> None:
    run("--data", root, "settings", "--branch-name", "B {n}", "--require", "NO_LOREBOOK=block", "--share", BOOK)

    back = ("--branch-name", "", "--require", "NO_LOREBOOK=usual", "--unshare", BOOK)
    shown = run("--data", root, "settings", *back, "--json").json

    assert (shown["requirements"], shown["shared_books"]) == ({}, [])
    assert shown["names"]["branch"] == "{parent} - Branch #{n}"
    assert run("--data", root, "undo", shown["operation"]).code == 0
    assert run("--data", root, "settings", "--json").json["shared_books"] == [BOOK]


def test_the_json_is_one_document_with_rows_and_books(root: Path) -> None:
    shown = run("--data", root, "settings", "--json").json

    assert set(shown) == {"policy", "names", "requirements", "shared_books", "rows", "books", "operation"}
    assert shown["books"] == [BOOK]


@pytest.mark.parametrize(
    "options",
    [
        ("--require", "NO_LOREBOOK"),
        ("--require", "NOPE=warn"),
        ("--require", "CHAT_DAMAGED=ignore"),
        ("--share", "There is none"),
        ("--unshare", BOOK),
        ("--default-policy", "lenient"),
    ],
)
def test_what_makes_no_sense_is_exit_code_2(root: Path, options: tuple[str, str]) -> None:
    refused = run("--data", root, "settings", *options, "--json")

    assert refused.code == 2
    assert refused.error["kind"] == "invalid"
    assert not (root / ".forklore/settings.json").exists()
