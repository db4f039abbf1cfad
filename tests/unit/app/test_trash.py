"""The trash: looking into it, putting things back, and deleting for good."""

from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.app.trash import ItemNotFound
from forklore.errors import BadRequest, NameTaken
from forklore.planning.undo import TrashAltered, UndoRefused
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import read_workspace, write_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Forklore:
    """A workspace with the chat "Mira/Tale" and its checkpoint "Mira/A"."""
    books = {"Lore": stories.lorebook([stories.entry(0, "Mira", "a cook")])}
    files = stories.solo_files("Tale", {"world_info": "Lore"}, stories.conversation(3), books=books)
    opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
    opened.checkpoint("Mira/Tale", name="A")
    return opened


def test_what_was_deleted_is_listed_with_where_it_came_from(workspace: Forklore) -> None:
    size = (workspace.root / "chats/Mira/A.jsonl").stat().st_size
    deleted = workspace.delete("Mira/A")

    items = workspace.trash().to_json()["items"]

    assert [item["path"] for item in items] == ["worlds/Lore__CP_A.json", "chats/Mira/A.jsonl"]
    assert items[1] == {
        "item": f"{deleted.operation}/0-A.jsonl",
        "path": "chats/Mira/A.jsonl",
        "when": workspace.log().operations[0].when,
        "size": size,
        "operation": deleted.operation,
    }


def test_an_empty_trash_is_listed_without_making_anything(tmp_path: Path) -> None:
    write_workspace(tmp_path, {})

    assert forklore.open(tmp_path).trash().items == ()
    assert not (tmp_path / ".forklore").exists()


@pytest.mark.req(143)
def test_a_chat_comes_back_with_its_book_and_the_link_to_it(workspace: Forklore) -> None:
    before = read_workspace(workspace.root)
    workspace.delete("Mira/A")
    deleted = read_workspace(workspace.root)

    restored = workspace.restore("A.jsonl")

    assert restored.path == "chats/Mira/A.jsonl"
    assert restored.also == ("worlds/Lore__CP_A.json",)
    assert read_workspace(workspace.root) == before
    assert workspace.trash().items == ()
    workspace.undo()
    assert read_workspace(workspace.root) == deleted
    workspace.undo()  # the deletion: what it trashed lies elsewhere in the trash by now
    assert read_workspace(workspace.root) == before


def test_a_group_chat_comes_back_to_its_group(tmp_path: Path) -> None:
    files = stories.group_files("Party", {}, stories.conversation(2))
    opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
    before = read_workspace(tmp_path)
    opened.delete("group:17/Party")

    opened.restore("Party")

    assert read_workspace(tmp_path) == before


def test_a_book_comes_back_alone(workspace: Forklore) -> None:
    workspace.delete("Mira/A")

    restored = workspace.restore("Lore__CP_A")

    assert restored.path == "worlds/Lore__CP_A.json"
    assert not (workspace.root / "chats/Mira/A.jsonl").exists()
    workspace.undo()
    assert not (workspace.root / restored.path).exists()


def test_a_restored_book_that_is_used_since_is_not_taken_away_again(workspace: Forklore) -> None:
    workspace.delete("Mira/A")
    workspace.restore("Lore__CP_A")
    chat = OpenChat(workspace.root, "Mira/Tale")
    chat.metadata["world_info"] = "Lore__CP_A"
    chat.book_path = None
    chat.write()

    with pytest.raises(UndoRefused):
        workspace.undo()


def test_nothing_is_overwritten(workspace: Forklore) -> None:
    workspace.delete("Mira/A")
    workspace.checkpoint("Mira/Tale", name="A")
    before = read_workspace(workspace.root)

    with pytest.raises(NameTaken) as refused:
        workspace.restore("A.jsonl")

    assert "Rename or delete" in refused.value.action
    assert read_workspace(workspace.root) == before


@pytest.mark.parametrize("wanted", ["nothing", "../../chats/Mira/Tale.jsonl"])
def test_what_is_not_in_the_trash_cannot_come_back(wanted: str, workspace: Forklore) -> None:
    workspace.delete("Mira/A")

    with pytest.raises(ItemNotFound):
        workspace.restore(wanted)


def test_a_part_that_several_items_have_is_not_enough(workspace: Forklore) -> None:
    deleted = workspace.delete("Mira/A")

    with pytest.raises(BadRequest, match="fits 2 items"):
        workspace.restore(deleted.operation)


def test_what_an_interrupted_operation_left_is_listed_and_can_only_be_deleted(workspace: Forklore) -> None:
    left = workspace.root / ".forklore/trash/1-unreadable/journal.json"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"garbled")

    (item,) = workspace.trash().items

    assert (item.item, item.path, item.operation) == ("1-unreadable/journal.json", None, None)
    with pytest.raises(ItemNotFound) as refused:
        workspace.restore("journal")
    assert refused.value.params == {"case": "origin", "item": item.item, "folder": ".forklore/trash"}
    workspace.empty_trash(0)
    assert not left.parent.exists()


def test_emptying_deletes_only_what_is_old_enough(workspace: Forklore) -> None:
    deleted = workspace.delete("Mira/A")

    assert workspace.empty_trash(30).items == ()
    assert len(workspace.trash().items) == 2
    log = workspace.root / f".forklore/operations/{deleted.operation}.json"
    when = workspace.log().operations[0].when
    log.write_text(log.read_text().replace(when, "2020-01-01T00:00:00.000Z"))
    assert len(workspace.empty_trash(30).items) == 2
    assert workspace.trash().items == ()
    assert not (workspace.root / f".forklore/trash/{deleted.operation}").exists()


def test_what_was_deleted_for_good_cannot_be_undone(workspace: Forklore) -> None:
    deleted = workspace.delete("Mira/A")
    workspace.empty_trash(0)
    before = read_workspace(workspace.root)

    with pytest.raises(UndoRefused, match="is no longer in the trash") as refused:
        workspace.undo(deleted.operation)

    assert refused.value.action
    assert read_workspace(workspace.root) == before


def test_a_negative_age_makes_no_sense(workspace: Forklore) -> None:
    with pytest.raises(BadRequest):
        workspace.empty_trash(-1)


def test_what_was_changed_in_the_trash_is_not_put_back(workspace: Forklore) -> None:
    deleted = workspace.delete("Mira/A")
    item = workspace.root / f".forklore/trash/{deleted.operation}/0-A.jsonl"
    item.write_bytes(item.read_bytes() + b"{}")
    before = read_workspace(workspace.root)

    for act in (lambda: workspace.restore("0-A.jsonl"), lambda: workspace.undo(deleted.operation)):
        with pytest.raises(TrashAltered):
            act()

    assert read_workspace(workspace.root) == before
