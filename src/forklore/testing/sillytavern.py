"""A chat that is open in SillyTavern with ST-Auto-Recap: read whole, changed in memory, written back whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk
from forklore.testing import stories
from forklore.testing.stories import Json


class OpenChat:
    """A chat and its lorebook as a browser holds them.

    ``write`` puts both files back as SillyTavern does: encoded anew as a whole and renamed into place.
    """

    def __init__(self, root: Path, chat: str) -> None:
        """Read the chat at the address *chat* of the workspace *root*, and the book it names."""
        folder, _, self.name = chat.partition("/")
        self.folder = folder
        where = root / "group chats" if folder.startswith("group:") else root / "chats" / folder
        self.path = where / f"{self.name}.jsonl"
        header, *messages = (json.loads(text) for text in self.path.read_bytes().split(b"\n") if text.strip())
        self.metadata: Json = header["chat_metadata"]
        self.messages: list[Json] = messages
        named = self.metadata.get("world_info")
        self.book_path = root / "worlds" / f"{named}.json" if named else None
        self.book: Json = json.loads(self.book_path.read_bytes()) if self.book_path else {"entries": {}}

    @property
    def entries(self) -> dict[str, Json]:
        """The entries of the book by their key."""
        entries: dict[str, Json] = self.book["entries"]
        return entries

    # --- what a person does ---------------------------------------------------------------------------------------

    def say(self, *texts: str) -> None:
        """Add messages, the user's and the character's in turn."""
        for text in texts:
            self.messages.append(stories.message(text, user=len(self.messages) % 2 == 1))

    def reword(self, number: int, text: str) -> None:
        """Change the text of a message."""
        self.messages[number]["mes"] = text

    # --- what ST-Auto-Recap does ----------------------------------------------------------------------------------

    def learn(self, name: str, content: str) -> int:
        """Add the entry *name* to the book, its line to the character registry and its record to the cache."""
        uid = next(number for number in range(10_000) if str(number) not in self.entries)
        self.entries[str(uid)] = stories.entry(uid, name, content)
        for each in self.entries.values():
            if each["comment"] == "_registry_character":
                each["content"] += "\n" + stories.registry_line(uid, name)
        cache = self.metadata.get("auto_lorebooks")
        if cache is not None:
            record = {"uid": uid, "id": str(uid), "type": "character", "name": name, "comment": name}
            cache["registry"]["index"][str(uid)] = {**record, "synopsis": "", "aliases": []}
        return uid

    def end_scene(self, name: str, *, taken: int, made: Sequence[int] = (), keeps_snapshot: bool = True) -> None:
        """Close a scene at the last message: mark it, snapshot the book, add a version to the running recap."""
        last = len(self.messages) - 1
        known = self.entries.values() if keeps_snapshot else ()
        entries = stories.snapshot(known, str(self.metadata.get("world_info")))
        self.messages[last]["extra"] |= stories.scene(name, entries=entries, taken=taken, made=made)
        recap = self.metadata.setdefault("auto_recap_running_scene_recaps", {"chat_id": self.name, "versions": []})
        number = max((version["version"] for version in recap["versions"]), default=-1) + 1
        recap["versions"].append(stories.recap_version(number, last, f"Version {number}, after {name}"))
        recap["current_version"] = number

    def set_queue(self, *operations: Json) -> None:
        """Give the operation queue exactly these operations."""
        for each in self.entries.values():
            if each["comment"] == "__operation_queue":
                each["content"] = stories.queue_content(operations)

    # --- what SillyTavern does ------------------------------------------------------------------------------------

    def fork(self, name: str, *, at: int, is_linked: bool = False) -> str:
        """Make a checkpoint or branch as SillyTavern does: messages trimmed, metadata of the present, the same book.

        Returns its address. A checkpoint *is_linked*; the link of a branch never reaches the disk.
        """
        metadata = {**deepcopy(self.metadata), "main_chat": self.name, "integrity": f"slug of {name}"}
        _write(self.path.with_name(f"{name}.jsonl"), stories.chat_bytes(metadata, self.messages[: at + 1]))
        if is_linked:
            self.messages[at]["extra"]["bookmark_link"] = name
            self.write()
        return f"{self.folder}/{name}"

    def import_again(self, name: str) -> str:
        """Import the file of the chat once more, as SillyTavern does: byte for byte, under another *name*."""
        _write(self.path.with_name(f"{name}.jsonl"), self.path.read_bytes())
        return f"{self.folder}/{name}"

    def convert(self, name: str, *, group_id: str = "17") -> str:
        """Make a group chat of the chat as SillyTavern does: all of it, but for its parent, and the same book."""
        metadata = {key: value for key, value in deepcopy(self.metadata).items() if key != "main_chat"}
        messages = [message if message["is_user"] else message | {"original_avatar": ""} for message in self.messages]
        root = self.path.parents[2]
        _write(root / f"group chats/{name}.jsonl", stories.chat_bytes(metadata, messages))
        _write(root / f"groups/{group_id}.json", stories.group_bytes(group_id, [name]))
        return f"group:{group_id}/{name}"

    def write(self) -> None:
        """Write both files back."""
        _write(self.path, stories.chat_bytes(self.metadata, self.messages))
        if self.book_path is not None:
            _write(self.book_path, stories.pretty(self.book))


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".123")
    temporary.write_bytes(content)
    temporary.replace(path)


def recap_story(chat: str, book: str, *, people: tuple[str, ...] = ("character-Mira",)) -> dict[str, bytes]:
    """Return the files of a new story with everything ST-Auto-Recap keeps: registries, indexes, a queue, a cache."""
    entries = [
        stories.registry(0, "character", (stories.registry_line(2 + i, name) for i, name in enumerate(people))),
        stories.category_index(1, "characters", people),
        *(stories.entry(2 + i, name, f"{name}, as the story begins") for i, name in enumerate(people)),
        stories.queue(),
    ]
    index: dict[str, Any] = {
        str(2 + i): {"uid": 2 + i, "id": str(2 + i), "type": "character", "name": name, "comment": name}
        | {"synopsis": "", "aliases": []}
        for i, name in enumerate(people)
    }
    metadata = {
        "integrity": "a74b6a86-1508-49ad-bdf1-53da8d0c6232",
        "world_info": book,
        "auto_lorebooks": {"lorebookName": book, "attachedAt": stories.FIRST_MOMENT, "registry": {"index": index}},
        **stories.running_recap(chat, [], 0),
    }
    messages = [stories.message("It begins.")]
    return stories.solo_files(chat, metadata, messages, books={book: stories.lorebook(deepcopy(entries))})


class HastyDisk(Disk):
    """A disk that never waits for the platter, for tests that do not ask what a power cut leaves."""

    def sync(self, descriptor: int) -> None:
        """Return at once."""

    def sync_folder(self, path: Path) -> None:
        """Return at once."""
