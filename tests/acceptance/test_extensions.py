"""Memory extensions at work in a fork: what they do when it is opened stays in the fork."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import read_workspace, write_workspace
from tests.edges.running import run
from tests.extensions import (
    ACTS,
    ADDRESS,
    AT,
    EXTENSIONS,
    LAST,
    LATER,
    Extension,
    Page,
    opened,
    remember,
    swiped,
)

Json = Mapping[str, Any]
extensions = pytest.mark.parametrize("extension", EXTENSIONS, ids=[each.name for each in EXTENSIONS])
acts = pytest.mark.parametrize("act", ACTS, ids=[act.__name__ for act in ACTS])
kinds = pytest.mark.parametrize("kind", ["branch", "checkpoint"])
points = pytest.mark.parametrize("at", [LAST, AT], ids=["head", "past"])
TUNNELVISION, MEMORY_BOOKS, BY_HAND, CANONIZE = EXTENSIONS


def by_library(root: Path, kind: str, at: int) -> Json:
    made: Json = getattr(forklore.open(root, disk=HastyDisk()), kind)(ADDRESS, at=at).to_json()
    return made


def by_command(root: Path, kind: str, at: int) -> Json:
    made: Json = run("--data", root, "--json", kind, ADDRESS, "--at", str(at)).json
    return made


def forked(root: Path, extension: Extension, kind: str, at: int) -> Json:
    return by_library(write_workspace(root, extension.story()), kind, at)


def own_files(made: Json) -> set[str]:
    return {f"chats/{made['chat']}.jsonl", *(f"worlds/{book['name']}.json" for book in made["lorebooks"])}


def happens(root: Path, chat: str, extension: Extension, act: Callable[[Page], None]) -> set[str]:
    """Let something happen in a chat, and the extension follow; return the files that are others then."""
    before = read_workspace(root)
    page = Page(root, chat)
    act(page)
    extension.follows(page)
    page.save()
    after = read_workspace(root)
    return {path for path in before | after if before.get(path) != after.get(path)}


def later_in(root: Path, paths: set[str]) -> list[str]:
    return [path for path in paths if LATER in (root / path).read_text("utf-8")]


def entries_of(root: Path, book: str) -> list[tuple[int, str, bool]]:
    entries = Page(root, ADDRESS).book(book)["entries"].values()
    return [(entry["uid"], entry["content"], entry["disable"]) for entry in entries]


@acts
@points
@kinds
@extensions
def test_what_an_extension_does_in_a_fork_stays_in_the_fork(
    extension: Extension, kind: str, at: int, act: Callable[[Page], None], tmp_path: Path
) -> None:
    made = forked(tmp_path, extension, kind, at)
    books = {path: content for path, content in read_workspace(tmp_path).items() if path.startswith("worlds/")}

    changed = happens(tmp_path, made["chat"], extension, act)

    assert changed <= own_files(made)
    assert {path: books[path] for path in extension.story() if path in books} == {
        path: content for path, content in extension.story().items() if path in books
    }
    assert at == LAST or later_in(tmp_path, own_files(made)) == []


@pytest.mark.parametrize("make", [by_library, by_command])
@pytest.mark.parametrize("extension", [TUNNELVISION, BY_HAND], ids=["TunnelVision", "Memory Books, by hand"])
def test_the_command_line_makes_the_same_fork(
    extension: Extension, make: Callable[[Path, str, int], Json], tmp_path: Path
) -> None:
    made = make(write_workspace(tmp_path, extension.story()), "branch", AT)

    assert happens(tmp_path, made["chat"], extension, swiped) <= own_files(made)
    assert later_in(tmp_path, own_files(made)) == []
    assert [book["source"] for book in made["lorebooks"]] in (["anchor"], ["present", "present"])


@kinds
@extensions
def test_at_the_head_nothing_of_an_extension_is_lost(extension: Extension, kind: str, tmp_path: Path) -> None:
    parent = Page(write_workspace(tmp_path, extension.story()), ADDRESS)

    made = by_library(tmp_path, kind, LAST)

    fork = Page(tmp_path, made["chat"])
    assert set(parent.metadata) <= set(fork.metadata)
    assert [message["mes"] for message in fork.messages] == [message["mes"] for message in parent.messages]
    for book in made["lorebooks"]:
        assert entries_of(tmp_path, book["name"]) == entries_of(tmp_path, book["original"])


@kinds
@extensions
def test_the_doctor_is_content_with_a_fork(extension: Extension, kind: str, tmp_path: Path) -> None:
    made = forked(tmp_path, extension, kind, AT)
    happens(tmp_path, made["chat"], extension, opened)

    findings = forklore.open(tmp_path).doctor().findings

    # A memory of a chat tells when it was made; what else is in a lorebook does not.
    assert {each.finding.code for each in findings} <= {"LOREBOOK_FROM_PRESENT"}


@pytest.mark.parametrize("extension", [TUNNELVISION, BY_HAND, CANONIZE], ids=["TunnelVision", "by hand", "Canonize"])
def test_in_a_fork_of_sillytaverns_own_the_same_does_harm(extension: Extension, tmp_path: Path) -> None:
    write_workspace(tmp_path, extension.story())
    native = OpenChat(tmp_path, ADDRESS).fork("Native", at=AT)
    page = Page(tmp_path, native)
    page.say(LAST)
    page.save()

    changed = happens(tmp_path, native, extension, opened)

    assert changed & extension.story().keys()


class TestTunnelVision:
    def test_a_past_fork_has_the_lorebook_of_then(self, tmp_path: Path) -> None:
        made = forked(tmp_path, TUNNELVISION, "branch", AT)

        assert made["lorebook_source"] == "anchor"
        assert entries_of(tmp_path, made["lorebook"]) == [(1, "a cook", False), (2, "the quay", False)]

    def test_what_a_swiped_reply_made_goes_from_the_forks_lorebook_alone(self, tmp_path: Path) -> None:
        made = forked(tmp_path, TUNNELVISION, "branch", LAST)

        happens(tmp_path, made["chat"], TUNNELVISION, swiped)

        assert [uid for uid, *_ in entries_of(tmp_path, made["lorebook"])] == [1, 2]
        assert [uid for uid, *_ in entries_of(tmp_path, "Lore")] == [1, 2, 3]

    def test_the_page_is_told_to_switch_it_on_for_the_clone(self, tmp_path: Path) -> None:
        made = forked(tmp_path, TUNNELVISION, "branch", AT)

        steps = {step["path"][-1]: step for step in made["settings"] if "tunnelvision" in step["path"]}
        assert {(step["old"], step["new"]) for step in steps.values()} == {("Lore", made["lorebook"])}
        assert steps["trees"]["put"] == {"lorebookName": made["lorebook"]}
        assert steps["trees"]["uids"] == steps["trackerUids"]["uids"] == [3]
        assert (steps["enabledLorebooks"]["put"], steps["enabledLorebooks"]["uids"]) == ({}, [])


class TestMemoryBooks:
    @kinds
    @points
    @pytest.mark.parametrize("extension", [MEMORY_BOOKS, BY_HAND], ids=["chat", "by hand"])
    def test_goes_on_where_the_fork_begins(self, extension: Extension, at: int, kind: str, tmp_path: Path) -> None:
        made = forked(tmp_path, extension, kind, at)
        page = Page(tmp_path, made["chat"])
        page.say(2)

        assert remember(page) is None

        own = [entry for book in made["lorebooks"] for entry in page.book(book["name"])["entries"].values()]
        memories = [(each["STMB_start"], each["STMB_end"]) for each in own if "STMB_end" in each]
        assert memories == [(0, AT - 1), *([(AT, LAST)] if at == LAST else []), (at + 1 if at == LAST else AT, at + 2)]
        assert {each["STMB_chatId"] for each in own if "STMB_end" in each} == {page.name}

    def test_messages_that_only_a_later_memory_covered_are_shown_again(self, tmp_path: Path) -> None:
        made = forked(tmp_path, MEMORY_BOOKS, "branch", AT)

        hidden = [message["is_system"] for message in Page(tmp_path, made["chat"]).messages]
        assert hidden == [True] * AT + [False]

    def test_each_lorebook_is_cloned_once_with_its_role(self, tmp_path: Path) -> None:
        made = forked(tmp_path, BY_HAND, "branch", AT)

        assert made["lorebooks"] == [
            {"name": made["lorebook"], "original": "Lore", "role": "chat", "source": "present", "entries": 1},
            {
                "name": "Memories__BR_Branch_1",
                "original": "Memories",
                "role": "manual",
                "source": "present",
                "entries": 1,
            },
        ]

    def test_what_chats_share_on_purpose_is_left_alone(self, tmp_path: Path) -> None:
        write_workspace(tmp_path, BY_HAND.story())
        locks = b'{"extension_settings": {"STMemoryBooks": {"characterMemoryBookLocks": {"Mira.png": "Memories"}}}}'
        (tmp_path / "settings.json").write_bytes(locks)

        made = by_library(tmp_path, "branch", LAST)

        assert [book["original"] for book in made["lorebooks"]] == ["Lore"]
        assert Page(tmp_path, made["chat"]).metadata["STMemoryBooks"]["manualLorebook"] == "Memories"


ANCHOR = {"cnz": {"lorebook": {"name": "Lore", "entries": {}}}}


class TestCanonize:
    def test_a_past_fork_has_the_lorebook_of_the_last_anchor_before_it(self, tmp_path: Path) -> None:
        made = forked(tmp_path, CANONIZE, "checkpoint", AT)

        assert made["lorebook_source"] == "anchor"
        assert entries_of(tmp_path, made["lorebook"]) == [(1, "a cook", False)]

    @pytest.mark.parametrize("extras", [[{}, ANCHOR], [ANCHOR, {}], [ANCHOR, ANCHOR]])
    @pytest.mark.parametrize("is_noted", [True, False])
    def test_no_swipe_of_a_fork_names_the_parents_lorebook(
        self, extras: list[dict[str, Any]], is_noted: bool, tmp_path: Path
    ) -> None:
        write_workspace(tmp_path, CANONIZE.story())
        tale = OpenChat(tmp_path, ADDRESS)
        tale.messages[AT] = stories.swiped("One way.", "Another.", extras=extras)
        if not is_noted:  # SillyTavern notes what a swipe has only when it is left
            tale.messages[AT]["swipe_info"][0]["extra"] = {}
        tale.write()

        made = forklore.open(tmp_path, disk=HastyDisk()).branch(ADDRESS, at=AT, swipe=1)

        assert '"name":"Lore"' not in (tmp_path / f"chats/{made.chat}.jsonl").read_text("utf-8")

    def test_a_book_that_only_later_messages_name_is_not_cloned(self, tmp_path: Path) -> None:
        write_workspace(tmp_path, CANONIZE.story())
        tale = OpenChat(tmp_path, ADDRESS)
        tale.messages[LAST]["extra"]["cnz"] = {"plotLorebookName": "Plot"}
        tale.write()
        (tmp_path / "worlds/Plot.json").write_bytes(b'{"entries": {}}')

        made = by_library(tmp_path, "branch", AT)

        assert [book["original"] for book in made["lorebooks"]] == ["Lore"]
