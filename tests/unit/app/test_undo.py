"""Undoing forks: byte-exact where nothing else changed, careful where something did."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.planning.undo import UndoRefused
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import read_workspace, write_workspace

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
MIRA = "Mira/Mira - 2026-11-15@18h36m02s446ms"
GROUP = "group:1794767789993/2026-11-15@18h36m29s983ms"
REAL = "sillytavern-1.19.0"

Opened = Callable[[str], Forklore]


def tale(root: Path, *messages: stories.Json, book: bool = True) -> Forklore:
    """Return a workspace with the chat "Mira/Tale"."""
    metadata = {"world_info": "Lore"} if book else {}
    books = {"Lore": stories.lorebook([stories.entry(0, "Mira", "a cook")])}
    files = stories.solo_files("Tale", metadata, messages or stories.conversation(4), books=books)
    return forklore.open(write_workspace(root, files), disk=HastyDisk())


def link_of(workspace: Forklore, chat: str, number: int) -> Any:
    return OpenChat(workspace.root, chat).messages[number]["extra"].get("bookmark_link")


class TestTheParentWentOn:
    @pytest.mark.req(5, 130)
    @pytest.mark.parametrize("name, chat", [("hollow_quay_clean", MAREN), (REAL, MIRA), (REAL, GROUP)])
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_ten_more_messages_stay_and_fork_link_and_map_go(
        self, name: str, chat: str, kind: str, opened: Opened
    ) -> None:
        workspace = opened(name)
        before = read_workspace(workspace.root)
        expected = OpenChat(workspace.root, chat)
        getattr(workspace, kind)(chat)
        ten = [f"Later {number}" for number in range(10)]
        parent = OpenChat(workspace.root, chat)
        parent.say(*ten)
        parent.write()

        workspace.undo()

        expected.say(*ten)
        after = read_workspace(workspace.root)
        path = parent.path.relative_to(workspace.root).as_posix()
        assert after[path] == stories.chat_bytes(expected.metadata, expected.messages)
        assert {key: value for key, value in after.items() if key != path and not key.startswith("worlds/")} == {
            key: value for key, value in before.items() if key != path and not key.startswith("worlds/")
        }
        assert {key: json.loads(value) for key, value in after.items() if key.startswith("worlds/")} == {
            key: json.loads(value) for key, value in before.items() if key.startswith("worlds/")
        }

    def test_a_link_that_was_swiped_away_goes_too(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, stories.message("Hello."), stories.swiped("One.", "Two."))
        made = workspace.checkpoint("Mira/Tale")
        parent = OpenChat(tmp_path, "Mira/Tale")
        last = parent.messages[1]
        last["swipe_info"][0]["extra"], last["extra"] = last["extra"], {}
        last |= {"swipe_id": 1, "mes": "Two."}
        parent.write()

        workspace.undo()

        assert made.chat.partition("/")[2] not in (tmp_path / "chats/Mira/Tale.jsonl").read_text()

    def test_a_link_that_moved_with_its_message_goes_too(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.branch("Mira/Tale", at=3)
        parent = OpenChat(tmp_path, "Mira/Tale")
        del parent.messages[1]
        parent.write()

        workspace.undo()

        assert made.chat.partition("/")[2] not in (tmp_path / "chats/Mira/Tale.jsonl").read_text()

    def test_a_link_that_somebody_replaced_stays(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", at=2, name="Ours")
        parent = OpenChat(tmp_path, "Mira/Tale")
        parent.messages[2]["extra"]["bookmark_link"] = "Theirs"
        parent.write()

        workspace.undo()

        assert link_of(workspace, "Mira/Tale", 2) == "Theirs"

    def test_a_parent_that_is_gone_does_not_hinder(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="Anchor")
        (tmp_path / "chats/Mira/Tale.jsonl").unlink()

        workspace.undo(made.operation)

        assert sorted(read_workspace(tmp_path)) == ["worlds/Lore.json"]


class TestWhatWasThereBefore:
    def test_a_link_to_a_chat_that_never_was_comes_back(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, stories.message("Hello.", extra={"bookmark_link": "Nowhere", "other": 1}))
        before = read_workspace(tmp_path)
        workspace.checkpoint("Mira/Tale")

        workspace.undo()

        assert read_workspace(tmp_path) == before

    @pytest.mark.parametrize("link", [None, [], {"a": 1}, 5, ""])
    def test_a_link_that_is_no_text_comes_back(self, link: Any, tmp_path: Path) -> None:
        workspace = tale(tmp_path, stories.message("Hello.", extra={"bookmark_link": link, "branches": link}))
        before = read_workspace(tmp_path)
        workspace.checkpoint("Mira/Tale")
        workspace.branch("Mira/Tale")

        workspace.undo()
        workspace.undo()

        assert read_workspace(tmp_path) == before

    @pytest.mark.parametrize("extra", [None, [], "text", 5])
    def test_an_extra_that_is_no_object_comes_back(self, extra: Any, tmp_path: Path) -> None:
        workspace = tale(tmp_path, stories.message("Hello.", extra=extra))
        before = read_workspace(tmp_path)
        workspace.checkpoint("Mira/Tale")
        workspace.branch("Mira/Tale")

        workspace.undo()
        workspace.undo()

        assert read_workspace(tmp_path) == before


def without_extra(text: str) -> stories.Json:
    message = stories.message(text)
    del message["extra"]
    return message


class TestOutOfOrder:
    @pytest.mark.req(80, 101)
    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    @pytest.mark.parametrize(
        "last",
        [
            stories.message("Hello."),
            stories.message("Hello.", extra={"bookmark_link": "Nowhere"}),
            stories.message("Hello.", extra=None),
            without_extra("Hello."),
        ],
        ids=["plain", "linked", "null", "without"],
    )
    def test_two_checkpoints_of_one_message_leave_no_trace(
        self, order: tuple[int, int], last: stories.Json, tmp_path: Path
    ) -> None:
        workspace = tale(tmp_path, last)
        before = read_workspace(tmp_path)
        made = [workspace.checkpoint("Mira/Tale", name=name) for name in ("A", "B")]

        for which in order:
            workspace.undo(made[which].operation)

        assert read_workspace(tmp_path) == before

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    @pytest.mark.parametrize("last", [stories.message("Hello.", extra=None), without_extra("Hello.")])
    @pytest.mark.parametrize("kinds", [("checkpoint", "branch"), ("branch", "checkpoint"), ("branch", "branch")])
    def test_a_checkpoint_and_a_branch_of_one_message_leave_no_trace(
        self, kinds: tuple[str, str], last: stories.Json, order: tuple[int, int], tmp_path: Path
    ) -> None:
        workspace = tale(tmp_path, last)
        before = read_workspace(tmp_path)
        made = [getattr(workspace, kind)("Mira/Tale") for kind in kinds]

        for which in order:
            workspace.undo(made[which].operation)

        assert read_workspace(tmp_path) == before

    def test_three_checkpoints_of_one_message_hand_the_link_on(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        first, second, third = (workspace.checkpoint("Mira/Tale", name=name) for name in ("A", "B", "C"))

        workspace.undo(second.operation)
        workspace.undo(third.operation)

        assert link_of(workspace, "Mira/Tale", first.at) == "A"

    def test_branches_of_one_message_are_undone_in_any_order(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        before = read_workspace(tmp_path)
        made = [workspace.branch("Mira/Tale", at=1) for _ in range(3)]

        for which in (1, 0, 2):
            workspace.undo(made[which].operation)

        assert read_workspace(tmp_path) == before

    def test_a_checkpoint_before_a_later_branch_is_undone(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        anchor = workspace.checkpoint("Mira/Tale", at=1, name="Anchor")
        branch = workspace.branch("Mira/Tale")

        workspace.undo(anchor.operation)

        files = read_workspace(tmp_path)
        assert "chats/Mira/Anchor.jsonl" not in files
        assert f"chats/{branch.chat}.jsonl" in files
        assert link_of(workspace, "Mira/Tale", 1) is None


class TestRefusals:
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_a_fork_that_has_gone_on_stays(self, kind: str, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")
        made = getattr(workspace, kind)(MAREN)
        fork = OpenChat(workspace.root, made.chat)
        fork.say("And then")
        fork.write()
        before = read_workspace(workspace.root)

        with pytest.raises(UndoRefused, match="has gone on") as refused:
            workspace.undo()

        assert refused.value.code == "UNDO_REFUSED"
        assert read_workspace(workspace.root) == before

    @pytest.mark.parametrize("later", ["repair", "branch"])
    def test_a_fork_that_only_we_have_changed_names_the_operation_to_undo_first(
        self, later: str, tmp_path: Path
    ) -> None:
        workspace = tale(tmp_path, *(stories.message(f"Turn {n}.", is_system=True) for n in range(4)))
        before = read_workspace(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="Fork")
        if later == "repair":
            changed = workspace.repair(made.chat, "HISTORY_HIDDEN", repair="show-last-scene").operation
            last = workspace.checkpoint(made.chat, name="Child").operation
        else:
            changed = workspace.checkpoint(made.chat, name="Child").operation
            last = workspace.branch(made.chat).operation

        with pytest.raises(UndoRefused) as refused:
            workspace.undo(made.operation)

        kind = "checkpoint" if later == "repair" else "branch"
        assert refused.value.params == {"case": "changed", "file": "Fork.jsonl", "kind": kind, "operation": last}
        assert f"forklore undo {last}" in refused.value.action
        workspace.undo(last)
        with pytest.raises(UndoRefused, match=str(changed)):
            workspace.undo(made.operation)
        workspace.undo(changed)
        workspace.undo(made.operation)
        assert read_workspace(tmp_path) == before

    def test_a_fork_that_others_have_changed_besides_us_has_gone_on(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, *(stories.message(f"Turn {n}.", is_system=True) for n in range(4)))
        made = workspace.checkpoint("Mira/Tale", name="Fork")
        workspace.repair(made.chat, "HISTORY_HIDDEN", repair="show-last-scene")
        fork = OpenChat(tmp_path, made.chat)
        fork.say("And then")
        fork.write()

        with pytest.raises(UndoRefused, match="has gone on since the checkpoint was made"):
            workspace.undo(made.operation)

    def test_a_fork_whose_book_has_gone_on_stays(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")
        made = workspace.checkpoint(MAREN)
        book = workspace.root / "worlds" / f"{made.lorebook}.json"
        book.write_bytes(book.read_bytes().replace(b"lamplighter", b"LAMPLIGHTER", 1))

        with pytest.raises(UndoRefused, match="has gone on"):
            workspace.undo()

        assert book.exists()

    def test_a_fork_with_a_child_stays(self, opened: Opened) -> None:
        workspace = opened("hollow_quay_clean")
        made = workspace.checkpoint(MAREN)
        workspace.branch(made.chat)

        with pytest.raises(UndoRefused):
            workspace.undo(made.operation)

        assert (workspace.root / "chats" / f"{made.chat}.jsonl").exists()

    @pytest.mark.parametrize("redone", [False, True])
    def test_a_fork_with_a_child_made_by_sillytavern_stays(self, redone: bool, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="Anchor")
        operation = made.operation
        if redone:
            undone = workspace.undo(operation)
            operation = workspace.undo(undone.operation).operation
        child = OpenChat(tmp_path, made.chat)
        child.metadata |= {"main_chat": "Anchor", "integrity": "another"}
        (tmp_path / "chats/Mira/Child.jsonl").write_bytes(stories.chat_bytes(child.metadata, child.messages))

        with pytest.raises(UndoRefused, match=r"forked from it|uses its lorebook"):
            workspace.undo(operation)

        assert (tmp_path / f"worlds/{made.lorebook}.json").exists()

    def test_nothing_is_undone_twice(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale")
        workspace.undo(made.operation)

        with pytest.raises(UndoRefused) as refused:
            workspace.undo(made.operation)

        assert refused.value.params == {"case": "undone", "operation": made.operation}


class TestRedo:
    def test_a_redone_checkpoint_can_be_undone_again(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        before = read_workspace(tmp_path)
        workspace.checkpoint("Mira/Tale", at=1)
        undone = workspace.undo()
        redone = workspace.undo(undone.operation)

        workspace.undo(redone.operation)

        assert read_workspace(tmp_path) == before

    def test_what_is_redone_is_the_latest_again(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        before = read_workspace(tmp_path)
        workspace.checkpoint("Mira/Tale", at=1)
        undone = workspace.undo()
        workspace.undo(undone.operation)

        workspace.undo()

        assert read_workspace(tmp_path) == before

    def test_a_redone_checkpoint_keeps_what_was_written_meanwhile(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="Anchor")
        undone = workspace.undo()
        parent = OpenChat(tmp_path, "Mira/Tale")
        parent.say("Meanwhile")
        parent.write()

        workspace.undo(undone.operation)

        parent = OpenChat(tmp_path, "Mira/Tale")
        assert parent.messages[-1]["mes"] == "Meanwhile"
        assert link_of(workspace, "Mira/Tale", made.at) == "Anchor"
        assert parent.metadata["auto_recap"] == {"checkpoint_lorebook_map": {"Anchor": made.lorebook}}
        assert OpenChat(tmp_path, "Mira/Anchor").metadata["main_chat"] == "Tale"

    def test_the_log_tells_what_is_undone(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale")
        undone = workspace.undo()

        shown = workspace.log().to_json()["operations"]

        assert [(each["id"], each["kind"], each["undone"]) for each in shown] == [
            (undone.operation, "undo", False),
            (made.operation, "checkpoint", True),
        ]


class TestNamesThatAreUsedAgain:
    def test_a_fork_of_an_earlier_chat_of_that_name_is_no_child(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.branch("Mira/Tale")
        child = workspace.checkpoint("Mira/Tale - Branch #1").chat
        workspace.delete("Mira/Tale - Branch #1", yes=True)
        before = read_workspace(workspace.root)
        again = workspace.branch("Mira/Tale")

        (story,) = (each for each in workspace.stories().stories if each.main == child)
        assert again.chat == "Mira/Tale - Branch #1"
        assert [each.parent for each in story.timelines] == [None]
        workspace.undo()

        assert read_workspace(workspace.root) == before

    def test_a_new_chat_under_a_renamed_chats_old_name_is_no_parent(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        parent = tmp_path / "chats/Mira/Tale.jsonl"
        parent.write_bytes(stories.chat_bytes({"integrity": "one"}, stories.conversation(4)))
        child = workspace.checkpoint("Mira/Tale").chat
        parent.rename(parent.with_name("Saga.jsonl"))
        parent.write_bytes(stories.chat_bytes({"integrity": "two"}, stories.conversation(2)))

        assert workspace.tree(child).main == child
        (finding,) = workspace.verify(child).findings
        assert (finding.code, finding.repairs[0]) == ("PARENT_MISSING", "follow-rename")

    def test_a_chat_that_was_isolated_keeps_its_forks(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        native = {"world_info": "Lore", "integrity": "two", "main_chat": "Tale"}
        files = stories.solo_files("Native", native, stories.conversation(3))
        write_workspace(tmp_path, files)
        child = workspace.branch("Mira/Native").chat
        workspace.isolate("Mira/Native")

        assert {each.chat: each.parent for each in workspace.tree(child).timelines}[child] == "Mira/Native"

    def test_a_link_that_the_parent_inherited_stays(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, *stories.conversation(6))
        states = [read_workspace(tmp_path)]
        for act in (
            lambda: workspace.checkpoint("Mira/Tale", name="Then", at=2),
            lambda: workspace.branch("Mira/Tale"),
            lambda: workspace.delete("Mira/Then"),
            lambda: workspace.checkpoint("Mira/Tale - Branch #1", name="Then", at=4),
        ):
            act()
            states.append(read_workspace(tmp_path))

        for before in states[-2::-1]:
            workspace.undo()
            assert read_workspace(tmp_path) == before

    def test_what_to_undo_first_is_told_when_a_part_was_put_back(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.branch("Mira/Tale")
        deleted = workspace.delete("Mira/Tale - Branch #1").operation
        (book,) = (each.item for each in workspace.trash().items if each.item.endswith(".json"))
        restored = workspace.restore(book).operation

        with pytest.raises(UndoRefused) as refused:
            workspace.undo(deleted)

        assert f"forklore undo {restored}" in refused.value.action
