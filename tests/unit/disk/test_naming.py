"""Who names a lorebook."""

from pathlib import Path

import pytest

from forklore.checks.references import References, references
from forklore.disk.naming import gather_naming
from forklore.disk.scan import scan_chats
from forklore.disk.workspace import Workspace
from forklore.model.fact import fact
from forklore.testing import stories
from forklore.testing.stories import write_workspace
from forklore.texts import words
from tests.needed import posix_only


def in_workspace(root: Path) -> References:
    workspace = Workspace(root)
    return looked_up(workspace, None)


def looked_up(workspace: Workspace, cache: Path | None) -> References:
    chats = scan_chats(workspace, cache)
    return references(chats, gather_naming(workspace, chats))


@pytest.mark.req(140, 142)
def test_every_place_is_told_and_only_that_book(tmp_path: Path) -> None:
    timed = {"timedWorldInfo": {"sticky": {"A.b.3": {}, "Other.1": {}}, "cooldown": None}, "world_info": "Other"}
    selection = {"globalSelect": ["A.b"], "charLore": [{"name": "Bob", "extraBooks": ["A.b"]}]}
    files = {
        **stories.solo_files("Tale", {"world_info": "A.b"}, []),
        **stories.solo_files("Timed", timed, []),
        **stories.group_files("Party", {"world_info": ["A.b"]}, []),
        "characters/Mira.png": stories.card_png("Mira", "A.b"),
        "settings.json": stories.pretty(
            {
                "world_info_settings": {"world_info": selection},
                "power_user": {"persona_description_lorebook": "A.b"},
            }
        ),
    }
    found = in_workspace(write_workspace(tmp_path, files))

    assert found.of("A.b") == (
        fact("named", case="chat", chat="Mira/Tale"),
        fact("named", case="effects", chat="Mira/Timed"),
        fact("named", case="chat", chat="group:17/Party"),
        fact("named", case="character", character="Mira"),
        fact("named", case="everywhere"),
        fact("named", case="additional", character="Bob"),
        fact("named", case="persona"),
    )
    assert [words(each) for each in found.of("A.b")] == [
        "The chat “Mira/Tale” uses it.",
        "The chat “Mira/Timed” has timed effects of it, or names it among others.",
        "The chat “group:17/Party” uses it.",
        "The character “Mira” has it as its lorebook.",
        "It is active in all chats.",
        "The character “Bob” has it as an additional lorebook.",
        "A persona has it as its lorebook.",
    ]
    assert found.of("Other") == (fact("named", case="chat", chat="Mira/Timed"),)
    assert found.of("Nobody's") == found.unreadable == ()


def test_a_chat_itself_need_not_count(tmp_path: Path) -> None:
    files = stories.group_files("Party", {"world_info": "Lore"}, []) | stories.solo_files("Tale", {}, [])
    found = in_workspace(write_workspace(tmp_path, files))

    assert found.of("Lore", besides="group:17/Party") == ()
    assert found.of("Lore", besides="group:/Party") == ()  # while no group lists it
    assert found.of("Lore", besides="Mira/Party") != ()


def test_names_that_are_one_file_are_one_book(tmp_path: Path) -> None:
    files = stories.solo_files("Tale", {"world_info": "A/B: Lore"}, [])
    found = in_workspace(write_workspace(tmp_path, files))

    assert found.of("ab lore") == (fact("named", case="chat", chat="Mira/Tale"),)


def test_it_is_the_same_from_the_memory_of_the_last_time(tmp_path: Path) -> None:
    files = stories.solo_files("Tale", {"world_info": ["A", "B"], "timedWorldInfo": {"sticky": {"C.1": {}}}}, [])
    workspace = Workspace(write_workspace(tmp_path / "workspace", files))

    first, second = (looked_up(workspace, tmp_path / "cache") for _ in range(2))

    assert first == second
    assert all(first.of(book) for book in "ABC")


@posix_only("links need a privilege there")
def test_a_chat_that_cannot_be_looked_at_may_name_any_book(tmp_path: Path) -> None:
    root = write_workspace(tmp_path, stories.solo_files("Chat", {}, stories.conversation(1)))
    (root / "chats" / "Mira" / "Loop.jsonl").symlink_to("Loop.jsonl")
    (root / "chats" / "Mira" / "Gone.jsonl").symlink_to("nowhere")

    assert in_workspace(root).unreadable == (fact("unreadable", case="chat", chat="Mira/Loop"),)
