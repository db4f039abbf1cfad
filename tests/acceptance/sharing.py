"""Every way in which timelines can share a lorebook; each writes a workspace and returns those who share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import forklore
from forklore.app.forklore import Forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import write_workspace

MAIN = "Mira/Tale"
LORE = {"Lore": stories.lorebook([stories.entry(1, "character-Mira", "a cook")])}


def open_at(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


def tale(root: Path, **metadata: object) -> Path:
    return write_workspace(
        root, stories.solo_files("Tale", {"world_info": "Lore", "integrity": "a", **metadata}, SAID, books=LORE)
    )


SAID = stories.conversation(6)


def a_fork_on_its_parents_book(root: Path) -> set[str]:
    tale(root)
    OpenChat(root, MAIN).fork("Tale - Branch #1", at=3)
    return {MAIN, "Mira/Tale - Branch #1"}


def a_fork_of_a_fork_on_its_parents_book(root: Path) -> set[str]:
    made = open_at(tale(root)).branch(MAIN)
    OpenChat(root, made.chat).fork("Another", at=3)
    return {made.chat, "Mira/Another"}


def a_main_on_its_forks_book(root: Path) -> set[str]:
    made = open_at(tale(root)).checkpoint(MAIN)
    main = OpenChat(root, MAIN)
    main.metadata["world_info"] = made.lorebook
    main.write()
    return {MAIN, made.chat}


def a_main_on_its_forks_book_whose_own_is_gone(root: Path) -> set[str]:
    sharing = a_main_on_its_forks_book(root)
    (root / "worlds/Lore.json").unlink()
    return sharing


def two_mains(root: Path) -> set[str]:
    tale(root)
    write_workspace(root, stories.solo_files("Other", {"world_info": "Lore"}, stories.conversation(4, first=40)))
    return {MAIN, "Mira/Other"}


def two_characters(root: Path) -> set[str]:
    tale(root)
    said = stories.conversation(4, first=40)
    write_workspace(root, stories.solo_files("Other", {"world_info": "Lore"}, said, folder="Bob"))
    return {MAIN, "Bob/Other"}


def a_copy(root: Path) -> set[str]:
    tale(root)
    return {MAIN, OpenChat(root, MAIN).import_again("Tale imported")}


def a_group_chat_made_of_a_chat(root: Path) -> set[str]:
    tale(root)
    return {MAIN, OpenChat(root, MAIN).convert("Party")}


def two_group_chats(root: Path) -> set[str]:
    files = stories.group_files("One", {"world_info": "Lore"}, SAID, books=LORE)
    said = stories.conversation(4, first=40)
    write_workspace(root, files | stories.group_files("Two", {"world_info": "Lore"}, said, group_id="18"))
    return {"group:17/One", "group:18/Two"}


def two_spellings(root: Path) -> set[str]:
    tale(root, world_info="Lo:re")
    write_workspace(root, stories.solo_files("Other", {"world_info": "Lore"}, stories.conversation(4, first=40)))
    return {MAIN, "Mira/Other"}


def a_list_of_one(root: Path) -> set[str]:
    tale(root)
    write_workspace(root, stories.solo_files("Other", {"world_info": ["Lore"]}, stories.conversation(4, first=40)))
    return {MAIN, "Mira/Other"}


def active_globally(root: Path) -> set[str]:
    tale(root)
    (root / "settings.json").write_text(
        json.dumps({"world_info_settings": {"world_info": {"globalSelect": ["Lore"]}}}), encoding="utf-8"
    )
    return set()


def active_with_a_persona(root: Path) -> set[str]:
    tale(root)
    (root / "settings.json").write_text(
        json.dumps({"power_user": {"persona_description_lorebook": "Lore"}}), encoding="utf-8"
    )
    return set()


def on_purpose(root: Path) -> set[str]:
    a_fork_on_its_parents_book(root)
    open_at(root).isolate(MAIN, share=True)
    return set()


def nobody(root: Path) -> set[str]:
    open_at(tale(root)).branch(MAIN)
    return set()


Way = Callable[[Path], set[str]]

WAYS: list[Way] = [
    a_fork_on_its_parents_book,
    a_fork_of_a_fork_on_its_parents_book,
    a_main_on_its_forks_book,
    a_main_on_its_forks_book_whose_own_is_gone,
    two_mains,
    two_characters,
    a_copy,
    a_group_chat_made_of_a_chat,
    two_group_chats,
    two_spellings,
    a_list_of_one,
    active_globally,
    active_with_a_persona,
    on_purpose,
    nobody,
]
