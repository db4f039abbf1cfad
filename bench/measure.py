"""Measuring: everything in turn in one run, medians, and how much one thing costs against another."""

from __future__ import annotations

import mmap
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PEAK = """
import sys
{code}
status = open("/proc/self/status").read() if sys.platform == "linux" else ""
if status:
    print(int(status.split("VmHWM:")[1].split()[0]) * 1024)
else:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak if sys.platform == "darwin" else peak * 1024)
"""


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Case:
    """Something to measure; *before* and *after* are not timed."""

    run: Callable[[], object]
    before: Callable[[], object] = _nothing
    after: Callable[[], object] = _nothing


class Times:
    """The seconds that each case took in each round."""

    def __init__(self, seconds: Mapping[str, Sequence[float]]) -> None:
        """Keep what was measured: equally many rounds for every case."""
        self._seconds = seconds

    def milliseconds(self, case: str) -> float:
        """Return the median."""
        return statistics.median(self._seconds[case]) * 1000

    def ratio(self, case: str, against: str) -> float:
        """Return how many times as long *case* takes: the median over the rounds, so that a slow moment hits both."""
        pairs = zip(self._seconds[case], self._seconds[against], strict=True)
        return statistics.median(mine / theirs for mine, theirs in pairs)


def in_turn(cases: Mapping[str, Case], rounds: int) -> Times:
    """Measure all *cases* in every round, in another order each time; a first round is not counted.

    The orders are drawn, since one case leaves the machine to the next: none may always come after the same one.
    """
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    draw = random.Random(len(cases))  # the same orders each time
    for number in range(-1, rounds):
        for name in draw.sample(list(cases), len(cases)):
            case = cases[name]
            case.before()
            started = time.perf_counter()
            case.run()
            taken = time.perf_counter() - started
            case.after()
            if number >= 0:
                seconds[name].append(taken)
    return Times(seconds)


def find_memory(size: int) -> None:
    """Have *size* bytes of memory ready for whoever needs some next.

    A virtual machine gives memory that was free for a few seconds back to its host, and whoever gets it next waits for
    the host: four times as long for the same copy, which is neither side's doing.
    """
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for page in range(0, size, mmap.PAGESIZE):
            memory[page] = 1


def peak_memory(code: str, *arguments: str) -> int:
    """Return how many bytes a fresh process holds at most while it runs *code*.

    Where it can be had it is the process's own mark, since ``ru_maxrss`` begins with what the parent held.
    """
    command = [sys.executable, "-c", _PEAK.format(code=code), *arguments]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(ran.stdout.split()[-1])


def machine(scratch: Path) -> str:
    """Describe in general words what was measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB of memory, {platform.system()} on {platform.machine()}, "
        f"a local disk with {_file_system(scratch)}, Python {platform.python_version()}; "
        f"{os.getloadavg()[0]:.1f} other tasks on average when the run began"
    )


def _file_system(folder: Path) -> str:
    command = ["df", "--output=fstype", str(folder)]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    except (OSError, subprocess.CalledProcessError):
        return "an unknown file system"
