"""Two timelines that go on: what happens in one never shows in the other."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import Json, read_workspace, write_workspace

LORE = stories.lorebook([stories.entry(0, "Mira", "a cook")])


def begun(root: Path, scenes: int = 3) -> Forklore:
    """Return a story of some scenes, each with two messages, a person and a version of the running recap."""
    write_workspace(root, recap_story("Tale", "Lore"))
    go_on(root, "Mira/Tale", *(f"Scene {number}" for number in range(scenes)))
    return forklore.open(root, disk=HastyDisk())


def go_on(root: Path, chat: str, *scenes: str) -> None:
    """Let a timeline go on by some scenes, as SillyTavern and ST-Auto-Recap do it."""
    open_chat = OpenChat(root, chat)
    for scene in scenes:
        open_chat.say(f"{scene} begins.", f"{scene} ends.")
        open_chat.learn(f"character-{scene}", f"somebody of {scene}")
        open_chat.end_scene(scene, taken=len(open_chat.messages))
    open_chat.write()


def versions(chat: OpenChat) -> list[int]:
    return [version["version"] for version in chat.metadata["auto_recap_running_scene_recaps"]["versions"]]


def everything(root: Path, chat: str) -> Json:
    """Return all that a timeline consists of, without the links and the map that its forks leave."""
    opened = OpenChat(root, chat)
    for message in opened.messages:
        message["extra"] = {k: v for k, v in message["extra"].items() if k not in ("bookmark_link", "branches")}
    opened.metadata.pop("auto_recap", None)
    return {"metadata": opened.metadata, "messages": opened.messages, "book": opened.book}


KINDS: list[tuple[str, dict[str, Any]]] = [
    ("checkpoint", {}),
    ("branch", {}),
    ("checkpoint", {"at": 2}),
    ("branch", {"at": 4}),
]


@pytest.mark.parametrize("kind, options", KINDS)
class TestAForkAndItsParent:
    @pytest.mark.req(40, 131, 132, 155, 157, 160, 162)
    def test_what_the_fork_does_never_shows_in_the_parent(
        self, kind: str, options: dict[str, Any], tmp_path: Path
    ) -> None:
        made = getattr(begun(tmp_path), kind)("Mira/Tale", **options)
        before = everything(tmp_path, "Mira/Tale")

        go_on(tmp_path, made.chat, "Elsewhere", "Further away")

        assert everything(tmp_path, "Mira/Tale") == before
        assert "Elsewhere" not in json.dumps(before)

    @pytest.mark.req(40, 131, 132, 155, 160, 162)
    def test_what_the_parent_does_never_shows_in_the_fork(
        self, kind: str, options: dict[str, Any], tmp_path: Path
    ) -> None:
        made = getattr(begun(tmp_path), kind)("Mira/Tale", **options)
        before = everything(tmp_path, made.chat)

        go_on(tmp_path, "Mira/Tale", "At home", "Still at home")

        assert everything(tmp_path, made.chat) == before
        assert "At home" not in json.dumps(before)

    @pytest.mark.req(126)
    def test_each_chat_names_a_book_of_its_own(self, kind: str, options: dict[str, Any], tmp_path: Path) -> None:
        made = getattr(begun(tmp_path), kind)("Mira/Tale", **options)

        fork, parent = OpenChat(tmp_path, made.chat), OpenChat(tmp_path, "Mira/Tale")
        assert parent.metadata["world_info"] == parent.metadata["auto_lorebooks"]["lorebookName"] == "Lore"
        assert fork.metadata["world_info"] == fork.metadata["auto_lorebooks"]["lorebookName"] == made.lorebook
        assert made.lorebook != "Lore"

    @pytest.mark.req(6, 130)
    def test_the_parent_is_whole_after_a_visit_to_the_fork(
        self, kind: str, options: dict[str, Any], tmp_path: Path
    ) -> None:
        workspace = begun(tmp_path)
        before = everything(tmp_path, "Mira/Tale")
        made = getattr(workspace, kind)("Mira/Tale", **options)
        go_on(tmp_path, made.chat, "Elsewhere")

        assert everything(tmp_path, "Mira/Tale") == before


class TestDivergence:
    @pytest.mark.req(133, 134, 156, 162)
    def test_both_sides_count_their_own_versions(self, tmp_path: Path) -> None:
        made = begun(tmp_path, scenes=5).checkpoint("Mira/Tale")
        go_on(tmp_path, "Mira/Tale", "Home 5", "Home 6")
        go_on(tmp_path, made.chat, "Away 5")

        parent, fork = OpenChat(tmp_path, "Mira/Tale"), OpenChat(tmp_path, made.chat)
        assert versions(parent) == [0, 1, 2, 3, 4, 5, 6]
        assert versions(fork) == [0, 1, 2, 3, 4, 5]
        contents = [
            chat.metadata["auto_recap_running_scene_recaps"]["versions"][5]["content"] for chat in (parent, fork)
        ]
        assert contents == ["Version 5, after Home 5", "Version 5, after Away 5"]

    @pytest.mark.req(164)
    def test_the_same_number_in_two_timelines_is_not_the_same_message(self, tmp_path: Path) -> None:
        made = begun(tmp_path).branch("Mira/Tale")
        go_on(tmp_path, "Mira/Tale", "Home")
        go_on(tmp_path, made.chat, "Away")

        parent, fork = OpenChat(tmp_path, "Mira/Tale"), OpenChat(tmp_path, made.chat)
        assert (parent.messages[7]["mes"], fork.messages[7]["mes"]) == ("Home begins.", "Away begins.")
        assert parent.messages[8]["extra"]["auto_recap_memory"]["scene_break_name"] == "Home"
        assert fork.messages[8]["extra"]["auto_recap_memory"]["scene_break_name"] == "Away"

    @pytest.mark.req(94, 155, 160)
    def test_forks_of_one_message_are_independent_of_each_other(self, tmp_path: Path) -> None:
        workspace = begun(tmp_path)
        made = [workspace.branch("Mira/Tale", at=4) for _ in range(3)]
        untouched = everything(tmp_path, made[2].chat)

        for fork in made[:2]:
            go_on(tmp_path, fork.chat, f"Only in {fork.chat}")

        assert everything(tmp_path, made[2].chat) == untouched
        assert made[1].chat not in json.dumps(everything(tmp_path, made[0].chat))
        assert len({fork.lorebook for fork in made}) == 3

    @pytest.mark.req(93, 94)
    def test_a_line_of_forks_has_a_book_at_every_level(self, tmp_path: Path) -> None:
        workspace = begun(tmp_path)
        chats = ["Mira/Tale"]
        for level in range(4):
            go_on(tmp_path, chats[-1], f"Level {level}")
            chats.append(workspace.branch(chats[-1]).chat)

        books = [OpenChat(tmp_path, chat).metadata["world_info"] for chat in chats]
        assert len(set(books)) == 5
        parents = [OpenChat(tmp_path, chat).metadata["main_chat"] for chat in chats[1:]]
        assert parents == [chat.partition("/")[2] for chat in chats[:-1]]
        assert all(timeline.isolated for timeline in workspace.tree("Mira/Tale").timelines)

    @pytest.mark.req(163)
    def test_an_operation_of_one_timeline_is_in_no_other(self, tmp_path: Path) -> None:
        workspace = begun(tmp_path)
        made = workspace.branch("Mira/Tale", at=2)
        fork = OpenChat(tmp_path, made.chat)
        fork.set_queue(stories.operation(params={"index": 2}))
        fork.write()

        assert workspace.queue("Mira/Tale").idle
        assert not workspace.queue(made.chat).idle
        assert workspace.check("Mira/Tale").state.queue_empty
        assert not workspace.check(made.chat).state.queue_empty

    @pytest.mark.req(72, 153)
    def test_a_fork_of_a_checkpoint_leaves_its_record_alone(self, tmp_path: Path) -> None:
        workspace = begun(tmp_path)
        made = workspace.checkpoint("Mira/Tale")
        record = OpenChat(tmp_path, made.chat).metadata["auto_recap_checkpoint_state"]

        child = workspace.branch(made.chat)

        assert OpenChat(tmp_path, made.chat).metadata["auto_recap_checkpoint_state"] == record
        assert OpenChat(tmp_path, child.chat).metadata["auto_recap_checkpoint_state"]["chat_id"] != record["chat_id"]
        assert (
            OpenChat(tmp_path, child.chat).metadata["forklore"]["parent_timeline"]
            == (OpenChat(tmp_path, made.chat).metadata["forklore"]["timeline"])
        )

    def test_a_book_that_the_disk_has_under_another_name_is_cloned_too(self, tmp_path: Path) -> None:
        files = stories.solo_files("Tale", {"world_info": "a/b: c"}, stories.conversation(2), books={"ab c": LORE})
        workspace = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())

        made = workspace.checkpoint("Mira/Tale", name="Anchor")

        assert made.lorebook == "ab c__CP_Anchor"
        assert json.loads((tmp_path / "worlds/ab c__CP_Anchor.json").read_bytes()) == LORE

    @pytest.mark.req(8)
    def test_settings_and_profiles_are_neither_touched_nor_captured(self, tmp_path: Path) -> None:
        workspace = begun(tmp_path)
        common = {
            "settings.json": b'{"extension_settings":{"connectionManager":{"profiles":["planted"]}}}',
            "secrets.json": b'{"api_key":"planted"}',
            "characters/Mira.png": stories.card_png("Mira"),
        }
        write_workspace(tmp_path, common)

        workspace.checkpoint("Mira/Tale")

        files = read_workspace(tmp_path)
        assert {path: files[path] for path in common} == common
        assert {path for path, content in files.items() if b"planted" in content} == {"settings.json", "secrets.json"}

    @pytest.mark.req(9)
    def test_nobody_is_asked_over_a_network(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        workspace = begun(tmp_path)

        def no_connection(*_: Any, **__: Any) -> None:
            raise AssertionError("a connection was opened")

        monkeypatch.setattr(socket, "socket", no_connection)

        made = workspace.checkpoint("Mira/Tale", at=2)

        assert workspace.status(made.chat).valid

    def test_a_book_that_is_also_the_cards_is_a_warning(self, tmp_path: Path) -> None:
        workspace = begun(tmp_path)
        write_workspace(tmp_path, {"characters/Mira.png": stories.card_png("Mira", world="Lore")})

        made = workspace.checkpoint("Mira/Tale")

        assert [finding.code for finding in made.warnings] == ["LOREBOOK_ALSO_ACTIVE"]
