"""Run the tests with a Python for Windows, under Wine.

``python -m tests.windows.running [ARGUMENTS OF PYTEST]``; without any, all the suites that are meant to run there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.windows.installing import PROJECT, cache, environment, packages, python

SUITES = ("unit", "crash", "property", "edges", "acceptance", "windows")
ALONE = "tests/windows/test_saving.py"  # it measures how often others are refused, so nobody else should be at work


def main() -> int:
    """Run what is asked for, or everything; return the exit code of pytest."""
    if sys.argv[1:]:
        return run_pytest(*sys.argv[1:])
    workers = os.environ.get("WORKERS", "auto")
    together = run_pytest("-n", workers, f"--ignore={ALONE}", *(f"tests/{suite}" for suite in SUITES))
    return run_pytest("-n", "0", ALONE) or together


def run_pytest(*arguments: str) -> int:
    """Run pytest there and let its output be seen as it comes; return its exit code."""
    # A device that swallows or ends everything is no stream there: pipes are.
    with subprocess.Popen(
        ["wine", str(python()), "-m", "pytest", "-q", "--timeout=600", "-p", "no:cacheprovider", *arguments],
        cwd=PROJECT,
        env=environment() | _python_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        while data := os.read(process.stdout.fileno(), 1 << 16):
            sys.stdout.buffer.write(data.replace(b"\r\n", b"\n"))
            sys.stdout.buffer.flush()
    return process.returncode


def _python_environment() -> dict[str, str]:
    return {
        "PYTHONPATH": f"{_there(packages())};{_there(PROJECT / 'src')}",
        "PYTHONPYCACHEPREFIX": _there(cache() / "bytecode"),
        "PYTHONUTF8": "1",
        # Under Wine all takes several times as long, so fewer examples are tried, and fewer steps fail.
        "HYPOTHESIS_PROFILE": os.environ.get("HYPOTHESIS_PROFILE", "windows"),
        "FORKLORE_STRIDE": os.environ.get("FORKLORE_STRIDE", "23"),
        "FORKLORE_CACHE": _there(cache() / "state"),  # each test has its own; this keeps off the user's
        "FORKLORE_STATE": _there(cache() / "state"),
    }


def _there(path: Path) -> str:
    """Return what Windows calls a file of ours: Wine shows it all of our files as a drive."""
    return "Z:" + str(path).replace("/", "\\")


if __name__ == "__main__":
    sys.exit(main())
