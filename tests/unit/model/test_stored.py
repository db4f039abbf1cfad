"""Which stored paths may become real ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.errors import PathOutside
from forklore.model.stored import (
    beside_path,
    folder_path,
    is_operation_id,
    relative_path,
    staged_path,
    story_path,
    trash_item,
)

ID = "20260506-070809-000001-beef"

STORIES = (
    "chats/Mira/Tale.jsonl",
    "chats/Tale.jsonl",
    "group chats/17.jsonl",
    "groups/17.json",
    "worlds/Lore.json",
    "worlds/ロア「一」.json",
    "chats/Mira/a\nb.jsonl",
    ".forklore/settings.json",
)
OUTSIDE = (
    "",
    ".",
    "/",
    "/etc/passwd.json",
    "../worlds/Lore.json",
    "worlds/../../Lore.json",
    "worlds/./Lore.json",
    "worlds//Lore.json",
    "worlds/Lore.json/",
    "worlds\\..\\Lore.json",
    "C:/worlds/Lore.json",
    "worlds/C:Lore.json",
    "\\\\server\\share\\Lore.json",
    "worlds/CON.json",
    "worlds/nul",
    "chats/aux/Tale.jsonl",
    "chats/com1.x/Tale.jsonl",
    "worlds/Lore\0.json",
    "worlds/\ud800.json",
    f"worlds/{'x' * 300}.json",
    "worlds/a/Lore.json",
    "worlds",
    "worlds/Lore.jsonl",
    "chats/Mira/Tale.json",
    "chats/Mira/a/Tale.jsonl",
    "characters/Mira.png",
    "settings.json",
    "secrets.json",
    ".forklore/access.json",
    ".forklore/operations/1.json",
    ".forklore/trash/1/0-Tale.jsonl",
    None,
    7,
    True,
    ["worlds", "Lore.json"],
)


@pytest.mark.parametrize("path", STORIES)
def test_a_path_into_the_folders_we_work_in_is_taken_as_it_is(path: str) -> None:
    assert story_path(path) == path


@pytest.mark.parametrize("path", OUTSIDE)
def test_any_other_path_is_refused(path: object) -> None:
    with pytest.raises(PathOutside):
        story_path(path)


@pytest.mark.parametrize(
    "check, good, bad",
    [
        (lambda path: staged_path(path, ID), f".forklore/staging/{ID}/0", ".forklore/staging/another/0"),
        (lambda path: staged_path(path, ID), f"worlds/.forklore-{ID}-501.tmp", f".forklore/staging/{ID}/journal.json"),
        (lambda path: beside_path(path, ID), f"chats/Mira/.forklore-{ID}-1.tmp", "chats/Mira/.forklore-another-1.tmp"),
        (lambda path: beside_path(path, ID), f"chats/.forklore-{ID}-1.tmp", f"extensions/.forklore-{ID}-1.tmp"),
        (lambda path: beside_path(path, ID), f"groups/.forklore-{ID}-1.tmp", f"groups/.forklore-{ID}-.tmp"),
        (trash_item, f"{ID}/0-Tale.jsonl", "Tale.jsonl"),
        (trash_item, f"{ID}/0-Tale.jsonl", f"{ID}/../../Tale.jsonl"),
        (folder_path, "chats/Mira", "characters"),
        (folder_path, "worlds", "worlds/deeper"),
        (folder_path, ".forklore", ".forklore/trash"),
    ],
)
def test_each_kind_of_path_leads_only_where_that_kind_lies(check: Callable[[object], str], good: str, bad: str) -> None:
    assert check(good) == good
    with pytest.raises(PathOutside):
        check(bad)


@pytest.mark.parametrize("name", ["$(id)", "a b", "-rf", "../x", "a'b", "", "x" * 101, "NUL", "ä"])
def test_an_id_that_a_shell_or_a_disk_could_misread_is_none(name: str) -> None:
    assert not is_operation_id(name)
    assert is_operation_id(ID)


@given(st.one_of(st.text(), st.text("./\\:\0acdwxo "), st.none(), st.integers(), st.lists(st.text())))
def test_whatever_is_stored_a_path_that_is_taken_leads_down(stored: object) -> None:
    try:
        path = relative_path(stored)
    except PathOutside:
        return

    parts = path.split("/")
    assert all(part not in {"", ".", ".."} for part in parts)
    assert not any(character in path for character in "\\\0")


def test_what_is_told_of_a_huge_path_is_short() -> None:
    with pytest.raises(PathOutside) as refused:
        story_path("/" + "x" * 10_000)

    assert len(refused.value.message) < 300
