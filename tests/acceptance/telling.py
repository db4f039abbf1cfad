"""A small story, told and forked as a person would do it: SillyTavern writes the files, the command line the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from forklore.testing import stories
from forklore.testing.sillytavern import OpenChat, recap_story
from forklore.testing.stories import Json
from tests.edges.running import Ran, run

NAME = "Mira - 2026-11-15@18h36m13s"
MAIN = f"Mira/{NAME}"
BOOK = "z-AutoLB-Mira"


class Telling:
    """A workspace with one story, and the command line at hand."""

    def __init__(self, root: Path) -> None:
        """Begin a story with a book, registries, an index and a queue below *root*; its first recap is version 1."""
        self.root = stories.write_workspace(root, recap_story(NAME, BOOK))
        chat = self.opened(MAIN)
        chat.metadata |= stories.running_recap(NAME, [stories.recap_version(1, 0)], 1)
        chat.write()

    # --- SillyTavern and ST-Auto-Recap ----------------------------------------------------------------------------

    def opened(self, chat: str = MAIN) -> OpenChat:
        """Open a chat in SillyTavern, which loads the book that the chat names."""
        return OpenChat(self.root, chat)

    def scene(self, chat: str = MAIN, *, messages: int = 2) -> None:
        """Let a timeline go on by a scene: messages, somebody new in the book, a version of the running recap."""
        opened = self.opened(chat)
        number = len(opened.messages)
        opened.say(*(f"Message {number + i} of {opened.name}." for i in range(messages)))
        opened.learn(f"character-Guest {number}", f"Came in at message {number} of {opened.name}.")
        opened.end_scene(f"Scene at {number}", taken=stories.FIRST_MOMENT + number)
        opened.write()

    def queue(self, *operations: Json, chat: str = MAIN) -> None:
        """Give ST-Auto-Recap something to do in a timeline."""
        opened = self.opened(chat)
        opened.set_queue(*operations)
        opened.write()

    # --- the command line -----------------------------------------------------------------------------------------

    def run(self, *arguments: str) -> Ran:
        """Run a command."""
        return run("--data", self.root, *arguments)

    def ask(self, *arguments: str) -> Any:
        """Run a command that has to succeed and return its answer."""
        ran = self.run(*arguments, "--json")
        assert ran.code == 0, (arguments, ran.code, ran.out, ran.err)
        return ran.json

    def codes(self, chat: str) -> list[str]:
        """Return what ``verify`` finds when a timeline is opened."""
        ran = self.run("verify", chat, "--json")
        errors = [finding for finding in ran.json["findings"] if finding["severity"] == "error"]
        assert ran.json["ok"] is not bool(errors)
        assert ran.code == (3 if errors else 0)
        return [finding["code"] for finding in ran.json["findings"]]

    # --- the disk -------------------------------------------------------------------------------------------------

    def book_path(self, name: str) -> Path:
        """Return where a book is, or would be."""
        return self.root / "worlds" / f"{name}.json"

    def book(self, name: str) -> Json:
        """Return a book."""
        book: Json = json.loads(self.book_path(name).read_bytes())
        return book

    def mapped(self) -> dict[str, str]:
        """Return the main chat's map of its forks' books."""
        books: dict[str, str] = self.opened().metadata.get("auto_recap", {}).get("checkpoint_lorebook_map", {})
        return books


def comments(chat: OpenChat) -> list[str]:
    """Return the names of a book's entries."""
    return [entry["comment"] for entry in chat.entries.values()]


def versions(chat: OpenChat) -> list[int]:
    """Return the versions of a chat's running recap."""
    return [version["version"] for version in chat.metadata["auto_recap_running_scene_recaps"]["versions"]]


def current(chat: OpenChat) -> int:
    """Return the version of the running recap in use."""
    number: int = chat.metadata["auto_recap_running_scene_recaps"]["current_version"]
    return number
