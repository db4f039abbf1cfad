"""The guard: finds names of the family in what no row knows, so that no extension can reach back unnoticed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from forklore.formats.json_text import encode, to_bytes
from forklore.formats.lorebook_json import Lorebook
from forklore.model.plan import JsonPath

_TOLD_TO_PEOPLE = frozenset({"name", "mes", "swipes", "title", "key", "keysecondary", "comment", "content"})
"""Members that hold words, which may be the name of anything."""
_LINKS = frozenset({"bookmark_link", "branches"})
"""How SillyTavern itself links a message to the forks made there."""

METADATA, MESSAGE, ENTRY = "metadata", "message", "entry"


class Naming(NamedTuple):
    """A text that is the name of a lorebook or a chat of the family."""

    where: str
    """``metadata``, ``message`` (the first one) or ``entry``."""
    path: JsonPath
    name: str
    book: str = ""
    """The lorebook of the entry."""

    @property
    def place(self) -> str:
        """How the place is told and remembered."""
        steps = ".".join(map(str, self.path))
        return {METADATA: steps, MESSAGE: f"message 0: {steps}"}.get(self.where, f"{self.book}: {steps}")


def in_metadata(metadata: Mapping[str, Any], names: Collection[str], known: Collection[str]) -> Iterator[Naming]:
    """Yield where the metadata names one of the family, outside the keys that are *known*."""
    for key, value in metadata.items():
        if key not in known:
            yield from (Naming(METADATA, at, name) for at, name in _namings(value, names, (key,)))


def in_message(message: Mapping[str, Any], names: Collection[str]) -> Iterator[Naming]:
    """Yield where the first message names one of the family."""
    yield from (Naming(MESSAGE, at, name) for at, name in _namings(message, names, ()))


def in_entries(book: Lorebook, names: Iterable[str], called: str) -> Iterator[Naming]:
    """Yield where the entries of a lorebook, *called* so in the fork, name one of the family."""
    wanted = {name for name in names if book.holds(quoted(name))}
    if wanted:
        for key, entry in book.entries.items():
            for at, name in _namings(entry, wanted, ("entries", key)):
                yield Naming(ENTRY, at, name, called)


def quoted(name: str) -> bytes:
    """Return a name as it stands in JSON."""
    return to_bytes(encode(name))


def _namings(value: Any, names: Collection[str], at: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    if isinstance(value, str):
        if value in names:
            yield at, value
    elif isinstance(value, dict):
        for key, held in value.items():
            if key not in _TOLD_TO_PEOPLE and key not in _LINKS:
                yield from _namings(held, names, (*at, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _namings(item, names, (*at, number))


def short_texts(value: Any, known: Collection[str] = ()) -> Iterator[str]:
    """Yield every text that may be a name."""
    if isinstance(value, str):
        if 0 < len(value) < 256:
            yield value
    elif isinstance(value, dict):
        for key, held in value.items():
            if key not in _TOLD_TO_PEOPLE and key not in _LINKS and key not in known:
                yield from short_texts(held)
    elif isinstance(value, list):
        for item in value:
            yield from short_texts(item)
