"""The five tests of the lorebook document: switching, switching rapidly, a missing book, cleaning up, a shared book."""

from __future__ import annotations

from pathlib import Path

import pytest

from forklore.testing import stories
from tests.acceptance.telling import BOOK, MAIN, Telling

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
