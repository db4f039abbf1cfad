"""Making forks: names, refusals, one at a time, settings, groups."""

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore import texts
from forklore.app import fork as forking
from forklore.app.check import ForkBlocked, GroupMissing, NameInvalid
from forklore.app.fork import ForkMade
from forklore.app.forklore import Forklore
from forklore.app.progress import Silent
from forklore.checks.requirements import REQUIREMENTS
from forklore.checks.settings import SettingsInvalid
from forklore.disk.files import ContextChanged
from forklore.disk.lock import CreationInProgress, workspace_lock
from forklore.errors import BadRequest, ForkloreError, NameTaken
from forklore.model.fact import Fact
from forklore.model.finding import Severity
from forklore.planning.swipe import NoSuchSwipe
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import Json, read_workspace, write_workspace

LORE = stories.lorebook([stories.entry(0, "Mira", "a cook")])


def tale(root: Path, *messages: Json, chat: str = "Tale", book: str | None = "Lore", **metadata: Any) -> Forklore:
    """Return a workspace with the chat "Mira/Tale" and its lorebook."""
    known = {"world_info": book, **metadata} if book else metadata
    files = stories.solo_files(chat, known, messages or stories.conversation(4), books={"Lore": LORE})
    return forklore.open(write_workspace(root, files), disk=HastyDisk())


def names(made: ForkMade) -> tuple[str, str | None]:
    return made.chat.partition("/")[2], made.lorebook


class TestTheFlag:
    @pytest.mark.parametrize("large", [False, True])
    def test_says_whose_place_the_second_checkpoint_takes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, large: bool
    ) -> None:
        if large:
            monkeypatch.setattr(forking, "_LARGE", 0)
        workspace = tale(tmp_path)
        first = workspace.checkpoint("Mira/Tale", name="First: calm")
        planned = workspace.plan("checkpoint", "Mira/Tale")
        checked = workspace.check("Mira/Tale")

        second = workspace.checkpoint("Mira/Tale")

        assert first.warnings == ()
        for told in (planned.report.warnings, checked.warnings, second.warnings):
            assert [finding.code for finding in told] == ["CHECKPOINT_REPLACED"]
        assert workspace.check("Mira/Tale", kind="branch").warnings == ()
        assert workspace.branch("Mira/Tale").warnings == ()
        assert len(workspace.tree("Mira/Tale").timelines) == 4

    def test_is_free_when_its_checkpoint_is_gone(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, stories.message("Hello.", extra={"bookmark_link": "../Tale"}))

        assert workspace.checkpoint("Mira/Tale").warnings == ()


def test_there_are_forks_of_two_kinds(tmp_path: Path) -> None:
    workspace = tale(tmp_path)

    with pytest.raises(BadRequest, match="kind “main”"):
        workspace.check("Mira/Tale", kind="main")
    with pytest.raises(BadRequest, match="kind “main”"):
        workspace.plan("main", "Mira/Tale")


class TestNames:
    @pytest.mark.req(55, 82)
    def test_a_fork_without_a_name_is_numbered_like_sillytavern_does(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)

        made = [workspace.checkpoint("Mira/Tale"), workspace.checkpoint("Mira/Tale"), workspace.branch("Mira/Tale")]

        assert [names(fork) for fork in made] == [
            ("Tale - Checkpoint #1", "Lore__CP_Checkpoint_1"),
            ("Tale - Checkpoint #2", "Lore__CP_Checkpoint_2"),
            ("Tale - Branch #1", "Lore__BR_Branch_1"),
        ]

    @pytest.mark.req(55, 56, 57, 82, 152)
    @pytest.mark.parametrize(
        "typed, chat, book",
        [
            ("Test", "Test", "Lore__CP_Test"),
            ("Test #5!", "Test #5!", "Lore__CP_Test_5"),
            ("a/b: c?", "ab c", "Lore__CP_ab_c"),
            ("  Before the storm  ", "Before the storm", "Lore__CP_Before_the_storm"),
            ("海の底 🧜", "海の底 🧜", "Lore__CP_海の底"),
            ("До бури", "До бури", "Lore__CP_До_бури"),
        ],
    )
    def test_a_typed_name_is_taken_as_the_disk_will_have_it(
        self, typed: str, chat: str, book: str, tmp_path: Path
    ) -> None:
        made = tale(tmp_path).checkpoint("Mira/Tale", name=typed)

        assert names(made) == (chat, book)
        assert (tmp_path / "chats" / "Mira" / f"{chat}.jsonl").exists()
        assert OpenChat(tmp_path, "Mira/Tale").messages[3]["extra"]["bookmark_link"] == chat

    @pytest.mark.req(58)
    def test_a_long_label_is_cut(self, tmp_path: Path) -> None:
        made = tale(tmp_path).checkpoint("Mira/Tale", name="x" * 80)

        assert names(made) == ("x" * 80, "Lore__CP_" + "x" * 50)

    @pytest.mark.req(33, 59)
    @pytest.mark.parametrize("taken", ["Tale", "tale", "TALE", "Anchor", "anchor "])
    def test_a_taken_name_is_refused(self, taken: str, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", name="Anchor")
        before = read_workspace(tmp_path)

        with pytest.raises(NameTaken):
            workspace.checkpoint("Mira/Tale", name=taken)

        assert read_workspace(tmp_path) == before

    @pytest.mark.req(33)
    @pytest.mark.parametrize("name", [".hidden", "...and then", "../CON:  tower?"])
    def test_a_fork_whose_name_begins_with_a_dot_is_seen_like_any_other(self, name: str, tmp_path: Path) -> None:
        workspace = tale(tmp_path)

        fork = workspace.checkpoint("Mira/Tale", name=name)

        assert workspace.verify(fork.chat).ok
        assert [timeline.chat for story in workspace.stories().stories for timeline in story.timelines] == [
            "Mira/Tale",
            fork.chat,
        ]
        assert not workspace.cleanup().books
        with pytest.raises(NameTaken):
            workspace.checkpoint("Mira/Tale", name=name)

    @pytest.mark.parametrize("name", ["._Tale", "", ".."])
    def test_what_is_called_like_no_chat_is_none(self, name: str, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        (tmp_path / "chats" / "Mira" / f"{name}.jsonl").write_bytes(b"\x00\x05\x16\x07")

        assert [timeline.chat for story in workspace.stories().stories for timeline in story.timelines] == ["Mira/Tale"]

    @pytest.mark.req(33)
    @pytest.mark.parametrize("name", ["CON", "..", "///", "x" * 236, "界" * 79, "._Anchor"])
    def test_an_impossible_name_is_refused(self, name: str, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        before = read_workspace(tmp_path)

        with pytest.raises(NameInvalid):
            workspace.checkpoint("Mira/Tale", name=name)

        assert read_workspace(tmp_path) == before

    @pytest.mark.req(59)
    def test_a_taken_lorebook_is_never_overwritten(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        write_workspace(tmp_path, {"worlds/Lore__CP_Anchor.json": b"mine", "worlds/lore__cp_ANCHOR_2.json": b"too"})

        made = workspace.checkpoint("Mira/Tale", name="Anchor")

        assert made.lorebook == "Lore__CP_Anchor_3"
        assert (tmp_path / "worlds/Lore__CP_Anchor.json").read_bytes() == b"mine"

    @pytest.mark.req(55, 93)
    def test_a_fork_of_a_fork_does_not_pile_up_marks(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        first = workspace.checkpoint("Mira/Tale", name="One")

        second = workspace.branch(first.chat)

        assert names(second) == ("One - Branch #1", "Lore__BR_Branch_1")
        assert OpenChat(tmp_path, second.chat).metadata["main_chat"] == "One"

    def test_a_setting_gives_other_names(self, tmp_path: Path) -> None:
        settings = {"names": {"checkpoint": "★{n} {parent}"}}
        tale(tmp_path)
        write_workspace(tmp_path, {".forklore/settings.json": json.dumps(settings).encode()})

        made = forklore.open(tmp_path).checkpoint("Mira/Tale")

        assert names(made)[0] == "★1 Tale"


class TestRefusals:
    @pytest.mark.req(10, 11, 33, 34)
    @pytest.mark.parametrize("at", [-1, 4, 10**9])
    def test_a_message_that_is_not_there_is_refused_and_nothing_made(self, at: int, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        before = read_workspace(tmp_path)

        with pytest.raises(ForkBlocked) as refused:
            workspace.checkpoint("Mira/Tale", at=at)

        assert refused.value.code == "MESSAGE_NOT_FOUND"
        assert read_workspace(tmp_path) == before

    @pytest.mark.req(33, 44, 88, 153)
    @pytest.mark.parametrize(
        "content, code",
        [(None, "LOREBOOK_MISSING"), (b"{", "LOREBOOK_UNREADABLE"), (b"[]", "LOREBOOK_UNREADABLE")],
    )
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_a_fork_that_cannot_be_isolated_is_not_made(
        self, kind: str, content: bytes | None, code: str, tmp_path: Path
    ) -> None:
        workspace = tale(tmp_path)
        book = tmp_path / "worlds/Lore.json"
        book.unlink() if content is None else book.write_bytes(content)
        before = read_workspace(tmp_path)

        with pytest.raises(ForkBlocked) as refused:
            getattr(workspace, kind)("Mira/Tale")

        assert refused.value.code == code
        assert read_workspace(tmp_path) == before

    @pytest.mark.req(12, 19, 33, 154)
    @pytest.mark.parametrize(
        "at, queue, refused",
        [
            (None, [stories.operation()], ["QUEUE_NOT_EMPTY"]),
            (1, [], ["NO_SCENE_BREAK", "NO_SCENE_RECAP", "NO_RUNNING_RECAP"]),
            (None, [stories.operation(status="completed")], []),
        ],
        ids=["the queue is busy", "no scene break", "all is met"],
    )
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_a_strict_fork_is_made_only_when_every_requirement_is_met(
        self, kind: str, at: int | None, queue: list[Json], refused: list[str], tmp_path: Path
    ) -> None:
        write_workspace(tmp_path, recap_story("Tale", "Lore"))
        chat = OpenChat(tmp_path, "Mira/Tale")
        chat.say("On we go.", "And on.")
        chat.end_scene("Night", taken=stories.FIRST_MOMENT)
        chat.set_queue(*queue)
        chat.write()
        before = read_workspace(tmp_path)
        workspace = forklore.open(tmp_path, policy="strict", disk=HastyDisk())

        if refused:
            with pytest.raises(ForkBlocked) as error:
                getattr(workspace, kind)("Mira/Tale", at=at)

            assert [finding.code for finding in error.value.report.errors] == refused
            assert read_workspace(tmp_path) == before
            assert workspace.log().operations == ()
        else:
            made = getattr(workspace, kind)("Mira/Tale", at=at)

            assert (made.at, made.warnings) == (2, ())
            assert OpenChat(tmp_path, made.chat).metadata["world_info"] == made.lorebook != "Lore"
            assert len(read_workspace(tmp_path)) == len(before) + 2

    @pytest.mark.req(28, 29, 33, 151)
    def test_several_reasons_are_one_refusal_with_all_of_them(self, tmp_path: Path) -> None:
        files = recap_story("Tale", "Lore")
        write_workspace(tmp_path, files)
        chat = OpenChat(tmp_path, "Mira/Tale")
        chat.set_queue(stories.operation())
        chat.write()

        with pytest.raises(ForkBlocked) as refused:
            forklore.open(tmp_path, policy="strict").checkpoint("Mira/Tale")

        error = refused.value.to_json()["error"]
        assert (error["code"], error["kind"]) == ("FORK_BLOCKED", "blocked")
        assert [finding["code"] for finding in error["findings"]] == [
            "QUEUE_NOT_EMPTY",
            "NO_SCENE_BREAK",
            "NO_SCENE_RECAP",
            "NO_RUNNING_RECAP",
        ]

    @pytest.mark.req(27)
    def test_what_only_warns_lets_the_fork_pass(self, tmp_path: Path) -> None:
        workspace = forklore.open(write_workspace(tmp_path, recap_story("Tale", "Lore")))

        made = workspace.checkpoint("Mira/Tale")

        assert [finding.code for finding in made.warnings] == ["NO_SCENE_BREAK", "NO_SCENE_RECAP", "NO_RUNNING_RECAP"]

    @pytest.mark.parametrize("swipe", [2, 9, -1])
    def test_a_swipe_that_is_not_there_is_a_bad_request(self, swipe: int, tmp_path: Path) -> None:
        workspace = tale(tmp_path, stories.swiped("One.", "Two."))
        before = read_workspace(tmp_path)

        with pytest.raises(NoSuchSwipe):
            workspace.branch("Mira/Tale", swipe=swipe)

        assert read_workspace(tmp_path) == before

    @pytest.mark.parametrize("swipe", [1, 5])
    def test_a_message_without_swipes_has_only_the_first(self, swipe: int, tmp_path: Path) -> None:
        with pytest.raises(NoSuchSwipe):
            tale(tmp_path).branch("Mira/Tale", swipe=swipe)

    def test_the_shown_swipe_is_the_head(self, tmp_path: Path) -> None:
        made = tale(tmp_path, stories.swiped("One.", "Two.", shown=1)).branch("Mira/Tale", swipe=1)

        assert made.lorebook_source == "live"

    @pytest.mark.parametrize(
        "broken",
        [
            b'{"mes":"unfinished',
            b'{"extra":{"auto_recap_memory":{"scene_break":true',
            b'{"extra":{"auto_recap_memory":{"stage1_lorebook_metadata":{',
            b"no message",
        ],
    )
    @pytest.mark.parametrize("show_last_scene", [False, True])
    def test_a_broken_line_that_is_needed_is_told_without_a_traceback(
        self, broken: bytes, show_last_scene: bool, tmp_path: Path
    ) -> None:
        data = stories.chat_bytes({}, stories.conversation(2)) + b"\n" + broken
        workspace = forklore.open(write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": data}))

        with pytest.raises(ForkBlocked) as refused:
            workspace.checkpoint("Mira/Tale", show_last_scene=show_last_scene)

        assert refused.value.code == "CHAT_DAMAGED"

    @pytest.mark.parametrize("show_last_scene", [False, True])
    def test_a_broken_line_before_a_sound_head_is_copied_or_told(self, show_last_scene: bool, tmp_path: Path) -> None:
        broken = b'{"extra":{"auto_recap_memory":{"scene_break":true'
        end = stories.line(stories.message("The end.", is_system=True))
        data = stories.chat_bytes({}, stories.conversation(2)) + b"\n" + broken + b"\n" + end
        workspace = forklore.open(write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": data}))

        with pytest.raises(ForkloreError) as refused:
            workspace.checkpoint("Mira/Tale", show_last_scene=show_last_scene)

        assert refused.value.code == "CHAT_DAMAGED"


class FullDisk(HastyDisk):
    """A disk that has no room for a new file in one folder."""

    def __init__(self, folder: str, reason: int) -> None:
        self.folder, self.reason = folder, reason

    def rename_new(self, source: Path, target: Path) -> None:
        if target.parent.name == self.folder:
            raise OSError(self.reason, os.strerror(self.reason))
        super().rename_new(source, target)


class TestFailures:
    @pytest.mark.req(33, 46, 48, 88, 89, 106, 153)
    @pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EACCES])
    @pytest.mark.parametrize("folder", ["worlds", "Mira"])
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_a_disk_that_refuses_leaves_no_trace_of_the_fork(
        self, kind: str, folder: str, reason: int, tmp_path: Path
    ) -> None:
        tale(tmp_path)
        before = read_workspace(tmp_path)

        with pytest.raises(ForkloreError, match=f"Failed to (create|clone lorebook for) {kind}") as refused:
            getattr(forklore.open(tmp_path, disk=FullDisk(folder, reason)), kind)("Mira/Tale")

        assert refused.value.code in ("DISK_FAILED", "READ_ONLY")
        assert os.strerror(reason) in str(refused.value)
        assert read_workspace(tmp_path) == before
        assert forklore.open(tmp_path).checkpoint("Mira/Tale").messages == 4

    @pytest.mark.req(47, 90)
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_a_clone_that_cannot_be_made_says_so_in_the_words_of_the_design(self, kind: str, tmp_path: Path) -> None:
        tale(tmp_path)

        with pytest.raises(ForkloreError) as refused:
            getattr(forklore.open(tmp_path, disk=FullDisk("worlds", errno.ENOSPC)), kind)("Mira/Tale")

        assert str(refused.value).startswith(
            f"Failed to clone lorebook for {kind} isolation. "
            f"{kind.capitalize()} creation aborted to prevent data corruption"
        )


class Listener(Silent):
    """Somebody who writes down what is told."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.notes: list[str] = []

    def step(self, number: int, fact: Fact) -> None:
        self.steps.append(f"[{number}/4] {texts.words(fact)}")

    def note(self, fact: Fact, *, good: bool | None = None) -> None:
        self.notes.append(texts.words(fact))


class TestProgress:
    @pytest.mark.req(52)
    def test_tells_the_four_steps_the_source_the_clone_and_the_count(self, tmp_path: Path) -> None:
        tale(tmp_path)
        listener = Listener()

        forklore.open(tmp_path, progress=listener).checkpoint("Mira/Tale", name="Anchor")

        assert listener.steps == [
            "[1/4] Validating requirements...",
            "[2/4] Cloning lorebook...",
            "[3/4] Recording checkpoint state...",
            "[4/4] Creating checkpoint...",
        ]
        assert 'Source: "Lore"' in listener.notes
        assert 'Clone: "Lore__CP_Anchor"' in listener.notes
        assert "1 entry, copied byte for byte" in listener.notes
        assert 'Checkpoint created: "Anchor"' in listener.notes


class TestLargeStories:
    """The disk may begin with large files before the lorebook is checked; nobody must notice."""

    def large(self, root: Path, *operations: Json) -> Forklore:
        messages = [stories.message(f"Turn {number}. " + "x" * 2000) for number in range(1500)]
        entries = [stories.entry(0, "Mira", "y" * 100_000), stories.queue(operations)]
        files = stories.solo_files("Tale", {"world_info": "Lore"}, messages, books={"Lore": stories.lorebook(entries)})
        return forklore.open(write_workspace(root, files), disk=HastyDisk())

    @pytest.mark.req(74, 75)
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    @pytest.mark.parametrize("at", [None, 1499, 700, 0])
    def test_are_forked_like_small_ones(self, kind: str, at: int | None, tmp_path: Path) -> None:
        workspace = self.large(tmp_path)
        before = read_workspace(tmp_path)

        made = getattr(workspace, kind)("Mira/Tale", at=at)

        after = read_workspace(tmp_path)
        lines = before["chats/Mira/Tale.jsonl"].split(b"\n")
        assert after[f"chats/{made.chat}.jsonl"].split(b"\n")[1:] == lines[1 : (1499 if at is None else at) + 2]
        assert after[f"worlds/{made.lorebook}.json"] == before["worlds/Lore.json"]
        workspace.undo()
        assert read_workspace(tmp_path) == before

    @pytest.mark.req(33)
    def test_leave_no_trace_when_they_are_refused(self, tmp_path: Path) -> None:
        workspace = self.large(tmp_path, stories.operation())
        before = read_workspace(tmp_path)

        with pytest.raises(ForkBlocked):
            workspace.checkpoint("Mira/Tale")

        assert read_workspace(tmp_path) == before
        left = [path for path in (tmp_path / ".forklore").rglob("*") if path.is_file() and path.name != "lock"]
        assert left == []


class TestDryRun:
    def test_shows_the_plan_and_changes_nothing(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        before = read_workspace(tmp_path)

        shown = workspace.plan("branch", "Mira/Tale", at=1)

        assert shown.to_json() == {
            "plan": [
                {"action": "create", "path": "worlds/Lore__BR_Branch_1.json"},
                {"action": "create", "path": "chats/Mira/Tale - Branch #1.jsonl"},
                {"action": "edit", "path": "chats/Mira/Tale.jsonl"},
            ]
        }
        assert read_workspace(tmp_path) == before
        assert not (tmp_path / ".forklore").exists()

    def test_is_refused_like_the_fork_itself(self, tmp_path: Path) -> None:
        with pytest.raises(ForkBlocked):
            tale(tmp_path).plan("checkpoint", "Mira/Tale", at=99)


class TestOneAtATime:
    @pytest.mark.req(95, 96, 99, 158)
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_a_second_request_is_refused_while_the_first_runs(self, kind: str, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        before = read_workspace(tmp_path)

        with workspace_lock(tmp_path, what=kind), pytest.raises(CreationInProgress) as refused:
            getattr(workspace, kind)("Mira/Tale")

        assert str(refused.value) == f"{kind.capitalize()} creation already in progress. Please wait."
        assert read_workspace(tmp_path) == before

    @pytest.mark.req(97)
    def test_the_lock_is_released_after_success_and_after_a_refusal(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale")
        with pytest.raises(ForkBlocked):
            workspace.checkpoint("Mira/Tale", at=99)
        with pytest.raises(BadRequest):
            workspace.checkpoint("Mira/Tale", name="CON")

        assert workspace.checkpoint("Mira/Tale").kind == "checkpoint"

    @pytest.mark.req(101, 105, 158)
    def test_rapid_requests_that_wait_all_make_their_own_fork(self, tmp_path: Path) -> None:
        tale(tmp_path)
        made: list[ForkMade] = []

        def fork() -> None:
            made.append(forklore.open(tmp_path, disk=HastyDisk()).branch("Mira/Tale", at=1, wait=60))

        threads = [threading.Thread(target=fork) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len({fork.chat for fork in made}) == len({fork.lorebook for fork in made}) == 6
        parent = OpenChat(tmp_path, "Mira/Tale")
        assert sorted(parent.messages[1]["extra"]["branches"]) == sorted(fork.chat.partition("/")[2] for fork in made)
        assert len(parent.metadata["auto_recap"]["checkpoint_lorebook_map"]) == 6

    @pytest.mark.req(101)
    def test_a_second_checkpoint_of_a_message_leaves_the_first_in_the_tree(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", name="First")

        workspace.checkpoint("Mira/Tale", name="Second")

        assert [timeline.chat for timeline in workspace.tree("Mira/Tale").timelines] == [
            "Mira/Tale",
            "Mira/First",
            "Mira/Second",
        ]


class Meddler(Silent):
    """Somebody who writes a file while a fork is being made from it."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content = path, content

    def step(self, number: int, fact: Fact) -> None:
        if number == 4:
            aside = self.path.with_name("aside")
            aside.write_bytes(self.content)
            aside.replace(self.path)


class TestChangedMeanwhile:
    @pytest.mark.req(61, 98, 99, 158)
    @pytest.mark.parametrize("path", ["chats/Mira/Tale.jsonl", "worlds/Lore.json"])
    def test_a_file_that_changed_since_it_was_read_refuses_the_fork(self, path: str, tmp_path: Path) -> None:
        tale(tmp_path)
        content = (tmp_path / path).read_bytes() + b" "
        expected = {**read_workspace(tmp_path), path: content}

        with pytest.raises(ContextChanged) as refused:
            forklore.open(tmp_path, progress=Meddler(tmp_path / path, content)).checkpoint("Mira/Tale")

        assert refused.value.code == "CONTEXT_CHANGED"
        assert read_workspace(tmp_path) == expected


class TestGroups:
    def group(self, root: Path, **metadata: Any) -> Forklore:
        known = {"world_info": "Lore", **metadata}
        files = stories.group_files("Night", known, stories.conversation(4), books={"Lore": LORE})
        return forklore.open(write_workspace(root, files), disk=HastyDisk())

    @pytest.mark.req(7, 87)
    @pytest.mark.parametrize("kind, at", [("checkpoint", 1), ("branch", None)])
    def test_a_group_chat_is_forked_like_any_other_and_listed(self, kind: str, at: int | None, tmp_path: Path) -> None:
        made = getattr(self.group(tmp_path), kind)("group:17/Night", at=at)

        name = made.chat.partition("/")[2]
        assert made.chat == f"group:17/{name}"
        assert json.loads((tmp_path / "groups/17.json").read_bytes())["chats"] == ["Night", name]
        fork = OpenChat(tmp_path, made.chat)
        assert fork.metadata["main_chat"] == "Night"
        assert fork.metadata["world_info"] == made.lorebook != "Lore"

    def test_a_group_chat_of_an_older_sillytavern_is_no_damaged_one_but_cannot_be_forked(self, tmp_path: Path) -> None:
        workspace = self.group(tmp_path)
        path = tmp_path / "group chats/Night.jsonl"
        path.write_bytes(path.read_bytes().partition(b"\n")[2])  # it has no header
        before = read_workspace(tmp_path)

        assert [finding.code for finding in workspace.check("group:17/Night").errors] == ["GROUP_FORMAT_OLD"]
        (finding,) = workspace.verify("group:17/Night").findings
        assert (finding.code, finding.severity) == ("GROUP_FORMAT_OLD", Severity.WARNING)
        with pytest.raises(ForkBlocked):
            workspace.branch("group:17/Night")
        assert read_workspace(tmp_path) == before

    def test_the_group_file_keeps_its_layout(self, tmp_path: Path) -> None:
        workspace = self.group(tmp_path)
        before = (tmp_path / "groups/17.json").read_bytes()

        workspace.checkpoint("group:17/Night", name="Anchor")

        after = (tmp_path / "groups/17.json").read_bytes()
        assert after == before.replace(b'"Night"\n', b'"Night",\n        "Anchor"\n')

    def test_a_chat_that_no_group_lists_is_refused(self, tmp_path: Path) -> None:
        workspace = self.group(tmp_path)
        (tmp_path / "groups/17.json").unlink()
        before = read_workspace(tmp_path)

        with pytest.raises(GroupMissing):
            workspace.checkpoint("Night")

        assert read_workspace(tmp_path) == before


class TestSettings:
    def write(self, root: Path, settings: Any) -> None:
        write_workspace(root, {".forklore/settings.json": json.dumps(settings).encode()})

    def test_the_policy_can_be_kept_in_a_file(self, tmp_path: Path) -> None:
        write_workspace(tmp_path, recap_story("Tale", "Lore"))
        self.write(tmp_path, {"policy": "strict", "requirements": {"NO_SCENE_BREAK": "warn"}})

        report = forklore.open(tmp_path).check("Mira/Tale")

        assert [finding.code for finding in report.errors] == ["NO_SCENE_RECAP", "NO_RUNNING_RECAP"]
        assert [finding.code for finding in report.warnings] == ["NO_SCENE_BREAK"]

    def test_what_was_asked_for_counts_more_than_the_file(self, tmp_path: Path) -> None:
        write_workspace(tmp_path, recap_story("Tale", "Lore"))
        self.write(tmp_path, {"policy": "strict"})

        assert forklore.open(tmp_path, policy="standard").check("Mira/Tale").valid

    @pytest.mark.parametrize(
        "settings",
        [
            [],
            {"policy": "lenient"},
            {"requirements": []},
            {"requirements": {"NO_SUCH_CODE": "warn"}},
            {"requirements": {"NO_SCENE_BREAK": "maybe"}},
            {"names": {"checkpoint": 5}},
            {"names": {"other": "x"}},
            {"names": "x"},
            {"requirements": {"NO_SCENE_BREAK": ["warn"]}},
            {"shared_books": "Lore"},
            {"shared_books": [7]},
        ],
    )
    def test_what_makes_no_sense_is_refused(self, settings: Any, tmp_path: Path) -> None:
        tale(tmp_path)
        self.write(tmp_path, settings)

        with pytest.raises(SettingsInvalid):
            forklore.open(tmp_path)

    @pytest.mark.parametrize("code", [row.code for row in REQUIREMENTS if row.indispensable])
    @pytest.mark.parametrize("effect", ["warn", "note", "ignore"])
    def test_what_protects_data_cannot_be_lowered_by_a_file(self, code: str, effect: str, tmp_path: Path) -> None:
        tale(tmp_path)
        self.write(tmp_path, {"requirements": {code: effect, "NO_SCENE_BREAK": "ignore"}})

        opened = forklore.open(tmp_path)

        assert opened.settings().requirements == {"NO_SCENE_BREAK": "ignore"}
        (told,) = opened.doctor().findings
        assert (told.finding.code, told.finding.severity) == ("SETTING_IGNORED", Severity.WARNING)
        assert (told.finding.params, told.path) == ({"requirement": code, "effect": effect}, ".forklore/settings.json")
        assert opened.doctor().ok

    @pytest.mark.parametrize("effect", ["warn", "note", "ignore"])
    def test_a_busy_queue_blocks_whatever_the_file_says(self, effect: str, sample: Callable[[str], Path]) -> None:
        root = sample("salvage_rights_queue_busy")
        self.write(root, {"requirements": {"QUEUE_NOT_EMPTY": effect, "QUEUE_UNREADABLE": effect}})

        report = forklore.open(root).check("Ilse Brandt")

        assert [finding.code for finding in report.errors] == ["QUEUE_NOT_EMPTY"]

    def test_what_is_no_json_is_refused(self, tmp_path: Path) -> None:
        tale(tmp_path)
        write_workspace(tmp_path, {".forklore/settings.json": b"{"})

        with pytest.raises(SettingsInvalid):
            forklore.open(tmp_path)

    def test_a_policy_that_does_not_exist_is_a_bad_request(self, tmp_path: Path) -> None:
        tale(tmp_path)

        with pytest.raises(BadRequest):
            forklore.open(tmp_path, policy="lenient")


@pytest.mark.parametrize("depth", [970, 985, 1000])
def test_metadata_nested_beyond_measure_is_forked_or_refused_as_damaged(tmp_path: Path, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    header = f'{{"chat_metadata":{{"u":{nested}}}}}'
    chat = tmp_path / "chats" / "Mira" / "Chat.jsonl"
    chat.parent.mkdir(parents=True)
    chat.write_text(f'{header}\n{{"name":"Mira","mes":"Hello"}}', encoding="utf-8")

    refused = ""
    try:
        forklore.open(tmp_path).checkpoint("Chat")
    except forklore.ForkloreError as error:
        refused = error.code

    fork = chat.parent / "Chat - Checkpoint #1.jsonl"
    assert refused == "CHAT_DAMAGED" or nested in fork.read_text(encoding="utf-8")


def test_a_group_chat_that_no_group_lists_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    chat = tmp_path / "group chats" / "Night.jsonl"
    chat.parent.mkdir(parents=True)
    chat.write_text('{"chat_metadata":{}}\n{"name":"Mira","mes":"Hello"}', encoding="utf-8")

    with pytest.raises(forklore.ForkloreError, match="No group lists"):
        forklore.open(tmp_path).checkpoint("Night")

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["Night.jsonl", "group chats"]
