"""Forks of every sample story, at the head and in the past."""

import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.check import ForkBlocked
from forklore.app.fork import ForkMade
from forklore.app.forklore import Forklore
from forklore.app.progress import Silent
from forklore.formats import lorebook_json
from forklore.model.fact import Fact
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import Json, read_workspace

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
ILSE = "Ilse Brandt/Ilse Brandt - 2025-11-09@20h41m55s"
MIRA = "Mira/Mira - 2026-11-15@18h36m02s446ms"
GROUP = "group:1794767789993/2026-11-15@18h36m29s983ms"
REAL = "sillytavern-1.19.0"

CHATS = [
    ("hollow_quay_clean", MAREN),
    ("hollow_quay_legacy_shared", MAREN),
    ("hollow_quay_legacy_shared", "Maren Tolliver/The key in hand - 2025-11-02@21h04m23s"),
    ("hollow_quay_legacy_shared", "Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"),
    ("salvage_rights_clean", ILSE),
    ("salvage_rights_queue_busy", ILSE),
    (REAL, MIRA),
    (REAL, f"{MIRA} - Checkpoint #1"),
    (REAL, f"{MIRA} - Branch #1"),
    (REAL, "Mira/Greeting"),
    (REAL, "Mira/With branches"),
    (REAL, GROUP),
    (REAL, f"{GROUP} - Checkpoint #1"),
    (REAL, f"{GROUP} - Branch #1"),
]
SCENES = [10, 21, 31, 42, 53, 64]

Sample = Callable[[str], Path]


def path_of(chat: str) -> str:
    folder, _, name = chat.partition("/")
    return f"group chats/{name}.jsonl" if folder.startswith("group:") else f"chats/{folder}/{name}.jsonl"


def header_of(content: bytes) -> Json:
    metadata: Json = json.loads(content.split(b"\n")[0])["chat_metadata"]
    return metadata


@dataclass(frozen=True)
class Made:
    """A fork of a sample, with every file before and after."""

    forklore: Forklore
    fork: ForkMade
    before: dict[str, bytes]
    after: dict[str, bytes]

    @property
    def new_chat(self) -> bytes:
        return self.after[path_of(self.fork.chat)]

    @property
    def parent(self) -> str:
        return path_of(self.fork.parent)

    @property
    def record(self) -> Json:
        record: Json = header_of(self.new_chat)["auto_recap_checkpoint_state"]
        return record

    def book(self, name: str | None) -> Any:
        return json.loads(self.after[f"worlds/{name}.json"])


def fork(root: Path, chat: str, kind: str, **options: Any) -> Made:
    before = read_workspace(root)
    workspace = forklore.open(root, disk=HastyDisk())
    made = getattr(workspace, kind)(chat, **options)
    return Made(workspace, made, before, read_workspace(root))


@pytest.fixture(
    params=[(kind, *chat) for chat in CHATS for kind in ("checkpoint", "branch")],
    ids=lambda case: "-".join(re.sub(r"\W+", "_", part)[-24:] for part in case),
)
def at_head(request: pytest.FixtureRequest, sample: Sample) -> Made:
    """A checkpoint or branch at the last message of every sample chat."""
    kind, name, chat = request.param
    root = sample(name)
    if name.endswith("queue_busy"):
        idle(root, chat)
    return fork(root, chat, kind)


def idle(root: Path, chat: str) -> None:
    """Let ST-Auto-Recap finish what waits."""
    open_chat = OpenChat(root, chat)
    open_chat.set_queue()
    open_chat.write()


class TestAtTheHead:
    @pytest.mark.req(74, 76, 161)
    def test_messages_are_the_bytes_of_the_parent(self, at_head: Made) -> None:
        _, _, expected = at_head.before[at_head.parent].partition(b"\n")

        _, _, messages = at_head.new_chat.partition(b"\n")

        assert messages == expected

    @pytest.mark.req(2, 7, 37, 38, 39, 41, 42, 51, 152, 157, 159)
    def test_clone_has_the_bytes_of_the_book(self, at_head: Made) -> None:
        made = at_head.fork

        if made.original_lorebook is None:
            assert made.lorebook is None
            assert {path for path in at_head.after if path.startswith("worlds/")} == {
                path for path in at_head.before if path.startswith("worlds/")
            }
        else:
            original = at_head.before[f"worlds/{made.original_lorebook}.json"]
            assert at_head.after[f"worlds/{made.lorebook}.json"] == original
            assert made.entries == len(json.loads(original)["entries"])

    @pytest.mark.req(5, 6, 72, 80, 81)
    def test_parent_differs_in_link_and_map_alone(self, at_head: Made) -> None:
        name = at_head.fork.chat.partition("/")[2]
        old_lines = at_head.before[at_head.parent].split(b"\n")
        new_lines = at_head.after[at_head.parent].split(b"\n")
        changed = [number for number, (old, new) in enumerate(zip(old_lines, new_lines, strict=True)) if old != new]
        header, message = json.loads(new_lines[0]), json.loads(new_lines[at_head.fork.at + 1])

        if at_head.fork.kind == "checkpoint":
            assert message["extra"].pop("bookmark_link") == name
        else:
            assert message["extra"]["branches"].pop() == name
            if not message["extra"]["branches"]:
                del message["extra"]["branches"]
        if at_head.fork.lorebook is not None:
            space = header["chat_metadata"].pop("auto_recap")
            assert space == {"checkpoint_lorebook_map": {name: at_head.fork.lorebook}}
        assert header == json.loads(old_lines[0])
        assert message == json.loads(old_lines[at_head.fork.at + 1])
        assert set(changed) <= {0, at_head.fork.at + 1}

    @pytest.mark.req(6, 62, 87)
    def test_no_other_file_changes(self, at_head: Made) -> None:
        new = {path_of(at_head.fork.chat), f"worlds/{at_head.fork.lorebook}.json"}
        touched = {path for path in at_head.after if at_head.before.get(path) != at_head.after[path]}

        groups = {path for path in touched if path.startswith("groups/")}
        assert touched - groups <= {*new, at_head.parent}
        for path in groups:
            group, old_group = json.loads(at_head.after[path]), json.loads(at_head.before[path])
            assert group.pop("chats") == [*old_group.pop("chats"), at_head.fork.chat.partition("/")[2]]
            assert group == old_group
        assert bool(groups) == at_head.fork.chat.startswith("group:")

    @pytest.mark.req(2, 40, 79, 94)
    def test_fork_shares_no_file(self, at_head: Made) -> None:
        root = at_head.forklore.root
        books = [header_of(content).get("world_info") for path, content in at_head.after.items() if "chats/" in path]
        new_files = [root / path for path in at_head.after if path not in at_head.before]

        assert books.count(at_head.fork.lorebook) == 1 or at_head.fork.lorebook is None
        assert all(file.stat().st_nlink == 1 and not file.is_symlink() for file in new_files)

    @pytest.mark.req(4, 77, 78, 79, 93, 161)
    def test_metadata_is_the_parents_with_the_forks_own(self, at_head: Made) -> None:
        metadata, old = header_of(at_head.new_chat), header_of(at_head.before[at_head.parent])
        name = at_head.fork.chat.partition("/")[2]

        assert metadata["main_chat"] == at_head.fork.parent.partition("/")[2]
        assert metadata["integrity"] != old.get("integrity")
        assert metadata.get("world_info") == at_head.fork.lorebook
        if "auto_recap_running_scene_recaps" in old:
            assert metadata["auto_recap_running_scene_recaps"] == {
                **old["auto_recap_running_scene_recaps"],
                "chat_id": name,
            }
        if "auto_lorebooks" in old:
            assert metadata["auto_lorebooks"] == {**old["auto_lorebooks"], "lorebookName": at_head.fork.lorebook}
        own = {"main_chat", "integrity", "world_info", "auto_recap_running_scene_recaps", "auto_lorebooks"}
        own |= {"forklore", "auto_recap_checkpoint_state", "timedWorldInfo"}
        assert {key: value for key, value in metadata.items() if key not in own} == {
            key: value for key, value in old.items() if key not in own
        }
        assert at_head.fork.carried_from_present == ()
        assert at_head.fork.left_out == ()

    @pytest.mark.req(3, 71)
    def test_record_proves_what_the_fork_contains(self, at_head: Made) -> None:
        digests = at_head.record["digests"]
        _, _, messages = at_head.new_chat.partition(b"\n")
        book = at_head.after.get(f"worlds/{at_head.fork.lorebook}.json")

        assert digests["messages"] == hashlib.sha256(messages).hexdigest()
        assert digests["lorebook"] == (hashlib.sha256(book).hexdigest() if book is not None else None)

    @pytest.mark.req(6)
    def test_undo_restores_every_byte(self, at_head: Made) -> None:
        at_head.forklore.undo()

        assert read_workspace(at_head.forklore.root) == at_head.before

    @pytest.mark.req(6)
    def test_undone_undo_brings_the_fork_back(self, at_head: Made) -> None:
        undone = at_head.forklore.undo()

        at_head.forklore.undo(undone.operation)

        assert read_workspace(at_head.forklore.root) == at_head.after


class TestInThePast:
    @pytest.fixture(params=SCENES)
    def past(self, request: pytest.FixtureRequest, sample: Sample) -> Made:
        """A checkpoint at each scene break of a story that has gone on."""
        return fork(sample("hollow_quay_clean"), MAREN, "checkpoint", at=request.param)

    def scene(self, past: Made, manifest: dict[str, Any]) -> Json:
        scenes = manifest["hollow_quay_clean"]["scene_breaks"]
        return next(scene for scene in scenes if scene["message"] == past.fork.at)

    @pytest.mark.req(74, 75, 76, 161)
    def test_messages_end_at_the_message(self, past: Made) -> None:
        expected = past.before[past.parent].split(b"\n")[1 : past.fork.at + 2]

        messages = past.new_chat.split(b"\n")[1:]

        assert messages == expected
        assert past.fork.messages == past.fork.at + 1

    @pytest.mark.req(134, 135, 156, 159)
    def test_running_recap_has_the_versions_of_that_moment(self, past: Made) -> None:
        everything = header_of(past.before[past.parent])["auto_recap_running_scene_recaps"]
        recap = header_of(past.new_chat)["auto_recap_running_scene_recaps"]
        expected = [v for v in everything["versions"] if v["new_scene_index"] <= past.fork.at]

        assert recap["versions"] == expected
        assert recap["current_version"] == expected[-1]["version"] == past.fork.running_version
        assert recap["chat_id"] == past.fork.chat.partition("/")[2]

    @pytest.mark.req(39, 135, 159, 163)
    def test_book_has_exactly_the_entries_of_that_moment(self, past: Made, manifest: dict[str, Any]) -> None:
        entries = past.book(past.fork.lorebook)["entries"]
        story = [entry["uid"] for entry in entries.values() if entry["comment"] != "__operation_queue"]

        assert story == self.scene(past, manifest)["snapshot_uids"]
        assert all(key == str(entry["uid"]) for key, entry in entries.items())
        queues = [entry for entry in entries.values() if entry["comment"] == "__operation_queue"]
        assert [json.loads(entry["content"])["queue"] for entry in queues] == [[]]
        assert past.fork.lorebook_source == "scene-snapshot"
        assert past.fork.entries == len(entries)

    @pytest.mark.req(135, 159)
    def test_entries_say_what_they_said_then(self, past: Made) -> None:
        message = json.loads(past.new_chat.split(b"\n")[-1])
        memory = message["extra"]["auto_recap_memory"]
        version = memory["scene_recap_metadata"][str(memory["scene_recap_current_index"])]
        entries = past.book(past.fork.lorebook)["entries"]

        for then in version["allEntries"]:
            kept = {key: value for key, value in then.items() if key not in ("world", "strategy", "keysecondary")}
            now = entries[str(then["uid"])]
            assert {key: now[key] for key in kept} == kept

    @pytest.mark.req(37, 41)
    def test_fields_that_snapshots_lack_come_from_the_live_entry(self, past: Made) -> None:
        live = past.book(past.fork.original_lorebook)["entries"]["10"]

        entry = past.book(past.fork.lorebook)["entries"]["10"]

        assert live["keysecondary"] == ["low", "high"]
        lacking = "keysecondary scanDepth caseSensitive matchWholeWords useGroupScoring automationId cooldown delay"
        lacking += " delayUntilRecursion matchScenario triggers characterFilter outletName displayIndex extensions"
        for field in lacking.split():
            assert entry[field] == live[field]

    @pytest.mark.req(49, 50, 135, 159)
    def test_registries_and_their_cache_are_those_of_that_moment(self, past: Made, manifest: dict[str, Any]) -> None:
        entries = past.book(past.fork.lorebook)["entries"]
        listed = {
            int(uid): entry["comment"].removeprefix("_registry_")
            for entry in entries.values()
            if entry["comment"].startswith("_registry_")
            for uid in re.findall(r"UID=(\d+)", entry["content"])
        }
        cache = header_of(past.new_chat)["auto_lorebooks"]

        assert set(listed) <= set(self.scene(past, manifest)["snapshot_uids"])
        assert {int(uid): record["type"] for uid, record in cache["registry"]["index"].items()} == listed
        assert all(record["comment"] == entries[uid]["comment"] for uid, record in cache["registry"]["index"].items())
        assert cache["lorebookName"] == past.fork.lorebook
        assert "REGISTRY_BROKEN" not in [finding.code for finding in past.fork.warnings]

    @pytest.mark.req(1, 5, 134, 135)
    def test_nothing_later_is_in_any_file_of_the_fork(self, past: Made, manifest: dict[str, Any]) -> None:
        parent = header_of(past.before[past.parent])
        later_messages = [json.loads(line)["mes"] for line in past.before[past.parent].split(b"\n")[past.fork.at + 2 :]]
        later_versions = [
            version["content"]
            for version in parent["auto_recap_running_scene_recaps"]["versions"]
            if version["new_scene_index"] > past.fork.at
        ]
        then = set(self.scene(past, manifest)["snapshot_uids"])
        later_entries = [
            entry["content"]
            for entry in past.book(past.fork.original_lorebook)["entries"].values()
            if entry["uid"] not in then and entry["comment"] != "__operation_queue"
        ]
        files = b"\n".join(content for path, content in past.after.items() if path not in past.before)
        texts = files.decode()

        for later in (*later_messages, *later_versions, *later_entries):
            assert json.dumps(later, ensure_ascii=False)[1:-1] not in texts

    @pytest.mark.req(6, 72, 130)
    def test_parent_keeps_everything_but_gains_link_and_map(self, past: Made) -> None:
        old, new = past.before[past.parent].split(b"\n"), past.after[past.parent].split(b"\n")
        header, message = json.loads(new[0]), json.loads(new[past.fork.at + 1])

        del header["chat_metadata"]["auto_recap"]
        assert message["extra"].pop("bookmark_link") == past.fork.chat.partition("/")[2]
        assert header == json.loads(old[0])
        assert message == json.loads(old[past.fork.at + 1])
        assert [number for number in range(len(old)) if old[number] != new[number]] == [0, past.fork.at + 1]
        for path in past.before:
            if path != past.parent:
                assert past.after[path] == past.before[path]

    @pytest.mark.req(70)
    def test_what_comes_from_the_present_is_named(self, past: Made) -> None:
        notes = ["note_depth", "note_interval", "note_position", "note_prompt", "note_role"]

        assert list(past.fork.carried_from_present) == ["chat_id_hash", *notes, "tainted", "variables"]
        assert past.record["carried_from_present"] == list(past.fork.carried_from_present)
        assert past.record["left_out"] == list(past.fork.left_out)
        assert "lastInContextMessageId" in past.fork.left_out or past.fork.at >= 65

    def test_undo_restores_every_byte(self, past: Made) -> None:
        past.forklore.undo()

        assert read_workspace(past.forklore.root) == past.before


class TestOtherPlacesInThePast:
    @pytest.mark.parametrize("at, snapshot_at", [(15, 10), (30, 21), (67, 64)])
    def test_between_scenes_the_snapshot_before_counts(
        self, at: int, snapshot_at: int, sample: Sample, manifest: dict[str, Any]
    ) -> None:
        scenes = {scene["message"]: scene for scene in manifest["hollow_quay_clean"]["scene_breaks"]}

        made = fork(sample("hollow_quay_clean"), MAREN, "branch", at=at)

        entries = made.book(made.fork.lorebook)["entries"].values()
        uids = [entry["uid"] for entry in entries if entry["comment"] != "__operation_queue"]
        assert uids == scenes[snapshot_at]["snapshot_uids"]

    def test_before_the_first_scene_the_book_is_of_the_present_and_says_so(self, sample: Sample) -> None:
        made = fork(sample("hollow_quay_clean"), MAREN, "checkpoint", at=5)

        assert made.fork.lorebook_source == "present"
        assert "LOREBOOK_FROM_PRESENT" in [finding.code for finding in made.fork.warnings]
        recap = header_of(made.new_chat)["auto_recap_running_scene_recaps"]
        assert recap == {"chat_id": made.fork.chat.partition("/")[2], "current_version": 0, "versions": []}
        assert made.record["running_recap_version"] is None
        assert made.record["has_running_recap"] is False

    def test_last_scene_can_be_shown_again(self, sample: Sample) -> None:
        made = fork(sample("hollow_quay_clean"), MAREN, "checkpoint", at=21, show_last_scene=True)

        messages = [json.loads(line) for line in made.new_chat.split(b"\n")[1:]]
        old = [json.loads(line) for line in made.before[made.parent].split(b"\n")[1:23]]
        assert [message["is_system"] for message in messages] == [True] * 11 + [False] * 11
        assert [{**message, "is_system": True} for message in messages] == old
        assert "HISTORY_HIDDEN" not in [finding.code for finding in made.fork.warnings]


class TestTheSelectedVersion:
    @pytest.mark.req(67, 73, 133)
    def test_selection_of_an_older_version_is_kept(self, sample: Sample) -> None:
        made = fork(sample("salvage_rights_clean"), ILSE, "checkpoint")

        recap = header_of(made.new_chat)["auto_recap_running_scene_recaps"]
        assert recap["current_version"] == made.record["running_recap_version"] == 5
        assert [version["version"] for version in recap["versions"]] == [0, 1, 2, 3, 4, 5, 6]
        assert made.record["running_recap_content"] == recap["versions"][5]["content"]
        assert made.record["running_recap_versions"] == recap["versions"]

    @pytest.mark.req(73, 134)
    def test_selection_survives_in_the_past_while_its_version_does(self, sample: Sample) -> None:
        made = fork(sample("salvage_rights_clean"), ILSE, "branch", at=59)

        recap = header_of(made.new_chat)["auto_recap_running_scene_recaps"]
        assert recap["current_version"] == 5
        assert [version["version"] for version in recap["versions"]] == [0, 1, 2, 3, 4, 5, 6]

    @pytest.mark.req(134)
    def test_the_highest_kept_version_is_selected_where_the_selected_one_is_gone(self, sample: Sample) -> None:
        made = fork(sample("salvage_rights_clean"), ILSE, "branch", at=49)

        recap = header_of(made.new_chat)["auto_recap_running_scene_recaps"]
        assert recap["current_version"] == 4
        assert [version["version"] for version in recap["versions"]] == [0, 1, 2, 3, 4]

    @pytest.mark.req(20)
    def test_a_hidden_scene_break_is_none(self, opened: Callable[[str], Forklore]) -> None:
        report = opened("salvage_rights_clean").check(ILSE, at=34)

        assert report.state.has_scene_break is False
        assert "NO_SCENE_BREAK" in [finding.code for finding in report.warnings]


class TestABusyQueue:
    @pytest.mark.req(1, 7, 12, 14, 15, 16, 33, 34, 99, 154, 157, 159)
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_refuses_with_code_count_and_list_and_makes_nothing(self, kind: str, sample: Sample) -> None:
        root = sample("salvage_rights_queue_busy")
        before = read_workspace(root)

        with pytest.raises(ForkBlocked) as refused:
            getattr(forklore.open(root), kind)(ILSE)

        assert refused.value.code == "QUEUE_NOT_EMPTY"
        assert refused.value.message == (
            f"Cannot create {kind}: 4 operations in queue. Please wait for queue to finish."
        )
        assert refused.value.action == "Wait for all operations to complete"
        finding = refused.value.report.errors[0]
        counts = {"count": 4, "pending": 3, "in_progress": 1, "retrying": 0}
        assert refused.value.params == finding.params
        assert {name: finding.params[name] for name in counts} == counts
        assert len(finding.params["operations"]) == 4
        assert "(3 pending, 1 in progress):\n" in finding.details
        assert "combine_scene_with_running (message 59)" in finding.details
        assert read_workspace(root) == before

    @pytest.mark.req(18)
    def test_waiting_makes_the_fork_once_the_queue_is_idle(self, sample: Sample) -> None:
        root = sample("salvage_rights_queue_busy")
        waits = threading.Event()

        class Listener(Silent):
            def note(self, fact: Fact, *, good: bool | None = None) -> None:
                if fact["code"] == "waiting_for_queue":
                    waits.set()

        def finish_the_queue() -> None:
            assert waits.wait(30)
            idle(root, ILSE)

        other = threading.Thread(target=finish_the_queue)
        other.start()
        made = forklore.open(root, progress=Listener()).checkpoint(ILSE, wait=30)
        other.join()

        assert waits.is_set()
        assert made.messages == 64
        assert (root / path_of(made.chat)).exists()

    @pytest.mark.req(18)
    def test_a_wait_that_runs_out_is_refused(self, opened: Callable[[str], Forklore]) -> None:
        with pytest.raises(ForkBlocked) as refused:
            opened("salvage_rights_queue_busy").checkpoint(ILSE, wait=0.01)

        assert refused.value.code == "QUEUE_NOT_EMPTY"


class TestTimedEffects:
    @pytest.mark.req(3, 4)
    def test_known_effect_goes_on_under_the_clones_name(self, sample: Sample) -> None:
        made = fork(sample(REAL), MIRA, "checkpoint", name="Anchor")

        effects = header_of(made.new_chat)["timedWorldInfo"]
        assert made.fork.lorebook == "Mira Lore__CP_Anchor"
        assert list(effects["cooldown"]) == ["Mira Lore__CP_Anchor.1"]
        effect = effects["cooldown"]["Mira Lore__CP_Anchor.1"]
        assert effect["hash"] != 6568490484769124
        assert {key: effect[key] for key in ("start", "end", "protected")} == {"start": 6, "end": 8, "protected": True}

    def test_effect_that_began_later_is_left_out_in_the_past(self, sample: Sample) -> None:
        made = fork(sample(REAL), MIRA, "checkpoint", at=2)

        assert header_of(made.new_chat)["timedWorldInfo"] == {"sticky": {}, "cooldown": {}}
        assert "timedWorldInfo" in made.fork.left_out


class TestPlainChats:
    @pytest.mark.parametrize("chat", [chat for name, chat in CHATS if name == REAL])
    def test_users_without_recaps_read_nothing_of_recaps(self, chat: str, opened: Callable[[str], Forklore]) -> None:
        report = opened(REAL).check(chat)

        assert report.valid
        assert {finding.code for finding in report.warnings} <= {"LOREBOOK_ALSO_ACTIVE"}

    def test_book_that_is_active_elsewhere_is_a_warning(self, opened: Callable[[str], Forklore]) -> None:
        report = opened(REAL).check(MIRA)

        assert [finding.code for finding in report.warnings] == ["LOREBOOK_ALSO_ACTIVE"]
        assert "additional lorebook of the character" in report.warnings[0].details

    @pytest.mark.req(54, 65, 157)
    def test_chat_without_a_book_is_forked_without_one(self, sample: Sample) -> None:
        made = fork(sample(REAL), "Mira/Greeting", "branch")

        assert made.fork.lorebook is None
        assert made.fork.lorebook_source == "none"
        assert made.record["cloned_lorebook_name"] is None
        assert made.record["original_lorebook_name"] is None
        assert "world_info" not in header_of(made.new_chat)


@pytest.mark.parametrize("at", [None, 42])
def test_a_lorebook_that_is_taken_apart_as_it_is_read_makes_the_same_fork(
    sample: Sample, at: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, name = sample("hollow_quay_clean"), "Before the tower"
    whole = fork(root, MAREN, "checkpoint", at=at, name=name)
    whole.forklore.undo()
    monkeypatch.setattr(lorebook_json, "_HUGE", 0)
    in_pieces = fork(root, MAREN, "checkpoint", at=at, name=name)

    assert replace(in_pieces.fork, operation="") == replace(whole.fork, operation="")
    assert in_pieces.book(in_pieces.fork.lorebook) == whole.book(whole.fork.lorebook)
    assert set(in_pieces.after) == set(whole.after)
