"""Overview and layout of whole workspaces."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.disk.workspace import ChatNotFound
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import chat_bytes, conversation, write_workspace

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
LEGACY = "hollow_quay_legacy_shared"

Opened = Callable[[str], Forklore]
SAMPLES = (
    "hollow_quay_clean",
    LEGACY,
    "salvage_rights_clean",
    "salvage_rights_queue_busy",
    "sillytavern-1.19.0",
)


def open_at(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


def test_groups_have_the_names_that_addresses_lack(tmp_path: Path) -> None:
    files = {
        "groups/1700.json": b'{"id": "1700", "name": "The crew of the Lantern", "chats": ["Night watch"]}',
        "groups/1800.json": b'{"id": "1800", "name": 7, "chats": []}',
        "groups/1900.json": b"no group",
    }

    shown = open_at(write_workspace(tmp_path / "w", files)).view.groups().to_json()

    assert shown == {"groups": [{"id": "1700", "name": "The crew of the Lantern"}]}


class TestOverview:
    def test_a_story_is_shown_with_what_its_worst_timeline_is(self, opened: Opened) -> None:
        workspace = opened(LEGACY)

        shown = workspace.view.overview(open_chat=MAREN).to_json()

        (story,) = shown["stories"]
        assert (shown["workspace"], shown["open"]) == (str(workspace.root), MAREN)
        assert story.pop("active") > 1_700_000_000_000
        assert story == {
            "main": MAREN,
            "name": "Maren Tolliver - 2025-11-02@19h14m08s",
            "folder": "Maren Tolliver",
            "timelines": 3,
            "messages": 69,
            "health": "leaks",
            "reason": "SHARED_LOREBOOK",
        }

    def test_the_latest_story_comes_first_by_any_of_its_chats(self, tmp_path: Path) -> None:
        files = {
            "chats/A/one.jsonl": chat_bytes({}, conversation(2)),
            "chats/B/two.jsonl": chat_bytes({}, conversation(2)),
            "chats/B/two - Branch #1.jsonl": chat_bytes({"main_chat": "two"}, conversation(2)),
        }
        write_workspace(tmp_path, files)
        for path, seconds in zip(files, (200, 100, 300), strict=True):
            os.utime(tmp_path / path, ns=(0, seconds * 10**9 + 7))

        shown = open_at(tmp_path).view.overview()

        assert [(story.main, story.active) for story in shown.stories] == [("B/two", 300_000), ("A/one", 200_000)]

    def test_it_is_up_to_date_when_a_chat_was_written_or_a_book_has_gone(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")
        made = workspace.checkpoint(MAREN, name="X")
        before = workspace.view.overview().stories[0]

        (workspace.root / f"worlds/{made.lorebook}.json").unlink()
        after = workspace.view.overview().stories[0]

        assert (before.health, before.reason, before.timelines) == ("isolated", None, 2)
        assert (after.health, after.reason) == ("unverified", "LOREBOOK_MISSING")

    def test_a_damaged_chat_does_not_hide_the_others(self, opened: Opened) -> None:
        workspace = opened(LEGACY)
        (workspace.root / "chats/Maren Tolliver/broken.jsonl").write_bytes(b'{"chat_metadata":\n{"mes":"x"}\n')

        shown = {story.name: story for story in workspace.view.overview().stories}

        assert (shown["broken"].health, shown["broken"].reason) == ("unverified", "CHAT_DAMAGED")
        assert len(shown) == 2

    def test_an_empty_workspace_has_no_stories(self, tmp_path: Path) -> None:
        write_workspace(tmp_path, {})

        assert open_at(tmp_path).view.overview().to_json() == {"workspace": str(tmp_path), "open": None, "stories": []}

    def test_a_book_whose_name_sillytavern_cleans_is_found(self, tmp_path: Path) -> None:
        files = {
            "chats/A/one.jsonl": chat_bytes({"world_info": "What? Lore"}, conversation(2)),
            "worlds/What Lore.json": stories.lorebook_bytes([]),
        }

        shown = open_at(write_workspace(tmp_path, files)).view.overview()

        assert shown.stories[0].health == "isolated"


@pytest.mark.parametrize("name", SAMPLES)
def test_health_says_what_verify_says(opened: Opened, name: str) -> None:
    workspace = opened(name)

    for story in workspace.stories().stories:
        for lane in workspace.view.layout(story.main).lanes:
            found = {finding.code for finding in workspace.verify(lane.lane.timeline.chat).findings}
            of_health = found & {"SHARED_LOREBOOK", "LOREBOOK_MISSING", "LEGACY_FORK", "CHAT_DAMAGED"}
            if lane.lane.timeline.kind == "main":
                of_health |= {code for code in [lane.health.reason] if code == "SHARED_LOREBOOK"}  # told of forks only
            assert (lane.health.reason in of_health) if of_health else lane.health.reason is None


class TestLayout:
    def test_lanes_have_what_the_page_shows(self, opened: Opened) -> None:
        workspace = opened(LEGACY)
        made = workspace.branch(MAREN, at=50)

        shown = workspace.view.layout("Branch #42").to_json()

        assert shown["main"] == MAREN
        assert shown["columns"] == [
            {"message": 0, "collapsed": 0},
            {"message": 31, "collapsed": 30},
            {"message": 42, "collapsed": 10},
            {"message": 50, "collapsed": 7},
            {"message": 68, "collapsed": 17},
        ]
        assert shown["lanes"][1] == {
            "chat": made.chat,
            "name": made.chat.partition("/")[2],
            "kind": "branch",
            "parent": MAREN,
            "at": 50,
            "row": 1,
            "parent_row": 0,
            "start": 3,
            "end": 3,
            "messages": 51,
            "lorebook": made.lorebook,
            "running_version": workspace.show(made.chat).running_current,
            "record": "recorded",
            "health": "isolated",
            "reason": None,
        }
        assert [(lane["start"], lane["parent_row"], lane["reason"]) for lane in shown["lanes"][2:]] == [
            (2, 0, "SHARED_LOREBOOK"),
            (1, 0, "SHARED_LOREBOOK"),
        ]

    @pytest.mark.parametrize("name", SAMPLES)
    def test_the_running_version_is_the_one_that_show_tells(self, opened: Opened, name: str) -> None:
        workspace = opened(name)

        for story in workspace.stories().stories:
            for lane in workspace.view.layout(story.main).lanes:
                assert lane.running_version == workspace.show(lane.lane.timeline.chat).running_current

    def test_a_chat_that_is_not_there_is_told(self, opened: Opened) -> None:
        with pytest.raises(ChatNotFound):
            opened(LEGACY).view.layout("nobody")
