"""Several processes at one story at the same time: one at a time makes forks, and nobody's words are lost."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.disk.files import ContextChanged
from forklore.disk.lock import CreationInProgress
from tests.crash.children import fork_often, fork_server, fork_when_told, save_until_told, start
from tests.crash.scenarios import CHAT, NAME, assert_tidy, log_of, read_workspace, undo_everything, write_story
from tests.crash.structure import assert_whole, header_of
from tests.needed import posix_only

pytestmark = [
    pytest.mark.crash,
    pytest.mark.slow,
    posix_only("processes are forked here"),
]

WAIT = 60


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_story(tmp_path / "story")
    return tmp_path / "story"


@pytest.fixture
def children() -> Iterator[list[BaseProcess]]:
    """The processes a test has started; none of them outlives it."""
    started: list[BaseProcess] = []
    yield started
    for child in started:
        child.kill()
        child.join()


def hear(pipe: Any) -> Any:
    """Return what a child tells, and do not wait for ever."""
    assert pipe.poll(WAIT), "a child has nothing to tell"
    return pipe.recv()


@pytest.mark.req(95, 96, 97, 101)
@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_of_two_forks_at_the_same_moment_one_is_made_and_one_is_refused(
    root: Path, children: list[BaseProcess], kind: str
) -> None:
    reached, go_on = fork_server().Event(), fork_server().Event()
    hears, tells = fork_server().Pipe(duplex=False)
    children.append(start(fork_when_told, root, reached, go_on, tells))
    assert reached.wait(WAIT)  # the first one is staged, and about to be published
    opened = forklore.open(root)
    fork = opened.checkpoint if kind == "checkpoint" else opened.branch

    with pytest.raises(CreationInProgress) as refused:
        fork(CHAT)
    go_on.set()
    first = hear(hears)
    second = fork(CHAT, wait=WAIT)

    assert refused.value.message == "Checkpoint creation already in progress. Please wait."  # the first one's
    assert len(log_of(root)) == 2
    assert assert_whole(root) == sorted(chat.partition("/")[2] for chat in (first, second.chat))
    assert_tidy(root)


@pytest.mark.req(94, 101, 105)
def test_forks_that_wait_for_each_other_are_all_made_and_all_isolated(root: Path, children: list[BaseProcess]) -> None:
    processes, forks = 4, 5
    before = read_workspace(root)
    pipes = [fork_server().Pipe(duplex=False) for _ in range(processes)]
    children.extend(start(fork_often, root, forks, tells) for _, tells in pipes)

    made = [chat.partition("/")[2] for hears, _ in pipes for chat in hear(hears)]

    assert len(set(made)) == processes * forks
    assert assert_whole(root) == sorted(made)
    parent = header_of((root / f"chats/Mira/{NAME}.jsonl").read_bytes())
    assert sorted(parent["auto_recap"]["checkpoint_lorebook_map"]) == sorted(made)
    assert_tidy(root)
    undo_everything(forklore.open(root))
    assert read_workspace(root) == before


@pytest.mark.req(61, 98, 99)
def test_no_message_of_a_sillytavern_that_saves_all_the_time_is_lost(root: Path, children: list[BaseProcess]) -> None:
    chat = root / f"chats/Mira/{NAME}.jsonl"
    stop = fork_server().Event()
    hears, tells = fork_server().Pipe(duplex=False)
    children.append(start(save_until_told, chat, stop, tells))
    opened = forklore.open(root)
    made: list[forklore.ForkMade] = []
    refused = 0

    while len(made) < 120 and len(made) + refused < 1000 and not hears.poll():
        before = {*(root / "chats/Mira").glob("*.jsonl"), *(root / "worlds").iterdir()}
        try:
            made.append(opened.checkpoint(CHAT))
        except ContextChanged:
            refused += 1
            assert {*(root / "chats/Mira").glob("*.jsonl"), *(root / "worlds").iterdir()} == before
        assert_tidy(root)
    stop.set()
    told = hear(hears)

    assert not isinstance(told, str), told
    saves, last_saved = told
    assert saves > len(made)
    assert made
    messages = [line.partition(b'"extra"')[0] for line in chat.read_bytes().split(b"\n")[1:]]
    assert messages == [line.partition(b'"extra"')[0] for line in last_saved.split(b"\n")[1:]]
    assert len(assert_whole(root)) == len(made)
