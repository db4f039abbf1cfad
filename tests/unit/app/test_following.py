"""New names are followed: of chats and of lorebooks, and of what was edited whoever has it open hears."""

import json
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.follow import Followed
from forklore.app.forklore import Forklore
from forklore.disk.workspace import Workspace
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import read_workspace, write_workspace

MAIN, FORK, GROUP = "Mira/Tale", "Mira/Fork", "group:17/Tale"


def workspace(root: Path) -> Forklore:
    """Return a workspace with a story of six messages, and a checkpoint at its head."""
    metadata = {"world_info": "Lore", "integrity": "main-slug", **recap("Tale")}
    books = {"Lore": stories.lorebook([stories.entry(0, "Mira", "a cook")])}
    files = stories.solo_files("Tale", metadata, stories.conversation(6), books=books)
    opened = forklore.open(write_workspace(root, files), disk=HastyDisk())
    opened.checkpoint(MAIN, name="Fork")
    return opened


def recap(chat: str) -> dict[str, Any]:
    return stories.running_recap(chat, [stories.recap_version(1, 1, "one")], 1)


def done(followed: Followed) -> list[tuple[str, str, str]]:
    return [(each["code"], each["where"], each["repair"]) for each in followed.to_json()["followed"]]


def rename_chat(root: Path, old: str, new: str) -> None:
    (root / f"chats/Mira/{old}.jsonl").rename(root / f"chats/Mira/{new}.jsonl")


def rename_book(root: Path, old: str, new: str) -> None:
    """Rename a lorebook as the editor does, which lays it out anew."""
    path = root / f"worlds/{old}.json"
    (root / f"worlds/{new}.json").write_text(json.dumps(json.loads(path.read_bytes()), indent=1))
    path.unlink()


class TestChats:
    def test_whatever_names_a_renamed_fork_follows(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        opened.branch(FORK)
        rename_chat(tmp_path, "Fork", "New")

        followed = opened.follow_chats("Mira/New")

        assert done(followed) == [("CHAT_RENAMED", "Mira/New", "follow-rename")]
        assert opened.doctor().findings == ()
        assert OpenChat(tmp_path, "Mira/Fork - Branch #1").metadata["main_chat"] == "New"

    def test_what_a_renamed_main_chat_says_of_itself_follows_if_it_is_meant(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        rename_chat(tmp_path, "Tale", "Saga")

        assert done(opened.follow_chats()) == [("PARENT_MISSING", FORK, "follow-rename")]
        assert done(opened.follow_chats("Mira/Saga")) == [("RUNNING_RECAP_FOREIGN", "Mira/Saga", "take-over")]
        assert opened.doctor().findings == ()

    def test_nothing_else_is_mended(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        page = OpenChat(tmp_path, MAIN)
        page.metadata["auto_recap"]["checkpoint_lorebook_map"]["Gone"] = "Lore__CP_Gone"
        page.write()
        before = read_workspace(tmp_path)
        assert [located.finding.code for located in opened.doctor().findings] == ["MAP_STALE"]

        assert done(opened.follow_chats(MAIN)) == []
        assert read_workspace(tmp_path) == before


class TestBooks:
    def test_a_timeline_that_names_the_old_one_follows(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        rename_book(tmp_path, "Lore__CP_Fork", "Flag")

        followed = opened.follow_book("Lore__CP_Fork", "Flag")

        assert done(followed) == [("LOREBOOK_MISSING", FORK, "follow-rename")]
        assert OpenChat(tmp_path, FORK).metadata["world_info"] == "Flag"
        assert opened.doctor().findings == ()

    def test_where_sillytavern_has_followed_the_record_does(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        rename_book(tmp_path, "Lore__CP_Fork", "Flag")
        path = tmp_path / "chats/Mira/Fork.jsonl"
        path.write_bytes(path.read_bytes().replace(b'"world_info":"Lore__CP_Fork"', b'"world_info":"Flag"'))

        followed = opened.follow_book("Lore__CP_Fork", "Flag")

        assert done(followed) == [("LOREBOOK_MISMATCH", FORK, "accept")]
        assert opened.doctor().findings == ()

    @pytest.mark.parametrize("old, new", [("Lore__CP_Fork", "Lore"), ("Other", "Flag"), ("Lore__CP_Fork", "Nobody")])
    def test_nobody_follows_what_is_not_theirs(self, old: str, new: str, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        rename_book(tmp_path, "Lore__CP_Fork", "Flag")
        before = read_workspace(tmp_path)

        assert done(opened.follow_book(old, new)) == []
        assert read_workspace(tmp_path) == before


class TestNews:
    @staticmethod
    def of(opened: Forklore, known: frozenset[str] = frozenset()) -> list[list[str]]:
        return [news.to_json()["edited"] for news in opened.new_operations(known)[1]]

    def test_they_name_the_chats_that_an_operation_has_edited(self, tmp_path: Path) -> None:
        opened = workspace(tmp_path)
        opened.branch(MAIN, leave_parent=True)
        opened.change_settings(policy="strict")
        opened.delete(FORK)

        assert self.of(opened) == [[MAIN], [], [], [MAIN]]

    def test_a_chat_that_several_groups_list_is_named_by_each(self, tmp_path: Path) -> None:
        files = stories.group_files("Tale", {}, stories.conversation(6))
        opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
        (tmp_path / "groups/9.json").write_text(json.dumps({"id": "9", "chats": ["Tale"], "members": []}))
        opened.branch(GROUP)

        assert self.of(opened) == [["group:17/Tale", "group:9/Tale"]]


def test_files_are_chats_by_where_they_are(tmp_path: Path) -> None:
    paths = ["chats/Top.jsonl", "chats/Mira/Tale.jsonl", "chats/Mira/a/b.jsonl", "chats/Mira/Tale.txt"]
    others = ["worlds/Lore.json", "group chats/All.jsonl", "group chats/a/b.jsonl", "groups/1.json", "settings.json"]

    found = Workspace(tmp_path).chats_at([*paths, *others])

    assert sorted(map(str, found)) == ["./Top", "Mira/Tale", "group:/All"]
