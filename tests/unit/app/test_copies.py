"""Copies of a whole chat, as an import or a conversion to a group makes them, get a lorebook of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.app.isolate import NotAFork, SharedOnPurpose
from forklore.model.javascript import entry_hash
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import read_workspace, write_workspace

NAME = "Mira - 2026-11-15@18h36m13s"
MIRA = f"Mira/{NAME}"
BOOK = "z-AutoLB-Mira"
IMPORTED = "Mira - 2026-11-16@09h00m00s imported"
GROUP_CHAT = "2026-11-16@09h00m00s000ms"
RECAP = "auto_recap_running_scene_recaps"

Copy = Callable[[Path], str]


def by_import(root: Path) -> str:
    return OpenChat(root, MIRA).import_again(IMPORTED)


def by_conversion(root: Path) -> str:
    return OpenChat(root, MIRA).convert(GROUP_CHAT)


either = pytest.mark.parametrize("copy", [by_import, by_conversion])


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A story of one scene and a bit, with lore that no snapshot has and an effect that lasts."""
    root = write_workspace(tmp_path / "story", recap_story(NAME, BOOK))
    main = OpenChat(root, MIRA)
    main.say("Who is there?", "A guest called Anton.")
    main.end_scene("Anton", taken=stories.FIRST_MOMENT + 1, made=[main.learn("character-Anton", "A guest.")])
    main.say("And now?", "Snow falls.")
    main.entries["77"] = stories.entry(77, "The old well", "Written by hand.")
    effect = {"hash": entry_hash(main.entries["77"], BOOK), "start": 3, "end": 9, "protected": False}
    main.metadata["timedWorldInfo"] = {"sticky": {f"{BOOK}.77": effect}}
    main.metadata["variables"] = {"weather": "snow"}
    main.write()
    return root


def open_at(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


def go_on(root: Path, chat: str, name: str, moment: int) -> None:
    opened = OpenChat(root, chat)
    opened.say("Who else?", f"Somebody called {name}.")
    opened.end_scene(name, taken=stories.FIRST_MOMENT + moment, made=[opened.learn(f"character-{name}", "New.")])
    opened.write()


def repairs(root: Path, chat: str) -> tuple[str, ...]:
    (found,) = [each for each in open_at(root).verify(chat).findings if each.code == "SHARED_LOREBOOK"]
    return found.repairs


def codes(root: Path, chat: str) -> list[str]:
    return [finding.code for finding in open_at(root).verify(chat).findings]


def people(root: Path, chat: str) -> set[str]:
    comments = {entry["comment"] for entry in OpenChat(root, chat).entries.values()}
    return {comment.removeprefix("character-") for comment in comments if comment.startswith("character-")}


@either
def test_a_copy_gets_the_whole_book_while_nobody_has_gone_on(story: Path, copy: Copy) -> None:
    chat = copy(story)
    name, before, workspace = chat.partition("/")[2], read_workspace(story), open_at(story)

    done = workspace.isolate(chat)

    assert (done.outcome, done.parent, done.at) == ("isolated", None, None)
    assert (done.lorebook_source, done.original_lorebook) == ("live", BOOK)
    assert (done.carried_from_present, done.left_out, done.left_out_entries) == ((), (), ())
    after = read_workspace(story)
    assert after[f"worlds/{done.lorebook}.json"] == before[f"worlds/{BOOK}.json"]
    assert {path for path in before if after[path] != before[path]} == {path for path in before if name in path} - {
        "groups/17.json"
    }
    old, new = OpenChat(story, MIRA).metadata, OpenChat(story, chat)
    assert new.metadata["world_info"] == done.lorebook == new.metadata["auto_lorebooks"]["lorebookName"]
    assert new.metadata["integrity"] != old["integrity"]
    assert new.metadata[RECAP] == old[RECAP] | {"chat_id": name}
    assert "main_chat" not in new.metadata
    (effect,) = new.metadata["timedWorldInfo"]["sticky"].items()
    assert effect[0] == f"{done.lorebook}.77"
    assert effect[1]["hash"] == entry_hash(new.entries["77"], done.lorebook or "")
    identity = new.metadata["forklore"]
    assert (identity["kind"], identity["chat"], identity["parent"]) == ("main", name, None)


@either
def test_it_stays_a_main_chat_and_a_second_time_nothing_is_done(story: Path, copy: Copy) -> None:
    chat = copy(story)
    workspace = open_at(story)
    first = workspace.isolate(chat)
    files = read_workspace(story)

    again = workspace.isolate(chat)

    assert (again.outcome, again.operation, again.lorebook) == ("already", None, first.lorebook)
    assert (again.parent, again.at) == (None, None)
    assert read_workspace(story) == files
    shown = workspace.show(chat)
    assert (shown.kind, shown.parent, shown.at, shown.isolated, shown.record) == ("main", None, None, True, "recorded")
    assert len(workspace.stories().stories) == 2
    assert workspace.doctor().findings == ()
    fork = workspace.branch(chat)
    assert (fork.parent, codes(story, fork.chat)) == (chat, [])


@either
def test_undo_restores_every_byte_and_redo_isolates_again(story: Path, copy: Copy) -> None:
    chat = copy(story)
    go_on(story, MIRA, "Berta", 2)
    before, workspace = read_workspace(story), open_at(story)
    workspace.isolate(chat)
    isolated = read_workspace(story)

    undone = workspace.undo().operation
    assert read_workspace(story) == before

    workspace.undo(undone)
    assert read_workspace(story) == isolated


@either
def test_what_only_the_original_has_written_since_is_left_out(story: Path, copy: Copy) -> None:
    chat = copy(story)
    go_on(story, MIRA, "Berta", 2)
    go_on(story, chat, "Conrad", 3)

    done = open_at(story).isolate(chat)

    assert done.left_out_entries == ("character-Berta",)
    assert people(story, chat) == {"Mira", "Anton", "Conrad"}
    assert people(story, MIRA) == {"Mira", "Anton", "Berta", "Conrad"}, "the original is not touched"
    assert "The old well" in {entry["comment"] for entry in OpenChat(story, chat).entries.values()}
    assert OpenChat(story, chat).metadata[RECAP]["chat_id"] == chat.partition("/")[2]
    assert codes(story, chat) == []


@either
def test_verify_and_doctor_tell_of_the_copy_alone_and_offer_to_isolate_it(story: Path, copy: Copy) -> None:
    chat = copy(story)
    workspace = open_at(story)

    (shared, *rest) = workspace.verify(chat).findings

    assert (shared.code, shared.severity.value, shared.repairs) == ("SHARED_LOREBOOK", "error", ("isolate", "share"))
    assert MIRA in shared.details
    assert [(each.code, each.repairs[0]) for each in rest] == [("RUNNING_RECAP_FOREIGN", "isolate")]
    (owner,) = workspace.verify(MIRA).findings
    assert (owner.code, owner.repairs) == ("SHARED_LOREBOOK", ("isolate-others", "share"))
    found = {(each.finding.code, each.chat) for each in workspace.doctor().findings}
    assert found == {
        ("SHARED_LOREBOOK", MIRA),
        *((code, chat) for code in ("SHARED_LOREBOOK", "RUNNING_RECAP_FOREIGN", "INTEGRITY_DUPLICATE")),
    }
    cards = {card.main: (card.health, card.reason) for card in workspace.view.overview().stories}
    assert set(cards.values()) == {("leaks", "SHARED_LOREBOOK")}
    workspace.repair(chat, "SHARED_LOREBOOK", repair="isolate")
    assert workspace.doctor().findings == ()


def test_the_copy_stays_the_copy_when_the_original_is_written_later(story: Path) -> None:
    for copy in (by_import(story), by_conversion(story)):
        go_on(story, copy, "Conrad", 3)
        go_on(story, MIRA, "Berta", 4)

        assert repairs(story, copy) == ("isolate", "share")
        assert repairs(story, MIRA) == ("isolate-others", "share")


def test_a_copy_of_a_fork_that_became_a_group_chat(story: Path) -> None:
    workspace = open_at(story)
    fork = workspace.branch(MIRA)
    copy = OpenChat(story, fork.chat).convert(GROUP_CHAT)
    assert {"SHARED_LOREBOOK", "INHERITED_STATE"} <= set(codes(story, copy))

    done = workspace.isolate(copy)

    assert (done.outcome, done.original_lorebook) == ("isolated", fork.lorebook)
    assert codes(story, copy) == codes(story, fork.chat) == []


def test_a_copy_of_a_copy(story: Path) -> None:
    first = by_import(story)
    workspace = open_at(story)
    own = workspace.isolate(first)
    second = OpenChat(story, first).import_again(f"{IMPORTED}2")
    assert {"SHARED_LOREBOOK", "INHERITED_STATE"} <= set(codes(story, second))

    done = workspace.isolate(second)

    assert done.original_lorebook == own.lorebook
    assert len({OpenChat(story, chat).metadata["world_info"] for chat in (MIRA, first, second)}) == 3
    assert workspace.doctor().findings == ()


@either
def test_what_nobody_can_be_shown_to_have_written_is_kept_and_named(story: Path, copy: Copy) -> None:
    chat = copy(story)
    go_on(story, MIRA, "Berta", 2)

    done = open_at(story).isolate(chat)

    assert (done.lorebook_source, done.left_out_entries) == ("scene-snapshot", ("character-Berta",))
    assert OpenChat(story, chat).entries["77"] == OpenChat(story, MIRA).entries["77"]
    (doubt,) = (each for each in done.warnings if each.code == "ENTRIES_IN_DOUBT")
    assert doubt.params["entries"][0]["name"] == "The old well"


# --- which is the copy --------------------------------------------------------------------------------------------


@either
def test_the_original_is_no_copy(story: Path, copy: Copy) -> None:
    copy(story)

    with pytest.raises(NotAFork):
        open_at(story).isolate(MIRA)


def test_where_nothing_is_certain_the_one_that_is_asked_for_is_the_copy(story: Path) -> None:
    twin = OpenChat(story, MIRA).import_again("Mira - 2026-11-17@10h00m00s")
    assert "SHARED_LOREBOOK" in codes(story, twin)
    assert "SHARED_LOREBOOK" in codes(story, MIRA)

    done = open_at(story).isolate(MIRA)

    assert (done.outcome, done.original_lorebook) == ("isolated", BOOK)
    assert codes(story, MIRA) == []
    assert "SHARED_LOREBOOK" not in codes(story, twin)


def test_a_copy_is_known_by_its_beginning_when_it_has_another_integrity(story: Path) -> None:
    chat = by_import(story)
    copy = OpenChat(story, chat)
    copy.metadata["integrity"] = "another"
    copy.messages[1]["is_system"] = True
    copy.messages[1]["extra"]["bookmark_link"] = "Somewhere"
    copy.write()
    assert "SHARED_LOREBOOK" in codes(story, chat)

    assert open_at(story).isolate(chat).outcome == "isolated"


@pytest.mark.parametrize("change", [{"mes": "Who are you?"}, {"send_date": "2026-11-16T09:00:00.000Z"}])
def test_a_story_that_begins_otherwise_shares_the_book_as_well(story: Path, change: dict[str, str]) -> None:
    chat = by_import(story)
    other = OpenChat(story, chat)
    other.metadata |= {"integrity": "another", RECAP: {**other.metadata[RECAP], "chat_id": IMPORTED}}
    other.messages[1] |= change
    other.write()
    assert codes(story, chat) == codes(story, MIRA) == ["SHARED_LOREBOOK"]
    with pytest.raises(NotAFork):
        open_at(story).isolate(MIRA)

    open_at(story).isolate(chat)

    assert open_at(story).doctor().findings == ()
    assert OpenChat(story, chat).entries.keys() == OpenChat(story, MIRA).entries.keys()


def test_a_greeting_alone_makes_no_copy(story: Path) -> None:
    chat = by_import(story)
    other = OpenChat(story, chat)
    other.metadata = {"integrity": "another", "world_info": BOOK}
    other.messages = other.messages[:1]
    other.write()

    (found,) = open_at(story).verify(chat).findings

    assert "copy of" not in found.details


def test_a_copy_without_a_lorebook_needs_none(tmp_path: Path) -> None:
    files = stories.solo_files(NAME, {"integrity": "a"}, stories.conversation(3))
    root = write_workspace(tmp_path / "story", files)
    chat = by_import(root)

    with pytest.raises(NotAFork):
        open_at(root).isolate(chat)
    assert codes(root, chat) == []
    assert [each.finding.code for each in open_at(root).doctor().findings] == ["INTEGRITY_DUPLICATE"]


def test_a_book_that_is_shared_on_purpose_is_left_alone(story: Path) -> None:
    chat = by_import(story)
    workspace = open_at(story)

    workspace.isolate(chat, share=True)

    assert "SHARED_LOREBOOK" not in codes(story, chat)
    with pytest.raises(SharedOnPurpose):
        workspace.isolate(chat)


def test_a_damaged_original_is_still_the_original(story: Path) -> None:
    chat = by_import(story)
    path = story / f"chats/{MIRA}.jsonl"
    path.write_bytes(path.read_bytes() + b"\n{not JSON")

    done = open_at(story).isolate(chat)

    assert done.outcome == "isolated"
    assert json.loads((story / f"worlds/{done.lorebook}.json").read_bytes())["entries"]["77"]
