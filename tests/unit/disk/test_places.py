"""Links: which are followed, and which lead out."""

from __future__ import annotations

from pathlib import Path

import pytest

from forklore.disk.places import Places
from forklore.disk.state import State
from forklore.errors import LinkOutside, PathOutside
from tests.needed import posix_only

pytestmark = posix_only("links need a privilege there")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    for folder in ("chats/Mira", "chats/Bob", "worlds", ".forklore/trash"):
        (root / folder).mkdir(parents=True)
    for file in ("chats/Mira/Tale.jsonl", "chats/Bob/Other.jsonl", "worlds/Lore.json", "secrets.json"):
        (root / file).write_text(file)
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere/worlds").mkdir(parents=True)
    (tmp_path / "elsewhere/worlds/Lore.json").write_text("elsewhere")
    (tmp_path / "elsewhere/diary.json").write_text("Dear diary")
    return tmp_path / "elsewhere"


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "state")


def places(root: Path, state: State) -> Places:
    return Places(root, lambda: state)


def test_a_file_is_where_it_is(root: Path, state: State) -> None:
    assert places(root, state).file("chats/Mira/Tale.jsonl") == f"{root}/chats/Mira/Tale.jsonl"


def test_a_link_to_a_file_elsewhere_leads_out(root: Path, outside: Path, state: State) -> None:
    (root / "worlds/Link.json").symlink_to(outside / "diary.json")

    with pytest.raises(LinkOutside):
        places(root, state).file("worlds/Link.json")


@pytest.mark.parametrize("target", ["../secrets.json", "../chats/Mira/Tale.jsonl", "..", "../../elsewhere/diary.json"])
def test_a_link_leads_out_when_it_leaves_its_own_folder(root: Path, outside: Path, state: State, target: str) -> None:
    (root / "worlds/Link.json").symlink_to(target)

    with pytest.raises(LinkOutside):
        places(root, state).file("worlds/Link.json")


def test_a_link_that_stays_in_its_folder_is_followed_to_the_file_itself(root: Path, state: State) -> None:
    (root / "chats/Mira/Link.jsonl").symlink_to("../Bob/hop.jsonl")
    (root / "chats/Bob/hop.jsonl").symlink_to(root / "chats/Bob/Other.jsonl")

    there = places(root, state)

    assert there.file("chats/Mira/Link.jsonl") == f"{root}/chats/Mira/Link.jsonl"
    assert there.target({"do": "edit", "path": "chats/Mira/Link.jsonl"}) == root / "chats/Bob/Other.jsonl"


def test_only_an_edit_is_made_behind_a_link(root: Path, state: State) -> None:
    (root / "chats/Mira/Link.jsonl").symlink_to("Tale.jsonl")

    for kind in ("create", "trash", "restore"):
        with pytest.raises(PathOutside):
            places(root, state).target({"do": kind, "path": "chats/Mira/Link.jsonl"})


def test_a_linked_folder_is_followed_once_it_was_allowed(root: Path, outside: Path, state: State) -> None:
    (root / "worlds").rename(root / "before")
    (root / "worlds").symlink_to(outside / "worlds")
    with pytest.raises(LinkOutside) as refused:
        places(root, state).file("worlds/Lore.json")
    assert "forklore repair worlds LINK_OUTSIDE --with allow" in refused.value.action

    assert places(root, state).allow("worlds") == str(outside / "worlds")

    assert Path(places(root, state).file("worlds/Lore.json")).read_text() == "elsewhere"


def test_a_linked_folder_that_leads_elsewhere_than_it_did_has_to_be_allowed_again(
    root: Path, outside: Path, state: State
) -> None:
    (root / "worlds").rename(root / "before")
    (root / "worlds").symlink_to(outside / "worlds")
    places(root, state).allow("worlds")

    (root / "worlds").unlink()
    (root / "worlds").symlink_to(outside)

    with pytest.raises(LinkOutside):
        places(root, state).file("worlds/diary.json")


def test_an_answer_is_about_one_place_and_not_about_a_copy_of_it(
    root: Path, outside: Path, state: State, tmp_path: Path
) -> None:
    (root / "worlds").rename(root / "before")
    (root / "worlds").symlink_to(outside / "worlds")
    places(root, state).allow("worlds")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "worlds").symlink_to(outside / "worlds")

    with pytest.raises(LinkOutside):
        places(copy, state).file("worlds/Lore.json")


def test_a_file_link_in_an_allowed_folder_may_not_leave_it(root: Path, outside: Path, state: State) -> None:
    (root / "worlds").rename(root / "before")
    (root / "worlds").symlink_to(outside / "worlds")
    (outside / "worlds/way-out.json").symlink_to("../diary.json")
    (outside / "worlds/same.json").symlink_to("Lore.json")
    places(root, state).allow("worlds")

    there = places(root, state)

    assert there.target({"do": "edit", "path": "worlds/same.json"}) == root / "worlds/Lore.json"
    with pytest.raises(LinkOutside):
        there.file("worlds/way-out.json")


@pytest.mark.parametrize("path", [".forklore", ".forklore/trash", "worlds/Lore.json", "characters", "nothing"])
def test_only_a_linked_folder_of_the_story_can_be_allowed(root: Path, outside: Path, state: State, path: str) -> None:
    if path.startswith(".forklore"):
        (root / path).rename(root / "before")
        (root / path).symlink_to(outside)

    with pytest.raises(PathOutside):
        places(root, state).allow(path)


@pytest.mark.parametrize("place", [".forklore", ".forklore/trash"])
def test_nothing_of_our_own_is_a_link(root: Path, outside: Path, state: State, place: str) -> None:
    (root / place).rename(root / "before")
    (root / place).symlink_to(root / "before")

    with pytest.raises(LinkOutside):
        places(root, state).item("20260506-070809-000001-beef/0-Tale.jsonl")


def test_a_workspace_behind_a_link_is_like_any_other(root: Path, state: State, tmp_path: Path) -> None:
    (tmp_path / "behind").symlink_to(root)
    (root / "chats/Mira/Link.jsonl").symlink_to("Tale.jsonl")

    there = places(tmp_path / "behind", state)

    assert Path(there.file("worlds/Lore.json")).read_text() == "worlds/Lore.json"
    behind = there.target({"do": "edit", "path": "chats/Mira/Link.jsonl"})
    assert behind == tmp_path / "behind/chats/Mira/Tale.jsonl"


def test_a_link_that_leads_nowhere_or_in_circles_is_no_way_out_for_a_reader(root: Path, state: State) -> None:
    (root / "worlds/Nowhere.json").symlink_to("Missing.json")
    (root / "worlds/Circle.json").symlink_to("Circle.json")

    there = places(root, state)

    assert there.file("worlds/Nowhere.json") == f"{root}/worlds/Nowhere.json"
    assert not Path(there.file("worlds/Circle.json")).is_file()
