"""Words that several tests share."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e_sillytavern.page import Page
from tests.e2e_sillytavern.tavern import Tavern

SAMPLES = Path(__file__).parents[1] / "samples"


def lore_in(prompt: str) -> set[str]:
    """Return the marked pieces of lore that a prompt has."""
    return {word.strip(".,") for word in prompt.split() if word.startswith("LORE-")}


def name_of(address: str) -> str:
    """Return the chat's name in its address."""
    return address.partition("/")[2]


def folder_of(address: str) -> str:
    """Return the folder in an address."""
    return address.partition("/")[0]


def begin(page: Page, character: str) -> str:
    """Open a new story with a lorebook and three messages; return the chat's address."""
    main = page.open_character(character)
    page.attach_book(f"Lore of {folder_of(main)}", {"harbour": "LORE-COMMON"})
    page.send("Hello.")
    return main


def findings_about(tavern: Tavern, address: str) -> list[str]:
    """Return the codes of what is found in a timeline when it is opened."""
    return [finding.code for finding in tavern.forklore().verify(address).findings]


def operations_about(tavern: Tavern, address: str) -> list[str]:
    """Return the kinds of the operations that were about a chat."""
    return [each.kind for each in tavern.forklore().log().operations if each.chat == address]


def empty_queue(tavern: Tavern, name: str) -> None:
    """Finish ST-Auto-Recap's work in a lorebook."""
    book = tavern.read_book(name)
    for entry in book["entries"].values():
        if entry["comment"] == "__operation_queue":
            entry["content"] = json.dumps(json.loads(entry["content"]) | {"queue": []})
    tavern.write_book(name, book)
