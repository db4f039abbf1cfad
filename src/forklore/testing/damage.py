"""Workspaces with thousands of timelines, a few of them damaged in every way the doctor knows.

Equal arguments make equal workspaces. Every damage has a story of its own, so that one never hides another, and what
was planted is told exactly. A finding stands where the person has to look: at a chat, unless the file is no chat.

What each planting implies besides the finding it is named after:

- ``LEGACY_FORK`` that names its parent's book: ``SHARED_LOREBOOK`` at both. One with a book of its own: nothing.
- ``SHARED_LOREBOOK`` stands at everybody who shares a book. A fork that was given its sibling's book:
  ``LOREBOOK_MISMATCH`` as well, since its record names another one.
- ``INHERITED_STATE`` with a book: ``SHARED_LOREBOOK`` at both forks. It stands for ``LEGACY_FORK``.
- ``INTEGRITY_DUPLICATE`` stands at the copy of a main. One with a book: ``SHARED_LOREBOOK`` at both as well.
- A fork deleted in SillyTavern: ``LINK_DANGLING`` and ``MAP_STALE`` at its parent, and ``CLONE_UNUSED``.
- ``CHAT_RENAMED`` stands at a renamed fork; a renamed main has no identity of its own that could tell. The children of
  whatever was renamed: ``PARENT_MISSING``. The parent of a renamed fork: ``LINK_DANGLING`` and ``MAP_STALE``.
- A lorebook that was renamed: ``LOREBOOK_MISSING``.
- ``LINK_PENDING`` stands at the fork, ``MAP_STALE`` and ``LINK_DANGLING`` at the chat that has the map or the link,
  ``QUEUE_*``, ``REGISTRY_BROKEN`` and ``LOREBOOK_UNREADABLE`` at the chat that names the book.
- ``CLONE_UNUSED`` stands at the book, ``GROUP_CHAT_MISSING`` at the group's file, ``GROUP_CHAT_UNLISTED`` at the
  chat, ``OPERATION_LEFTOVER`` and ``OPERATION_FOREIGN`` at the folder in ``staging``.

What looks like damage and is none: forks that went on, with more messages, entries and recap versions than recorded;
native forks without a book; stories that share one book on purpose; a fork whose parent lost the link; a busy queue;
leftovers of a finished queue; books that nobody names and that Forklore did not make, whatever they are called; clones
that only the settings, a card or a persona name; a missing book whose bytes another chat's book happens to have (that
is no renamed book); headers of older SillyTaverns; line breaks at the end.
"""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from forklore.model.timeline import mark_of
from forklore.testing import stories
from forklore.testing.stories import FIRST_MOMENT, Json


class Planted(NamedTuple):
    """A finding that is to be made: its code, and the chat's address or the file's path in the workspace."""

    code: str
    where: str


def write_damaged_workspace(root: Path, *, timelines: int = 3000, seed: int = 0) -> list[Planted]:
    """Write a workspace of about so many timelines and return everything that is to be found in it."""
    files, planted = damaged_files(timelines=timelines, seed=seed)
    stories.write_workspace(root, {})
    for folder in {path.rpartition("/")[0] for path in files}:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        (root / path).write_bytes(content)
    return planted


def damaged_files(*, timelines: int = 3000, seed: int = 0) -> tuple[dict[str, bytes], list[Planted]]:
    """Return the files of such a workspace, and what is to be found in it."""
    made = _Workspace(seed)
    for _ in range(max(2, timelines // 1000)):
        for damage in _DAMAGES:
            damage(made)
        _shared_stories(made)
    _plant_referrers(made)
    healthy = (_recap_story, _plain_story, _bookless_story, _group_story, _lone_story)
    while len(made.chats) < timelines:
        made.chance.choice(healthy)(made)
    return made.files(), sorted(set(made.planted))


# --- lorebooks ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _entry_text(uid: int, comment: str, content: str) -> str:
    """Return an entry as it stands in its book; most books share most of theirs, so this is seldom worked out."""
    text = stories.pretty(stories.entry(uid, comment, content)).decode()
    return f'        "{uid}": ' + text.replace("\n", "\n        ")


def _special_text(entry: Json) -> str:
    return f'        "{entry["uid"]}": ' + stories.pretty(entry).decode().replace("\n", "\n        ")


@dataclass(frozen=True)
class _Book:
    """A lorebook, as far as it matters here."""

    about: str
    """Makes its bytes unlike those of any other book."""
    people: int = 1
    queues: tuple[str, ...] = ()
    """The contents of its queue entries; none: a book without ST-Auto-Recap."""
    registered: tuple[tuple[int, str], ...] = ()
    """Lines of the registry that are wrong."""

    def render(self) -> bytes:
        texts = [_entry_text(1, "world", self.about)]
        texts += [_entry_text(2 + number, _person(number), "Somebody. " * 5) for number in range(self.people)]
        if self.queues:
            listed = [*((2 + number, _person(number)) for number in range(self.people)), *self.registered]
            lines = tuple(stories.registry_line(uid, name) for uid, name in listed)
            texts.append(_registry_text(lines))
            texts += [_queue_text(content, number) for number, content in enumerate(self.queues)]
        return ('{\n    "entries": {\n' + ",\n".join(texts) + "\n    }\n}").encode()


@lru_cache(maxsize=256)
def _registry_text(lines: tuple[str, ...]) -> str:
    return _special_text(stories.registry(0, "character", lines))


@lru_cache(maxsize=64)
def _queue_text(content: str, number: int) -> str:
    return _special_text({**stories.queue(uid=stories.QUEUE_UID + number), "content": content})


def _person(number: int) -> str:
    return f"character-Guest {number}"


_IDLE = (stories.queue_content(),)


# --- chats --------------------------------------------------------------------------------------------------------


@dataclass
class _Chat:
    folder: str
    name: str
    metadata: Json
    messages: list[Json]
    header: Json = field(default_factory=dict)
    ending: bytes = b""
    content: bytes | None = None
    """What is written instead of the above."""

    @property
    def address(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def path(self) -> str:
        folder = "group chats" if self.folder.startswith("group:") else f"chats/{self.folder}"
        return f"{folder}/{self.name}.jsonl"

    @property
    def last(self) -> int:
        return len(self.messages) - 1

    @property
    def book(self) -> str:
        """The name of its book."""
        name: str = self.metadata["world_info"]
        return name

    @property
    def running(self) -> Json:
        running: Json = self.metadata["auto_recap_running_scene_recaps"]
        return running

    def lines(self) -> bytes:
        return b"\n".join(stories.line(message) for message in self.messages)

    def render(self) -> bytes:
        if self.content is not None:
            return self.content
        header = {"chat_metadata": self.metadata, "user_name": "unused", "character_name": "unused", **self.header}
        return stories.line(header) + b"\n" + self.lines() + self.ending


_PEOPLE = ("Mira", "Bob", "Wren", "Ilse Brandt", "雪", "Марина", "Jo - the second")


class _Workspace:
    """A workspace in memory, and what is wrong with it."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.chats: list[_Chat] = []
        self.books: dict[str, _Book] = {}
        self.groups: dict[str, list[str]] = {}
        self.planted: list[Planted] = []
        self.others: dict[str, bytes] = {}
        self.on_purpose: list[str] = []
        self._numbers = 0

    # --- healthy things -------------------------------------------------------------------------------------------

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def new_id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def _start_name(self, person: str) -> str:
        minutes, milliseconds = divmod(self.number(), 1000)
        return f"{person} - 2026-05-06@07h{minutes:02}m08s{milliseconds:03}ms"

    def main(self, *, book: bool = True, recaps: bool = False, group: bool = False) -> _Chat:
        """Add a main chat of a few messages, with or without a book, of a character or of a group."""
        person = self.chance.choice(_PEOPLE)
        name = self._start_name("Group" if group else person)
        metadata: Json = {"integrity": self.new_id(), "note_prompt": "", "tainted": True}
        chat = _Chat(person, name, metadata, stories.conversation(self.chance.randint(3, 9)))
        if group:
            group_id = str(1_794_000_000_000 + self.number())
            chat.folder = f"group:{group_id}"
            self.groups[group_id] = [name]
        if book:
            metadata["world_info"] = f"Lore of {name}"
            self.books[chat.book] = _Book(name, queues=_IDLE if recaps else ())
        if recaps:
            index = {"2": {"uid": 2, "id": "2", "type": "character", "name": _person(0), "comment": _person(0)}}
            metadata["auto_lorebooks"] = {"lorebookName": chat.book, "registry": {"index": index}}
            metadata |= stories.running_recap(name, [], 0)
            self.end_scene(chat)
        self.chats.append(chat)
        return chat

    def go_on(self, chat: _Chat) -> None:
        """Let a story go on: messages, somebody new in its book, a version of its running recap."""
        more = self.chance.randint(1, 4)
        chat.messages += stories.conversation(more, first=len(chat.messages))
        if chat.metadata.get("world_info") in self.books:
            book = self.books[chat.book]
            self.books[chat.book] = replace(book, people=book.people + 1)
        if "auto_recap_running_scene_recaps" in chat.metadata:
            self.end_scene(chat)

    def end_scene(self, chat: _Chat) -> None:
        versions = chat.running["versions"]
        number = len(versions)
        last = chat.messages[chat.last]
        chat.messages[chat.last] = {**last, "extra": {**last["extra"], **stories.scene(f"Scene {number}")}}
        chat.metadata["auto_recap_running_scene_recaps"] = {
            **chat.running,
            "current_version": number,
            "versions": [*versions, stories.recap_version(number, chat.last)],
        }

    def fork(self, parent: _Chat, kind: str = "checkpoint", *, linked: bool = True) -> _Chat:
        """Add a fork at the last message as Forklore makes one."""
        name, label = self._fork_name(parent, kind)
        metadata = json.loads(json.dumps(parent.metadata))
        metadata |= {"integrity": self.new_id(), "main_chat": parent.name}
        fork = _Chat(parent.folder, name, metadata, list(parent.messages))
        source, clone, content = parent.metadata.get("world_info"), None, b""
        if source is not None:
            base, mark = source.partition("__")[0], {"checkpoint": "CP", "branch": "BR"}[kind]
            metadata["world_info"] = clone = self._free_book(f"{base}__{mark}_{label}")
            self.books[clone] = self.books[source]
            content = self.books[clone].render()
        if "auto_lorebooks" in metadata:
            metadata["auto_lorebooks"]["lorebookName"] = clone
        if "auto_recap_running_scene_recaps" in metadata:
            fork.running["chat_id"] = name
        if "auto_recap" in metadata:
            metadata["auto_recap"].pop("checkpoint_lorebook_map", None)
            if not metadata["auto_recap"]:
                del metadata["auto_recap"]
        digests = {
            "messages": hashlib.sha256(fork.lines()).hexdigest(),
            "lorebook": hashlib.sha256(content).hexdigest() if clone else None,
        }
        metadata["auto_recap_checkpoint_state"] = _record(fork, kind, clone, source) | {"digests": digests}
        metadata["forklore"] = _identity(fork, parent, kind) | {"timeline": self.new_id(), "digests": digests}
        if linked:
            self.link(parent, fork, kind)
        self._add_beside(fork)
        return fork

    def native(self, parent: _Chat, kind: str = "checkpoint") -> _Chat:
        """Add a fork at the last message as SillyTavern alone makes one."""
        name, _ = self._fork_name(parent, kind)
        metadata = {**parent.metadata, "integrity": self.new_id(), "main_chat": parent.name}
        fork = _Chat(parent.folder, name, metadata, list(parent.messages))
        if kind == "checkpoint":  # the link to a branch is lost there
            self.link(parent, fork, kind, mapped=False)
        self._add_beside(fork)
        return fork

    def _fork_name(self, parent: _Chat, kind: str) -> tuple[str, str]:
        number = self.number()
        return f"{parent.name} - {kind.capitalize()} #{number}", f"{kind.capitalize()}_{number}"

    def _free_book(self, name: str) -> str:
        return next(free for free in (name, *(f"{name}_{n}" for n in range(2, 100))) if free not in self.books)

    def _add_beside(self, chat: _Chat) -> None:
        self.chats.append(chat)
        if chat.folder.startswith("group:"):
            self.groups[chat.folder.removeprefix("group:")].append(chat.name)

    def link(self, parent: _Chat, fork: _Chat, kind: str, *, mapped: bool = True) -> None:
        """Let the last message of *parent* link to *fork*, and its map name the fork's book."""
        last = parent.messages[-1]
        links = (
            {"bookmark_link": fork.name}
            if kind == "checkpoint"
            else {"branches": [*last["extra"].get("branches", ()), fork.name]}
        )
        parent.messages[-1] = {**last, "extra": {**last["extra"], **links}}
        if mapped and fork.metadata.get("world_info"):
            space = parent.metadata.get("auto_recap", {})
            books = {**space.get("checkpoint_lorebook_map", {}), fork.name: fork.book}
            parent.metadata["auto_recap"] = {**space, "checkpoint_lorebook_map": books}

    # --- taking away ----------------------------------------------------------------------------------------------

    def delete(self, chat: _Chat) -> None:
        """Delete a chat as SillyTavern does: its file alone, and its place in a group."""
        self.chats.remove(chat)
        if chat.folder.startswith("group:"):
            self.groups[chat.folder.removeprefix("group:")].remove(chat.name)

    def plant(self, code: str, where: str | _Chat) -> None:
        self.planted.append(Planted(code, where.address if isinstance(where, _Chat) else where))

    def log(self, fork: _Chat, kind: str, pending: Sequence[str] = ()) -> None:
        """Add the operation that made *fork* to the log."""
        number = f"20260506-070809-{self.number():06}-c0de"
        operation = {
            "format": 1,
            "id": number,
            "kind": kind,
            "chat": fork.address,
            "when": "2026-05-06T07:08:09.000Z",
            "undoes": None,
            "pending": list(pending),
            "notes": {"fork": fork.name, "message": fork.last},
            "changes": _logged_changes(fork, kind, self.parent_of(fork), self.books[fork.book].render()),
        }
        self.others[f".forklore/operations/{number}.json"] = json.dumps(operation).encode()

    def parent_of(self, fork: _Chat) -> _Chat:
        return next(
            chat for chat in self.chats if chat.folder == fork.folder and chat.name == fork.metadata["main_chat"]
        )

    def files(self) -> dict[str, bytes]:
        files = {f"worlds/{name}.json": book.render() for name, book in self.books.items()}
        files |= {chat.path: chat.render() for chat in self.chats}
        files |= {f"groups/{number}.json": stories.group_bytes(number, chats) for number, chats in self.groups.items()}
        return files | self.others


def _record(fork: _Chat, kind: str, clone: str | None, source: str | None) -> Json:
    """Return what Forklore records of a fork; every field that a real one has."""
    running = fork.metadata.get("auto_recap_running_scene_recaps", {"versions": [], "current_version": 0})
    current = next((v for v in running["versions"] if v["version"] == running["current_version"]), None)
    scene = fork.messages[-1]["extra"].get("auto_recap_memory", {})
    combined = fork.metadata.get("auto_recap", {}).get("combined_recap", {})
    return {
        "version": 2,
        "kind": kind,
        "chat_id": fork.name,
        "timestamp": FIRST_MOMENT,
        "message_id": fork.last,
        "extension_version": "0.1.0",
        "queue_was_empty": True,
        "cloned_lorebook_name": clone,
        "original_lorebook_name": source,
        "lorebook_source": "live" if clone else "none",
        "lorebooks": [{"name": clone, "original": source, "role": "chat", "source": "live"}] if clone else [],
        "has_scene_break": bool(scene),
        "has_scene_recap": bool(scene),
        "scene_break_name": scene.get("scene_break_name"),
        "scene_recap": scene.get("scene_recap_memory"),
        "has_running_recap": current is not None,
        "running_recap_version": current["version"] if current else None,
        "running_recap_content": current["content"] if current else None,
        "running_recap_scene_count": current["scene_count"] if current else 0,
        "running_recap_versions": list(running["versions"]),
        "combined_recap_content": combined.get("content"),
        "combined_recap_message_count": combined.get("message_count"),
        "combined_recap_timestamp": combined.get("timestamp"),
        "warnings": [],
        "carried_from_present": [],
        "left_out": [],
    }


def _identity(fork: _Chat, parent: _Chat, kind: str) -> Json:
    own = parent.metadata.get("forklore", {})
    return {
        "format": 1,
        "chat": fork.name,
        "kind": kind,
        "parent": parent.name,
        "parent_timeline": own.get("timeline"),
        "parent_mark": mark_of(parent.metadata.get("integrity")),
        "message": fork.last,
    }


def _logged_changes(fork: _Chat, kind: str, parent: _Chat, book: bytes) -> list[Json]:
    clone, chat = f"worlds/{fork.book}.json", fork.render()
    name, mapped = json.dumps(fork.name), ["chat_metadata", "auto_recap", "checkpoint_lorebook_map", fork.name]
    link: Json = {"do": "put", "path": ["extra", "bookmark_link"], "text": name}
    if kind == "branch":
        link = {"do": "append", "path": ["extra", "branches"], "text": name}
    edits = [{"line": fork.last, **link}, {"line": -1, "do": "put", "path": mapped, "text": json.dumps(fork.book)}]
    return [
        {"do": "create", "path": clone, "content": [[len(book), hashlib.sha256(book).hexdigest()]]},
        {"do": "create", "path": fork.path, "content": [[len(chat), hashlib.sha256(chat).hexdigest()]]},
        {"do": "edit", "path": parent.path, "role": "link", "edits": edits, "inverse": []},
    ]


# --- healthy stories ----------------------------------------------------------------------------------------------


def _recap_story(made: _Workspace) -> None:
    """A story with recaps: forks of forks, each gone its own way."""
    main = made.main(recaps=True)
    first = made.fork(main)
    if made.chance.random() < 0.1:
        made.log(first, "checkpoint")
    made.go_on(main)
    second = made.fork(main, "branch", linked=made.chance.random() < 0.8)
    made.go_on(main)
    made.go_on(second)
    made.go_on(second)
    made.fork(second, made.chance.choice(["checkpoint", "branch"]))
    inside = stories.operation(made.number(), params={"index": main.last})
    over = stories.operation(made.number(), "completed", params={"index": main.last + 90})
    queue = stories.queue_content(made.chance.choice([(), (inside,), (over,)]))
    made.books[main.book] = replace(made.books[main.book], queues=(queue,))


def _plain_story(made: _Workspace) -> None:
    """A story with a book and without ST-Auto-Recap."""
    main = made.main()
    for kind in ("checkpoint", "branch")[: made.chance.randint(0, 2)]:
        fork = made.fork(main, kind)
        if made.chance.random() < 0.5:
            made.go_on(fork)
        made.go_on(main)


def _shared_stories(made: _Workspace) -> None:
    """Two stories with one book, on purpose."""
    one, other = made.main(), made.main()
    other.messages[1] = stories.message("Another beginning.", user=True)
    del made.books[other.book]
    other.metadata["world_info"] = one.book
    made.on_purpose.append(one.book)
    made.others[".forklore/settings.json"] = stories.pretty({"format": 1, "shared_books": made.on_purpose})


def _bookless_story(made: _Workspace) -> None:
    """A story without a book, forked by SillyTavern and by Forklore: nothing can leak."""
    main = made.main(book=False)
    made.native(main)
    made.native(main, "branch")
    made.go_on(main)
    made.go_on(made.fork(main, "branch"))


def _group_story(made: _Workspace) -> None:
    """A story of a group."""
    main = made.main(group=True)
    made.fork(main)
    made.go_on(main)
    made.fork(main, "branch")


def _lone_story(made: _Workspace) -> None:
    """A chat that was never forked, as older SillyTaverns or editors left it."""
    main = made.main(book=made.chance.random() < 0.5)
    main.header = made.chance.choice([{}, {"create_date": "2024-6-5 @14h 56m 50s 682ms", "user_name": "Wren"}])
    main.ending = made.chance.choice([b"", b"\n"])
    made.books[f"Notes {made.number()}"] = _Book(f"Nobody names these notes {made.number()}.")


def _plant_referrers(made: _Workspace) -> None:
    """Clones that no chat names, but the settings, a persona or a card: they are in use."""
    names = [f"Kept {number}__CP_Elsewhere" for number in range(4)]
    for name in names:
        made.books[name] = _Book(name)
    world = {"globalSelect": [names[0]], "charLore": [{"name": "Mira", "extraBooks": [names[1]]}]}
    persona = {"persona_description_lorebook": names[2], "persona_descriptions": {}}
    settings = {"world_info_settings": {"world_info": world}, "power_user": persona}
    made.others["settings.json"] = stories.pretty(settings)
    made.others["characters/Kept.png"] = stories.card_png("Kept", names[3])


# --- damage: lorebooks --------------------------------------------------------------------------------------------


def _lorebook_missing(made: _Workspace) -> None:
    fork = made.fork(made.main())  # its parent's book still has the recorded bytes, but that is the parent's
    del made.books[fork.book]
    made.plant("LOREBOOK_MISSING", fork)
    main = made.main()
    del made.books[main.book]
    made.plant("LOREBOOK_MISSING", main)


def _lorebook_mismatch(made: _Workspace) -> None:
    main = made.main(recaps=True)
    fork = made.fork(main)
    made.go_on(main)
    del made.books[fork.book]
    fork.metadata["world_info"] = other = f"Another book {made.number()}"
    made.books[other] = _Book(other)
    made.plant("LOREBOOK_MISMATCH", fork)


def _shared_lorebook(made: _Workspace) -> None:
    main = made.main()
    first, second = made.fork(main), made.fork(main, "branch")
    made.go_on(main)
    made.go_on(first)
    del made.books[second.book]
    second.metadata["world_info"] = first.book
    made.plant("SHARED_LOREBOOK", first)
    made.plant("SHARED_LOREBOOK", second)
    made.plant("LOREBOOK_MISMATCH", second)


def _lorebook_unreadable(made: _Workspace) -> None:
    for content in (b'{"entries": {"0": {"uid": 0, "comm', b"[]"):
        main = made.main()
        fork = made.fork(main)
        made.go_on(main)
        made.others[f"worlds/{fork.book}.json"] = content
        made.plant("LOREBOOK_UNREADABLE", fork)


def _lorebook_renamed(made: _Workspace) -> None:
    main = made.main()
    fork = made.fork(main)
    made.go_on(main)
    made.books[f"My favourite book {made.number()}"] = made.books.pop(fork.book)
    made.plant("LOREBOOK_MISSING", fork)


def _clone_unused(made: _Workspace) -> None:
    for kind in ("checkpoint", "branch"):
        fork = made.fork(made.main(), kind, linked=False)
        made.log(fork, kind)
        made.delete(fork)
        made.plant("CLONE_UNUSED", f"worlds/{fork.book}.json")
    name = f"Only looks like one {made.number()}__CP_ideas"
    made.books[name] = _Book(name)


def _registry_broken(made: _Workspace) -> None:
    for wrong in ((77, "character-Nobody"), (1, "character-Not the world")):
        main = made.main(recaps=True)
        fork = made.fork(main)
        made.go_on(main)
        made.go_on(fork)
        made.books[fork.book] = replace(made.books[fork.book], registered=(wrong,))
        made.plant("REGISTRY_BROKEN", fork)


def _queue_stale(made: _Workspace) -> None:
    main = made.main(recaps=True)
    fork = made.fork(main)
    made.go_on(main)
    late = stories.operation(made.number(), params={"index": fork.last + 20})
    made.books[fork.book] = replace(made.books[fork.book], queues=(stories.queue_content([late]),))
    made.plant("QUEUE_STALE", fork)


def _queue_unreadable(made: _Workspace) -> None:
    for queues in (('{"queue": [',), (*_IDLE, *_IDLE)):
        main = made.main(recaps=True)
        made.books[main.book] = replace(made.books[main.book], queues=queues)
        made.plant("QUEUE_UNREADABLE", main)


# --- damage: recaps -----------------------------------------------------------------------------------------------


def _recap_fork(made: _Workspace) -> _Chat:
    """Return a fork that has several versions of its running recap and is as it was made."""
    main = made.main(recaps=True)
    made.go_on(main)
    made.go_on(main)
    space = {"content": "All of it.", "message_count": len(main.messages), "timestamp": FIRST_MOMENT}
    main.metadata["auto_recap"] = {"combined_recap": space}
    fork = made.fork(main)
    made.go_on(main)
    return fork


def _running_recap_version_missing(made: _Workspace) -> None:
    nowhere = _recap_fork(made)  # the version in use is not there
    made.go_on(nowhere)
    nowhere.running["current_version"] = 99
    made.plant("RUNNING_RECAP_VERSION_MISSING", nowhere)
    forgotten = _recap_fork(made)  # the recorded one is gone; that one went on is no damage
    made.go_on(forgotten)
    recorded = forgotten.metadata["auto_recap_checkpoint_state"]["running_recap_version"]
    forgotten.running["versions"] = [v for v in forgotten.running["versions"] if v["version"] != recorded]
    made.plant("RUNNING_RECAP_VERSION_MISSING", forgotten)


def _running_recap_version_mismatch(made: _Workspace) -> None:
    fork = _recap_fork(made)
    fork.running["current_version"] = 0
    made.plant("RUNNING_RECAP_VERSION_MISMATCH", fork)


def _running_recap_foreign(made: _Workspace) -> None:
    other = made.main()
    for chat in (_recap_fork(made), made.main(recaps=True)):
        chat.running["chat_id"] = other.name
        made.plant("RUNNING_RECAP_FOREIGN", chat)


def _combined_recap_mismatch(made: _Workspace) -> None:
    fork = _recap_fork(made)
    fork.metadata["auto_recap"]["combined_recap"]["message_count"] = 1
    made.plant("COMBINED_RECAP_MISMATCH", fork)


# --- damage: who is who -------------------------------------------------------------------------------------------


def _legacy_fork(made: _Workspace) -> None:
    main = made.main()
    fork = made.native(main, made.chance.choice(["checkpoint", "branch"]))
    made.go_on(main)
    made.plant("LEGACY_FORK", fork)
    made.plant("SHARED_LOREBOOK", fork)
    made.plant("SHARED_LOREBOOK", main)
    main = made.main()
    fork = made.native(main)  # its parent was given another book since, so it shares none
    main.metadata["world_info"] = own = f"A new book {made.number()}"
    made.books[own] = _Book(own)
    made.plant("LEGACY_FORK", fork)


def _inherited_state(made: _Workspace) -> None:
    fork = made.fork(made.main(book=False))
    made.plant("INHERITED_STATE", made.native(fork, "branch"))
    fork = made.fork(made.main())
    copy = made.native(fork, "branch")
    made.plant("INHERITED_STATE", copy)
    made.plant("SHARED_LOREBOOK", fork)
    made.plant("SHARED_LOREBOOK", copy)


def _parent_missing(made: _Workspace) -> None:
    main = made.main()
    fork = made.fork(main)
    made.delete(main)
    made.plant("PARENT_MISSING", fork)
    main = made.main(book=False)
    fork = made.native(main)
    made.delete(main)
    made.plant("PARENT_MISSING", fork)


def _chat_renamed(made: _Workspace) -> None:
    main = made.main()
    fork = made.fork(main)
    made.go_on(main)
    made.go_on(fork)
    child = made.fork(fork)
    fork.name = f"The night it snowed {made.number()}"
    made.plant("CHAT_RENAMED", fork)
    made.plant("PARENT_MISSING", child)
    made.plant("LINK_DANGLING", main)
    made.plant("MAP_STALE", main)
    main = made.main()
    children = [made.fork(main), made.fork(main, "branch")]
    main.name = f"How it all began {made.number()}"
    for child in children:
        made.plant("PARENT_MISSING", child)


def _integrity_duplicate(made: _Workspace) -> None:
    for book in (False, True):
        main = made.main(book=book)
        copy = replace(main, name=f"{main.name} imported", metadata=dict(main.metadata), messages=list(main.messages))
        made.chats.append(copy)
        made.plant("INTEGRITY_DUPLICATE", copy)
        if book:
            made.plant("SHARED_LOREBOOK", copy)
            made.plant("SHARED_LOREBOOK", main)


def _chat_damaged(made: _Workspace) -> None:
    for break_up in (
        lambda lines: [*lines[:2], lines[2][: len(lines[2]) // 2], *lines[3:]],
        lambda lines: lines[1:],
        lambda lines: [*lines[:2], b'["not", "a", "message"]', *lines[2:]],
    ):
        main = made.main(book=False)
        main.content = b"\n".join(break_up(main.render().split(b"\n")))
        made.plant("CHAT_DAMAGED", main)


# --- damage: links ------------------------------------------------------------------------------------------------


def _deleted_in_sillytavern(made: _Workspace) -> None:
    main = made.main(recaps=True)
    fork = made.fork(main)
    made.log(fork, "checkpoint")
    made.go_on(main)
    made.delete(fork)
    made.plant("LINK_DANGLING", main)
    made.plant("MAP_STALE", main)
    made.plant("CLONE_UNUSED", f"worlds/{fork.book}.json")


def _link_dangling(made: _Workspace) -> None:
    gone = f"Gone long ago {made.number()}"
    for extra in ({"bookmark_link": gone}, {"branches": [gone]}):
        main = made.main()
        main.messages[1] = stories.message("A flag.", extra=extra)
        made.plant("LINK_DANGLING", main)
    hidden = made.main()  # behind another swipe, where SillyTavern keeps it
    hidden.messages[-1] = stories.swiped("One.", "Two.", shown=0, extras=[{}, {"bookmark_link": gone}])
    made.plant("LINK_DANGLING", hidden)


def _map_stale(made: _Workspace) -> None:
    main = made.main()
    books = {f"Gone {made.number()}": f"{main.book}__CP_Gone"}
    main.metadata["auto_recap"] = {"checkpoint_lorebook_map": books}
    made.plant("MAP_STALE", main)


def _link_pending(made: _Workspace) -> None:
    for kind in ("checkpoint", "branch"):
        main = made.main()
        fork = made.fork(main, kind, linked=False)
        made.log(fork, kind, pending=["link: the file is being written all the time"])
        made.go_on(main)
        made.plant("LINK_PENDING", fork)


# --- damage: groups and operations --------------------------------------------------------------------------------


def _group_chat_missing(made: _Workspace) -> None:
    main = made.main(group=True)
    group = main.folder.removeprefix("group:")
    made.groups[group].insert(0, f"2026-01-01@01h01m01s{made.number():03}ms")
    made.plant("GROUP_CHAT_MISSING", f"groups/{group}.json")


def _group_chat_unlisted(made: _Workspace) -> None:
    stray = made.main(book=False, group=True)
    del made.groups[stray.folder.removeprefix("group:")]
    stray.folder = "group:"
    made.plant("GROUP_CHAT_UNLISTED", stray)


def _operation_leftover(made: _Workspace) -> None:
    for has_journal in (False, True):
        number = f"20260506-070809-{made.number():06}-dead"
        folder = f".forklore/staging/{number}"
        main = made.main()
        staged = {
            f"worlds/{main.book}__CP_Never.json": made.books[main.book].render(),
            main.path.replace(".jsonl", " - never.jsonl"): main.render(),
        }
        for place, content in enumerate(staged.values()):
            made.others[f"{folder}/{place}"] = content
        if has_journal:
            made.others[f"{folder}/journal.json"] = json.dumps(_journal(number, main, staged)).encode()
        made.plant("OPERATION_FOREIGN" if has_journal else "OPERATION_LEFTOVER", folder)


def _journal(number: str, main: _Chat, staged: dict[str, bytes]) -> Json:
    """Return the journal of an operation that died before anything was visible."""
    return {
        "format": 1,
        "id": number,
        "kind": "checkpoint",
        "chat": f"{main.address} - never",
        "when": "2026-05-06T07:08:09.000Z",
        "undoes": None,
        "commit": 1,
        "notes": {},
        "changes": [
            {
                "do": "create",
                "path": path,
                "staged": f".forklore/staging/{number}/{place}",
                "mine": [len(content), 0, 0],
                "content": [[len(content), hashlib.sha256(content).hexdigest()]],
            }
            for place, (path, content) in enumerate(staged.items())
        ],
    }


_DAMAGES: tuple[Callable[[_Workspace], None], ...] = (
    _lorebook_missing,
    _lorebook_mismatch,
    _shared_lorebook,
    _lorebook_unreadable,
    _lorebook_renamed,
    _clone_unused,
    _registry_broken,
    _queue_stale,
    _queue_unreadable,
    _running_recap_version_missing,
    _running_recap_version_mismatch,
    _running_recap_foreign,
    _combined_recap_mismatch,
    _legacy_fork,
    _inherited_state,
    _parent_missing,
    _chat_renamed,
    _integrity_duplicate,
    _chat_damaged,
    _deleted_in_sillytavern,
    _link_dangling,
    _map_stale,
    _link_pending,
    _group_chat_missing,
    _group_chat_unlisted,
    _operation_leftover,
)

CODES = frozenset(
    {
        "CHAT_DAMAGED",
        "CHAT_RENAMED",
        "CLONE_UNUSED",
        "COMBINED_RECAP_MISMATCH",
        "GROUP_CHAT_MISSING",
        "GROUP_CHAT_UNLISTED",
        "INHERITED_STATE",
        "INTEGRITY_DUPLICATE",
        "LEGACY_FORK",
        "LINK_DANGLING",
        "LINK_PENDING",
        "LOREBOOK_MISMATCH",
        "LOREBOOK_MISSING",
        "LOREBOOK_UNREADABLE",
        "MAP_STALE",
        "OPERATION_FOREIGN",
        "OPERATION_LEFTOVER",
        "PARENT_MISSING",
        "QUEUE_STALE",
        "QUEUE_UNREADABLE",
        "REGISTRY_BROKEN",
        "RUNNING_RECAP_FOREIGN",
        "RUNNING_RECAP_VERSION_MISMATCH",
        "RUNNING_RECAP_VERSION_MISSING",
        "SHARED_LOREBOOK",
    }
)
"""Every code that is planted."""

__all__ = ["CODES", "Planted", "damaged_files", "write_damaged_workspace"]
