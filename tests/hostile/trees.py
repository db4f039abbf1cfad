"""Folders as values: written in milliseconds, looked at without following a link, compared entry by entry."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Folder:
    """A folder, where there need not be anything in it."""


@dataclass(frozen=True)
class Pipe:
    """Something that looks like a file and makes whoever opens it wait."""


Node = bytes | Link | Folder | Pipe
Tree = dict[str, Node]
"""What lies below a folder, by its path with ``/``."""

Seen = dict[str, tuple[object, ...]]
"""What lies below a folder as it is found on the disk: kind, numbers, times and content of each entry."""

_MOST = 1 << 24

LOCKS = (".forklore/lock", ".forklore/holder")
"""What comes and goes with a lock."""
HAS_LINKS = hasattr(os, "symlink") and os.name == "posix"


# --- writing ------------------------------------------------------------------------------------------------------


def write_tree(root: Path, tree: Mapping[str, Node]) -> None:
    """Write *tree* below *root*, which is empty; a path that leads through a link or a file of the tree is left out."""
    root.mkdir(parents=True, exist_ok=True)
    made = {""}
    for path in sorted(tree, key=lambda each: (not isinstance(tree[each], Link), each)):  # what lies behind them waits
        node, place = tree[path], f"{root}/{path}"
        if not _make_folders(str(root), path.rpartition("/")[0], made) or os.path.lexists(place):
            continue
        match node:
            case bytes():
                descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                os.write(descriptor, node)
                os.close(descriptor)
            case Link():
                os.symlink(node.target, place)
            case Folder():
                os.mkdir(place)
                made.add(path)
            case Pipe():
                os.mkfifo(place)


def _make_folders(root: str, folder: str, made: set[str]) -> bool:
    if folder in made:
        return True
    if not _make_folders(root, folder.rpartition("/")[0], made):
        return False
    place = f"{root}/{folder}"
    if os.path.lexists(place):
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            return False  # a link or a file stands there: nothing is ever written through it
    else:
        os.mkdir(place)
    made.add(folder)
    return True


def clear(folder: Path) -> None:
    """Leave *folder* empty."""
    if not folder.is_dir():
        folder.mkdir(parents=True)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


# --- looking ------------------------------------------------------------------------------------------------------


def read_tree(root: Path) -> Tree:
    """Return what lies below *root*; empty folders are told too."""
    tree: Tree = {}
    for path, entry in _entries(str(root), ""):
        if entry.is_symlink():
            tree[path] = Link(os.readlink(entry.path))
        elif entry.is_dir():
            tree[path] = Folder()
        elif entry.is_file():
            tree[path] = _content(entry.path)
        else:
            tree[path] = Pipe()
    return tree


def look(root: Path, besides: frozenset[str] = frozenset()) -> Seen:
    """Return everything below *root* but the paths *besides* and what lies below them; links are not followed."""
    seen: Seen = {}
    for path, entry in _entries(str(root), "", besides):
        found = entry.stat(follow_symlinks=False)
        content: object = None
        if entry.is_symlink():
            content = os.readlink(entry.path)
        elif stat.S_ISREG(found.st_mode):
            content = _content(entry.path)
        seen[path] = (found.st_mode, found.st_ino, found.st_nlink, found.st_mtime_ns, found.st_uid, content)
    return seen


def differences(before: Seen, after: Seen) -> list[str]:
    """Say in words how two looks differ."""
    more = [f"new: {path}" for path in sorted(after.keys() - before.keys())]
    less = [f"gone: {path}" for path in sorted(before.keys() - after.keys())]
    both = sorted(before.keys() & after.keys())
    return more + less + [f"changed: {path}" for path in both if before[path] != after[path]]


def _entries(folder: str, path: str, besides: frozenset[str] = frozenset()) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            name = f"{path}/{entry.name}" if path else entry.name
            if name in besides:
                continue
            yield name, entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path, name, besides)


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _MOST)
    finally:
        os.close(descriptor)
