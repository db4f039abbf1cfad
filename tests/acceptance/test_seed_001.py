"""The five tests of the second requirements document: queue, entries, running recap, combined recap, all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forklore.testing import stories
from tests.acceptance.telling import BOOK, MAIN, Telling, comments
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
