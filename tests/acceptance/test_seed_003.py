"""The five tests of the lorebook document: switching, switching rapidly, a missing book, cleaning up, a shared book."""

from __future__ import annotations

from pathlib import Path

import pytest

from forklore.testing import stories
from forklore.testing.stories import read_workspace
from tests.acceptance.telling import BOOK, MAIN, Telling, comments
from tests.edges.running import snapshot

pytestmark = pytest.mark.req(160)


@pytest.fixture
def telling(tmp_path: Path) -> Telling:
    """A story of three scenes."""
    telling = Telling(tmp_path)
    for _ in range(3):
        telling.scene()
    return telling


@pytest.mark.req(126)
def test_1_each_chat_loads_its_own_lorebook(telling: Telling) -> None:
    made = telling.ask("checkpoint", MAIN)
    assert made["lorebook"] != BOOK

    waiting = stories.operation(1)
    telling.queue(waiting, chat=made["chat"])

    fork, main = telling.ask("queue", made["chat"]), telling.ask("queue", MAIN)
    assert (fork["lorebook"], [each["id"] for each in fork["operations"]]) == (made["lorebook"], [waiting["id"]])
    assert (main["lorebook"], main["operations"]) == (BOOK, [])
    assert telling.run("checkpoint", made["chat"]).code == 3  # the checkpoint is busy, the main chat is not
    assert telling.run("checkpoint", MAIN).code == 0


def test_2_rapid_switching_mixes_nothing(telling: Telling) -> None:
    made = [telling.ask("checkpoint", MAIN, "--name", f"CP{number}") for number in (1, 2, 3)]
    books = {fork["chat"]: fork["lorebook"] for fork in made} | {MAIN: BOOK}
    assert len(set(books.values())) == 4
    for chat in books:
        opened = telling.opened(chat)
        opened.learn(f"seen in {chat}", "Only here.")
        opened.write()

    for chat in ("Mira/CP1", "Mira/CP2", MAIN, "Mira/CP3", "Mira/CP1"):
        assert telling.ask("status", chat)["current_lorebook"] == books[chat]
        assert [name for name in comments(telling.opened(chat)) if name.startswith("seen in")] == [f"seen in {chat}"]
        assert telling.codes(chat) == []


# --- a missing book -----------------------------------------------------------------------------------------------


@pytest.mark.req(122, 123)
def test_3_a_missing_lorebook_is_found_and_can_be_made_empty(telling: Telling) -> None:
    made = telling.ask("checkpoint", MAIN)
    telling.book_path(made["lorebook"]).unlink()
    assert telling.codes(made["chat"]) == ["LOREBOOK_MISSING"]

    telling.ask("repair", made["chat"], "LOREBOOK_MISSING", "--with", "empty")

    assert telling.codes(made["chat"]) == []
    assert telling.ask("queue", made["chat"])["operations"] == []
    fork = telling.opened(made["chat"])
    assert fork.book_path is not None
    assert fork.book_path != telling.book_path(BOOK)
    assert [name for name in comments(fork) if name != "__operation_queue"] == []
    telling.scene(made["chat"])
    assert telling.run("checkpoint", made["chat"]).code == 0

    assert "character-Mira" in comments(telling.opened(MAIN))


@pytest.mark.req(125)
def test_3_looking_at_the_repairs_of_a_missing_lorebook_changes_nothing(telling: Telling) -> None:
    made = telling.ask("checkpoint", MAIN)
    telling.book_path(made["lorebook"]).unlink()
    before = snapshot(telling.root)

    (finding,) = telling.run("verify", made["chat"], "--json").json["findings"]
    listed = telling.run("repair", made["chat"], "LOREBOOK_MISSING", "--json")

    assert finding["repairs"] == ["from-snapshot", "from-parent", "empty", "detach"]
    assert listed.code == 0
    assert snapshot(telling.root) == before


@pytest.mark.req(124)
@pytest.mark.parametrize("repair", ["from-snapshot", "from-parent", "empty", "detach"])
def test_3_every_repair_of_a_missing_lorebook_isolates_and_can_be_undone(telling: Telling, repair: str) -> None:
    made = telling.ask("checkpoint", MAIN)
    telling.scene()  # what the main chat learns now is none of the checkpoint's business
    telling.book_path(made["lorebook"]).unlink()
    before = read_workspace(telling.root)

    telling.ask("repair", made["chat"], "LOREBOOK_MISSING", "--with", repair)

    assert "LOREBOOK_MISSING" not in telling.codes(made["chat"])
    fork = telling.opened(made["chat"])
    assert fork.metadata.get("world_info") != BOOK
    if repair == "detach":
        assert not fork.metadata.get("world_info")
    elif repair != "empty":
        assert "character-Guest 1" in comments(fork)
        assert "character-Guest 7" not in comments(fork)
    assert read_workspace(telling.root)[f"worlds/{BOOK}.json"] == before[f"worlds/{BOOK}.json"]

    telling.ask("undo")
    assert read_workspace(telling.root) == before


def test_3_a_lorebook_in_the_trash_comes_back_as_it_was(telling: Telling) -> None:
    made = telling.ask("checkpoint", MAIN)
    chat, book = telling.opened(made["chat"]).path, telling.book_path(made["lorebook"])
    backup, content = chat.read_bytes(), book.read_bytes()
    telling.ask("delete", made["chat"], "--yes")
    chat.write_bytes(backup)  # SillyTavern's backups hold chats, but no books
    (finding,) = [
        each
        for each in telling.run("verify", made["chat"], "--json").json["findings"]
        if each["code"] == "LOREBOOK_MISSING"
    ]
    assert finding["repairs"][0] == "from-trash"

    telling.ask("repair", made["chat"], "LOREBOOK_MISSING", "--with", "from-trash")

    assert book.read_bytes() == content
    assert "LOREBOOK_MISSING" not in telling.codes(made["chat"])


# --- cleaning up --------------------------------------------------------------------------------------------------


@pytest.mark.req(138, 139, 143)
def test_4_the_lorebook_of_a_deleted_checkpoint_is_cleaned_up_on_request(telling: Telling) -> None:
    made = telling.ask("checkpoint", MAIN, "--name", "Gone soon")
    book = telling.book_path(made["lorebook"])
    content = book.read_bytes()
    telling.opened(made["chat"]).path.unlink()  # as SillyTavern deletes it: the chat alone

    listed = telling.run("cleanup", "--json")
    assert listed.code == 0
    assert made["lorebook"] in listed.out
    assert book.is_file()  # looking removes nothing

    telling.ask("cleanup", "--apply")

    assert not book.exists()
    assert "Gone soon" not in telling.mapped()
    assert telling.book_path(BOOK).is_file()
    telling.ask("undo")
    assert book.read_bytes() == content


@pytest.mark.req(138, 143)
def test_4_deleting_a_checkpoint_takes_its_lorebook_and_its_traces_along(telling: Telling) -> None:
    before = read_workspace(telling.root)
    made = telling.ask("checkpoint", MAIN, "--name", "Gone soon")
    with_it = read_workspace(telling.root)

    telling.ask("delete", made["chat"], "--yes")

    left = read_workspace(telling.root)
    assert left.keys() == before.keys()
    assert not [path for path, content in left.items() if b"Gone soon" in content]  # neither link nor map entry
    telling.ask("undo")
    assert read_workspace(telling.root) == with_it


@pytest.mark.req(142, 143)
def test_5_a_lorebook_goes_with_its_last_user(telling: Telling) -> None:
    first, second = (telling.ask("checkpoint", MAIN, "--name", name) for name in ("CP1", "CP2"))
    other = telling.opened(second["chat"])
    other.metadata["world_info"] = first["lorebook"]  # somebody attached the first one's book to the second
    other.book_path, other.book = telling.book_path(first["lorebook"]), telling.book(first["lorebook"])
    other.write()
    telling.book_path(second["lorebook"]).unlink()
    shared = telling.book_path(first["lorebook"])

    telling.ask("delete", first["chat"], "--yes")
    telling.ask("cleanup", "--apply")
    assert shared.is_file()

    telling.ask("delete", second["chat"], "--yes")
    telling.ask("cleanup", "--apply")
    assert not shared.exists()
    assert telling.mapped() == {}
