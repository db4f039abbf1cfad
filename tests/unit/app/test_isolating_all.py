"""Every timeline that shares a lorebook gets one of its own, by the rule of ``isolate``, and each can be undone."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.app.progress import Cancelled, Silent
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import chat_bytes, conversation, entry, lorebook_bytes, read_workspace, write_workspace

MAIN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
CHECKPOINT = "Maren Tolliver/The key in hand - 2025-11-02@21h04m23s"
BRANCH = "Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"


def open_at(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


@pytest.fixture
def legacy(sample: Callable[[str], Path]) -> Path:
    return sample("hollow_quay_legacy_shared")


def two_stories(root: Path) -> Path:
    """Two stories, each with a native fork that shares its lorebook, one of them with nothing to cut it at."""
    files = {}
    for name in ("Mira", "Nora"):
        files[f"chats/{name}/{name}.jsonl"] = chat_bytes({"world_info": name}, conversation(6))
        files[f"chats/{name}/Path.jsonl"] = chat_bytes({"world_info": name, "main_chat": name}, conversation(4))
        files[f"worlds/{name}.json"] = lorebook_bytes([entry(1, "character-Anton")])
    return write_workspace(root, files)


class Listener(Silent):
    """Notes how many were done, and stops after some of them."""

    def __init__(self, stop_after: int = 99) -> None:
        self.told: list[tuple[int, int]] = []
        self._stop_after = stop_after

    def advance(self, done: int, total: int) -> None:
        self.told.append((done, total))

    def go_on(self) -> None:
        if self.told and self.told[-1][0] >= self._stop_after:
            raise Cancelled


def test_all_that_share_are_isolated_each_as_an_operation_of_its_own(legacy: Path) -> None:
    opened = open_at(legacy)

    told = opened.isolate_all(MAIN)

    assert [fork.chat for fork in told.forks] == [BRANCH, CHECKPOINT]
    assert told.ok
    assert opened.doctor().ok
    assert [each.id for each in opened.log().operations] == [fork.operation for fork in reversed(told.forks)]


def test_each_gets_what_it_gets_when_it_is_isolated_alone(legacy: Path, tmp_path: Path) -> None:
    other = write_workspace(tmp_path / "other", read_workspace(legacy))
    alone = [open_at(other).isolate(chat) for chat in (BRANCH, CHECKPOINT)]

    together = open_at(legacy).isolate_all().forks

    for one, another in zip(alone, together, strict=True):
        assert (one.lorebook, one.entries, one.left_out_entries) == (
            another.lorebook,
            another.entries,
            another.left_out_entries,
        )
        book = f"worlds/{one.lorebook}.json"
        assert (legacy / book).read_bytes() == (other / book).read_bytes()


def test_the_books_are_split_as_the_report_said(legacy: Path) -> None:
    report = open_at(legacy).contamination(MAIN)

    told = open_at(legacy).isolate_all()

    for fork in told.forks:
        entries = json.loads((legacy / f"worlds/{fork.lorebook}.json").read_bytes())["entries"].values()
        names = {each["comment"] for each in entries}
        told_of = {each.comment for each in report.entries}  # not of what was merged away since
        assert names & told_of == {each.comment for each in report.entries if fork.chat in each.goes_to}


def test_a_dry_run_tells_what_comes_and_changes_nothing(legacy: Path) -> None:
    before = read_workspace(legacy)

    planned = open_at(legacy).plan_isolations(MAIN).to_json()

    assert read_workspace(legacy) == before
    assert [row["action"] for fork in planned["forks"] for row in fork["plan"]] == ["create", "edit"] * 2
    assert [fork["operation"] for fork in planned["forks"]] == [None, None]
    done = open_at(legacy).isolate_all().to_json()
    assert [fork["lorebook"] for fork in done["forks"]] == [fork["lorebook"] for fork in planned["forks"]]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_each_can_be_undone_in_any_order(legacy: Path, order: tuple[int, int]) -> None:
    before = read_workspace(legacy)
    opened = open_at(legacy)
    forks = opened.isolate_all().forks

    for number in order:
        opened.undo(forks[number].operation)

    after = read_workspace(legacy)
    assert {path: data for path, data in after.items() if not path.startswith(".forklore/")} == before


def test_only_the_story_that_was_asked_for_is_touched(tmp_path: Path) -> None:
    opened = open_at(two_stories(tmp_path / "w"))

    assert [fork.chat for fork in opened.isolate_all("Mira/Path").forks] == ["Mira/Path"]
    assert [fork.chat for fork in opened.isolate_all().forks] == ["Nora/Path"]
    assert opened.isolate_all().to_json() == {"forks": [], "refused": []}


def test_a_timeline_that_cannot_be_isolated_stops_nobody(tmp_path: Path) -> None:
    root = two_stories(tmp_path / "w")
    (root / "worlds" / "Mira.json").write_text("no lorebook")

    told = open_at(root).isolate_all()

    assert [fork.chat for fork in told.forks] == ["Nora/Path"]
    assert [(each.chat, each.error.code) for each in told.refused] == [("Mira/Path", "LOREBOOK_UNREADABLE")]
    assert told.to_json()["refused"][0]["error"]["findings"]
    assert not told.ok


def test_a_book_that_is_shared_on_purpose_is_left_alone(legacy: Path) -> None:
    opened = open_at(legacy)
    opened.isolate(BRANCH, share=True)

    assert opened.isolate_all().to_json() == {"forks": [], "refused": []}


def test_a_copy_of_a_main_chat_is_isolated_too(tmp_path: Path) -> None:
    chat = chat_bytes({"world_info": "Lore", "integrity": "one"}, conversation(6))
    files = {"chats/Mira/Mira.jsonl": chat, "chats/Mira/Mira imported.jsonl": chat}
    opened = open_at(write_workspace(tmp_path / "w", {**files, "worlds/Lore.json": lorebook_bytes([entry(1, "A")])}))

    told = opened.isolate_all()

    assert [fork.chat for fork in told.forks] == ["Mira/Mira imported"]
    assert opened.doctor().findings == ()


def test_it_tells_how_many_are_done_and_nothing_of_each(tmp_path: Path) -> None:
    heard = Listener()

    open_at(two_stories(tmp_path / "w")).listening(heard).isolate_all()

    assert heard.told == [(0, 2), (1, 2), (2, 2)]


def test_it_can_be_stopped_between_two_and_says_what_stays(tmp_path: Path) -> None:
    opened = open_at(two_stories(tmp_path / "w"))

    with pytest.raises(Cancelled) as stopped:
        opened.listening(Listener(stop_after=1)).isolate_all()

    assert stopped.value.params == {"case": "isolated"}
    assert "stays so" in stopped.value.action
    assert len(opened.log().operations) == 1
