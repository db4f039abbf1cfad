"""Files that are odd and yet right: everybody says the same of them, and nobody fails."""

from __future__ import annotations

from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import write_workspace

CHAT = "Mira/Tale"


def tale(root: Path, line: bytes = b"", *, book: str = "Lore", entries: list[stories.Json] | None = None) -> Forklore:
    lore = stories.lorebook(entries if entries is not None else [stories.entry(1, "a", "b")])
    recap = stories.running_recap("Tale", [], 0) if entries else {}
    said = stories.conversation(3)
    write_workspace(root, stories.solo_files("Tale", {"world_info": book, **recap}, said, books={"Lore": lore}))
    if line:
        path = root / "chats/Mira/Tale.jsonl"
        path.write_bytes(path.read_bytes() + b"\n" + line)
    return forklore.open(root, disk=HastyDisk())


def said(workspace: Forklore) -> list[set[str]]:
    """Return the codes that ``check``, ``verify`` and ``doctor`` tell of the chat."""
    report = workspace.check(CHAT)
    return [
        {finding.code for finding in (*report.errors, *report.warnings)},
        {finding.code for finding in workspace.verify(CHAT).findings},
        {each.finding.code for each in workspace.doctor().findings},
    ]


@pytest.mark.parametrize("odd", [b"9" * 5000, b"[" * 980 + b"]" * 980], ids=["5,000 digits", "980 levels"])
def test_a_message_that_javascript_can_read_is_whole_to_everybody(odd: bytes, tmp_path: Path) -> None:
    workspace = tale(tmp_path, b'{"name":"x","mes":"y","extra":{"n":' + odd + b"}}")

    assert said(workspace) == [set(), set(), set()]
    assert workspace.branch(CHAT).messages == 4


def test_a_line_that_nobody_can_read_is_damage_to_everybody(tmp_path: Path) -> None:
    assert said(tale(tmp_path, b'{"name":"x","mes":')) == [{"CHAT_DAMAGED"}] * 3


def test_half_an_emoji_as_the_name_of_a_lorebook_names_a_missing_one(tmp_path: Path) -> None:
    assert said(tale(tmp_path, book="half \ud83d")) == [{"LOREBOOK_MISSING"}] * 3


def test_a_uid_of_5000_digits_names_no_entry(tmp_path: Path) -> None:
    line = stories.registry_line(1, "item-Lamp").replace("1", "9" * 5000, 1)
    workspace = tale(tmp_path, entries=[stories.registry(0, "item", [line]), stories.entry(1, "item-Lamp")])

    assert all("REGISTRY_BROKEN" in codes for codes in said(workspace))


@pytest.mark.req(122)
def test_a_missing_lorebook_whose_name_differs_in_case_alone_is_offered(tmp_path: Path) -> None:
    workspace = tale(tmp_path, book="LORE")
    if (tmp_path / "worlds/LORE.json").exists():
        pytest.skip("to this disk both are one file")

    (finding,) = workspace.verify(CHAT).findings

    assert (finding.code, finding.repairs[0]) == ("LOREBOOK_MISSING", "follow-rename")
    workspace.repair(CHAT, "LOREBOOK_MISSING", repair="follow-rename")
    assert workspace.show(CHAT).lorebook == "Lore"
    assert workspace.doctor().findings == ()


def test_status_says_that_a_lorebook_is_missing(tmp_path: Path) -> None:
    assert tale(tmp_path / "a", book="Gone").status(CHAT).to_json()["lorebook_missing"] is True
    assert tale(tmp_path / "b").status(CHAT).to_json()["lorebook_missing"] is False


def test_a_chat_that_two_groups_list_is_known_by_both(tmp_path: Path) -> None:
    files = stories.group_files("Party", {}, stories.conversation(3))
    write_workspace(tmp_path, {**files, "groups/18.json": stories.group_bytes("18", ["Party"])})
    workspace = forklore.open(tmp_path, disk=HastyDisk())

    for group in ("17", "18"):
        made = workspace.branch(f"group:{group}/Party")
        assert made.chat.startswith(f"group:{group}/")
        assert workspace.verify(f"group:{group}/Party").findings == ()
        assert workspace.show(f"group:{group}/Party").messages == 3
    assert len(workspace.tree("Party").timelines) == 3
