"""Deleting timelines and cleaning up: only what nobody names goes, and all of it comes back byte for byte."""

import json
import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.delete import ChatHasForks
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
Files = dict[str, bytes]


def tale(root: Path, files: Files | None = None, *messages: stories.Json, **metadata: Any) -> Forklore:
    """Return a workspace with the chat "Mira/Tale", whose lorebook is "Lore"."""
    books = {"Lore": stories.lorebook([stories.entry(0, "Mira", "a cook")])}
    given = stories.solo_files(
        "Tale", {"world_info": "Lore", **metadata}, messages or stories.conversation(4), books=books
    )
    return forklore.open(write_workspace(root, given | (files or {})), disk=HastyDisk())


def settings(**members: Any) -> Files:
    return {"settings.json": stories.pretty(members)}


def other_chat(**metadata: Any) -> Files:
    return stories.solo_files("Other", metadata, stories.conversation(2), folder="Bob")


class TestATimeline:
    @pytest.mark.req(5, 138, 143)
    @pytest.mark.parametrize("name, chat", [("hollow_quay_clean", MAREN), (REAL, MIRA), (REAL, GROUP)])
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_goes_with_its_book_and_all_that_points_to_it_and_comes_back(
        self, name: str, chat: str, kind: str, opened: Opened
    ) -> None:
        workspace = opened(name)
        before = read_workspace(workspace.root)
        made = getattr(workspace, kind)(chat)
        forked = read_workspace(workspace.root)

        deleted = workspace.delete(made.chat)

        assert read_workspace(workspace.root) == before
        assert (deleted.book, deleted.kept_because, deleted.children) == (made.lorebook, (), ())
        workspace.undo(deleted.operation)
        assert read_workspace(workspace.root) == forked
        workspace.undo(made.operation)
        assert read_workspace(workspace.root) == before

    @pytest.mark.req(138)
    @pytest.mark.parametrize("name, chat", [("hollow_quay_clean", MAREN), (REAL, GROUP)])
    def test_with_forks_is_deleted_only_after_a_yes_and_its_forks_stay(
        self, name: str, chat: str, opened: Opened
    ) -> None:
        workspace = opened(name)
        made = workspace.checkpoint(chat)
        before = read_workspace(workspace.root)

        with pytest.raises(ChatHasForks, match=r"has \d forks?") as refused:
            workspace.delete(chat)

        assert refused.value.code == "CHAT_HAS_FORKS"
        assert read_workspace(workspace.root) == before
        deleted = workspace.delete(chat, yes=True)
        assert made.chat in deleted.children
        assert OpenChat(workspace.root, made.chat).messages
        workspace.undo(deleted.operation)
        assert read_workspace(workspace.root) == before

    def test_a_deletion_can_be_done_again(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", name="Anchor")
        workspace.delete("Mira/Tale", yes=True)
        after = read_workspace(tmp_path)
        undone = workspace.undo()

        workspace.undo(undone.operation)

        assert read_workspace(tmp_path) == after

    def test_a_deletion_is_not_done_again_once_its_book_is_named(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.delete("Mira/Tale")
        undone = workspace.undo()
        write_workspace(tmp_path, settings(world_info=["Lore"]))

        with pytest.raises(UndoRefused, match="is in use"):
            workspace.undo(undone.operation)

    def test_links_in_swipes_go_too(self, tmp_path: Path) -> None:
        extras: list[stories.Json] = [{"bookmark_link": "Anchor", "a": 1}, {"branches": ["X", "Anchor", "Y"]}]
        workspace = tale(tmp_path, None, stories.message("Hello."), stories.swiped("One.", "Two.", extras=extras))
        child = stories.chat_bytes({"main_chat": "Tale"}, stories.conversation(2))
        write_workspace(tmp_path, {"chats/Mira/Anchor.jsonl": child})
        before = read_workspace(tmp_path)

        workspace.delete("Mira/Anchor")

        last = OpenChat(tmp_path, "Mira/Tale").messages[1]
        assert last["extra"] == last["swipe_info"][0]["extra"] == {"a": 1}
        assert last["swipe_info"][1]["extra"] == {"branches": ["X", "Y"]}
        workspace.undo()
        assert read_workspace(tmp_path) == before

    def test_a_link_with_a_name_that_no_disk_takes_goes_too(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, None, stories.message("Hello.", extra={"bookmark_link": "A/B: C"}))
        write_workspace(tmp_path, {"chats/Mira/AB C.jsonl": stories.chat_bytes({"main_chat": "Tale"}, [])})

        workspace.delete("Mira/AB C")

        assert OpenChat(tmp_path, "Mira/Tale").messages[0]["extra"] == {}

    def test_the_link_of_an_earlier_checkpoint_comes_back(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        for name in ("A", "B"):
            workspace.checkpoint("Mira/Tale", name=name)
        before = read_workspace(tmp_path)

        workspace.delete("Mira/B")

        assert OpenChat(tmp_path, "Mira/Tale").messages[-1]["extra"] == {"bookmark_link": "A"}
        workspace.undo()
        assert read_workspace(tmp_path) == before

    def test_a_group_opens_another_chat(self, opened: Opened) -> None:
        workspace = opened(REAL)
        made = workspace.branch(GROUP)
        path = workspace.root / "groups/1794767789993.json"
        group = json.loads(path.read_bytes())
        fork = made.chat.partition("/")[2]
        path.write_bytes(stories.pretty({**group, "chat_id": fork}))

        workspace.delete(made.chat)

        group = json.loads(path.read_bytes())
        assert fork not in group["chats"]
        assert group["chat_id"] == group["chats"][-1]

    @pytest.mark.parametrize("content", [b"", b"not a chat\n", b'{"chat_metadata": 5}\n{}', b"\xff\xfe\n"])
    def test_a_damaged_one_goes_without_a_book(self, content: bytes, tmp_path: Path) -> None:
        workspace = tale(tmp_path, {"chats/Mira/Broken.jsonl": content})
        before = read_workspace(tmp_path)

        deleted = workspace.delete("Mira/Broken")

        assert deleted.book is None
        assert "chats/Mira/Broken.jsonl" not in read_workspace(tmp_path)
        workspace.undo()
        assert read_workspace(tmp_path) == before

    def test_outside_all_folders_goes_and_is_put_back(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, {"chats/Loose.jsonl": stories.chat_bytes({}, [])})
        before = read_workspace(tmp_path)
        workspace.delete("./Loose")

        workspace.restore("Loose")

        assert read_workspace(tmp_path) == before

    def test_without_a_book_or_with_a_missing_one_goes(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, other_chat(world_info="Gone"))

        deleted = workspace.delete("Bob/Other")

        assert (deleted.book, deleted.kept_because) == (None, ())

    def test_of_a_damaged_parent_goes_and_the_parent_stays_as_it_is(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="Anchor")
        (tmp_path / "chats/Mira/Tale.jsonl").write_bytes(b"garbled\n{")
        before = read_workspace(tmp_path)

        workspace.delete(made.chat)

        assert read_workspace(tmp_path)["chats/Mira/Tale.jsonl"] == b"garbled\n{"
        workspace.undo()
        assert read_workspace(tmp_path) == before


TIMED = {"timedWorldInfo": {"sticky": {"Lore.0": {"hash": 1}}, "cooldown": {}}}
REFERRERS: dict[str, Files] = {
    "a chat": other_chat(world_info="Lore"),
    "a chat that lists several": other_chat(world_info=["Lore", "Else"]),
    "a chat outside all folders": {"chats/Loose.jsonl": stories.chat_bytes({"world_info": "Lore"}, [])},
    "a group chat": stories.group_files("Party", {"world_info": "Lore"}, []),
    "timed effects": other_chat(**TIMED),
    "a card": {"characters/Mira.png": stories.card_png("Mira", "Lore")},
    "charLore": settings(world_info_settings={"world_info": {"charLore": [{"name": "Mira", "extraBooks": ["Lore"]}]}}),
    "the global selection": settings(world_info_settings={"world_info": {"globalSelect": ["Lore"]}}),
    "an old selection": settings(world_info_settings={"world_info": ["Lore"]}),
    "an older selection": settings(world_info="Lore"),
    "the persona": settings(power_user={"persona_description_lorebook": "Lore"}),
    "another persona": settings(power_user={"persona_descriptions": {"me.png": {"lorebook": "Lore"}}}),
    "another spelling": other_chat(world_info="LORE"),
}
UNREADABLE: dict[str, Files] = {
    "settings": {"settings.json": b"{"},
    "a card": {"characters/Mira.png": b"no picture"},
    "half a card": {"characters/Mira.png": stories.card_png("Mira", "Lore")[:60]},
    "a chat": {"chats/Bob/Broken.jsonl": b'{"chat_metadata": {"world_info": "Lore"'},
    "a group chat": {"group chats/Broken.jsonl": b"\xff"},
}


class TestItsBook:
    @pytest.mark.req(141, 142)
    @pytest.mark.parametrize("files", REFERRERS.values(), ids=REFERRERS.keys())
    def test_stays_while_anything_else_names_it(self, files: Files, tmp_path: Path) -> None:
        workspace = tale(tmp_path, files)

        deleted = workspace.delete("Mira/Tale")

        assert deleted.book is None
        assert deleted.kept_because
        assert "worlds/Lore.json" in read_workspace(tmp_path)

    @pytest.mark.req(142)
    @pytest.mark.parametrize("files", UNREADABLE.values(), ids=UNREADABLE.keys())
    def test_stays_while_what_may_name_it_cannot_be_read(self, files: Files, tmp_path: Path) -> None:
        workspace = tale(tmp_path, files)

        deleted = workspace.delete("Mira/Tale")

        assert deleted.book is None
        assert deleted.kept_because[0]["code"] == "unreadable"
        (sentence,) = deleted.to_json()["kept_because"]
        assert "cannot be read" in sentence or "is damaged" in sentence
        assert deleted.to_json()["kept_facts"] == list(deleted.kept_because)
        assert "worlds/Lore.json" in read_workspace(tmp_path)

    def test_goes_beside_files_that_cannot_name_any(self, tmp_path: Path) -> None:
        files = {
            "chats/Bob/Old.jsonl": b'{"user_name":"You","character_name":"Bob","create_date":"2023"}\n',
            "chats/Bob/Empty.jsonl": b"",
            "characters/Bob.png": stories.card_png("Bob"),
            "characters/notes.txt": b"?",
            **settings(world_info_settings={"world_info": {"globalSelect": ["Other"]}}),
        }
        workspace = tale(tmp_path, files)

        deleted = workspace.delete("Mira/Tale")

        assert (deleted.book, deleted.kept_because) == ("Lore", ())

    @pytest.mark.req(143)
    def test_goes_with_the_last_that_names_it(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, other_chat(world_info="Lore"))
        before = read_workspace(tmp_path)

        first, last = workspace.delete("Mira/Tale"), workspace.delete("Bob/Other")

        assert (first.book, last.book) == (None, "Lore")
        with pytest.raises(UndoRefused) as refused:  # a chat never names a missing book
            workspace.undo(first.operation)
        params = {"file": "Lore.json", "kind": "delete", "operation": last.operation}
        assert refused.value.params == {"case": "trashed", **params}
        workspace.undo(last.operation)
        workspace.undo(first.operation)
        assert read_workspace(tmp_path) == before


class TestOutOfOrder:
    @pytest.mark.req(101)
    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_deletions_are_undone_in_any_order(self, order: tuple[int, ...], kind: str, tmp_path: Path) -> None:
        workspace = tale(tmp_path, None, stories.message("Hello.", extra={"before": 1}))
        made = [getattr(workspace, kind)("Mira/Tale") for _ in range(3)]
        before = read_workspace(tmp_path)
        deleted = [workspace.delete(each.chat) for each in made]

        for which in order:
            workspace.undo(deleted[which].operation)

        now = read_workspace(tmp_path)
        if kind == "branch":  # a message has room for the link to one checkpoint only
            assert now == before
        assert now.keys() == before.keys()

    def test_a_newer_link_in_the_place_of_the_old_one_stays(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", name="A")
        deleted = workspace.delete("Mira/A")
        workspace.checkpoint("Mira/Tale", name="B")

        workspace.undo(deleted.operation)

        assert OpenChat(tmp_path, "Mira/Tale").messages[-1]["extra"] == {"bookmark_link": "B"}
        assert (tmp_path / "chats/Mira/A.jsonl").exists()

    def test_what_was_written_in_the_parent_since_stays(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="A")
        workspace.delete("Mira/A")
        parent = OpenChat(tmp_path, "Mira/Tale")
        parent.say("Later")
        parent.write()

        workspace.undo()

        parent = OpenChat(tmp_path, "Mira/Tale")
        assert parent.messages[-1]["mes"] == "Later"
        assert parent.messages[made.at]["extra"] == {"bookmark_link": "A"}

    def test_a_link_whose_message_is_gone_is_not_put_on_another_one(self, tmp_path: Path) -> None:
        messages = [stories.message(f"Turn {number}.", send_date=f"2026-11-15T18:0{number}") for number in range(4)]
        workspace = tale(tmp_path, None, *messages)
        workspace.checkpoint("Mira/Tale", name="A", at=1)
        workspace.delete("Mira/A")
        parent = OpenChat(tmp_path, "Mira/Tale")
        del parent.messages[1]
        parent.write()

        workspace.undo()

        parent = OpenChat(tmp_path, "Mira/Tale")
        assert [each["extra"] for each in parent.messages] == [{}, {}, {}]
        assert parent.metadata["auto_recap"] == {"checkpoint_lorebook_map": {"A": "Lore__CP_A"}}

    def test_is_refused_while_the_parent_is_in_the_trash(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="A")
        before = read_workspace(tmp_path)
        first = workspace.delete("Mira/A")
        second = workspace.delete("Mira/Tale")

        for operation in (first.operation, made.operation):
            with pytest.raises(UndoRefused) as refused:
                workspace.undo(operation)
            params = {"file": "Tale.jsonl", "kind": "delete", "operation": second.operation}
            assert refused.value.params == {"case": "trashed", **params}
            assert f"forklore undo {second.operation}" in refused.value.action

        workspace.undo(second.operation)
        workspace.undo(first.operation)
        assert read_workspace(tmp_path) == before

    def test_is_refused_when_the_name_was_taken_since(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", name="A")
        deleted = workspace.delete("Mira/A")
        again = workspace.checkpoint("Mira/Tale", name="A")
        before = read_workspace(tmp_path)

        with pytest.raises(UndoRefused) as refused:
            workspace.undo(deleted.operation)

        assert f"forklore undo {again.operation}" in refused.value.action
        assert read_workspace(tmp_path) == before

    def test_is_refused_when_somebody_else_took_the_name(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", name="A")
        deleted = workspace.delete("Mira/A")
        write_workspace(tmp_path, {"chats/Mira/A.jsonl": b"{}"})
        before = read_workspace(tmp_path)

        with pytest.raises(UndoRefused) as refused:
            workspace.undo(deleted.operation)

        assert refused.value.params == {"case": "taken", "path": "chats/Mira/A.jsonl"}

        assert read_workspace(tmp_path) == before


def with_free_clone(root: Path, files: Files) -> Forklore:
    """Return a workspace with *files* in which nobody names the clone that we made for a checkpoint."""
    workspace = tale(root)
    workspace.checkpoint("Mira/Tale", name="A")
    (root / "chats/Mira/A.jsonl").unlink()
    write_workspace(root, files)
    return workspace


class TestCleanup:
    def test_is_not_done_again_while_something_cannot_be_read(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        workspace.checkpoint("Mira/Tale", name="A")
        (tmp_path / "chats/Mira/A.jsonl").unlink()
        workspace.cleanup(apply=True)
        undone = workspace.undo()
        write_workspace(tmp_path, {"settings.json": b"{"})

        with pytest.raises(UndoRefused) as refused:
            workspace.undo(undone.operation)
        reason = {"code": "unreadable", "params": {"case": "settings"}}
        assert refused.value.params == {"case": "maybe_in_use", "lorebook": "Lore__CP_A", "reason": reason}

        (tmp_path / "settings.json").unlink()
        workspace.undo(undone.operation)
        assert not (tmp_path / "worlds/Lore__CP_A.json").exists()

    @pytest.mark.req(139, 140, 143, 144)
    def test_lists_clones_nobody_names_and_map_entries_of_vanished_chats(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, {"worlds/Old__BR_Sea.json": stories.lorebook_bytes([]), "worlds/Mine.json": b"{}"})
        made = workspace.checkpoint("Mira/Tale", name="A")
        kept = workspace.checkpoint("Mira/Tale", name="B")
        (tmp_path / "chats/Mira/A.jsonl").unlink()
        before = read_workspace(tmp_path)

        listed = workspace.cleanup().to_json()

        assert [book["name"] for book in listed["books"]] == ["Lore__CP_A"]
        assert listed["books"][0]["from"] == f"Lore (checkpoint “Mira/A”, operation {made.operation})"
        origin = {"lorebook": "Lore", "kind": "checkpoint", "chat": "Mira/A", "operation": made.operation}
        assert listed["books"][0]["origin"] == origin
        assert listed["map_entries"] == [{"chat": "Mira/Tale", "fork": "A", "book": "Lore__CP_A"}]
        assert listed["operation"] is None
        assert read_workspace(tmp_path) == before

        cleaned = workspace.cleanup(apply=True)

        now = read_workspace(tmp_path)
        assert before.keys() - now.keys() == {"worlds/Lore__CP_A.json"}
        assert OpenChat(tmp_path, "Mira/Tale").metadata["auto_recap"]["checkpoint_lorebook_map"] == {"B": kept.lorebook}
        assert cleaned.operation == workspace.log().operations[0].id
        workspace.undo()
        assert read_workspace(tmp_path) == before

    @pytest.mark.req(139, 140)
    def test_of_named_books_only_the_free_ones_go_and_no_chat_is_edited(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        for name in ("A", "B", "C"):
            workspace.checkpoint("Mira/Tale", name=name)
        for name in ("A", "B"):
            (tmp_path / f"chats/Mira/{name}.jsonl").unlink()
        before = read_workspace(tmp_path)

        nothing = workspace.cleanup(apply=True, books=["Lore__CP_C", "Lore"])
        assert nothing.operation is None
        assert read_workspace(tmp_path) == before
        cleaned = workspace.cleanup(apply=True, books=["Lore__CP_B", "Lore__CP_C"])

        assert [book.name for book in cleaned.books] == ["Lore__CP_B"]
        now = read_workspace(tmp_path)
        assert before.keys() - now.keys() == {"worlds/Lore__CP_B.json"}
        assert all(before[path] == now[path] for path in now.keys() & before.keys())

    @pytest.mark.req(139)
    @pytest.mark.parametrize("days", [0, 1, 40])
    def test_a_clone_is_as_old_as_the_operation_that_made_it(self, days: int, tmp_path: Path) -> None:
        workspace = with_free_clone(tmp_path, {})
        made = workspace.log().operations[0]
        when = datetime.fromisoformat(made.when)
        log = tmp_path / f".forklore/operations/{made.id}.json"
        earlier = (when - timedelta(days=days, hours=1)).isoformat()
        log.write_text(log.read_text().replace(f'"{made.when}"', f'"{earlier}"'))
        os.utime(tmp_path / "worlds/Lore__CP_A.json", (0, 0))  # when it was last written is another matter

        (book,) = workspace.cleanup().to_json()["books"]

        assert book == {
            "name": "Lore__CP_A",
            "size": (tmp_path / "worlds/Lore__CP_A.json").stat().st_size,
            "age_days": days,
            "from": f"Lore (checkpoint “Mira/A”, operation {made.id})",
            "origin": {"lorebook": "Lore", "kind": "checkpoint", "chat": "Mira/A", "operation": made.id},
        }

    @pytest.mark.req(139)
    def test_a_clone_of_an_operation_without_a_time_is_as_old_as_its_file(self, tmp_path: Path) -> None:
        workspace = with_free_clone(tmp_path, {})
        made = workspace.log().operations[0]
        log = tmp_path / f".forklore/operations/{made.id}.json"
        log.write_text(log.read_text().replace(f'"{made.when}"', '"once upon a time"'))
        written = time.time() - 3.5 * 24 * 60 * 60
        os.utime(tmp_path / "worlds/Lore__CP_A.json", (written, written))

        assert [book.age_days for book in workspace.cleanup().books] == [3]

    @pytest.mark.req(139, 143)
    @pytest.mark.parametrize("vanished", [[], ["A"], ["B"], ["A", "B"], ["A", "B", "C"]])
    def test_lists_exactly_the_clones_we_made_that_nobody_names_any_more(
        self, vanished: list[str], tmp_path: Path
    ) -> None:
        strangers = {f"worlds/{name}.json": stories.lorebook_bytes([]) for name in ("Lore__CP_Mine", "Old__BR_Sea")}
        workspace = tale(tmp_path, strangers)
        made = {name: workspace.checkpoint("Mira/Tale", name=name) for name in ("A", "B", "C")}
        for name in vanished:
            (tmp_path / f"chats/Mira/{name}.jsonl").unlink()
        before = read_workspace(tmp_path)

        cleaned = workspace.cleanup(apply=True)

        assert [book.name for book in cleaned.books] == [made[name].lorebook for name in vanished]
        assert [book.origin["params"]["operation"] for book in cleaned.books] == [
            made[name].operation for name in vanished
        ]
        now = read_workspace(tmp_path)
        assert before.keys() - now.keys() == {f"worlds/{made[name].lorebook}.json" for name in vanished}
        mapped = OpenChat(tmp_path, "Mira/Tale").metadata["auto_recap"].get("checkpoint_lorebook_map", {})
        assert mapped == {name: each.lorebook for name, each in made.items() if name not in vanished}

    @pytest.mark.req(138, 142, 143)
    def test_a_clone_goes_with_the_last_chat_that_names_it(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="A")
        clone = tmp_path / f"worlds/{made.lorebook}.json"
        write_workspace(tmp_path, other_chat(world_info=made.lorebook))
        (tmp_path / "chats/Mira/A.jsonl").unlink()

        still_named = workspace.cleanup(apply=True)
        assert (still_named.books, clone.exists()) == ((), True)
        assert [entry.fork for entry in still_named.map_entries] == ["A"]
        (tmp_path / "chats/Bob/Other.jsonl").unlink()
        assert clone.exists()  # nothing goes unasked

        assert [book.name for book in workspace.cleanup(apply=True).books] == [made.lorebook]
        assert not clone.exists()

    @pytest.mark.req(144)
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_every_look_tells_of_a_chat_that_vanished(self, kind: str, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = getattr(workspace, kind)("Mira/Tale")
        name = made.chat.partition("/")[2]
        assert (workspace.verify("Mira/Tale").findings, workspace.doctor().findings) == ((), ())
        (tmp_path / f"chats/{made.chat}.jsonl").unlink()

        verified, examined, listed = workspace.verify("Mira/Tale"), workspace.doctor(), workspace.cleanup()

        assert {finding.code: dict(finding.params) for finding in verified.findings} == {
            "LINK_DANGLING": {"links": [{"at": 3, "chat": name}], "more": 0},
            "MAP_STALE": {"chats": [name], "more": 0},
        }
        assert [(each.finding.code, each.where) for each in examined.findings] == [
            ("LINK_DANGLING", "Mira/Tale"),
            ("MAP_STALE", "Mira/Tale"),
            ("CLONE_UNUSED", f"worlds/{made.lorebook}.json"),
        ]
        assert [(entry.chat, entry.fork, entry.book) for entry in listed.map_entries] == [
            ("Mira/Tale", name, made.lorebook)
        ]
        assert [book.name for book in listed.books] == [made.lorebook]

    @pytest.mark.req(139)
    def test_a_recorded_clone_of_another_name_is_one(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)
        made = workspace.checkpoint("Mira/Tale", name="A")
        log = tmp_path / f".forklore/operations/{made.operation}.json"
        log.write_text(log.read_text().replace("worlds/Lore__CP_A.json", "worlds/Renamed.json"))
        (tmp_path / "worlds/Lore__CP_A.json").rename(tmp_path / "worlds/Renamed.json")

        assert [book.name for book in workspace.cleanup().books] == ["Renamed"]

    @pytest.mark.req(141, 142)
    @pytest.mark.parametrize("files", REFERRERS.values(), ids=REFERRERS.keys())
    def test_a_clone_that_anything_names_is_not_listed(self, files: Files, tmp_path: Path) -> None:
        named = {
            path: content.replace(b'"Lore', b'"Lore__CP_A').replace(b'"LORE', b'"LORE__CP_A')
            for path, content in files.items()
            if not path.endswith(".png")
        }
        if len(named) < len(files):
            named["characters/Mira.png"] = stories.card_png("Mira", "Lore__CP_A")
        workspace = with_free_clone(tmp_path, named)

        assert workspace.cleanup(apply=True).books == ()

    @pytest.mark.parametrize("files", UNREADABLE.values(), ids=UNREADABLE.keys())
    def test_no_clone_is_free_while_something_cannot_be_read(self, files: Files, tmp_path: Path) -> None:
        workspace = with_free_clone(tmp_path, files)

        shown = workspace.cleanup(apply=True, books=["Lore__CP_A"])

        assert (shown.books, shown.operation) == ((), None)
        assert shown.kept_because

    @pytest.mark.req(139)
    def test_a_book_that_only_looks_like_a_clone_is_the_users(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path, {"worlds/Party__CP_ideas.json": b"{}"})

        assert workspace.cleanup(apply=True).books == ()
        assert [each.finding.code for each in workspace.doctor().findings] == ["LOREBOOK_UNREADABLE"]

    def test_of_a_tidy_workspace_does_nothing(self, tmp_path: Path) -> None:
        workspace = tale(tmp_path)

        assert workspace.cleanup(apply=True).to_json() == {
            "books": [],
            "map_entries": [],
            "kept_because": [],
            "kept_facts": [],
            "operation": None,
        }
        assert not (tmp_path / ".forklore").exists()

    def test_map_entries_alone_are_one_operation(self, tmp_path: Path) -> None:
        mapping = {"Gone": "Lore", "Tale": "Lore", "Also gone": "Lore"}
        workspace = tale(tmp_path, None, auto_recap={"checkpoint_lorebook_map": mapping, "other": 1})
        before = read_workspace(tmp_path)

        shown = workspace.cleanup(apply=True)

        assert [entry.fork for entry in shown.map_entries] == ["Gone", "Also gone"]
        assert OpenChat(tmp_path, "Mira/Tale").metadata["auto_recap"] == {
            "checkpoint_lorebook_map": {"Tale": "Lore"},
            "other": 1,
        }
        workspace.undo()
        assert read_workspace(tmp_path) == before


def test_a_book_that_came_into_use_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = stories.solo_files(
        "Tale",
        {"world_info": "Lore"},
        stories.conversation(4),
        books={"Lore": stories.lorebook([stories.entry(0, "Mira")])},
    )
    opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
    made = opened.checkpoint("Mira/Tale", name="Fork")
    newcomer = tmp_path / "chats/Mira/Newcomer.jsonl"

    class Meddled(HastyDisk):
        def rename_new(self, source: Path, target: Path) -> None:
            """Let SillyTavern make a fork of the chat at the last moment."""
            if source.name == "Fork.jsonl":
                newcomer.write_bytes(source.read_bytes())
            super().rename_new(source, target)

    deleted = forklore.open(tmp_path, disk=Meddled()).delete("Mira/Fork", yes=True)

    assert (tmp_path / f"worlds/{made.lorebook}.json").exists()
    assert deleted.pending
