"""A process is killed with ``kill -9`` at random moments: whatever it was doing is whole, or was never there.

``FORKLORE_KILLS=500`` kills more often; ``--junitxml=FILE`` tells at which moments.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import forklore
from forklore.testing import stories
from forklore.testing.sillytavern import OpenChat, recap_story
from tests.crash.children import change_until_killed, fork_server, recover_until_killed, start
from tests.crash.scenarios import BOOK, CHAT, NAME, assert_tidy, read_workspace, undo_everything
from tests.crash.structure import assert_whole
from tests.needed import posix_only

pytestmark = [
    pytest.mark.crash,
    pytest.mark.slow,
    posix_only("there is no kill -9"),
]

KILLS = int(os.environ.get("FORKLORE_KILLS", "60"))
BATCHES = 4  # side by side, and each begins anew with a fresh story
LONGEST = 0.12
RECOVERIES, LONGEST_RECOVERY = 3, 0.006


def write_long_story(root: Path, turns: int) -> None:
    """Write a story that takes a moment to copy: for 800 turns about one megabyte of chat and half of book."""
    stories.write_workspace(root, recap_story(NAME, BOOK))
    chat = OpenChat(root, CHAT)
    for number in range(turns // 10):
        chat.say(*(f"Turn {number}.{turn}. " + "It goes on. " * 60 for turn in range(10)))
        chat.learn(f"character-Guest {number}", "Somebody new. " * 300)
    chat.write()


@pytest.mark.req(46, 88, 89, 105)
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.timeout(900)
def test_a_process_killed_at_any_moment_leaves_whole_forks_only(
    batch: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    origin = tmp_path / "origin"
    write_long_story(origin, turns=800 if batch % 2 else 80)
    root = shutil.copytree(origin, tmp_path / "story")
    before = read_workspace(root)
    chance = random.Random(f"{batch} of {KILLS}")
    outcomes: Counter[str] = Counter()

    for run in range(KILLS // BATCHES):
        kill_at_work(change_until_killed, root, 1000 * batch + run, after=chance.uniform(0, LONGEST))
        for _ in range(RECOVERIES):  # and whoever sees to it is killed, too
            if not any_left(root):
                break
            is_done = kill_at_work(recover_until_killed, root, after=chance.uniform(0, LONGEST_RECOVERY))
            outcomes["recovered in time" if is_done else "killed while it recovered"] += 1

        outcomes[_recover(root)] += 1
        assert_tidy(root)
        assert_whole(root)
        if run % 5 == 4:
            undo_everything(forklore.open(root))
            assert read_workspace(root) == before
            assert_tidy(root)

    undo_everything(forklore.open(root))
    assert read_workspace(root) == before
    for outcome, times in outcomes.items():
        record_property(outcome, times)  # pytest --junitxml=FILE shows them


def kill_at_work(act: Callable[..., None], root: Path, *arguments: object, after: float) -> bool:
    """Let a child *act*, kill it some seconds *after* it has begun, and return whether it was done by then."""
    hears, tells = fork_server().Pipe(duplex=False)
    child = start(act, root, *arguments, tells)
    assert hears.recv() == "begun"
    time.sleep(after)
    child.kill()
    child.join()
    tells.close()
    try:
        return hears.poll() and hears.recv() == "done"
    except EOFError:
        return False
    finally:
        hears.close()


def any_left(root: Path) -> bool:
    """Whether an operation was interrupted."""
    staging = root / ".forklore/staging"
    return staging.is_dir() and any(staging.iterdir())


def _recover(root: Path) -> str:
    """See to what the kill left, and say what it had interrupted."""
    staging = root / ".forklore/staging"
    left = [*staging.iterdir()] if staging.is_dir() else []
    if not left:
        forklore.open(root).recover()
        return "between two operations"
    (folder,) = left
    if not (folder / "journal.json").exists():
        forklore.open(root).recover()
        return "before the journal"
    if (root / f".forklore/operations/{folder.name}.json").exists():
        forklore.open(root).recover()
        return "after the log"
    operations = len([*(root / ".forklore/operations").glob("*.json")])
    forklore.open(root).recover()
    finished = len([*(root / ".forklore/operations").glob("*.json")]) > operations
    return "after the commit" if finished else "between journal and commit"
