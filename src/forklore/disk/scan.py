"""Looking through all chats of a workspace, with a memory of what was seen the last time.

The memory lives in the user's cache folder. It is a convenience: whoever deletes it loses nothing but a second.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from forklore.adapters import MORE_BOOKS
from forklore.disk.files import OpenFile, read_at_once
from forklore.disk.spreading import spread
from forklore.disk.state import make_private
from forklore.disk.system import is_online_only
from forklore.disk.workspace import ChatFolder, Workspace
from forklore.errors import ForkloreError
from forklore.formats.chat_facts import HeaderFacts, count_messages, find_links, links_of, read_header
from forklore.formats.json_text import faster_reader
from forklore.model import names
from forklore.model.plan import HEADER
from forklore.model.timeline import ChatFacts, Link, Story, Timeline, grow_stories
from forklore.version import VERSION

_MANY = 200  # from this number of chats on the faster reader of headers pays for its own import
_WHOLE = 16 << 20  # a chat up to this size is read as a whole, a larger one piece by piece
_MOST_PAIRS = 500_000  # of chats and forks that may be linked there, in one folder
_NOT_READ = -1  # no file has this size, so it is looked at again the next time

_dumps = json.JSONEncoder(separators=(",", ":")).encode

Progress = Callable[[int, int], None]
Row = list[Any]
"""The size and time of the file, what ``ChatFacts`` has from ``messages`` to ``more_books``, and the forks that
links were looked for.
"""
_WRITTEN, _FACTS = 1, slice(2, 23)
_MAIN_CHAT, _KIND, _LINKS, _BOOKS, _MAPPED, _MORE, _FORKS, _LENGTH = 3, 5, 8, 10, 11, 22, 23, 24
_FORMAT = f"{VERSION}/6"
"""What is kept by another version, or in another form, is not looked at; the number changes with the form."""


def scan_stories(
    workspace: Workspace,
    cache: Path | None,
    progress: Progress | None = None,
    *,
    shared_on_purpose: frozenset[str] = frozenset(),
) -> tuple[Story, ...]:
    """Return every story; only chats that changed since the last time are read."""
    looked = _look(workspace)
    sharing = {"shared_on_purpose": shared_on_purpose, "folds_names": workspace.folds_names}
    memory = _Memory(cache, workspace.root, looked, sharing)
    stories = memory.stories()
    if stories is None:
        facts = _facts(looked, memory, progress)
        stories = grow_stories(facts, shared_on_purpose=shared_on_purpose, folds_names=workspace.folds_names)
        memory.keep(stories)
    return stories


def scan_chats(workspace: Workspace, cache: Path | None, progress: Progress | None = None) -> list[ChatFacts]:
    """Return the facts of every chat; only chats that changed since the last time are read."""
    looked = _look(workspace)
    memory = _Memory(cache, workspace.root, looked, {})
    facts = _facts(looked, memory, progress)
    if memory.changed:
        memory.keep(None)
    return facts


def facts_at(path: Path, known: ChatFacts) -> ChatFacts | None:
    """Return the facts of one chat that was *known* and may have changed; None when it is gone or may not be read."""
    try:
        stat = path.stat()
    except OSError:
        return None
    row = _read(str(path), known.name, stat, quickly=False, forks={link.chat for link in known.links} or None)
    return ChatFacts._make((known.folder, known.name, *row[_FACTS], row[_WRITTEN])) if row is not None else None


class _Look(NamedTuple):
    """A folder as it is now: its chats by their name."""

    folder: ChatFolder
    chats: dict[str, os.stat_result]
    orphans_can_be_sought: bool = True
    """Whether forks that do not name their parent are few enough to be looked for in every chat."""


def _look(workspace: Workspace) -> list[_Look]:
    looked = []
    for folder in workspace.chat_folders():
        chats = {}
        for entry in folder.files:
            try:
                stat = entry.stat()
            except OSError:
                continue  # removed while we look, or a link that leads nowhere
            if S_ISREG(stat.st_mode):  # a pipe would make us wait
                chats[entry.name[:-6]] = stat
        nameless = sum(names.kind_from_name(name) is not None for name in chats)
        looked.append(_Look(folder, chats, nameless * len(chats) <= _MOST_PAIRS))
    return looked


# --- reading ------------------------------------------------------------------------------------------------------


def _facts(looked: Sequence[_Look], memory: _Memory, progress: Progress | None) -> list[ChatFacts]:
    known = {look.folder.path: _unchanged(look, memory) for look in looked}
    changed = [(look, name) for look in looked for name in look.chats if name not in known[look.folder.path]]
    reader = _Reader(known, looked, quickly=len(changed) >= _MANY)
    parts = spread(reader.rows, changed, progress or (lambda _done, _total: None))
    for (look, name), row in zip(changed, chain.from_iterable(parts), strict=True):
        memory.is_partial |= row is None or row[0] == _NOT_READ
        if row is not None:
            known[look.folder.path][name] = row
            memory.changed = True
    facts: list[ChatFacts] = []
    for look in looked:
        rows = known[look.folder.path]
        rows = {name: rows[name] for name in look.chats if name in rows}
        _read_missing_links(look, rows, memory)
        memory.put(look.folder.path, rows)
        facts += [
            ChatFacts._make((look.folder.of(name), name, *row[_FACTS], row[_WRITTEN])) for name, row in rows.items()
        ]
    return facts


def _unchanged(look: _Look, memory: _Memory) -> dict[str, Row]:
    """Return what is known of the chats of a folder that are as they were."""
    known, chats = memory.take(look.folder.path), look.chats
    rows = {name: row for name, row in known.items() if name in chats and _is_of(row, chats[name])}
    memory.changed = memory.changed or len(rows) != len(known)
    return rows


def _is_of(row: Row, stat: os.stat_result) -> bool:
    return row[:2] == [stat.st_size, stat.st_mtime_ns]


class _Reader:
    """Reads chats, each with the links to forks that are known by then."""

    def __init__(self, known: Mapping[str, Mapping[str, Row]], looked: Sequence[_Look], *, quickly: bool) -> None:
        self._quickly = faster_reader(is_worth_it=quickly) is not None
        self._forks: dict[str, dict[str, set[str]]] = {
            look.folder.path: _linked_forks(look, known[look.folder.path]) for look in looked
        }

    def rows(self, chats: Iterable[tuple[_Look, str]]) -> list[Row | None]:
        """Return the row of each chat; None for those that vanished or may not be read."""
        rows = []
        for look, name in chats:
            forks = self._forks[look.folder.path]
            path = f"{look.folder.path}{os.sep}{name}.jsonl"
            row = _read(path, name, look.chats[name], quickly=self._quickly, forks=forks.get(name))
            for parent in _may_link(name, row, look) if row is not None else ():
                forks.setdefault(parent, set()).add(name)  # those that SillyTavern named stand before their parents
            rows.append(row)
        return rows


def _linked_forks(look: _Look, rows: Mapping[str, Row]) -> dict[str, set[str]]:
    """Return the forks that a chat may have a link to, by the chat."""
    forks: dict[str, set[str]] = {}
    for name, row in rows.items():
        for parent in _may_link(name, row, look):
            forks.setdefault(parent, set()).add(name)
    return forks


def _read_missing_links(look: _Look, rows: dict[str, Row], memory: _Memory) -> None:
    """Look for links to forks that were not known when a chat was read."""
    late = {
        name: forks
        for name, forks in _linked_forks(look, rows).items()
        if name in rows and not forks <= set(rows[name][_FORKS])
    }
    for name, forks in late.items():
        links = _read_links(f"{look.folder.path}{os.sep}{name}.jsonl", forks)
        if links is None:
            memory.is_partial = True
        else:
            rows[name][_LINKS], rows[name][_FORKS] = links, sorted(forks)
            memory.changed = True


def _may_link(fork: str, row: Row, look: _Look) -> Iterable[str]:
    """Return the chats whose links tell what *fork* itself does not: where it was made, or even its parent.

    No other chat is searched for links, because that takes as long as reading it.
    """
    main_chat = row[_MAIN_CHAT]
    if main_chat is None:
        return look.chats if look.orphans_can_be_sought and names.kind_from_name(fork) else ()
    return {main_chat, names.sanitise(main_chat)} if row[_KIND] is None else ()


def _read(path: str, name: str, stat: os.stat_result, *, quickly: bool, forks: set[str] | None) -> Row | None:
    """Return the row of one chat; None when it vanished or may not be read."""
    links: tuple[Link, ...] = ()
    if is_online_only(stat):
        facts = HeaderFacts(damaged=True)
        return [_NOT_READ, stat.st_mtime_ns, 0, *facts[:5], links, *facts[5:], []]
    try:
        if stat.st_size > _WHOLE:
            with OpenFile(path) as file:
                header = file.chat.line_bytes(HEADER) if file.chat.lines.starts else b""
                messages = file.chat.message_count
            forks = None  # later: it has to be read once more in any case
        else:
            data = read_at_once(path, stat.st_size)
            data = data.lstrip(b" \t\r\n")  # blank lines before the header do not count
            end = data.find(b"\n")
            header, messages = data if end < 0 else data[:end], count_messages(data)
            links = tuple(find_links(data, forks)) if forks else ()
    except (OSError, ForkloreError):
        return None
    facts = (
        read_header(header, name, quickly=quickly, more_books=MORE_BOOKS)
        if header.strip()
        else HeaderFacts(damaged=True)
    )
    return [stat.st_size, stat.st_mtime_ns, messages, *facts[:5], links, *facts[5:], sorted(forks or ())]


def _read_links(path: str, forks: set[str]) -> tuple[Link, ...] | None:
    """Return the links of one chat; None when it vanished or may not be read."""
    try:
        with OpenFile(path) as file:
            return tuple(links_of(file.chat) if file.size > _WHOLE else find_links(file.read(), forks))
    except (OSError, ForkloreError):
        return None


# --- remembering --------------------------------------------------------------------------------------------------


class _Memory:
    """What was known the last time, in two lines of JSON: the stories, and below them what each chat said.

    While every chat is as it was, the first line is the answer and the second is not even parsed.
    """

    def __init__(self, cache: Path | None, root: Path, looked: Sequence[_Look], sharing: Mapping[str, Any]) -> None:
        self.changed = self.is_partial = False
        self._path = cache / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.jsonl" if cache else None
        self._state = _digest(root, looked, sharing)
        self._rows: dict[str, dict[str, Row]] = {}
        self._first: Any = None
        self._second = b""
        if self._path is not None:
            with suppress(OSError, ValueError):
                first, _, self._second = self._path.read_bytes().partition(b"\n")
                self._first = json.loads(first)

    def stories(self) -> tuple[Story, ...] | None:
        """Return the stories of the last time if every chat is as it was then, else None."""
        with suppress(KeyError, TypeError, IndexError):
            if self._first["state"] == self._state:
                return tuple(
                    [Story(rows[0][0], tuple([Timeline(*row) for row in rows])) for rows in self._first["stories"]]
                )
        return None

    def take(self, folder: str) -> dict[str, Row]:
        """Return what was known of the chats of a folder."""
        with suppress(KeyError, TypeError, IndexError, AttributeError):
            known: dict[str, Row] = self._known[folder]
            if any(len(row) != _LENGTH for row in known.values()):
                return {}
            for row in known.values():
                row[_LINKS] = tuple([Link(*link) for link in row[_LINKS]])
                row[_MORE] = tuple(row[_MORE])
                row[_BOOKS], row[_MAPPED] = tuple(row[_BOOKS]), tuple([tuple(pair) for pair in row[_MAPPED]])
            return known
        return {}

    @cached_property
    def _known(self) -> Any:
        with suppress(ValueError, KeyError, TypeError):
            if self._first["version"] == _FORMAT:
                return json.loads(self._second)
        return {}

    def put(self, folder: str, rows: dict[str, Row]) -> None:
        """Note what is known of the chats of a folder now."""
        self._rows[folder] = rows

    def keep(self, stories: tuple[Story, ...] | None) -> None:
        """Keep what is known now for the next time; a cache that cannot be written is done without.

        The stories are no answer while a chat could not be read: nobody would notice when it can be again.
        """
        if self._path is None:
            return
        first = {
            "version": _FORMAT,
            "state": None if stories is None or self.is_partial else self._state,
            "stories": [story.timelines for story in stories or ()],
        }
        with suppress(OSError):
            make_private(self._path.parent, upto=self._path.parent)
            temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
            temporary.write_text(f"{_dumps(first)}\n{_dumps(self._rows)}", encoding="utf-8")
            try:
                os.replace(temporary, self._path)
            except OSError:  # somebody reads it, and nobody can replace it there meanwhile
                temporary.unlink()


def _digest(root: Path, looked: Sequence[_Look], sharing: Mapping[str, Any]) -> str:
    """Return what changes with every chat that is written, made, moved or removed, and with what may be shared."""
    lines = [_FORMAT, str(root), str(sharing.get("folds_names")), *sorted(sharing.get("shared_on_purpose", ()))]
    for folder, chats, _ in looked:
        lines += [folder.name, *folder.others, *folder.others.values()]
        lines += [f"{name}/{stat.st_size}/{stat.st_mtime_ns}" for name, stat in chats.items()]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


__all__ = ["facts_at", "scan_chats", "scan_stories"]
