from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from forklore.disk.spreading import spread

ALONE = """
import errno, os, signal, sys, threading
from forklore.disk.spreading import spread

def nobody(done, total):
    pass

here = os.getpid()
"""
only_where_processes_are_copied = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")


def alone(code: str) -> str:
    """Run *code* in a process that has one thread, as the command line has, and return what it prints."""
    ran = subprocess.run([sys.executable, "-c", ALONE + code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stderr == ""
    return ran.stdout.strip()


@pytest.mark.parametrize("count", [0, 1, 127, 128, 129, 1000])
def test_every_item_is_done_once_and_in_order(count: int) -> None:
    parts = spread(lambda part: [item * 2 for item in part], range(count), lambda _done, _total: None)

    assert [result for part in parts for result in part] == [item * 2 for item in range(count)]


def test_it_tells_how_far_it_has_come() -> None:
    told: list[tuple[int, int]] = []

    spread(len, range(300), lambda done, total: told.append((done, total)), processes=1)

    assert told == sorted(told)
    assert told[-1] == (300, 300)


def test_where_no_process_can_be_made_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    def work(part: Sequence[int]) -> tuple[int, int]:
        return os.getpid(), sum(part)

    monkeypatch.setattr(os, "fork", refuse, raising=False)

    parts = spread(work, range(300), lambda _done, _total: None, processes=3)

    assert {process for process, _ in parts} == {os.getpid()}
    assert sum(result for _, result in parts) == sum(range(300))


@only_where_processes_are_copied
class TestSeveralProcesses:
    def test_they_give_what_one_process_gives(self) -> None:
        answer = alone("""
first, answered = os.pipe()
def work(part):
    if os.getpid() == here:
        os.read(first, 1)  # until the others have done something
    else:
        os.write(answered, b"x" * 128)
    return [(os.getpid() == here, item) for item in part]
told = []
parts = spread(work, range(1000), lambda done, total: told.append(done), processes=3)
print([item for part in parts for _, item in part] == list(range(1000)))
print({is_here for part in parts for is_here, _ in part} == {True, False})
print(told == sorted(told))
""")

        assert answer == "True\nTrue\nTrue"

    def test_what_a_process_that_dies_would_have_done_is_done_here(self) -> None:
        answer = alone("""
def work(part):
    if os.getpid() != here:
        os.kill(os.getpid(), signal.SIGKILL)
    return list(part)
print(sum(spread(work, range(1000), nobody, processes=3), []) == list(range(1000)))
""")

        assert answer == "True"

    def test_an_error_shows_wherever_it_happened(self) -> None:
        answer = alone("""
def work(part):
    if 700 in part:
        raise ValueError(f"{here == os.getpid()}")
    return None
try:
    spread(work, range(1000), nobody, processes=2)
except ValueError as error:
    print(error)
""")

        assert answer == "True"

    def test_nothing_is_left_when_it_is_interrupted(self) -> None:
        answer = alone("""
def work(part):
    if os.getpid() == here:
        raise KeyboardInterrupt
    signal.pause()
before = os.listdir("/proc/self/fd")
try:
    spread(work, range(1000), nobody, processes=3)
except KeyboardInterrupt:
    print(os.listdir("/proc/self/fd") == before)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no process")
""")

        assert answer == "True\nno process"

    def test_a_process_with_several_threads_is_not_copied(self) -> None:
        answer = alone("""
os.sched_getaffinity = lambda process: {0, 1}
done = lambda: len(set(spread(lambda part: os.getpid(), range(10_000), nobody)))
waiting = threading.Event()
thread = threading.Thread(target=waiting.wait)
thread.start()
print(done())
waiting.set()
thread.join()
""")

        assert answer == "1"

    def test_few_items_are_done_here(self) -> None:
        answer = alone("""
os.sched_getaffinity = lambda process: {0, 1}
print({os.getpid() for _ in range(1)} == set(spread(lambda part: os.getpid(), range(400), nobody)))
""")

        assert answer == "True"
