"""Forks of a chat that is open in SillyTavern's page: new files alone, and an undo that knows what the page wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.fork import ForkMade
from forklore.app.forklore import Forklore
from forklore.app.undo import Undone
from forklore.model.plan import HEADER, LineEdit
from forklore.planning.undo import taken_back
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import read_workspace, write_workspace

NAME = "Tale"
SOLO, GROUP = f"Mira/{NAME}", f"group:17/{NAME}"
BOOK = "Lore"


def tale(root: Path, chat: str, *messages: stories.Json, metadata: dict[str, Any] | None = None) -> Forklore:
    books = {BOOK: stories.lorebook([stories.entry(0, "Mira", "a cook")])}
    files = stories.solo_files if chat == SOLO else stories.group_files
    known = {"integrity": "a", "world_info": BOOK, **(metadata or {})}
    written = files(NAME, known, messages or stories.conversation(6), books=books)
    return forklore.open(write_workspace(root, written), disk=HastyDisk())


def point_to_the_fork(workspace: Forklore, chat: str, made: ForkMade) -> None:
    """Do what the page does: make the edits that were left to it, and write the chat from memory."""
    make_edits(workspace.root, made)
    OpenChat(workspace.root, chat).write()


KINDS = pytest.mark.parametrize("kind", ["checkpoint", "branch"])
PLACES = pytest.mark.parametrize("chat", [SOLO, GROUP])


@KINDS
@PLACES
class TestTheParentIsLeftAlone:
    def test_only_the_clone_and_the_chat_are_made(self, tmp_path: Path, chat: str, kind: str) -> None:
        workspace = tale(tmp_path, chat)
        before = read_workspace(tmp_path)

        made = getattr(workspace, kind)(chat, leave_parent=True)

        after = read_workspace(tmp_path)
        assert {path: after[path] for path in before} == before
        assert len(after.keys() - before.keys()) == 2
        assert made.warnings == ()
        point_to_the_fork(workspace, chat, made)
        assert workspace.verify(made.chat).ok

    def test_the_edits_that_are_left_make_of_the_parent_what_the_fork_would_make(
        self, tmp_path: Path, chat: str, kind: str
    ) -> None:
        workspace, other = tale(tmp_path / "page", chat), tale(tmp_path / "disk", chat)
        there = getattr(other, kind)(chat, at=3)

        make_edits(workspace.root, getattr(workspace, kind)(chat, at=3, leave_parent=True))

        paths = {"groups/17.json", OpenChat(other.root, chat).path.relative_to(other.root).as_posix()}
        wanted, found = read_workspace(other.root), read_workspace(workspace.root)
        assert {path: found.get(path) for path in paths} == {path: wanted.get(path) for path in paths}
        assert there.left == ()

    def test_the_plan_has_no_other_change(self, tmp_path: Path, chat: str, kind: str) -> None:
        workspace = tale(tmp_path, chat)

        plan = workspace.plan(kind, chat, leave_parent=True).to_json()["plan"]

        assert [change["action"] for change in plan] == ["create", "create"]

    def test_undo_before_the_page_has_written(self, tmp_path: Path, chat: str, kind: str) -> None:
        workspace = tale(tmp_path, chat)
        before = read_workspace(tmp_path)
        getattr(workspace, kind)(chat, at=3, leave_parent=True)

        workspace.undo()

        assert read_workspace(tmp_path) == before

    def test_undo_after_the_page_has_written(self, tmp_path: Path, chat: str, kind: str) -> None:
        workspace = tale(tmp_path, chat)
        before = read_workspace(tmp_path)
        made = getattr(workspace, kind)(chat, at=3, leave_parent=True)
        point_to_the_fork(workspace, chat, made)

        workspace.undo()

        after = read_workspace(tmp_path)
        assert {path: json_of(content) for path, content in after.items()} == {
            path: json_of(content) for path, content in before.items()
        }

    def test_undo_that_leaves_the_parent_too_takes_the_new_files_alone(
        self, tmp_path: Path, chat: str, kind: str
    ) -> None:
        workspace = tale(tmp_path, chat)
        made = getattr(workspace, kind)(chat, at=3, leave_parent=True)
        point_to_the_fork(workspace, chat, made)
        before = read_workspace(tmp_path)

        workspace.undo(leave_parent=True)

        after = read_workspace(tmp_path)
        assert {path: before[path] for path in after} == after
        assert len(before) - len(after) == 2

    def test_the_edits_that_are_left_make_of_the_parent_what_undo_would_make(
        self, tmp_path: Path, chat: str, kind: str
    ) -> None:
        workspace = tale(tmp_path, chat)
        before = stories_in(tmp_path)
        made = getattr(workspace, kind)(chat, at=3, leave_parent=True)
        point_to_the_fork(workspace, chat, made)

        undone = workspace.undo(leave_parent=True)
        make_edits(tmp_path, undone)

        assert stories_in(tmp_path) == before

    def test_what_the_page_took_out_comes_back_with_the_fork(self, tmp_path: Path, chat: str, kind: str) -> None:
        workspace = tale(tmp_path, chat)
        before = stories_in(tmp_path)
        made = getattr(workspace, kind)(chat, at=3, leave_parent=True)
        point_to_the_fork(workspace, chat, made)
        forked = stories_in(tmp_path)
        undo = workspace.undo(leave_parent=True)
        make_edits(tmp_path, undo)

        again = workspace.undo(undo.operation)

        assert stories_in(tmp_path) == forked
        workspace.undo(again.operation)
        assert stories_in(tmp_path) == before

    def test_what_was_undone_comes_back_and_goes_again(self, tmp_path: Path, chat: str, kind: str) -> None:
        workspace = tale(tmp_path, chat)
        made = getattr(workspace, kind)(chat, at=3, leave_parent=True)
        point_to_the_fork(workspace, chat, made)
        forked = {path: json_of(content) for path, content in read_workspace(tmp_path).items()}
        undo = workspace.undo()

        workspace.undo(undo.operation)

        assert {path: json_of(content) for path, content in read_workspace(tmp_path).items()} == forked
        again = workspace.undo(next(each.id for each in workspace.log().operations if each.undoes == undo.operation))
        assert again.pending == ()
        assert not (tmp_path / "worlds" / f"{made.lorebook}.json").exists()


def json_of(content: bytes) -> Any:
    return [json.loads(line) for line in content.split(b"\n") if line.strip()] if b"\n{" in content else content


def stories_in(root: Path) -> dict[str, Any]:
    return {path: json_of(content) for path, content in read_workspace(root).items()}


def make_edits(root: Path, answer: ForkMade | Undone) -> None:
    """Do what the page does with the edits that were left to it, as the answer tells them."""
    for left in answer.to_json()["left"]:
        path = root / f"groups/{left['group']}.json" if left["chat"] is None else OpenChat(root, left["chat"]).path
        told = [{key: edit[key] for key in edit if edit[key] or key == "line"} for edit in left["edits"]]
        path.write_bytes(taken_back(path.read_bytes(), [LineEdit.from_json(edit) for edit in told]))


class TestWhatIsLeftToThePage:
    def test_link_map_and_group_entry_of_a_fork(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, GROUP)

        made = workspace.checkpoint(GROUP, at=3, name="Flag", leave_parent=True)

        put = {"text": '"Flag"', "only_if": None, "prune": 0}
        mapped = ["chat_metadata", "auto_recap", "checkpoint_lorebook_map", "Flag"]
        assert made.to_json()["left"] == [
            {"chat": None, "group": "17", "edits": [{"line": None, "do": "append", "path": ["chats"], **put}]},
            {
                "chat": GROUP,
                "group": None,
                "edits": [
                    {"line": 3, "do": "put", "path": ["extra", "bookmark_link"], **put},
                    {"line": HEADER, "do": "put", "path": mapped, **put, "text": f'"{made.lorebook}"'},
                ],
            },
        ]

    def test_what_stands_in_the_place_of_the_map_stays(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, SOLO, metadata={"auto_recap": "off"})

        (left,) = workspace.branch(SOLO, leave_parent=True).left

        assert [each.line for each in left.edits] == [5]

    def test_nothing_where_the_parent_is_not_left(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, SOLO)
        workspace.checkpoint(SOLO, leave_parent=True)

        assert workspace.undo().left == ()

    def test_the_flag_goes_back_to_an_earlier_checkpoint_if_it_is_still_there(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, SOLO)
        for name in ("First", "Second", "Third"):
            point_to_the_fork(workspace, SOLO, workspace.checkpoint(SOLO, at=3, name=name, leave_parent=True))
        workspace.delete("Mira/Second")

        make_edits(tmp_path, workspace.undo(operation_of(workspace, "Mira/Third"), leave_parent=True))

        page = OpenChat(tmp_path, SOLO)
        assert page.messages[3]["extra"]["bookmark_link"] == "First"
        assert page.metadata["auto_recap"]["checkpoint_lorebook_map"].keys() == {"First"}

    def test_each_edit_is_told_whole(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, GROUP)
        made = workspace.branch(GROUP, at=3, leave_parent=True)
        point_to_the_fork(workspace, GROUP, made)

        group, parent = workspace.undo(leave_parent=True).to_json()["left"]

        name = made.chat.partition("/")[2]
        entry = {"line": None, "do": "take", "path": ["chats"], "text": f'"{name}"', "only_if": None, "prune": 0}
        assert group == {"chat": None, "group": "17", "edits": [entry]}
        assert (parent["chat"], parent["group"]) == (GROUP, None)
        assert {edit["line"] for edit in parent["edits"]} == {HEADER, 3}
        assert {tuple(edit) for edit in parent["edits"]} == {tuple(entry)}


def operation_of(workspace: Forklore, chat: str) -> str:
    return next(each.id for each in workspace.log().operations if each.chat == chat)


class TestWhatWasThereBefore:
    def test_the_link_of_an_earlier_checkpoint_comes_back(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, SOLO)
        workspace.checkpoint(SOLO, at=3, name="First")
        made = workspace.checkpoint(SOLO, at=3, name="Second", leave_parent=True)
        point_to_the_fork(workspace, SOLO, made)

        workspace.undo()

        assert OpenChat(tmp_path, SOLO).messages[3]["extra"]["bookmark_link"] == "First"

    def test_other_entries_of_the_map_stay(self, tmp_path: Path) -> None:
        known = {"auto_recap": {"checkpoint_lorebook_map": {"Elsewhere": "Other"}}}
        workspace = tale(tmp_path, SOLO, metadata=known)
        made = workspace.branch(SOLO, leave_parent=True)
        point_to_the_fork(workspace, SOLO, made)

        workspace.undo()

        assert OpenChat(tmp_path, SOLO).metadata["auto_recap"] == known["auto_recap"]

    def test_messages_that_came_meanwhile_stay(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, SOLO)
        made = workspace.checkpoint(SOLO, leave_parent=True)
        point_to_the_fork(workspace, SOLO, made)
        page = OpenChat(tmp_path, SOLO)
        page.say("Later.")
        page.write()

        workspace.undo()

        left = OpenChat(tmp_path, SOLO)
        assert [message["mes"] for message in left.messages] == [message["mes"] for message in page.messages]
        assert "bookmark_link" not in left.messages[5]["extra"]

    def test_deleting_the_fork_takes_out_what_the_page_wrote(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, SOLO)
        before = read_workspace(tmp_path)
        made = workspace.checkpoint(SOLO, leave_parent=True)
        point_to_the_fork(workspace, SOLO, made)

        workspace.delete(made.chat)

        after = read_workspace(tmp_path)
        assert {path: json_of(content) for path, content in after.items()} == {
            path: json_of(content) for path, content in before.items()
        }


def test_a_large_story_is_staged_ahead_without_the_parent(tmp_path: Path) -> None:
    workspace = tale(tmp_path, SOLO, *(stories.message("Long. " * 20_000) for _ in range(25)))
    before = read_workspace(tmp_path)

    made = workspace.checkpoint(SOLO, leave_parent=True)

    after = read_workspace(tmp_path)
    assert {path: after[path] for path in before} == before
    assert workspace.verify(made.chat).ok
