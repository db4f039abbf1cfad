"""Commands that only look: stories, tree, show, status, check, queue."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.disk.workspace import ChatAmbiguous, ChatNotFound, ChatUnreadable
from forklore.errors import BadRequest
from forklore.testing import stories
from forklore.testing.sillytavern import OpenChat, recap_story
from forklore.testing.stories import Json, read_workspace, write_workspace

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
ILSE = "Ilse Brandt/Ilse Brandt - 2025-11-09@20h41m55s"
MIRA = "Mira/Mira - 2026-11-15@18h36m02s446ms"
GROUP = "group:1794767789993/2026-11-15@18h36m29s983ms"
REAL = "sillytavern-1.19.0"

Opened = Callable[[str], Forklore]


class TestStories:
    @pytest.mark.req(107, 110, 156, 157)
    def test_legacy_forks_are_known_and_not_isolated(self, opened: Opened) -> None:
        (story,) = opened("hollow_quay_legacy_shared").stories().to_json()["stories"]

        assert story["main"] == MAREN
        shown = {timeline["chat"]: timeline for timeline in story["timelines"]}
        book = "z-AutoLB-Maren Tolliver-Maren Tolliver - 2025-11-02@19h14m08s"
        assert shown["Maren Tolliver/The key in hand - 2025-11-02@21h04m23s"] == {
            "chat": "Maren Tolliver/The key in hand - 2025-11-02@21h04m23s",
            "kind": "checkpoint",
            "parent": MAREN,
            "at": 31,
            "messages": 32,
            "lorebook": book,
            "isolated": False,
            "record": "legacy",
        }
        branch = shown["Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"]
        assert (branch["kind"], branch["at"], branch["record"]) == ("branch", 42, "legacy")

    @pytest.mark.req(107, 108)
    def test_real_forks_of_sillytavern_are_known(self, opened: Opened) -> None:
        shown = {timeline.chat: timeline for story in opened(REAL).stories().stories for timeline in story.timelines}

        assert shown[f"{MIRA} - Checkpoint #1"].parent == MIRA
        assert shown[f"{MIRA} - Checkpoint #1"].at == 2
        assert shown[f"{MIRA} - Branch #1"].kind == "branch"
        assert shown[f"{GROUP} - Checkpoint #1"].parent == GROUP

    def test_a_new_fork_is_recorded_and_isolated(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")

        made = workspace.branch(MAREN, at=42)

        timeline = workspace.tree(MAREN).timelines[1]
        assert timeline.to_json() == {
            "chat": made.chat,
            "kind": "branch",
            "parent": MAREN,
            "at": 42,
            "messages": 43,
            "lorebook": made.lorebook,
            "isolated": True,
            "record": "recorded",
        }

    def test_a_copy_of_a_fork_does_not_count_as_that_fork(self, tmp_path: Path) -> None:
        workspace = forklore.open(write_workspace(tmp_path, recap_story("Tale", "Lore")))
        made = workspace.checkpoint("Mira/Tale", name="Anchor")
        copy = (tmp_path / "chats/Mira/Anchor.jsonl").read_bytes()
        write_workspace(tmp_path, {"chats/Mira/Imported.jsonl": copy})

        shown = {timeline.chat: timeline for timeline in workspace.tree("Mira/Tale").timelines}

        assert shown["Mira/Imported"].record == "legacy"
        assert shown[made.chat].record == "recorded"
        assert not shown[made.chat].isolated

    @pytest.mark.parametrize("start", [b"", b"\n", b"\r\n \n", b"\xef\xbb\xbf"])
    def test_blank_lines_before_the_header_are_no_damage(self, start: bytes, tmp_path: Path) -> None:
        data = start + stories.chat_bytes({"main_chat": "Tale", "world_info": "Lore"}, stories.conversation(2))
        files = {"chats/Mira/Fork.jsonl": data, "chats/Mira/Tale.jsonl": stories.chat_bytes({}, [])}

        (story,) = forklore.open(write_workspace(tmp_path, files)).stories().stories

        fork = story.timelines[1]
        assert (fork.parent, fork.lorebook, fork.messages) == ("Mira/Tale", "Lore", 2)

    def test_damaged_chats_are_survived(self, tmp_path: Path) -> None:
        files = {
            "chats/Mira/Empty.jsonl": b"",
            "chats/Mira/Broken.jsonl": b'{"chat_metadata"',
            "chats/Mira/Headless.jsonl": stories.line(stories.message("Hello.")),
            "chats/Mira/Good.jsonl": stories.chat_bytes({}, stories.conversation(2)),
            "groups/17.json": b"{",
        }

        shown = forklore.open(write_workspace(tmp_path, files)).stories()

        assert sorted(story.main for story in shown.stories) == [
            "Mira/Broken",
            "Mira/Empty",
            "Mira/Good",
            "Mira/Headless",
        ]

    def test_only_looking_writes_nothing(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_legacy_shared")
        before = read_workspace(workspace.root)

        workspace.stories()
        workspace.tree(MAREN)
        workspace.show(MAREN)
        workspace.status(MAREN)
        workspace.check(MAREN, at=21)
        workspace.queue(MAREN)
        workspace.log()

        assert read_workspace(workspace.root) == before
        assert not (workspace.root / ".forklore").exists()


class TestAddressing:
    @pytest.mark.parametrize("text", [MIRA, MIRA.partition("/")[2], "Mira/Greeting", "Greeting", "greet"])
    def test_an_address_a_name_or_a_part_finds_the_chat(self, text: str, opened: Opened) -> None:
        found = opened(REAL).check(text).chat

        assert found == ("Mira/Greeting" if "greet" in text.lower() else MIRA)

    def test_several_that_fit_are_listed(self, opened: Opened) -> None:
        with pytest.raises(ChatAmbiguous, match=r"Branch #1[\s\S]*Checkpoint #1"):
            opened(REAL).check("18h36m02")

    def test_none_that_fits_is_not_found(self, opened: Opened) -> None:
        with pytest.raises(ChatNotFound):
            opened(REAL).check("nobody")

    @pytest.mark.parametrize("text", ["../../etc/passwd", "Mira/../Greeting", "Mira/..", "/", "", "Mira/\0"])
    def test_no_path_leads_out_of_the_workspace(self, text: str, opened: Opened) -> None:
        with pytest.raises((ChatNotFound, ChatAmbiguous)):
            opened(REAL).check(text)


class TestShow:
    def test_scene_breaks_tell_whether_they_are_ready(self, opened: Opened, manifest: dict[str, Any]) -> None:
        shown = opened("hollow_quay_clean").show(MAREN).to_json()

        expected = [scene["message"] for scene in manifest["hollow_quay_clean"]["scene_breaks"]]
        assert [scene["message"] for scene in shown["scene_breaks"]] == expected
        assert [scene["ready"] for scene in shown["scene_breaks"]] == [True] * 6 + [False]
        assert shown["scene_breaks"][-1]["codes"] == ["NO_SCENE_RECAP", "SCENE_NOT_IN_RUNNING_RECAP"]
        assert shown["entries"] == manifest["hollow_quay_clean"]["lorebook"]["entries"]
        assert shown["running_recap"]["current_version"] == 5

    def test_children_are_listed(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")
        made = workspace.checkpoint(MAREN, at=21)

        assert workspace.show(MAREN).children == (made.chat,)
        assert workspace.show(made.chat).to_json()["parent"] == MAREN

    def test_a_broken_scene_is_damage_and_no_traceback(self, tmp_path: Path) -> None:
        data = stories.chat_bytes({}, stories.conversation(2)) + b'\n{"extra":{"scene_break":true'
        workspace = forklore.open(write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": data}))

        with pytest.raises(ChatUnreadable):
            workspace.show("Mira/Tale")


class TestStatus:
    @pytest.mark.req(128)
    def test_an_untouched_fork_is_as_it_was_recorded(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")
        made = workspace.checkpoint(MAREN, at=42)

        status = workspace.status(made.chat)

        shown = status.to_json()
        record = shown.pop("checkpoint_state")
        assert shown == {
            "is_checkpoint": True,
            "main_chat": MAREN.partition("/")[2],
            "current_chat": made.chat.partition("/")[2],
            "current_lorebook": made.lorebook,
            "lorebook_match": True,
            "running_recap_current_version": 3,
            "running_recap_version_match": True,
            "lorebook_missing": False,
        }
        assert record["message_id"] == 42
        assert status.valid

    @pytest.mark.req(110, 128)
    def test_a_main_chat_has_no_record(self, opened: Opened) -> None:
        status = opened("hollow_quay_clean").status(MAREN)

        assert (status.is_checkpoint, status.checkpoint_state, status.lorebook_match) == (False, None, None)

    @pytest.mark.req(128)
    def test_another_book_is_no_match(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")
        made = workspace.checkpoint(MAREN)
        fork = OpenChat(workspace.root, made.chat)
        fork.metadata["world_info"] = "Another"
        (workspace.root / "worlds/Another.json").write_bytes(b'{"entries":{}}')
        fork.write()

        status = workspace.status(made.chat)

        assert status.lorebook_match is False
        assert not status.valid


class TestQueue:
    def busy(self, root: Path) -> Forklore:
        workspace = forklore.open(write_workspace(root, recap_story("Tale", "Lore")))
        chat = OpenChat(root, "Mira/Tale")
        chat.set_queue(stories.operation(0, "in_progress"), stories.operation(1), stories.operation(2, "cancelled"))
        chat.write()
        return workspace

    def statuses(self, root: Path) -> list[str]:
        queue = next(
            json.loads(entry["content"])
            for entry in OpenChat(root, "Mira/Tale").entries.values()
            if entry["comment"] == "__operation_queue"
        )
        return [operation["status"] for operation in queue["queue"]]

    @pytest.mark.req(126)
    def test_the_queue_is_that_of_the_chats_book(self, tmp_path: Path) -> None:
        shown = self.busy(tmp_path).queue("Mira/Tale").to_json()

        assert shown["lorebook"] == "Lore"
        assert shown["idle"] is False
        assert [operation["status"] for operation in shown["operations"]] == ["in_progress", "pending", "cancelled"]

    def test_cancelled_operations_let_a_fork_pass_and_can_be_undone(self, tmp_path: Path) -> None:
        workspace = self.busy(tmp_path)
        before = read_workspace(tmp_path)
        ids: list[Json] = [operation["id"] for operation in workspace.queue("Mira/Tale").to_json()["operations"][:2]]

        shown = workspace.queue("Mira/Tale", cancel=[str(each) for each in ids])

        assert shown.idle
        assert self.statuses(tmp_path) == ["cancelled", "cancelled", "cancelled"]
        assert workspace.check("Mira/Tale").valid
        workspace.undo(shown.operation)
        assert read_workspace(tmp_path) == before

    def test_an_operation_that_is_not_there_is_a_bad_request(self, tmp_path: Path) -> None:
        with pytest.raises(BadRequest):
            self.busy(tmp_path).queue("Mira/Tale", cancel=["op_0"])


def test_a_workspace_without_stories_has_no_tree_to_draw(tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()

    with pytest.raises(ChatNotFound, match="no stories yet"):
        forklore.open(tmp_path).tree()
