"""The five tests of the second requirements document: queue, entries, running recap, combined recap, all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forklore.testing import stories
from tests.acceptance.telling import BOOK, MAIN, NAME, Telling, comments, current, versions
from tests.edges.running import snapshot

pytestmark = pytest.mark.req(159)


@pytest.fixture
def telling(tmp_path: Path) -> Telling:
    return Telling(tmp_path)


@pytest.mark.parametrize("status", ["pending", "in_progress", "retrying"])
def test_1_a_busy_queue_blocks_the_checkpoint(telling: Telling, status: str) -> None:
    telling.scene()
    telling.queue(stories.operation(1, status))
    before = snapshot(telling.root)

    refused = telling.run("checkpoint", MAIN, "--json")

    assert refused.code == 3
    assert refused.error["code"] == "QUEUE_NOT_EMPTY"
    assert refused.error["message"].startswith("Cannot create checkpoint: 1 operation in queue")
    assert {path: c for path, c in snapshot(telling.root).items() if not path.startswith(".forklore")} == before

    telling.queue()
    assert telling.ask("checkpoint", MAIN)["messages"] == 3


def test_2_all_entries_are_cloned(telling: Telling) -> None:
    for _ in range(3):
        telling.scene()
    chat = telling.opened()
    chat.learn("a note by hand", "Nobody but the user wrote this.")
    chat.write()

    made = telling.ask("checkpoint", MAIN)

    original, clone = telling.book(BOOK), telling.book(made["lorebook"])
    assert clone == original
    assert list(clone["entries"]) == list(original["entries"])
    assert made["entries"] == len(clone["entries"])
    assert {"_registry_character", "__index_characters", "__operation_queue", "a note by hand"} <= set(
        comments(telling.opened(made["chat"]))
    )


def test_3_running_recaps_are_isolated(telling: Telling) -> None:
    while current(telling.opened()) < 5:
        telling.scene()
    made = telling.ask("checkpoint", MAIN)

    while current(telling.opened()) < 10:
        telling.scene()

    assert telling.codes(made["chat"]) == []
    fork, main = telling.opened(made["chat"]), telling.opened()
    assert (current(fork), versions(fork)) == (5, [1, 2, 3, 4, 5])
    assert (current(main), versions(main)) == (10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert telling.ask("show", made["chat"])["running_recap"]["current_version"] == 5

    telling.scene(made["chat"])  # both sides may go on, and that is no finding
    assert telling.codes(made["chat"]) == []
    assert telling.codes(MAIN) == []


@pytest.mark.req(117, 136)
def test_4_the_combined_recap_is_preserved(telling: Telling) -> None:
    telling.scene(messages=99)
    chat = telling.opened()
    assert len(chat.messages) == 100
    combined = {"content": "A hundred messages in one.", "message_count": 100, "timestamp": stories.FIRST_MOMENT}
    chat.metadata["auto_recap"] = {"combined_recap": combined}
    chat.write()

    made = telling.ask("checkpoint", MAIN)
    telling.scene()

    assert telling.codes(made["chat"]) == []
    fork = telling.opened(made["chat"])
    assert fork.metadata["auto_recap"]["combined_recap"] == combined
    assert fork.metadata["auto_recap_checkpoint_state"]["combined_recap_message_count"] == 100

    fork.metadata["auto_recap"]["combined_recap"] = {**combined, "message_count": 60}
    fork.write()
    assert telling.codes(made["chat"]) == ["COMBINED_RECAP_MISMATCH"]


@pytest.mark.req(134, 135)
def test_5_the_complete_state_is_restored(telling: Telling) -> None:
    telling.scene(messages=10)
    while current(telling.opened()) < 5:
        telling.scene(messages=10)
    at = len(telling.opened().messages) - 1
    then = telling.opened()
    while current(telling.opened()) < 10:
        telling.scene(messages=10)
    assert len(telling.opened().messages) == 91
    now = telling.opened()

    made = telling.ask("checkpoint", MAIN, "--at", str(at))

    for _ in range(2):  # to the checkpoint and back, twice
        fork = telling.opened(made["chat"])
        assert telling.codes(made["chat"]) == []
        assert fork.messages == then.messages
        assert (current(fork), versions(fork)) == (5, versions(then))
        assert sorted(comments(fork)) == sorted(comments(then))
        assert fork.metadata["auto_lorebooks"]["registry"] == then.metadata["auto_lorebooks"]["registry"]
        assert fork.metadata["main_chat"] == NAME
        main = telling.opened()
        assert telling.codes(MAIN) == []
        assert [message["mes"] for message in main.messages] == [message["mes"] for message in now.messages]
        assert (current(main), versions(main)) == (10, versions(now))
        assert main.book == now.book

    telling.scene(made["chat"])
    telling.scene(MAIN)
    assert f"Message {at + 1} of {NAME}." not in [message["mes"] for message in telling.opened(made["chat"]).messages]
    assert "character-Guest 91" not in comments(telling.opened(made["chat"]))
    assert not any("Checkpoint #1" in str(entry["content"]) for entry in telling.opened().entries.values())
