"""Measure Forklore against what the disk and the plain tools need: ``python -m bench [--quick] [--write]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bench.cases import ALL, Bench, Result, results_of
from bench.measure import machine

_RESULTS = Path(__file__).parent / "results.md"
_HEAD = "| What | Measured | Against | Ratio | Limit |\n|---|---|---|---|---|\n"
_TEXT = """\
# What Forklore costs

Written by `python -m bench --write` (`make bench` only prints); do not edit by hand.

{table}
Measured on {machine}.

## How to read it

- Every line was measured in one run, its sides in turn and each round in another order; times are medians.
  What has a limit was measured in {rounds} rounds or more.
- The ratio is the median of each round's own ratio, so that a slow moment of the machine hits both sides.
  Times move from machine to machine, ratios much less; only ratios, memory and space have limits.
- All files are in the page cache, and every side begins with the disk at rest and the same files.
  Only where it says "from the disk" has the system been asked to let go of them, as before the first command of a day.
- A checkpoint is whole: requirements checked, chat, lorebook clone and parent written, synced, journalled and logged.
  It is held against copying chat, lorebook and parent and syncing the copies.
  It is not the first one in its workspace, so our own folder is there, as is the one that `cp` copies into.
  Both sides find memory that the machine has at hand.
  On a virtual machine that had to ask its host for it first, `cp` of the large files took up to four times as long.
- For memory and space the number itself is the one with the limit, in MiB or MB.
- Lines without a limit are for information: what a user might use instead, or another way to see the same.
"""


def main(arguments: Sequence[str]) -> int:
    """Measure, print the table, and write it down if asked to; return 1 when a limit is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller stories and fewer rounds")
    parser.add_argument("--write", action="store_true", help=f"write the table to {_RESULTS.name}")
    parser.add_argument("--scratch", type=Path, help="an empty folder on the disk to measure; several GB are needed")
    parser.add_argument("--only", choices=[part.__name__ for part in ALL], action="append", help="measure this alone")
    options = parser.parse_args(arguments)
    rounds = 3 if options.quick else 15
    with tempfile.TemporaryDirectory(prefix="forklore-bench-", dir=options.scratch) as scratch:
        described = machine(Path(scratch))
        results = _measure(Bench(Path(scratch), rounds, options.quick), options.only)
    if options.write:
        table = _HEAD + "".join(map(_line, results))
        _RESULTS.write_text(_TEXT.format(table=table, machine=described, rounds=rounds), encoding="utf-8")
    return int(any("no" in result.verdict for result in results))


def _measure(bench: Bench, only: Sequence[str] | None) -> list[Result]:
    results = []
    print(_HEAD, end="", flush=True)
    for part in ALL:
        if not only or part.__name__ in only:
            # A process of its own for each: memory that another part has left behind would be quicker to read into.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                for result in process.submit(results_of, part, bench).result():
                    print(_line(result), end="", flush=True)
                    results.append(result)
    return results


def _line(result: Result) -> str:
    ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
    return f"| {result.what} | {result.measured} | {result.against} | {ratio} | {result.verdict} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
