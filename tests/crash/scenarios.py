"""The operations that accidents happen to, the stories they are made on, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from forklore.app import fork as forking
from forklore.app.forklore import Forklore
from forklore.app.open import _outside
from forklore.app.undo import OperationNotFound
from forklore.checks.settings import Settings
from forklore.disk import disk
from forklore.disk.disk import Disk
from forklore.disk.transaction import staging
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import write_workspace

NAME = "Mira - 2026-11-15@18h36m13s"
CHAT = f"Mira/{NAME}"
GROUP_CHAT = f"group:17/{NAME}"
BOOK = "z-AutoLB-Mira"
BRANCH_NAME = f"{NAME} - Branch #1"
BRANCH = f"Mira/{BRANCH_NAME}"
"""A branch that SillyTavern made."""
COPY_NAME = f"{NAME} imported"
COPY = f"Mira/{COPY_NAME}"
"""A copy of the main chat."""

Files = dict[str, bytes]


def treat_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every story treated as a long one: copied ahead of the plan, by threads, in pieces."""
    monkeypatch.setattr(forking, "_LARGE", 0)
    monkeypatch.setattr(staging, "_SMALL", 0)
    monkeypatch.setattr(staging, "_LARGE", 0)
    monkeypatch.setattr(disk, "_MANY", 1)
    monkeypatch.setattr(disk, "_PIECE", 8 << 10)
    monkeypatch.setattr(os, "major", lambda _device: 8, raising=False)


# --- stories ------------------------------------------------------------------------------------------------------


def write_story(root: Path) -> None:
    """Write a story of three scenes and a bit, with a lorebook that grew from scene to scene."""
    write_workspace(root, recap_story(NAME, BOOK))
    chat = OpenChat(root, CHAT)
    for number in range(3):
        chat.say(f"Scene {number} goes on.", f"Scene {number} ends. " + "Snow. " * 40)
        chat.learn(f"character-Guest {number}", "Somebody new. " * 20)
        chat.end_scene(f"Scene {number}", taken=stories.FIRST_MOMENT + number)
    chat.say("And then?", "And then it snowed.")
    chat.write()


def write_busy_story(root: Path) -> None:
    """Write the same story while ST-Auto-Recap is at work."""
    write_story(root)
    chat = OpenChat(root, CHAT)
    chat.set_queue(stories.operation(1), stories.operation(2, "in_progress"))
    chat.write()


def write_bookless_story(root: Path) -> None:
    """Write a story without a lorebook."""
    write_workspace(root, stories.solo_files(NAME, {"integrity": "a"}, stories.conversation(5)))


def write_group_story(root: Path) -> None:
    """Write a story of a group."""
    book = stories.lorebook([stories.entry(0, "character-Mira", "She waits. " * 20)])
    metadata = {"integrity": "a", "world_info": BOOK}
    write_workspace(root, stories.group_files(NAME, metadata, stories.conversation(5), books={BOOK: book}))


def write_forked_story(root: Path) -> None:
    """Write the first story with a branch that SillyTavern made of it, and that has gone on in the same lorebook."""
    write_story(root)
    OpenChat(root, CHAT).fork(BRANCH_NAME, at=4)
    branch = OpenChat(root, BRANCH)
    branch.say("Elsewhere,", "something else happens.")
    branch.end_scene(
        "Elsewhere", taken=stories.FIRST_MOMENT + 10, made=[branch.learn("character-Stranger", "He knocks.")]
    )
    branch.write()


def write_copied_story(root: Path) -> None:
    """Write the first story with a copy that was imported, and that has gone on in the same lorebook as the story."""
    write_story(root)
    OpenChat(root, CHAT).import_again(COPY_NAME)
    for chat, number in ((OpenChat(root, CHAT), 20), (OpenChat(root, COPY), 21)):
        chat.say(f"The way of {number},", "and what comes of it.")
        chat.end_scene(f"{number}", taken=stories.FIRST_MOMENT + number, made=[chat.learn(f"character-{number}", "!")])
        chat.write()


def save(path: Path, content: bytes) -> None:
    """Write a file as SillyTavern does: a temporary file beside it, synced and renamed."""
    temporary = path.with_name(f"{path.name}.1730000")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def said(content: bytes, *texts: str) -> bytes:
    """Return the bytes of a chat with more messages at its end."""
    return b"\n".join([content, *(stories.line(stories.message(text)) for text in texts)])


# --- operations ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """One operation, and what came before it."""

    name: str
    act: Callable[[Forklore], object]
    earlier: tuple[Callable[[Forklore], object], ...] = ()
    write: Callable[[Path], None] = write_story

    def __str__(self) -> str:
        return self.name

    @property
    def chat(self) -> str:
        """The chat it is about."""
        return GROUP_CHAT if self.write is write_group_story else CHAT


def undo_latest(forklore: Forklore) -> object:
    """Undo the latest operation that is not undone."""
    return forklore.undo()


def redo_latest(forklore: Forklore) -> object:
    """Undo the latest undo."""
    return forklore.undo(next(each.id for each in forklore.log().operations if each.undoes))


def cancel(forklore: Forklore) -> object:
    """Cancel an operation of ST-Auto-Recap's queue."""
    return forklore.queue(CHAT, cancel=[stories.operation(1)["id"]])


def checkpoint(forklore: Forklore) -> object:
    """Make a checkpoint at the last message."""
    return forklore.checkpoint(CHAT)


def checkpoint_of_open_chat(forklore: Forklore) -> object:
    """Make a checkpoint of a chat that SillyTavern's page has open."""
    return forklore.checkpoint(CHAT, leave_parent=True)


def page_links(forklore: Forklore) -> None:
    """Save the open chat as the page does after a checkpoint: with link and map."""
    fork = _only_fork(forklore).partition("/")[2]
    page = OpenChat(forklore.root, CHAT)
    page.messages[-1]["extra"]["bookmark_link"] = fork
    page.metadata["auto_recap"] = {"checkpoint_lorebook_map": {fork: f"{BOOK}__CP_Checkpoint_1"}}
    page.write()


def group_checkpoint(forklore: Forklore) -> object:
    """Make a checkpoint of the group chat."""
    return forklore.checkpoint(GROUP_CHAT)


def _only_fork(forklore: Forklore) -> str:
    """Return the address of the fork that was made last."""
    return next(each.chat for each in forklore.log().operations if each.kind in ("checkpoint", "branch"))


def delete_fork(forklore: Forklore) -> object:
    """Delete the latest fork."""
    return forklore.delete(_only_fork(forklore), yes=True)


def branch_of_fork(forklore: Forklore) -> object:
    """Make a branch of the checkpoint."""
    return forklore.branch(_only_fork(forklore))


def delete_parent(forklore: Forklore) -> object:
    """Delete the checkpoint that was branched."""
    return forklore.delete(forklore.log().operations[-1].chat, yes=True)


def lose_fork(forklore: Forklore) -> None:
    """Delete the chat of the latest fork as SillyTavern does: the file alone."""
    (forklore.root / "chats" / f"{_only_fork(forklore)}.jsonl").unlink()


def clean_up(forklore: Forklore) -> object:
    """Move what nobody names to the trash."""
    return forklore.cleanup(apply=True)


def restore_chat(forklore: Forklore) -> object:
    """Put the deleted chat back."""
    return forklore.restore(next(each.item for each in forklore.trash().items if each.item.endswith(".jsonl")))


def isolate(forklore: Forklore) -> object:
    """Give the branch that SillyTavern made a lorebook of its own."""
    return forklore.isolate(BRANCH)


def isolate_copy(forklore: Forklore) -> object:
    """Give the copy of the main chat a lorebook of its own."""
    return forklore.isolate(COPY)


def share(forklore: Forklore) -> object:
    """Declare the lorebook of that branch shared on purpose."""
    return forklore.isolate(BRANCH, share=True)


SCENARIOS = (
    Scenario("checkpoint", checkpoint),
    Scenario("checkpoint-in-the-past", lambda forklore: forklore.checkpoint(CHAT, at=4)),
    Scenario("second-checkpoint-at-a-message", checkpoint, (checkpoint,)),
    Scenario("branch", lambda forklore: forklore.branch(CHAT)),
    Scenario("bookless-checkpoint", checkpoint, write=write_bookless_story),
    Scenario("group-checkpoint", group_checkpoint, write=write_group_story),
    Scenario("checkpoint-of-open-chat", checkpoint_of_open_chat),
    Scenario("group-branch-of-open-chat", lambda f: f.branch(GROUP_CHAT, leave_parent=True), write=write_group_story),
    Scenario("undo", undo_latest, (checkpoint,)),
    Scenario("undo-of-open-chat", lambda f: f.undo(leave_parent=True), (checkpoint_of_open_chat,)),
    Scenario("undo-after-the-page-linked", undo_latest, (checkpoint_of_open_chat, page_links)),
    Scenario("group-undo", undo_latest, (group_checkpoint,), write_group_story),
    Scenario("redo", redo_latest, (checkpoint, undo_latest)),
    Scenario("cancel", cancel, write=write_busy_story),
    Scenario("undo-of-cancel", undo_latest, (cancel,), write_busy_story),
    Scenario("delete", delete_fork, (checkpoint,)),
    Scenario("delete-parent", delete_parent, (checkpoint, branch_of_fork)),
    Scenario("group-delete", delete_fork, (group_checkpoint,), write_group_story),
    Scenario("undo-of-delete", undo_latest, (checkpoint, delete_fork)),
    Scenario("cleanup", clean_up, (checkpoint, lose_fork)),
    Scenario("undo-of-cleanup", undo_latest, (checkpoint, lose_fork, clean_up)),
    Scenario("restore", restore_chat, (checkpoint, delete_fork)),
    Scenario("undo-of-restore", undo_latest, (checkpoint, delete_fork, restore_chat)),
    Scenario("isolate", isolate, write=write_forked_story),
    Scenario("undo-of-isolate", undo_latest, (isolate,), write_forked_story),
    Scenario("redo-of-isolate", redo_latest, (isolate, undo_latest), write_forked_story),
    Scenario("isolate-copy", isolate_copy, write=write_copied_story),
    Scenario("undo-of-isolate-copy", undo_latest, (isolate_copy,), write_copied_story),
    Scenario("share", share, write=write_forked_story),
)


# --- opening ------------------------------------------------------------------------------------------------------


class Ids:
    """Ids and a clock that are the same in every trial, so that two trials make the very same bytes."""

    def __init__(self, first: int = 1) -> None:
        """Begin with the number *first*."""
        self._numbers = count(first)

    def __call__(self) -> str:
        """Return the next id."""
        return f"{next(self._numbers):08}"


def open_with(root: Path, disk: Disk | None = None, *, first_id: int = 1) -> Forklore:
    """Open the workspace on a *disk*, without looking for what a crash left."""
    ids = Ids(first_id)
    outside = replace(
        _outside(),
        now_ms=lambda: stories.FIRST_MOMENT,
        timestamp=lambda: "2026-11-15T18:36:13.520Z",
        new_id=ids,
        new_operation_id=lambda _number: ids(),
        cache=lambda: None,
    )
    return Forklore(root, Settings(), outside, disk=disk or HastyDisk())


# --- reading ------------------------------------------------------------------------------------------------------


def _files_below(root: Path) -> list[Path]:
    """Return every file below *root*, also behind links to folders on other disks."""
    return [Path(folder, name) for folder, _, names in os.walk(root, followlinks=True) for name in names]


def read_workspace(root: Path) -> Files:
    """Return every file of a workspace by its path, without what Forklore keeps for itself but with its settings."""
    files = {path.relative_to(root).as_posix(): path for path in _files_below(root)}
    return {
        name: path.read_bytes()
        for name, path in sorted(files.items())
        if not name.startswith(".forklore/") or name == ".forklore/settings.json"
    }


# --- what must hold -----------------------------------------------------------------------------------------------


def log_of(root: Path) -> list[dict[str, Any]]:
    """Return every operation in the log, oldest first."""
    found = [json.loads(path.read_bytes()) for path in (root / ".forklore/operations").glob("*.json")]
    return sorted(found, key=lambda each: (each.get("number") or 0, each["id"]))


def assert_tidy(root: Path, *, kept: int = 0) -> None:
    """Nothing is left of an interrupted operation: nothing staged, no temporary file, nothing strange in the trash.

    There are so many files *kept* in the trash that were saves, or may have been.
    """
    files = [path.relative_to(root).as_posix() for path in _files_below(root)]
    items = {change["item"] for operation in log_of(root) for change in operation["changes"] if "item" in change}
    left = [
        file
        for file in files
        if file.startswith(".forklore/staging/") or file.endswith(".tmp") or "/.forklore-" in file
    ]
    trash = [file.removeprefix(".forklore/trash/") for file in files if file.startswith(".forklore/trash/")]
    assert left == [], f"left over: {left}"
    assert len(strange := set(trash) - items) == kept, f"in the trash: {strange}"
    assert not any((root / ".forklore/staging").glob("*"))


def undo_everything(forklore: Forklore) -> None:
    """Undo until there is nothing left to undo."""
    with suppress(OperationNotFound):
        while True:
            forklore.undo()


@dataclass(frozen=True)
class Model:
    """An operation that nothing happened to: what it is compared with."""

    scenario: Scenario
    ready: Path
    """A workspace in which everything that comes earlier is done."""
    origin: Files
    before: Files
    after: Files
    log_before: list[dict[str, Any]]
    log_after: list[dict[str, Any]]
    arrange: Callable[[Path], None]
    """Lays a workspace out in another way before each trial."""
    known: set[tuple[tuple[str, bytes], ...]] = field(default_factory=set)
    """Every workspace that was found usable: to the last byte, with what Forklore keeps for itself."""

    def trial(self, root: Path) -> Path:
        """Return a workspace in which the operation is to be made once more."""
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.ready, root)
        self.arrange(root)
        return root

    def act(self, root: Path, disk: Disk) -> object:
        """Make the operation."""
        return self.scenario.act(open_with(root, disk, first_id=100))

    def assert_all_or_nothing(self, root: Path, what: str) -> bool:
        """The operation left everything or nothing, byte by byte; return whether it left everything."""
        now, log = read_workspace(root), log_of(root)
        made = now == self.after
        assert made or now == self.before, f"{what}: {describe(self.before, now)}"
        assert log == (self.log_after if made else self.log_before), what
        assert_tidy(root)
        return made

    def assert_usable(self, root: Path) -> None:
        """A new fork can be made, and everything can be undone to the last byte; no workspace is tried twice."""
        state = tuple(sorted((path.relative_to(root).as_posix(), path.read_bytes()) for path in _files_below(root)))
        if state in self.known:
            return
        self.known.add(state)
        forklore = open_with(root, first_id=1000)
        if self.scenario.write is not write_busy_story:
            forklore.checkpoint(self.scenario.chat, name="Once more")
        undo_everything(forklore)
        assert read_workspace(root) == self.origin
        assert_tidy(root)


def model_of(scenario: Scenario, folder: Path, arrange: Callable[[Path], None] = lambda _root: None) -> Model:
    """Make the operation of a *scenario* in peace."""
    ready = folder / "ready"
    scenario.write(ready)
    origin = read_workspace(ready)
    forklore = open_with(ready)
    for act in scenario.earlier:
        act(forklore)
    before, log_before = read_workspace(ready), log_of(ready)
    done = folder / "done"
    shutil.copytree(ready, done)
    scenario.act(open_with(done, first_id=100))
    return Model(scenario, ready, origin, before, read_workspace(done), log_before, log_of(done), arrange)


def describe(expected: Files, found: Files) -> str:
    """Say in words how two workspaces differ."""
    more, less = sorted(found.keys() - expected.keys()), sorted(expected.keys() - found.keys())
    other = sorted(path for path in expected.keys() & found.keys() if expected[path] != found[path])
    return f"more: {more}, less: {less}, different: {other}"
