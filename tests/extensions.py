"""Stand-ins for memory extensions: they do to the files of a story what the real ones do when a page is open.

What they do was seen in the real ones; what was not seen, they do not do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from forklore.testing import stories
from forklore.testing.stories import Json

AT, LAST = 4, 9
CHAT, ADDRESS = "Tale", "Mira/Tale"
LATER = "later"


class Page:
    """A chat that is open in SillyTavern."""

    def __init__(self, root: Path, chat: str) -> None:
        self.root = root
        folder, _, self.name = chat.partition("/")
        self.path = root / "chats" / folder / f"{self.name}.jsonl"
        header, *self.messages = map(json.loads, self.path.read_bytes().splitlines())
        self.metadata: Json = header["chat_metadata"]

    def say(self, count: int) -> None:
        self.messages += stories.conversation(count, first=len(self.messages))

    def save(self) -> None:
        self.path.write_bytes(stories.chat_bytes(self.metadata, self.messages))

    def has_book(self, name: str) -> bool:
        return self._book(name).exists()

    def book(self, name: str) -> Json:
        book: Json = json.loads(self._book(name).read_bytes())
        return book

    def save_book(self, name: str, book: Json) -> None:
        self._book(name).write_bytes(stories.pretty(book))

    def _book(self, name: str) -> Path:
        return self.root / "worlds" / f"{name}.json"


def opened(page: Page) -> None:
    """Do nothing but look."""


def swiped(page: Page) -> None:
    """Get another reply in place of the last one."""
    page.messages[-1] = stories.message("Another reply.", tunnelvision_message_id="swiped")


def deleted(page: Page) -> None:
    """Delete the last message."""
    page.messages.pop()


ACTS: tuple[Callable[[Page], None], ...] = (opened, swiped, deleted)


class Extension(NamedTuple):
    """An extension, a story it was at work in, and what it does after something happened to a page."""

    name: str
    story: Callable[[], dict[str, bytes]]
    follows: Callable[[Page], None]


def _files(metadata: Json, messages: list[Json], **books: Any) -> dict[str, bytes]:
    for message in messages[AT + 1 :]:
        message["mes"] += f" {LATER}"
    return stories.solo_files(
        CHAT, metadata, messages, books={name: stories.lorebook(book) for name, book in books.items()}
    )


# --- TunnelVision -------------------------------------------------------------------------------------------------


def tunnelvision_story() -> dict[str, bytes]:
    said = stories.conversation(LAST + 1)
    for number in (AT - 1, LAST):
        said[number]["tunnelvision_message_id"] = f"m{number}"
    mira = stories.entry(1, "Mira", f"a captain, {LATER}")
    entries = [mira, _tracked(2, AT - 1, "the quay"), _tracked(3, LAST, f"the storm, {LATER}")]
    log = {
        f"v2:m{AT - 1}:ab": _turn(created=2, before={}),
        f"v2:m{LAST}:cd": _turn(created=3, before={"Lore:1": {**mira, "content": "a cook"}}),
    }
    metadata = {
        "world_info": "Lore",
        "tunnelvision_chat_identity": "tvchat_old",
        "tunnelvision_selected_book": "Lore",
        "tunnelvision_snapshots": log,
    }
    return _files(metadata, said, Lore=entries)


def _tracked(uid: int, message: int, content: str) -> Json:
    return stories.entry(uid, "place", content, key=[f"!tv_tracker:v2:tvchat_old:m{message}:ab"])


def _turn(*, created: int, before: Json) -> Json:
    return {
        "createdUids": [{"bookName": "Lore", "uid": created}],
        "modifiedEntries": before,
        "treeState": {"Lore": {"lorebookName": "Lore", "root": {"entryUids": [1]}}},
    }


def tunnelvision_follows(page: Page) -> None:
    """Take back what messages did that are gone: delete the entries they made, in the books that the log names."""
    log = page.metadata.get("tunnelvision_snapshots", {})
    there = {message.get("tunnelvision_message_id") for message in page.messages}
    for key in [key for key in log if key.split(":")[1] not in there]:
        for made in log.pop(key)["createdUids"]:
            book = page.book(made["bookName"])
            entries = book["entries"]
            book["entries"] = {place: each for place, each in entries.items() if each["uid"] != made["uid"]}
            page.save_book(made["bookName"], book)


# --- Memory Books -------------------------------------------------------------------------------------------------


def memory_books_story(**space: Any) -> dict[str, bytes]:
    said = stories.conversation(LAST + 1)
    for message in said:
        message["is_system"] = True
    memories = [_memory(1, CHAT, 0, AT - 1), _memory(2, CHAT, AT, LAST, LATER)]
    known = [stories.entry(7, "Mira", "a cook")]
    metadata = {"world_info": "Lore", "STMemoryBooks": {"highestMemoryProcessed": LAST, "sceneStart": None, **space}}
    if "manualLorebook" in space:
        return _files(metadata, said, Lore=known, **{space["manualLorebook"]: memories})
    return _files(metadata, said, Lore=[*known, *memories])


def _memory(uid: int, chat: str, first: int, last: int, about: str = "") -> Json:
    members = {"stmemorybooks": True, "STMB_start": first, "STMB_end": last, "STMB_chatId": chat}
    return stories.entry(uid, f"Memory {first}-{last}", f"It happened {about}", **members)


def memory_books_follows(page: Page) -> None:
    """Copy the lorebook of a branch that it does not know to have one, then remember what is new."""
    if page.metadata.get("main_chat") and "Branch #" in page.name and not _is_copied(page):
        own = page.metadata["world_info"]
        copy = f"{own} Branch 1"
        page.save_book(copy, page.book(own))
        page.metadata["world_info"] = copy
    remember(page)


def _is_copied(page: Page) -> bool:
    marker = page.metadata["STMemoryBooks"].get("branchLorebookCopies")
    if not isinstance(marker, dict):
        return False
    is_number = isinstance(marker.get("version"), int | float)
    return is_number and marker.get("status") == "completed" and marker.get("branchChatId") == page.name


def remember(page: Page) -> str | None:
    """Make a memory of all messages after the last one; return why not, None when it was made."""
    space = page.metadata["STMemoryBooks"]
    first, last = space.get("highestMemoryProcessed", -1) + 1, len(page.messages) - 1
    if first > last:
        return "nothing new"
    name = space.get("manualLorebook") or page.metadata["world_info"]
    book = page.book(name)
    memories = [each for each in book["entries"].values() if each.get("stmemorybooks")]
    if any(each["STMB_start"] <= last and first <= each["STMB_end"] for each in memories):
        return "overlaps"
    uid = 100 + last
    book["entries"][str(uid)] = _memory(uid, page.name, first, last)
    page.save_book(name, book)
    space["highestMemoryProcessed"] = last
    return None


# --- Canonize -----------------------------------------------------------------------------------------------------


def canonize_story() -> dict[str, bytes]:
    said = stories.conversation(LAST + 1)
    then, now = [stories.entry(1, "Mira", "a cook")], [stories.entry(1, "Mira", f"a captain, {LATER}")]
    for number, entries in ((AT - 1, then), (LAST - 1, now)):
        said[number]["extra"]["cnz"] = {"lorebook": {"name": "Lore", **stories.lorebook(entries)}}
    by_hand = stories.entry(5, "Bob", f"by hand, after the last anchor, {LATER}")
    return _files({"world_info": "Lore"}, said, Lore=[*now, by_hand])


def canonize_follows(page: Page) -> None:
    """Write the lorebook of the last anchor into the book that it names."""
    anchors = [message["extra"]["cnz"] for message in page.messages if "cnz" in message["extra"]]
    if anchors:
        held = anchors[-1]["lorebook"]
        page.save_book(held["name"], {"entries": held["entries"]})


EXTENSIONS = (
    Extension("TunnelVision", tunnelvision_story, tunnelvision_follows),
    Extension("Memory Books", memory_books_story, memory_books_follows),
    Extension("Memory Books, by hand", lambda: memory_books_story(manualLorebook="Memories"), memory_books_follows),
    Extension("Canonize", canonize_story, canonize_follows),
)
