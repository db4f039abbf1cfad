"""Several timelines that are forked, written, undone and redone at random, beside a simple model of what they hold."""

import json
import re
import tempfile
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import forklore
from forklore.app.check import ForkBlocked
from forklore.app.fork import ForkMade
from forklore.errors import NameTaken
from forklore.planning.undo import UndoRefused
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import read_workspace, write_workspace

Entries = dict[int, tuple[str, str]]
"""The comment and the content of each entry but the queue, by UID."""


@dataclass
class Known:
    """What the model knows of one timeline."""

    book: str
    parent: str | None
    messages: list[str]
    entries: Entries
    scenes: dict[int, Entries] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    """The message each version of the running recap ends at, by its number."""
    current: int = 0
    queue: list[str] = field(default_factory=list)
    """The status of each operation."""

    @property
    def busy(self) -> bool:
        return bool({"pending", "retrying"} & set(self.queue))

    def forked(self, at: int, *, book: str, parent: str) -> "Known":
        """Return what a fork at a message has to hold."""
        fork = replace(deepcopy(self), book=book, parent=parent)
        if at < len(self.messages) - 1:
            earlier = [message for message in self.scenes if message <= at]
            fork.entries = dict(self.scenes[max(earlier)] if earlier else self.entries)
            fork.messages = self.messages[: at + 1]
            fork.scenes = {message: entries for message, entries in self.scenes.items() if message <= at}
            fork.versions = {number: ends for number, ends in self.versions.items() if ends <= at}
            if fork.current not in fork.versions:
                fork.current = max(fork.versions, default=0)
            fork.queue = []
        return fork


@dataclass
class Fork:
    """A fork that was made: the operation that makes it, or the one that undid that."""

    name: str
    known: Known
    as_made: Known
    operation: str
    is_there: bool = True

    @property
    def has_gone_on(self) -> bool:
        return self.known != self.as_made


class Timelines(RuleBasedStateMachine):
    """Every rule does one thing to the files and the same thing to the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = write_workspace(Path(self.folder.name), recap_story("Tale", "Lore"))
        self.forklore = forklore.open(self.root, disk=HastyDisk())
        mira = "character-Mira"
        first: Entries = {
            0: ("_registry_character", f"[Registry: character]\n{stories.registry_line(2, mira)}"),
            1: ("__index_characters", f"[Characters: {mira}]"),
            2: (mira, f"{mira}, as the story begins"),
        }
        self.known: dict[str, Known] = {"Tale": Known("Lore", None, ["It begins."], first)}
        self.forks: list[Fork] = []
        self.moment = 0

    def teardown(self) -> None:
        self.folder.cleanup()

    # --- what is chosen -------------------------------------------------------------------------------------------

    def chosen(self, which: int) -> tuple[str, Known]:
        name = sorted(self.known)[which % len(self.known)]
        return name, self.known[name]

    def opened(self, which: int) -> tuple[OpenChat, Known]:
        """Return a timeline as a browser holds it."""
        name, known = self.chosen(which)
        return OpenChat(self.root, f"Mira/{name}"), known

    def unique(self, what: str) -> str:
        self.moment += 1
        return f"{what} {self.moment}"

    # --- what people and programs write ---------------------------------------------------------------------------

    @rule(which=st.integers(0, 9), count=st.integers(1, 3))
    def a_timeline_goes_on(self, which: int, count: int) -> None:
        chat, known = self.opened(which)
        said = [self.unique("Turn") for _ in range(count)]
        chat.say(*said)
        known.messages += said
        chat.write()

    @rule(which=st.integers(0, 9), number=st.integers(0, 30))
    def a_message_is_reworded(self, which: int, number: int) -> None:
        chat, known = self.opened(which)
        number %= len(known.messages)
        known.messages[number] = self.unique("Reworded")
        chat.reword(number, known.messages[number])
        chat.write()

    @rule(which=st.integers(0, 9))
    def an_entry_is_added(self, which: int) -> None:
        chat, known = self.opened(which)
        name, content = self.unique("character-Somebody"), self.unique("knows")
        uid = next(number for number in range(1000) if number not in known.entries)
        assert chat.learn(name, content) == uid
        known.entries[uid] = (name, content)
        comment, listed = known.entries[0]
        known.entries[0] = (comment, f"{listed}\n{stories.registry_line(uid, name)}")
        chat.write()

    @rule(which=st.integers(0, 9))
    def an_entry_changes(self, which: int) -> None:
        chat, known = self.opened(which)
        comment, _ = known.entries[2]
        known.entries[2] = (comment, self.unique("changed"))
        chat.entries["2"]["content"] = known.entries[2][1]
        chat.write()

    @rule(which=st.integers(0, 9))
    def a_scene_ends(self, which: int) -> None:
        chat, known = self.opened(which)
        last = len(known.messages) - 1
        chat.end_scene(self.unique("Scene"), taken=self.moment)
        known.scenes[last] = dict(known.entries)
        known.current = max(known.versions, default=-1) + 1
        known.versions[known.current] = last
        chat.write()

    @rule(which=st.integers(0, 9), number=st.integers(0, 9))
    def another_version_is_selected(self, which: int, number: int) -> None:
        chat, known = self.opened(which)
        if known.versions:
            known.current = sorted(known.versions)[number % len(known.versions)]
            chat.metadata["auto_recap_running_scene_recaps"]["current_version"] = known.current
        chat.write()

    @rule(which=st.integers(0, 9), statuses=st.lists(st.sampled_from(["pending", "retrying", "cancelled", "failed"])))
    def the_queue_changes(self, which: int, statuses: list[str]) -> None:
        chat, known = self.opened(which)
        chat.set_queue(*(stories.operation(number, status) for number, status in enumerate(statuses)))
        known.queue = statuses
        chat.write()

    # --- what Forklore does ---------------------------------------------------------------------------------------

    @rule(which=st.integers(0, 9), at=st.none() | st.integers(0, 30), kind=st.sampled_from(["checkpoint", "branch"]))
    def a_timeline_is_forked(self, which: int, at: int | None, kind: str) -> None:
        name, known = self.chosen(which)
        at = len(known.messages) - 1 if at is None else at % len(known.messages)
        before = read_workspace(self.root)
        try:
            made: ForkMade = getattr(self.forklore, kind)(f"Mira/{name}", at=at)
        except ForkBlocked:
            assert known.busy
            assert read_workspace(self.root) == before
            return
        assert not known.busy
        fork = made.chat.partition("/")[2]
        assert fork not in self.known
        assert made.lorebook is not None
        self.known[fork] = known.forked(at, book=made.lorebook, parent=name)
        self.forks.append(Fork(fork, self.known[fork], deepcopy(self.known[fork]), made.operation))

    @precondition(lambda self: any(fork.is_there for fork in self.forks))
    @rule(which=st.integers(0, 30))
    def a_fork_is_undone(self, which: int) -> None:
        there = [fork for fork in self.forks if fork.is_there]
        fork = there[which % len(there)]
        has_children = any(known.parent == fork.name for known in self.known.values())
        before = read_workspace(self.root)
        try:
            fork.operation = self.forklore.undo(fork.operation).operation
        except UndoRefused:
            assert fork.has_gone_on or has_children
            assert read_workspace(self.root) == before
            return
        assert not fork.has_gone_on
        assert not has_children
        fork.is_there = False
        del self.known[fork.name]

    @precondition(lambda self: any(not fork.is_there for fork in self.forks))
    @rule(which=st.integers(0, 30))
    def an_undo_is_undone(self, which: int) -> None:
        gone = [fork for fork in self.forks if not fork.is_there]
        fork = gone[which % len(gone)]
        books = {known.book for known in self.known.values()}
        before = read_workspace(self.root)
        try:
            fork.operation = self.forklore.undo(fork.operation).operation
        except NameTaken:
            assert fork.name in self.known or fork.known.book in books
            assert read_workspace(self.root) == before
            return
        fork.is_there = True
        self.known[fork.name] = fork.known

    # --- what always holds ----------------------------------------------------------------------------------------

    @invariant()
    def there_are_exactly_the_files_of_the_timelines(self) -> None:
        expected = {f"chats/Mira/{name}.jsonl" for name in self.known}
        expected |= {f"worlds/{known.book}.json" for known in self.known.values()}

        assert set(read_workspace(self.root)) == expected

    @invariant()
    def no_two_timelines_share_a_book(self) -> None:
        books = [OpenChat(self.root, f"Mira/{name}").metadata["world_info"] for name in self.known]

        assert len(set(books)) == len(books)

    @invariant()
    def every_timeline_holds_what_the_model_says_and_nothing_else(self) -> None:
        for name, known in self.known.items():
            chat = OpenChat(self.root, f"Mira/{name}")
            assert [message["mes"] for message in chat.messages] == known.messages
            assert chat.metadata["world_info"] == chat.metadata["auto_lorebooks"]["lorebookName"] == known.book
            assert chat.metadata.get("main_chat") == known.parent
            assert scenes_of(chat) == known.scenes
            recap = chat.metadata["auto_recap_running_scene_recaps"]
            assert {each["version"]: each["new_scene_index"] for each in recap["versions"]} == known.versions
            assert (recap["current_version"], recap["chat_id"]) == (known.current, name)
            assert entries_of(chat.entries.values()) == known.entries
            listed = {int(uid) for uid in re.findall(r"UID=(\d+)", known.entries[0][1])}
            assert {int(uid) for uid in chat.metadata["auto_lorebooks"]["registry"]["index"]} == listed
            queue = json.loads(chat.entries[str(stories.QUEUE_UID)]["content"])["queue"]
            assert [operation["status"] for operation in queue] == known.queue

    @invariant()
    def the_map_of_a_timeline_tells_the_truth_about_its_forks(self) -> None:
        for name in self.known:
            space = OpenChat(self.root, f"Mira/{name}").metadata.get("auto_recap", {})
            for fork, book in space.get("checkpoint_lorebook_map", {}).items():
                assert self.known[fork].parent == name
                assert self.known[fork].book == book

    @invariant()
    def the_tree_shows_every_timeline(self) -> None:
        shown = {
            timeline.chat.partition("/")[2]: timeline
            for story in self.forklore.stories().stories
            for timeline in story.timelines
        }

        assert set(shown) == set(self.known)
        for name, known in self.known.items():
            assert shown[name].isolated
            assert shown[name].messages == len(known.messages)
            assert shown[name].parent == (f"Mira/{known.parent}" if known.parent in self.known else None)


def entries_of(entries: Any) -> Entries:
    return {
        entry["uid"]: (entry["comment"], entry["content"])
        for entry in entries
        if entry["comment"] != "__operation_queue"
    }


def scenes_of(chat: OpenChat) -> dict[int, Entries]:
    memories = ((number, message["extra"].get("auto_recap_memory")) for number, message in enumerate(chat.messages))
    return {
        number: entries_of(memory["scene_recap_metadata"]["1"]["allEntries"]) for number, memory in memories if memory
    }


TestTimelines = pytest.mark.req(2, 4, 5, 40, 94, 126, 130, 131, 132, 133, 134, 135, 155, 160, 162, 163, 164)(
    Timelines.TestCase
)
all_of_them = settings.default.max_examples if settings.default is not None else 100
TestTimelines.settings = settings(max_examples=all_of_them // 4, stateful_step_count=25)
