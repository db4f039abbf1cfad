"""Folders that a stranger prepared: a small workspace with a real history, operations that died, and bait around it.

Everything is made once by the real code, at the place where it is used later, and kept in memory: a journal may be
bound to the user's key and to where the workspace lies. A case is a copy with something in it altered.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.disk import disk as disk_module
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import write_workspace
from tests.crash.disks import Fault, PowerLoss, faulty
from tests.hostile.caging import caged, trusted
from tests.hostile.trees import Folder, Link, Seen, Tree, clear, look, read_tree, write_tree

NAME, BOOK, GROUP_NAME, GROUP_BOOK = "Tale", "Lore", "Round", "Round lore"
CHAT, GROUP_CHAT, NATIVE, BUSY = f"Mira/{NAME}", f"group:17/{GROUP_NAME}", "Mira/Tale - Branch #7", "Bob/Busy"
CHECKPOINT, BRANCH = "Mira/Kept", "Mira/Tale - Branch #1"
QUEUED = str(stories.operation(1)["id"])

CAGE = "/".join("abcdefghijklmnopqrstuvwx")
"""How deep the home folder lies: no path that climbs, in any template or test, climbs so high."""
WORKSPACE = "SillyTavern/data/default-user"
"""Where the workspace lies in the home folder."""
UP = "../" * (WORKSPACE.count("/") + 1)
"""What leads from the workspace to the home folder."""

SECRET = "moonflower-seven-"
"""How every text begins that stands in a file outside; nothing we write knows it."""


# --- the world around a workspace ---------------------------------------------------------------------------------


def secret(what: str) -> str:
    """Return the text that only one file outside holds."""
    return f"{SECRET}{what}"


def _chat_outside(what: str) -> bytes:
    metadata = {"integrity": secret(f"{what}-integrity"), "world_info": secret(f"{what}-book")}
    return stories.chat_bytes(metadata, [stories.message(secret(f"{what}-said")), stories.message("Yes.", user=True)])


def _book_outside(what: str) -> bytes:
    return stories.lorebook_bytes([stories.entry(0, secret(f"{what}-entry"), secret(f"{what}-content"))])


_OTHER = "SillyTavern/data/other-user"
BAIT: Tree = {
    "diary.txt": f"Dear diary, {secret('diary')}.\n".encode(),
    "diary.json": json.dumps({"format": 1, "note": secret("note"), "files": ["x"], "policy": "strict"}).encode(),
    ".config/autostart/existing.desktop": f"[Desktop Entry]\nName={secret('autostart')}\n".encode(),
    "Documents/tax/2026.txt": secret("tax").encode(),
    "Documents/letters/mother.txt": secret("letter").encode(),
    "Documents/letters/journal.json": json.dumps({"dear": secret("journal")}).encode(),
    "Documents/empty": Folder(),
    "Stories/whispered.jsonl": _chat_outside("whispered"),
    f"Stories/{SECRET}only-in-a-name.jsonl": _chat_outside("named"),
    "Books/other.json": _book_outside("other"),
    f"Books/{BOOK}.json": _book_outside("namesake"),
    "Books/way-out.json": Link("../diary.json"),
    "Groups/17.json": stories.group_bytes("17", [GROUP_NAME, secret("group-chat")]),
    "Cards/Mira.png": stories.card_png("Mira", secret("card-book")),
    "Operations/20200101-000000-000000-aaaa.json": json.dumps(
        {"format": 1, "id": "20200101-000000-000000-aaaa", "kind": secret("operation"), "chat": CHAT, "when": "2020"}
        | {"changes": []}
    ).encode(),
    "Trash/1/0-old.jsonl": _chat_outside("trashed"),
    "Addons/index.js": f"// {secret('addon')}".encode(),
    "Addons/manifest.json": json.dumps({"version": secret("manifest")}).encode(),
    "Addons/installed.json": json.dumps({"version": secret("listed"), "files": ["index.js"]}).encode(),
    "chain": Link("diary.txt"),
    "working/here.txt": secret("here").encode(),
    f"{_OTHER}/chats/Ann/Hers.jsonl": _chat_outside("hers"),
    f"{_OTHER}/worlds/Her lore.json": _book_outside("hers"),
    f"{_OTHER}/settings.json": json.dumps({"world_info_settings": secret("settings")}).encode(),
    f"{_OTHER}/secrets.json": json.dumps({"api_key": secret("key")}).encode(),
}
"""What lies in the home folder besides the workspace."""


@dataclass(frozen=True)
class World:
    """A home folder with a workspace in it, and the state and cache folders of the one who runs Forklore."""

    base: Path

    @property
    def home(self) -> Path:
        """Everything in here but the workspace is outside."""
        return self.base / CAGE / "home"

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.home / WORKSPACE

    @property
    def state(self) -> Path:
        """The user's state folder."""
        return self.base / "state"

    @property
    def cache(self) -> Path:
        """The user's cache folder."""
        return self.base / "cache"

    def lay(self, tree: Mapping[str, Any], state: Mapping[str, Any] | None = None) -> Path:
        """Write the workspace *tree* and the *state* folder anew, with an empty cache; return the workspace."""
        with trusted():
            for folder, content in ((self.root, tree), (self.state, state or {}), (self.cache, {})):
                clear(folder)
                write_tree(folder, content)
            self.state.chmod(0o700)
        return self.root

    def lay_bait(self) -> None:
        """Write everything around the workspace anew."""
        shutil.rmtree(self.home, ignore_errors=True)
        write_tree(self.home, BAIT)
        self.root.mkdir(parents=True)

    def outside(self) -> Seen:
        """Return everything outside of workspace, state and cache as it is now; of the way there only the times."""
        seen = look(self.home, frozenset({WORKSPACE}))
        folder = self.home
        while folder != self.base:
            folder = folder.parent
            seen[f"{folder}/"] = (os.stat(folder).st_mtime_ns,)
        return seen

    def open(self, **options: Any) -> Forklore:
        """Open the workspace on a disk that does not wait."""
        return forklore.open(self.root, **{"disk": HastyDisk(), **options})


@contextmanager
def world(base: Path | None = None) -> Iterator[World]:
    """Give a world of its own, which nothing leaves; whatever looks for a home, a state or a cache finds it.

    It lies in the empty folder *base*, which stays, or in one of its own.
    """
    if base is None:
        with folder_in_memory() as folder, world(folder) as made:
            yield made
        return
    made = World(base.resolve())
    before = Path.cwd()
    with caged(made.base), pytest.MonkeyPatch.context() as environment:
        made.lay_bait()
        made.state.mkdir(exist_ok=True)
        made.cache.mkdir(exist_ok=True)
        environment.setenv("FORKLORE_STATE", str(made.state))
        environment.setenv("FORKLORE_CACHE", str(made.cache))
        environment.setenv("HOME", str(made.home))
        environment.delenv("FORKLORE_DATA", raising=False)
        environment.setattr(os, "fsync", lambda _descriptor: None)
        os.chdir(made.home / "working")
        try:
            yield made
        finally:
            os.chdir(before)


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Give a folder that goes at the end; in memory where that can be."""
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="forklore-hostile-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- a real history -----------------------------------------------------------------------------------------------


def write_stories(root: Path) -> None:
    """Write a solo story with a branch that SillyTavern made of it, a group's story, and one that is at work."""
    write_workspace(root, recap_story(NAME, BOOK))
    chat = OpenChat(root, CHAT)
    chat.say("A scene goes on.", "It ends.")
    chat.learn("character-Guest", "Somebody new.")
    chat.end_scene("The first", taken=stories.FIRST_MOMENT)
    chat.say("And then?", "And then it snowed.")
    chat.write()
    chat.fork(NATIVE.partition("/")[2], at=2, is_linked=True)
    book = stories.lorebook([stories.entry(0, "character-Mira", "She waits.")])
    group = stories.group_files(
        GROUP_NAME, {"world_info": GROUP_BOOK}, stories.conversation(3), books={GROUP_BOOK: book}
    )
    busy = stories.lorebook([stories.entry(0, "character-Bob", "He hums."), stories.queue([stories.operation(1)])])
    files = stories.solo_files(
        "Busy", {"world_info": "Busy lore"}, stories.conversation(2), folder="Bob", books={"Busy lore": busy}
    )
    write_workspace(root, {**group, **files, "characters/Mira.png": stories.card_png("Mira", "Card lore")})
    (root / "settings.json").write_bytes(stories.pretty({"world_info_settings": {"world_info": {"globalSelect": []}}}))
    (root / "secrets.json").write_bytes(stories.pretty({"api_key": secret("own-key")}))


def make_history(opened: Forklore) -> None:
    """Make forks, a deletion, an undo and a change of the settings, and install the extension."""
    opened.checkpoint(CHAT, name="Kept")
    opened.branch(CHAT)
    opened.checkpoint(CHAT, name="Deleted")
    opened.delete("Mira/Deleted", yes=True)
    opened.checkpoint(CHAT, at=2, name="Undone")
    opened.undo()
    opened.change_settings(policy="standard", requirements={"NO_SCENE_BREAK": "warn"})
    opened.checkpoint(GROUP_CHAT, name="Rest")
    opened.extension("install")
    _keep_little_of_the_extension(opened.root / "extensions/forklore")


def _keep_little_of_the_extension(folder: Path) -> None:
    """Keep three of its files, so that a case is quick."""
    kept = ("index.js", "manifest.json", "pairing.json", "installed.json")
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in kept:
            path.unlink()
    listed = json.loads((folder / "installed.json").read_bytes())
    (folder / "installed.json").write_bytes(write_json(listed | {"files": ["index.js", "manifest.json"]}))


def _deleted_item(opened: Forklore) -> str:
    return next(each.item for each in opened.trash().items if each.item.endswith("0-Deleted.jsonl"))


Act = Callable[[Forklore], object]
ACTS: dict[str, Act] = {
    "checkpoint": lambda f: f.checkpoint(CHAT, name="Dying"),
    "group-checkpoint": lambda f: f.checkpoint(GROUP_CHAT, name="Dying round"),
    "undo": lambda f: f.undo(_operation_of(f, "branch")),
    "delete": lambda f: f.delete(CHECKPOINT, yes=True),
    "restore": lambda f: f.restore(_deleted_item(f)),
    "cancel": lambda f: f.queue(BUSY, cancel=[QUEUED]),
    "settings": lambda f: f.change_settings(policy="strict"),
    "isolate": lambda f: f.isolate(NATIVE),
}
"""What dies: every kind of change is among them."""
ELSEWHERE = ("checkpoint", "delete", "restore")
"""What dies once more with ``chats`` and ``worlds`` on another disk."""
_VISIBLE = ("rename_new", "exchange", "replace")
_DIES = Fault("dies", done="all")


def _operation_of(opened: Forklore, kind: str) -> str:
    return next(each.id for each in opened.log().operations if each.kind == kind)


@dataclass(frozen=True)
class Template:
    """A workspace to be altered."""

    name: str
    tree: Tree
    operation: str = ""
    """The id of the unfinished operation, if there is one."""

    @property
    def staging(self) -> str:
        """The folder of the unfinished operation."""
        return f".forklore/staging/{self.operation}"

    @property
    def journal(self) -> str:
        """The path of the journal."""
        return f"{self.staging}/journal.json"


@dataclass(frozen=True)
class Templates:
    """All templates of one world, and the state folder of the user who made them."""

    history: Template
    unfinished: tuple[Template, ...]
    state: Tree
    """What the state folder held afterwards: with it an unfinished operation is one's own."""

    def of(self, name: str) -> Template:
        """Return the template called *name*."""
        return next(each for each in (self.history, *self.unfinished) if each.name == name)

    def dying(self, act: str, *, is_committed: bool) -> Template:
        """Return an operation that died right before, or right after, the change that counts."""
        fitting = [each for each in self.unfinished if each.name.startswith(f"{act}/")]
        journals = [json.loads(_bytes(each.tree[each.journal])) for each in fitting]
        for each, journal in zip(fitting, journals, strict=True):
            if _is_committed(each.tree, journal) == is_committed:
                return each
        raise AssertionError(f"{act} never died {'after' if is_committed else 'before'} its commit")


def _bytes(node: object) -> bytes:
    assert isinstance(node, bytes)
    return node


def _is_committed(tree: Tree, journal: Mapping[str, Any]) -> bool:
    change = journal["changes"][journal["commit"]]
    if change["do"] == "trash":
        return change["path"] not in tree
    if change["do"] == "edit":
        return bool(len(_bytes(tree[change["path"]])) != change["expected"][0])
    return change["path"] in tree and change.get("staged", f".forklore/trash/{change.get('item')}") not in tree


def make_templates(made: World) -> Templates:
    """Make every template of a world, with the real code."""
    made.lay({})
    write_stories(made.root)
    make_history(made.open())
    history, state = read_tree(made.root), read_tree(made.state)
    unfinished = []
    for name, act in ACTS.items():
        unfinished += list(_deaths(made, f"{name}/", act, history, state))
    for name in ELSEWHERE:
        with _other_disk("chats", "worlds"):
            unfinished += list(_deaths(made, f"{name}-elsewhere/", ACTS[name], history, state))
    return Templates(Template("history", history), tuple(unfinished), state)


def _deaths(made: World, name: str, act: Act, history: Tree, state: Tree) -> Iterator[Template]:
    """Let an operation die after each visible step, and keep what it leaves."""
    counting = faulty()
    made.lay(history, state)
    act(made.open(disk=counting))
    known: set[int] = set()
    for step in (number for number, what in enumerate(counting.steps) if what in _VISIBLE):
        made.lay(history, state)
        with suppress(PowerLoss):
            act(made.open(disk=faulty(HastyDisk, _DIES, step)))
        tree = read_tree(made.root)
        left = [path.split("/")[2] for path in tree if path.startswith(".forklore/staging/")]
        if left and f".forklore/staging/{left[0]}/journal.json" in tree and _told(tree, left[0]) not in known:
            known.add(_told(tree, left[0]))
            yield Template(f"{name}{step}", tree, left[0])


def _told(tree: Tree, operation: str) -> int:
    """Return what tells two deaths apart: which files there are, and how long each one is."""
    sizes = {path.replace(operation, ""): len(node) if isinstance(node, bytes) else 0 for path, node in tree.items()}
    return hash(frozenset(sizes.items()))


@contextmanager
def _other_disk(*folders: str) -> Iterator[None]:
    """Let some folders of every workspace count as lying on another disk."""
    usual = disk_module._disk_of

    def of(folder: Path) -> tuple[int, str]:
        device, mount = usual(folder)
        return (device, "another") if set(folders) & set(Path(folder).parts) else (device, mount)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk_module, "_disk_of", of)
        yield


# --- altering -----------------------------------------------------------------------------------------------------


def read_json(tree: Tree, path: str) -> Any:
    """Return the JSON at a path of a tree."""
    return json.loads(_bytes(tree[path]))


def write_json(value: object) -> bytes:
    """Return JSON as a stranger's editor writes it."""
    return json.dumps(value, indent=1).encode()


def operations_of(tree: Tree) -> list[str]:
    """Return the paths of the operations in the log of a tree, oldest first."""
    return sorted(path for path in tree if path.startswith(".forklore/operations/") and path.endswith(".json"))


def operation_file(tree: Tree, kind: str) -> str:
    """Return the path of the first operation of a *kind*."""
    return next(path for path in operations_of(tree) if read_json(tree, path)["kind"] == kind)


def items_of(tree: Tree) -> list[str]:
    """Return what is in the trash of a tree."""
    start = ".forklore/trash/"
    return sorted(
        path.removeprefix(start) for path, node in tree.items() if path.startswith(start) and node != Folder()
    )
