"""What child processes do: fork until they are killed, wait for each other, be a busy SillyTavern."""

from __future__ import annotations

import json
import multiprocessing
import random
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import forklore
from forklore.disk.disk import Disk
from forklore.errors import ForkloreError
from forklore.testing import stories
from tests.crash.scenarios import CHAT, save


def fork_server() -> BaseContext:
    """Return what starts a child in a few milliseconds: a process that has everything imported already."""
    context: BaseContext = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "filelock", "platformdirs", "ctypes", "concurrent.futures.thread"])
    return context


def start(act: Callable[..., None], *arguments: object) -> BaseProcess:
    """Start a child that does *act*."""
    child: BaseProcess = fork_server().Process(target=act, args=arguments)  # type: ignore[attr-defined]  # not in stubs
    child.start()
    return child


# --- to be killed -------------------------------------------------------------------------------------------------


def change_until_killed(root: Path, seed: int, begun: Connection) -> None:
    """Make checkpoints and branches and undo some of them, without end."""
    chance = random.Random(seed)
    opened = forklore.open(root)
    begun.send("begun")
    while True:
        match chance.randrange(5):
            case 0 | 1:
                opened.checkpoint(CHAT, at=chance.choice([None, 20, 60]))
            case 2:
                opened.branch(CHAT)
            case _:
                _undo_something(opened, chance)


def recover_until_killed(root: Path, begun: Connection) -> None:
    """See to what a crash left; whoever waits hears when it begins and when it is done."""
    opened = forklore.open(root)
    begun.send("begun")
    opened.recover()
    begun.send("done")


def _undo_something(opened: forklore.Forklore, chance: random.Random) -> None:
    shown = opened.log()
    candidates = [operation.id for operation in shown.operations if operation.id not in shown.undone]
    if candidates:
        try:
            opened.undo(chance.choice(candidates))
        except ForkloreError as error:
            if error.code not in {"UNDO_REFUSED", "NAME_TAKEN"}:  # its name was used again meanwhile
                raise


# --- side by side -------------------------------------------------------------------------------------------------


class HeldDisk(Disk):
    """A disk that tells when it is about to publish, and waits."""

    def __init__(self, reached: Event, go_on: Event) -> None:
        """Set *reached*, then wait for *go_on*."""
        self._reached, self._go_on = reached, go_on

    def rename_new(self, source: Path, target: Path) -> None:
        """Wait, then rename."""
        self._reached.set()
        self._go_on.wait(60)
        super().rename_new(source, target)


def fork_when_told(root: Path, reached: Event, go_on: Event, told: Connection) -> None:
    """Make a checkpoint, but stop in the middle of it until *go_on*."""
    made = forklore.open(root, disk=HeldDisk(reached, go_on)).checkpoint(CHAT)
    told.send(made.chat)


def fork_often(root: Path, count: int, told: Connection) -> None:
    """Make *count* forks, waiting for whoever is at work."""
    opened = forklore.open(root)
    told.send([opened.checkpoint(CHAT, wait=60).chat for _ in range(count)])


def save_until_told(chat: Path, stop: Event, told: Connection) -> None:
    """Be SillyTavern: keep the chat in memory, add a message, write the whole of it; in bursts, with pauses between.

    Before each save the file must hold what was saved last, with or without a link: a message that is missing then was
    lost by somebody else. (For the moment between an exchange and its taking back the file may be the earlier one.)
    """
    content = chat.read_bytes()
    saves, chance = 0, random.Random(4)
    while not stop.is_set():
        if not any(_texts(chat.read_bytes()) == _texts(content) or stop.wait(0.01) for _ in range(100)):
            told.send(f"after {saves} saves the chat had {len(_texts(chat.read_bytes()))} messages")
            return
        content += b"\n" + stories.line(stories.message(f"Message of save {saves}."))
        save(chat, content)
        saves += 1
        stop.wait(chance.choice([0, 0, 0.005, 0.01, 0.02, 0.04]))
    told.send((saves, content))


def _texts(content: bytes) -> list[str]:
    return [json.loads(line)["mes"] for line in content.split(b"\n")[1:]]


def fork_with_a_limit(root: Path, most: int, told: Connection) -> None:
    """Make a checkpoint while no file may become larger than *most* bytes, as a quota does."""
    import resource  # noqa: PLC0415  # not on Windows

    opened = forklore.open(root)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        told.send(opened.checkpoint(CHAT).to_json())
    except ForkloreError as error:
        told.send(error.to_json())
