"""A chat that many ask about within a moment is read once, and everybody is answered."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from forklore.errors import BadRequest, ForkloreError
from forklore.web import service as module
from forklore.web.service import Service
from tests.unit.web.clocks import run

ROOT = Path("data/default-user")
Asked = tuple[int, Path, str]
"""When somebody asks, in milliseconds, of which workspace and about which chat."""


class Reading:
    """Reads chats without a disk, and counts how often."""

    def __init__(self) -> None:
        self.times: Counter[tuple[Path, str]] = Counter()
        self.fails = False

    def verify(self, root: Path, chat: str) -> dict[str, Any]:
        self.times[root, chat] += 1
        if self.fails:
            raise BadRequest("unreadable")
        return {"chat": chat, "ok": True, "findings": [], "read": self.times[root, chat]}


async def answers(service: Service, asked: Sequence[Asked]) -> list[Any]:
    """Ask each at its time, and return every answer; an error is one."""

    async def ask(after: int, root: Path, chat: str) -> Any:
        await asyncio.sleep(after / 1000)
        try:
            return (await service.verify(root, chat))["read"]
        except ForkloreError as error:
            return error.code

    return list(await asyncio.gather(*(ask(*each) for each in asked)))


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    async def at_once(service: Service, work: Callable[[], Any]) -> Any:
        return work()  # without a thread, which the clock would not wait for

    reading = Reading()
    monkeypatch.setattr(module, "_verify", reading.verify)
    monkeypatch.setattr(Service, "_in_reader", at_once)
    return reading


@pytest.mark.req(102, 103)
@pytest.mark.parametrize(
    "moments, answered",
    [
        ([0] * 20, [1] * 20),
        (range(0, 100, 5), [1] * 20),
        ([0, 99, 101, 199], [1, 1, 2, 2]),
        ([0, 101, 202], [1, 2, 3]),
    ],
)
def test_a_chat_is_read_once_for_all_who_ask_within_a_tenth_of_a_second(
    moments: Sequence[int], answered: list[int], reading: Reading
) -> None:
    got = run(answers(Service(), [(moment, ROOT, "Mira/Tale") for moment in moments]))

    assert got == answered
    assert reading.times == {(ROOT, "Mira/Tale"): max(answered)}


@pytest.mark.req(102, 103)
def test_every_chat_of_every_workspace_is_read_by_itself(reading: Reading) -> None:
    places = [(root, chat) for root in (ROOT, Path("data/other")) for chat in ("Mira/Tale", "Mira/Fork")]

    got = run(answers(Service(), [(0, *place) for place in places * 5]))

    assert got == [1] * 20
    assert reading.times == dict.fromkeys(places, 1)


@pytest.mark.req(103)
def test_an_error_reaches_everybody_who_waits_and_the_next_one_asks_anew(reading: Reading) -> None:
    reading.fails = True

    got = run(answers(Service(), [(moment, ROOT, "Mira/Tale") for moment in (0, 1, 50, 150)]))

    assert got == ["BAD_REQUEST"] * 4
    assert reading.times == {(ROOT, "Mira/Tale"): 2}


@pytest.mark.req(102)
def test_a_change_on_the_disk_and_a_question_are_one_reading(reading: Reading) -> None:
    async def scene() -> None:
        service = Service()
        await asyncio.gather(
            *(service.verify_again(ROOT, "Mira/Tale") for _ in range(5)), service.verify(ROOT, "Mira/Tale")
        )

    run(scene())

    assert reading.times == {(ROOT, "Mira/Tale"): 1}
