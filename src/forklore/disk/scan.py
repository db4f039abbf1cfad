"""Looking through all chats of a workspace, with a quick index of what is known already.

The index lives in the user's cache folder. It is a convenience: whoever deletes it loses nothing but a second.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from forklore.disk.files import OpenFile
from forklore.disk.workspace import Workspace
from forklore.errors import ForkloreError
from forklore.formats.chat_facts import HeaderFacts, count_messages, links_of, read_header
from forklore.formats.chat_jsonl import SCAN_BYTES
from forklore.model import names
from forklore.model.plan import HEADER
from forklore.model.timeline import ChatFacts, Link

_FORMAT = 1
_O_BINARY = getattr(os, "O_BINARY", 0)
Row = list[Any]
"""``[size, mtime_ns, messages, main_chat, lorebook, kind, at, timeline, damaged, links or None]``"""


def scan_chats(
    workspace: Workspace, cache: Path | None, progress: Callable[[int, int], None] | None = None
) -> list[ChatFacts]:
    """Return the facts of every chat; only files that changed since the last time are read."""
    index = _Index(cache, workspace.root)
    files = []
    for folder, entry in workspace.chat_files():
        with suppress(FileNotFoundError):  # removed while we look
            files.append((folder, entry.name[:-6], entry.path, entry.stat()))
    rows: list[tuple[str, str, str, Row]] = []
    for number, (folder, name, path, stat) in enumerate(files):
        row = index.known.get(path)
        if row is None or row[0] != stat.st_size or row[1] != stat.st_mtime_ns:
            row = _read(path, name, stat)
            if row is None:
                continue
            index.known[path] = row
            index.changed = True
            if progress is not None:
                progress(number + 1, len(files))
        rows.append((folder, name, path, row))
    _find_links(rows, index)
    index.write(path for _, _, path, _ in rows)
    return [
        ChatFacts(folder, name, messages, main_chat, lorebook, kind, at, timeline, links or (), damaged)
        for folder, name, _, (_, _, messages, main_chat, lorebook, kind, at, timeline, damaged, links) in rows
    ]


def _read(path: str, name: str, stat: os.stat_result) -> Row | None:
    """Return the row of one chat; None when it vanished or may not be read."""
    try:
        if stat.st_size > SCAN_BYTES:
            with OpenFile(Path(path)) as file:
                header = file.chat.line_bytes(HEADER) if file.chat.lines.starts else b""
                messages = file.chat.message_count
        else:
            descriptor = os.open(path, os.O_RDONLY | _O_BINARY)
            try:
                data = os.read(descriptor, stat.st_size)
            finally:
                os.close(descriptor)
            header, messages = data[: data.find(b"\n")] if b"\n" in data else data, count_messages(data)
    except (OSError, ForkloreError):
        return None
    facts = read_header(header, name) if header.strip() else HeaderFacts(damaged=True)
    return [stat.st_size, stat.st_mtime_ns, messages, *facts, None]


def _find_links(rows: list[tuple[str, str, str, Row]], index: _Index) -> None:
    """Look for links in those chats alone whose forks have no record: they cost a search through every byte."""
    wanted: set[tuple[str, str]] = set()
    for folder, name, _, row in rows:
        main_chat, kind = row[3], row[5]
        if kind is None and main_chat is not None:
            wanted |= {(folder, main_chat), (folder, names.sanitise(main_chat))}
        elif kind is None and names.kind_from_name(name):
            wanted |= {(folder, other) for place, other, _, _ in rows if place == folder}
    for folder, name, path, row in rows:
        if row[9] is None and (folder, name) in wanted:
            try:
                with OpenFile(Path(path)) as file:
                    row[9] = tuple(links_of(file.chat))
            except (OSError, ValueError, ForkloreError):
                row[9] = ()
            index.changed = True


class _Index:
    """What was known the last time, by path."""

    def __init__(self, cache: Path | None, root: Path) -> None:
        self.path = cache / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.json" if cache else None
        self.known: dict[str, Row] = {}
        self.changed = False
        if self.path is None:
            return
        try:
            stored = json.loads(self.path.read_bytes())
            if stored["format"] == _FORMAT and stored["root"] == str(root):
                self.known = stored["chats"]
                for row in self.known.values():
                    if row[9]:
                        row[9] = tuple(Link(*link) for link in row[9])
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            self.known = {}
        self._root = root

    def write(self, present: Iterable[str]) -> None:
        """Keep what is known now; a cache that cannot be written is done without."""
        if self.path is None:
            return
        paths = set(present)
        if not self.changed and paths == self.known.keys():
            return
        known = {path: row for path, row in self.known.items() if path in paths}
        stored = {"format": _FORMAT, "root": str(self._root), "chats": known}
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
            temporary.write_text(json.dumps(stored), encoding="utf-8")
            os.replace(temporary, self.path)


__all__ = ["scan_chats"]
