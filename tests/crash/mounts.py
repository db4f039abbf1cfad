"""Real disks for a test: small ones, read-only ones, second ones. Where they may not be made, the test is skipped."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _run(*command: str | Path) -> None:
    found = shutil.which(str(command[0]))
    if sys.platform != "linux" or found is None:
        pytest.skip(f"{command[0]} is not there")
    done = subprocess.run([found, *map(str, command[1:])], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]} is not permitted here: {done.stderr.strip()}")


@contextmanager
def mounted(folder: Path, *options: str | Path) -> Iterator[Path]:
    """Mount something at *folder*, which is made, until the block ends."""
    folder.mkdir()
    _run("mount", *options, folder)
    try:
        yield folder
    finally:
        _run("umount", "--lazy", folder)


@contextmanager
def memory_disk(folder: Path, *, size: str = "4m", files: int = 0) -> Iterator[Path]:
    """Mount a disk of a *size* in memory, with room for so many *files*."""
    limits = f"size={size}" + (f",nr_inodes={files}" if files else "")
    with mounted(folder, "-t", "tmpfs", "-o", limits, "tmpfs") as disk:
        yield disk


@contextmanager
def ext4_disk(folder: Path, *, megabytes: int = 8) -> Iterator[Path]:
    """Mount a small disk that lies in a file."""
    image = folder.with_suffix(".image")
    with image.open("wb") as file:
        file.truncate(megabytes << 20)
    _run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0", image)
    with mounted(folder, "-o", "loop", image) as disk:
        yield disk


def remount(folder: Path, how: str) -> None:
    """Mount again, ``ro`` or ``rw``."""
    _run("mount", "-o", f"remount,{how}", folder)
