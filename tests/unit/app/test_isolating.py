"""Forks that SillyTavern made get a lorebook of their own, and nothing that they wrote is lost."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app import isolate as isolating
from forklore.app.check import ForkBlocked
from forklore.app.forklore import Forklore
from forklore.app.isolate import NotAFork, SharedOnPurpose
from forklore.disk.files import ContextChanged
from forklore.model.javascript import entry_hash
from forklore.planning.isolating import plan_isolation
from forklore.planning.undo import UndoRefused
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import Json, read_workspace, write_workspace

SHARED = "hollow_quay_legacy_shared"
MAIN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
CHECKPOINT = "Maren Tolliver/The key in hand - 2025-11-02@21h04m23s"
BRANCH = "Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"

NAME = "Mira - 2026-11-15@18h36m13s"
MIRA = f"Mira/{NAME}"
FORK_NAME = f"{NAME} - Branch #1"
FORK = f"Mira/{FORK_NAME}"
BOOK = "z-AutoLB-Mira"

RECAP = "auto_recap_running_scene_recaps"


def open_at(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


def comments(root: Path, book: str | None) -> set[str]:
    return {each["comment"] for each in json.loads((root / f"worlds/{book}.json").read_bytes())["entries"].values()}


def uids(root: Path, book: str | None) -> list[int]:
    return sorted(each["uid"] for each in json.loads((root / f"worlds/{book}.json").read_bytes())["entries"].values())


@pytest.fixture
def story(tmp_path: Path) -> Path:
    """A story of two scenes, forked by SillyTavern after the first one, in which both sides have gone on."""
    root = write_workspace(tmp_path / "story", recap_story(NAME, BOOK))
    main = OpenChat(root, MIRA)
    main.say("Who is there?", "A guest called Anton.")
    main.end_scene("Anton", taken=stories.FIRST_MOMENT + 1, made=[main.learn("character-Anton", "A guest.")])
    main.say("And now?", "Snow falls.")
    main.end_scene("Snow", taken=stories.FIRST_MOMENT + 2)
    main.write()
    main.fork(FORK_NAME, at=2)
    main.say("Who else?", "A thief called Berta.")
    main.end_scene("Berta", taken=stories.FIRST_MOMENT + 3, made=[main.learn("character-Berta", "A thief.")])
    main.write()
    fork = OpenChat(root, FORK)
    fork.say("Another way.", "A smith called Conrad.")
    fork.end_scene("Conrad", taken=stories.FIRST_MOMENT + 4, made=[fork.learn("character-Conrad", "A smith.")])
    fork.write()
    return root


# --- the sample ---------------------------------------------------------------------------------------------------


@pytest.mark.req(111, 126, 132, 134, 135, 137)
@pytest.mark.parametrize("chat, kind", [(CHECKPOINT, "checkpoint"), (BRANCH, "branch")])
def test_a_native_fork_gets_what_its_own_messages_account_for(
    chat: str, kind: str, sample: Callable[[str], Path], manifest: dict[str, Any]
) -> None:
    root, known = sample(SHARED), manifest[SHARED]
    before = read_workspace(root)
    at = known["legacy"][kind]["at"]
    scene = next(each for each in known["scene_breaks"] if each["message"] == at)
    queue = [uid for uid in known["lorebook"]["uids"] if uid > 10**9]

    done = open_at(root).isolate(chat)

    assert (done.parent, done.at, done.outcome) == (MAIN, at, "isolated")
    assert uids(root, done.lorebook) == [*scene["snapshot_uids"], *queue]
    assert done.entries == len(scene["snapshot_uids"]) + 1
    assert done.lorebook_source == "scene-snapshot"
    kept = tuple(number for number, each in enumerate(known["scene_breaks"][:6]) if each["message"] <= at)
    assert (done.kept_versions, done.removed_versions) == (kept, tuple(range(len(kept), 6)))
    metadata = OpenChat(root, chat).metadata
    assert metadata["world_info"] == done.lorebook == metadata["auto_lorebooks"]["lorebookName"]
    assert metadata[RECAP]["chat_id"] == chat.partition("/")[2]
    assert metadata[RECAP]["current_version"] == kept[-1]
    assert set(metadata["auto_lorebooks"]["registry"]["index"]) <= {str(uid) for uid in scene["snapshot_uids"]}
    after = read_workspace(root)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {f"chats/{chat}.jsonl", f"worlds/{done.lorebook}.json"}, "main is untouched, and its book too"


@pytest.mark.req(110, 111)
def test_it_is_recorded_as_a_fork(sample: Callable[[str], Path]) -> None:
    root = sample(SHARED)
    old = OpenChat(root, BRANCH).metadata
    workspace = open_at(root)
    done = workspace.isolate(BRANCH)

    metadata = OpenChat(root, BRANCH).metadata
    state, identity = metadata["auto_recap_checkpoint_state"], metadata["forklore"]
    assert (state["kind"], state["message_id"], state["chat_id"]) == ("branch", 42, BRANCH.partition("/")[2])
    assert (state["cloned_lorebook_name"], state["original_lorebook_name"]) == (done.lorebook, done.original_lorebook)
    assert (identity["kind"], identity["parent"], identity["message"]) == ("branch", MAIN.partition("/")[2], 42)
    assert metadata["integrity"] != old["integrity"], "a page that has it open must not overwrite it silently"
    messages = (root / f"chats/{BRANCH}.jsonl").read_bytes().partition(b"\n")[2]
    assert identity["digests"]["messages"] == hashlib.sha256(messages).hexdigest()
    book = (root / f"worlds/{done.lorebook}.json").read_bytes()
    assert identity["digests"]["lorebook"] == hashlib.sha256(book).hexdigest()
    shown = workspace.show(BRANCH)
    assert (shown.record, shown.isolated, shown.parent, shown.at) == ("recorded", True, MAIN, 42)
    assert workspace.status(BRANCH).valid


@pytest.mark.req(131)
def test_undo_restores_every_byte_and_redo_isolates_again(sample: Callable[[str], Path]) -> None:
    root = sample(SHARED)
    workspace, before = open_at(root), read_workspace(root)
    workspace.isolate(CHECKPOINT)
    workspace.isolate(BRANCH)
    isolated = read_workspace(root)

    undone = [workspace.undo().operation, workspace.undo().operation]
    assert read_workspace(root) == before

    for operation in reversed(undone):
        workspace.undo(operation)
    assert read_workspace(root) == isolated


def test_isolating_twice_changes_nothing_and_says_so(sample: Callable[[str], Path]) -> None:
    root = sample(SHARED)
    workspace = open_at(root)
    first = workspace.isolate(BRANCH)
    before, log = read_workspace(root), workspace.log().operations

    again = workspace.isolate(BRANCH)

    assert (again.outcome, again.operation, again.lorebook) == ("already", None, first.lorebook)
    assert again.original_lorebook == first.original_lorebook
    planned = workspace.plan_isolation(BRANCH)
    assert isinstance(planned, forklore.IsolationPlanned)
    assert (planned.to_json(), planned.result) == ({**again.to_json(), "plan": []}, again)
    assert (read_workspace(root), workspace.log().operations) == (before, log)


def test_a_dry_run_shows_the_plan_and_writes_nothing(sample: Callable[[str], Path]) -> None:
    root = sample(SHARED)
    planned = open_at(root).plan_isolation(BRANCH).to_json()["plan"]

    assert [row["action"] for row in planned] == ["create", "edit"]
    assert not (root / ".forklore").exists()


REAL = "Mira/Mira - 2026-11-15@18h36m02s446ms"
REAL_GROUP = "group:1794767789993/2026-11-15@18h36m29s983ms"


@pytest.mark.parametrize(
    "chat", [f"{REAL} - Checkpoint #1", f"{REAL} - Branch #1", f"{REAL_GROUP} - Checkpoint #1"], ids=str
)
def test_a_fork_that_a_real_sillytavern_made(chat: str, sample: Callable[[str], Path]) -> None:
    root = sample("sillytavern-1.19.0")
    before, workspace = read_workspace(root), open_at(root)

    done = workspace.isolate(chat)

    after = read_workspace(root)
    assert workspace.show(chat).isolated
    assert OpenChat(root, chat).metadata["world_info"] == done.lorebook != done.original_lorebook
    others = {path for path in before if chat.partition("/")[2] not in path}
    assert all(after[path] == before[path] for path in others)
    workspace.undo()
    assert read_workspace(root) == before


# --- a fork that has gone on --------------------------------------------------------------------------------------


@pytest.mark.req(131, 132, 133)
def test_what_the_fork_wrote_stays_and_what_only_its_parent_knows_goes(story: Path) -> None:
    done = open_at(story).isolate(FORK)

    assert (done.at, done.lorebook_source, done.warnings) == (2, "scene-snapshot", ())
    assert comments(story, done.lorebook) == {
        *("_registry_character", "__index_characters", "__operation_queue"),
        *("character-Mira", "character-Anton", "character-Conrad"),
    }
    assert done.left_out_entries == ("character-Berta",)
    registry = OpenChat(story, FORK).entries["0"]["content"]
    assert [line.split(" | ")[1] for line in registry.split("\n")[1:]] == [
        "name: character-Anton",
        "name: character-Conrad",
        "name: character-Mira",
    ]


@pytest.mark.req(133, 134)
def test_versions_that_the_parent_wrote_later_are_told_from_its_own(story: Path) -> None:
    done = open_at(story).isolate(FORK)

    # Version 1 (up to message 4) came along with the parent's metadata; version 2 is the fork's own, also at message 4.
    assert (done.kept_versions, done.removed_versions) == ((0, 2), (1,))
    assert OpenChat(story, FORK).metadata[RECAP]["current_version"] == 2


def test_an_entry_that_both_wrote_into_is_kept_as_the_fork_last_saw_it_and_named(story: Path) -> None:
    fork = OpenChat(story, FORK)
    fork.entries["3"]["content"] = "A guest, and the smith's brother."
    fork.say("He is my brother.", "Anton laughs.")
    fork.end_scene("Brothers", taken=stories.FIRST_MOMENT + 5, made=[3])
    fork.write()
    main = OpenChat(story, MIRA)
    main.entries["3"]["content"] = "A guest, and a liar."
    main.say("Liar!", "Anton flees.")
    main.end_scene("Liar", taken=stories.FIRST_MOMENT + 6, made=[3])
    main.write()

    done = open_at(story).isolate(FORK)

    assert OpenChat(story, FORK).entries["3"]["content"] == "A guest, and the smith's brother."
    assert [finding.code for finding in done.warnings] == ["ENTRIES_IN_DOUBT"]
    assert "“character-Anton” (UID 3)" in done.warnings[0].details
    assert [each["uid"] for each in done.warnings[0].params["entries"]] == [3]


def test_what_somebody_wrote_by_hand_is_never_left_out_of_a_fork_that_has_gone_on(story: Path) -> None:
    main = OpenChat(story, MIRA)
    main.entries["77"] = stories.entry(77, "The old well", "Nobody knows of it yet.")
    main.entries["2"]["content"] = "Mira, mended by hand"
    main.write()

    done = open_at(story).isolate(FORK)

    entries = OpenChat(story, FORK).entries
    assert entries["77"] == main.entries["77"]
    assert entries["2"]["content"] == "Mira, mended by hand"
    assert {"The old well", "character-Mira"} <= {each["name"] for each in done.warnings[0].params["entries"]}


def test_a_snapshot_that_was_taken_again_later_is_passed_over(story: Path) -> None:
    fork, main = OpenChat(story, FORK), OpenChat(story, MIRA)
    for chat in (fork, main):
        future = stories.snapshot(main.entries.values(), BOOK)
        chat.messages[2]["extra"] |= stories.scene("Anton", entries=future, taken=stories.FIRST_MOMENT + 9)
    main.write()
    fork.messages = fork.messages[:3]
    fork.write()

    done = open_at(story).isolate(FORK)

    assert done.lorebook_source == "present"
    assert "character-Berta" in done.left_out_entries


# --- without snapshots --------------------------------------------------------------------------------------------


@pytest.fixture
def unsnapped(tmp_path: Path) -> Path:
    """A story whose scenes kept no snapshots, forked by SillyTavern at message 2."""
    root = write_workspace(tmp_path / "story", recap_story(NAME, BOOK))
    main = OpenChat(root, MIRA)
    main.say("Who is there?", "A guest called Anton.")
    made = [main.learn("character-Anton", "A guest.")]
    main.end_scene("Anton", taken=stories.FIRST_MOMENT + 1, made=made, keeps_snapshot=False)
    main.write()
    main.fork(FORK_NAME, at=2)
    main.say("Who else?", "A thief called Berta, and old Dora.", "Anton's sword", "is called Mira's Tear.")
    made = [main.learn("character-Berta", "A thief."), main.learn("character-Anton's sword", "Sharp.")]
    main.entries[str(made[1])]["key"] = ["anton"]
    main.learn("character-Dora", "She is old.")
    main.end_scene("Berta", taken=stories.FIRST_MOMENT + 2, made=made, keeps_snapshot=False)
    main.entries["50"] = stories.entry(50, "The well", "Written by hand before anything happened.")
    main.entries["51"] = stories.entry(51, "Berta's secret", "Written by hand, too.", key=["berta"])
    main.write()
    return root


def test_without_snapshots_only_what_is_surely_the_parents_is_left_out(unsnapped: Path) -> None:
    book = (unsnapped / f"worlds/{BOOK}.json").read_bytes()

    done = open_at(unsnapped).isolate(FORK)

    assert done.lorebook_source == "present"
    # Berta by her scene, Dora by her first mention; the sword is mentioned by a key, the rest was written by hand.
    assert done.left_out_entries == ("character-Berta", "character-Dora")
    left = comments(unsnapped, done.lorebook)
    assert {"character-Anton", "character-Anton's sword", "The well", "Berta's secret"} <= left
    codes = {finding.code: finding.details for finding in done.warnings}
    assert set(codes) == {"LOREBOOK_FROM_PRESENT", "ENTRIES_IN_DOUBT"}
    assert "Anton's sword" in codes["ENTRIES_IN_DOUBT"]
    assert "Berta's secret" in codes["ENTRIES_IN_DOUBT"]
    assert "The well" not in codes["ENTRIES_IN_DOUBT"]
    entries = OpenChat(unsnapped, FORK).entries
    assert "Berta" not in entries["0"]["content"], "no registry line without its entry"
    assert {key: entry for key, entry in json.loads(book)["entries"].items() if key in entries and key != "0"} == {
        key: entry for key, entry in entries.items() if key != "0"
    }


def test_without_snapshots_undo_is_exact_too(unsnapped: Path) -> None:
    before, workspace = read_workspace(unsnapped), open_at(unsnapped)
    workspace.isolate(FORK)
    workspace.undo()

    assert read_workspace(unsnapped) == before


# --- books that are its own already -------------------------------------------------------------------------------


def memory_books(copy: str, branch: str) -> Json:
    mapping = {"sourceName": BOOK, "rootName": BOOK, "copyName": copy}
    marker = {"version": 1, "status": "completed", "branchChatId": branch, "mappings": [mapping]}
    return {"STMemoryBooks": {"branchLorebookCopies": marker}}


def test_a_copy_by_memory_books_is_adopted_and_not_copied_again(story: Path) -> None:
    copy = f"{BOOK} Branch 1"
    fork = OpenChat(story, FORK)
    fork.metadata |= {"world_info": copy, **memory_books(copy, FORK_NAME)}
    fork.book_path = story / f"worlds/{copy}.json"
    fork.write()
    fork.fork(f"{NAME} - Branch #2", at=3)  # it names the copy, too, but the marker says whose it is
    books, before = sorted((story / "worlds").iterdir()), read_workspace(story)
    workspace = open_at(story)

    done = workspace.isolate(FORK)

    assert (done.outcome, done.lorebook, done.original_lorebook) == ("adopted", copy, BOOK)
    assert sorted((story / "worlds").iterdir()) == books
    assert workspace.show(FORK).record == "recorded"
    assert workspace.isolate(FORK).outcome == "already"
    workspace.undo()
    assert read_workspace(story) == before


def test_a_branch_of_such_a_branch_is_isolated(story: Path) -> None:
    copy = f"{BOOK} Branch 1"
    fork = OpenChat(story, FORK)
    fork.metadata |= {"world_info": copy, **memory_books(copy, FORK_NAME)}
    fork.book_path = story / f"worlds/{copy}.json"
    fork.write()
    second = fork.fork(f"{NAME} - Branch #2", at=3)

    done = open_at(story).isolate(second)

    assert (done.outcome, done.original_lorebook) == ("isolated", copy)
    assert done.lorebook not in (BOOK, copy)


def test_a_book_that_nobody_else_names_is_adopted(story: Path) -> None:
    (story / f"chats/{MIRA}.jsonl").unlink()

    done = open_at(story).isolate(FORK)

    assert (done.outcome, done.lorebook, done.parent) == ("adopted", BOOK, None)
    assert OpenChat(story, FORK).metadata["main_chat"] == NAME, "the parent may come back"


def test_the_owner_of_a_book_is_isolated_already_though_its_native_fork_shares_it(story: Path) -> None:
    workspace = open_at(story)
    owner = workspace.isolate(FORK)
    child = OpenChat(story, FORK).fork(f"{NAME} - Branch #2", at=3)

    assert workspace.isolate(FORK).outcome == "already"
    done = workspace.isolate(child)
    assert (done.outcome, done.parent, done.original_lorebook) == ("isolated", FORK, owner.lorebook)
    identity = OpenChat(story, child).metadata["forklore"]
    assert identity["parent_timeline"] == OpenChat(story, FORK).metadata["forklore"]["timeline"]
    assert identity["chat"] == f"{NAME} - Branch #2", "what was inherited by copying is replaced"


@pytest.mark.parametrize("first", [FORK, ""])
def test_a_native_fork_of_a_native_fork_leaves_out_what_the_main_chat_wrote(story: Path, first: str) -> None:
    child = OpenChat(story, FORK).fork(f"{NAME} - Branch #2", at=4)
    workspace = open_at(story)
    if first:
        workspace.isolate(first)

    done = workspace.isolate(child)

    # Berta is in the snapshot that the first fork took: both had written into one book by then.
    assert done.left_out_entries == ("character-Berta",)
    assert {"character-Anton", "character-Conrad"} <= comments(story, done.lorebook)


def test_scenes_that_name_the_original_count_for_its_clone(story: Path) -> None:
    fork = OpenChat(story, FORK)
    for message in (fork.messages[2], fork.messages[4]):
        version = message["extra"]["auto_recap_memory"]["scene_recap_metadata"]["1"]
        version["chatLorebookName"] = BOOK
    fork.write()
    workspace = open_at(story)
    workspace.isolate(FORK)
    child = OpenChat(story, FORK).fork(f"{NAME} - Branch #2", at=2)

    done = workspace.isolate(child)

    assert (done.lorebook_source, done.left_out_entries) == ("scene-snapshot", ("character-Conrad",))


# --- shared on purpose --------------------------------------------------------------------------------------------


def test_a_book_that_is_shared_on_purpose_is_left_alone(story: Path) -> None:
    workspace, before = open_at(story), read_workspace(story)
    assert not workspace.is_shared_on_purpose(BOOK)

    done = workspace.isolate(FORK, share=True)

    assert (done.outcome, done.lorebook, done.operation is not None) == ("shared", BOOK, True)
    assert workspace.is_shared_on_purpose(BOOK)
    assert open_at(story).is_shared_on_purpose(BOOK)
    with pytest.raises(SharedOnPurpose):
        workspace.isolate(FORK)
    assert workspace.isolate(MIRA, share=True).operation is None, "it is noted already"
    assert workspace.plan_isolation(MIRA, share=True).to_json() == {"plan": []}
    assert read_workspace(story) == before
    workspace.undo()
    assert not workspace.is_shared_on_purpose(BOOK)
    assert workspace.isolate(FORK).outcome == "isolated"


def test_sharing_on_purpose_keeps_the_other_settings(story: Path) -> None:
    settings = story / ".forklore/settings.json"
    settings.parent.mkdir()
    settings.write_bytes(b'{\n  "policy": "strict"\n}\n')
    workspace = open_at(story)
    workspace.isolate(FORK, share=True)

    assert json.loads(settings.read_bytes()) == {"policy": "strict", "shared_books": [BOOK]}
    workspace.undo()
    assert settings.read_bytes() == b'{\n  "policy": "strict"\n}\n'


# --- other chats --------------------------------------------------------------------------------------------------


def test_a_group_chat(tmp_path: Path) -> None:
    book = stories.lorebook([stories.entry(0, "character-Mira", "She waits.")])
    metadata = {"integrity": "a", "world_info": BOOK}
    files = stories.group_files(NAME, metadata, stories.conversation(6), books={BOOK: book})
    files["groups/17.json"] = stories.group_bytes("17", [NAME, FORK_NAME])
    root = write_workspace(tmp_path, files)
    fork = OpenChat(root, f"group:17/{NAME}").fork(FORK_NAME, at=3)
    before, workspace = read_workspace(root), open_at(root)

    done = workspace.isolate(fork)

    assert (done.chat, done.parent, done.at) == (f"group:17/{FORK_NAME}", f"group:17/{NAME}", 3)
    assert done.lorebook == f"{BOOK}__BR_Branch_1"
    assert read_workspace(root)["groups/17.json"] == before["groups/17.json"]
    workspace.undo()
    assert read_workspace(root) == before


def test_a_fork_without_a_lorebook_is_recorded(tmp_path: Path) -> None:
    root = write_workspace(tmp_path, stories.solo_files(NAME, {"integrity": "a"}, stories.conversation(6)))
    fork = OpenChat(root, MIRA).fork(FORK_NAME, at=3)

    done = open_at(root).isolate(fork)

    assert (done.lorebook, done.lorebook_source, done.entries) == (None, "none", 0)
    assert open_at(root).show(fork).record == "recorded"
    assert open_at(root).isolate(fork).outcome == "already"


def test_a_main_chat_is_no_fork(story: Path) -> None:
    with pytest.raises(NotAFork):
        open_at(story).isolate(MIRA)


def test_an_old_fork_without_a_parent_gets_none_made_up(story: Path) -> None:
    fork = OpenChat(story, FORK)
    del fork.metadata["main_chat"]
    fork.path = fork.path.with_name("Branch #2 - 2026-11-15@19h00m00s.jsonl")
    fork.write()

    done = open_at(story).isolate("Branch #2 - 2026")

    assert (done.parent, done.at) == (None, 2)
    metadata = OpenChat(story, done.chat).metadata
    assert "main_chat" not in metadata
    assert metadata["forklore"]["parent"] is None
    assert "character-Conrad" in comments(story, done.lorebook)


def test_the_map_keeps_the_forks_that_were_made_from_this_timeline(story: Path) -> None:
    workspace = open_at(story)
    made = workspace.checkpoint(FORK, name="Mine")
    fork = OpenChat(story, FORK)
    fork.metadata["auto_recap"]["checkpoint_lorebook_map"]["Another's"] = "Elsewhere"
    fork.write()

    workspace.isolate(FORK)

    assert OpenChat(story, FORK).metadata["auto_recap"]["checkpoint_lorebook_map"] == {"Mine": made.lorebook}


def test_effects_go_on_under_the_new_name(story: Path) -> None:
    fork = OpenChat(story, FORK)
    effect = {"hash": 1, "start": 2, "end": 6, "protected": False}
    fork.metadata["timedWorldInfo"] = {"sticky": {f"{BOOK}.4": effect, f"{BOOK}.5": effect}, "cooldown": {}}
    fork.write()
    before, workspace = read_workspace(story), open_at(story)

    done = workspace.isolate(FORK)

    now = OpenChat(story, FORK)
    assert now.metadata["timedWorldInfo"]["sticky"] == {
        f"{done.lorebook}.5": effect | {"hash": entry_hash(now.entries["5"], str(done.lorebook))}
    }, "Conrad's goes on, Berta's is gone with her"
    workspace.undo()
    assert read_workspace(story) == before


# --- refusals -----------------------------------------------------------------------------------------------------


def test_a_busy_queue_refuses(story: Path) -> None:
    main = OpenChat(story, MIRA)
    main.set_queue(stories.operation(1))
    main.write()
    before = read_workspace(story)

    with pytest.raises(ForkBlocked) as refused:
        open_at(story).isolate(FORK)

    assert refused.value.code == "QUEUE_NOT_EMPTY"
    assert read_workspace(story) == before


def test_a_missing_book_refuses(story: Path) -> None:
    (story / f"worlds/{BOOK}.json").unlink()

    with pytest.raises(ForkBlocked) as refused:
        open_at(story).isolate(FORK)

    assert refused.value.code == "LOREBOOK_MISSING"


def test_the_strict_policy_does_not_ask_for_a_good_place(story: Path) -> None:
    fork = OpenChat(story, FORK)
    fork.say("One more.")
    fork.write()

    assert forklore.open(story, policy="strict", disk=HastyDisk()).isolate(FORK).outcome == "isolated"


def test_a_chat_that_changes_meanwhile_refuses(story: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def save_meanwhile(*arguments: Any) -> Any:
        planned = plan_isolation(*arguments)
        fork = OpenChat(story, FORK)
        fork.say("Meanwhile.")
        fork.write()
        return planned

    monkeypatch.setattr(isolating, "plan_isolation", save_meanwhile)

    with pytest.raises(ContextChanged):
        open_at(story).isolate(FORK)

    assert OpenChat(story, FORK).metadata["world_info"] == BOOK
    assert [path.stem for path in (story / "worlds").iterdir()] == [BOOK]


def test_undo_is_refused_when_the_new_book_has_gone_on(story: Path) -> None:
    workspace = open_at(story)
    workspace.isolate(FORK)
    fork = OpenChat(story, FORK)
    fork.learn("character-Emil", "New.")
    fork.write()

    with pytest.raises(UndoRefused):
        workspace.undo()


def test_undo_is_refused_when_the_chat_names_another_book(story: Path) -> None:
    workspace = open_at(story)
    workspace.isolate(FORK)
    fork = OpenChat(story, FORK)
    fork.metadata["world_info"] = BOOK
    fork.book_path = None
    fork.write()

    with pytest.raises(UndoRefused, match="another lorebook"):
        workspace.undo()


def test_undo_is_refused_when_another_chat_uses_the_new_book(story: Path) -> None:
    workspace = open_at(story)
    workspace.isolate(FORK)
    OpenChat(story, FORK).fork(f"{NAME} - Branch #2", at=3)

    with pytest.raises(UndoRefused, match="uses its lorebook"):
        workspace.undo()


def test_undo_keeps_messages_that_were_written_since(story: Path) -> None:
    workspace = open_at(story)
    done = workspace.isolate(FORK)
    with (story / f"chats/{FORK}.jsonl").open("ab") as file:
        file.write(b"\n" + stories.line(stories.message("Since then.")))

    workspace.undo()

    fork = OpenChat(story, FORK)
    assert fork.messages[-1]["mes"] == "Since then."
    assert fork.metadata["world_info"] == BOOK
    assert not (story / f"worlds/{done.lorebook}.json").exists()


# --- the report ---------------------------------------------------------------------------------------------------


@pytest.mark.req(132)
def test_the_report_tells_whose_each_entry_is_and_changes_nothing(story: Path) -> None:
    main = OpenChat(story, MIRA)
    main.entries["77"] = stories.entry(77, "Frost", "Cold.", key=["smith"])
    main.entries["78"] = stories.entry(78, "The deep", "Nobody speaks of it.")
    main.write()
    before = read_workspace(story)

    report = open_at(story).contamination(FORK).to_json()

    assert read_workspace(story) == before
    assert not (story / ".forklore").exists()
    assert (report["story"], report["book"]) == (MIRA, BOOK)
    assert [timeline["chat"] for timeline in report["timelines"]] == [MIRA, FORK]
    entries = {entry["comment"]: entry for entry in report["entries"]}
    found = {
        comment: [(producer["chat"], producer["confidence"]) for producer in entry["produced_by"]]
        for comment, entry in entries.items()
    }
    assert found == {
        "character-Mira": [(MIRA, "possible")],
        "character-Anton": [(MIRA, "certain")],
        "character-Berta": [(MIRA, "certain"), (FORK, "likely")],
        "character-Conrad": [(FORK, "certain")],
        "Frost": [(FORK, "possible")],
        "The deep": [],
    }
    assert {comment: entry["goes_to"] for comment, entry in entries.items()} == {
        "character-Mira": [MIRA, FORK],
        "character-Anton": [MIRA, FORK],
        "character-Berta": [MIRA],
        "character-Conrad": [MIRA, FORK],
        "Frost": [MIRA, FORK],
        "The deep": [MIRA, FORK],
    }


@pytest.mark.parametrize("chat", [CHECKPOINT, BRANCH])
def test_the_report_shows_the_split_that_isolating_makes(chat: str, sample: Callable[[str], Path]) -> None:
    root = sample(SHARED)
    workspace = open_at(root)
    expected = {entry.comment for entry in workspace.contamination(MAIN).entries if chat in entry.goes_to}

    done = workspace.isolate(chat)

    live = {entry.comment for entry in workspace.contamination(MAIN).entries}
    assert {comment for comment in comments(root, done.lorebook) if comment in live} == expected


def test_the_report_comes_in_windows_and_first_what_not_everybody_keeps(sample: Callable[[str], Path]) -> None:
    workspace = open_at(sample(SHARED))
    whole = workspace.contamination(MAIN)

    windows = [workspace.contamination(MAIN, start=start, count=7) for start in range(0, whole.total, 7)]

    assert whole.total == len(whole.entries) > 7
    assert tuple(entry for window in windows for entry in window.entries) == whole.entries
    assert {(each.total, each.apart, each.timelines) for each in windows} == {
        (whole.total, whole.apart, whole.timelines)
    }
    apart = [len(entry.goes_to) < len(whole.timelines) for entry in whole.entries]
    assert apart == [True] * whole.apart + [False] * (whole.total - whole.apart)
    assert whole.apart > 0
    assert workspace.contamination(MAIN, start=whole.total).entries == ()


@pytest.mark.parametrize("wrong", [{"start": -1}, {"start": 10**6}, {"count": 0}, {"count": 201}])
def test_a_window_that_is_not_there_is_refused(wrong: dict[str, int], sample: Callable[[str], Path]) -> None:
    with pytest.raises(forklore.ForkloreError, match=r"no entry|cannot be shown at once"):
        open_at(sample(SHARED)).contamination(MAIN, **wrong)


def test_the_report_needs_a_book(tmp_path: Path) -> None:
    root = write_workspace(tmp_path, stories.solo_files(NAME, {"integrity": "a"}, stories.conversation(2)))

    with pytest.raises(forklore.ForkloreError, match="has no lorebook"):
        open_at(root).contamination(MIRA)
