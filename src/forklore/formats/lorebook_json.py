"""Lorebook files: what a fork needs to know of a book, without building every entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from forklore.formats.json_text import NotJson, apply_edits, encode, parse_object, to_bytes, to_text
from forklore.model.plan import Put

_BIG = 1 << 20  # from this size on the faster reader pays for its own import

QUEUE_COMMENT = "__operation_queue"
REGISTRY_PREFIX = "_registry_"


class LorebookUnreadable(ValueError):
    """The bytes are not a lorebook; the message says why."""


class EntryOutline(NamedTuple):
    """What tells an entry: its key in the file, its UID and its comment; the content only of internal entries."""

    key: str
    uid: int | None
    comment: str
    content: str | None


@dataclass(frozen=True)
class Lorebook:
    """A book as it is in the file."""

    name: str
    data: bytes
    outline: tuple[EntryOutline, ...]
    title: str | None
    """The optional top-level ``name``, which a clone gives its own."""
    size: int
    """How many bytes the file has."""

    @cached_property
    def content(self) -> dict[str, Any]:
        """The whole book, parsed; asked for only where entries must be composed."""
        return parse_object(self.data)

    @property
    def entries(self) -> Mapping[str, Any]:
        """The entries by their key in the file, parsed; empty slots are None."""
        entries: Mapping[str, Any] = self.content["entries"]
        return entries

    @cached_property
    def comments(self) -> dict[int, str]:
        """The comment of each UID."""
        return {entry.uid: entry.comment for entry in self.outline if entry.uid is not None}

    @cached_property
    def queue_entries(self) -> tuple[EntryOutline, ...]:
        """The entries that hold an operation queue; more than one is a fault."""
        return tuple(entry for entry in self.outline if entry.comment == QUEUE_COMMENT)

    @property
    def registry_entries(self) -> Iterator[EntryOutline]:
        """The entries that list entities of one type."""
        return (entry for entry in self.outline if entry.comment.startswith(REGISTRY_PREFIX))


def parse_lorebook(name: str, data: bytes) -> Lorebook:
    """Return the book in *data*; raise ``LorebookUnreadable`` when it is none."""
    outlined = _outline_quickly(data) if len(data) >= _BIG else None
    if outlined is None:
        outlined = _outline(data)
    return Lorebook(name, data, *outlined, size=len(data))


def unsurprising_lorebook(name: str, size: int) -> Lorebook:
    """Return what a book of *size* bytes is taken for until it is read: plain entries, no title, an idle queue."""
    return Lorebook(name, b'{"entries":{}}', (), None, size=size)


def retitled(book: Lorebook, clone: str) -> bytes:
    """Return the bytes of *book* with the top-level ``name``, if it has one, changed to *clone*; nothing else."""
    if book.title is None:
        return book.data
    return to_bytes(apply_edits(to_text(book.data), [Put(("name",), encode(clone))]).text)


def _outline(data: bytes) -> tuple[tuple[EntryOutline, ...], str | None]:
    try:
        book = parse_object(data)
    except NotJson as error:
        raise LorebookUnreadable(f"It is not readable JSON ({error}).") from error
    entries = book.get("entries")
    if not isinstance(entries, dict):
        raise LorebookUnreadable("It has no entries object.")
    return tuple(_outlines(entries)), _title(book.get("name"))


def _outlines(entries: Mapping[str, Any]) -> Iterator[EntryOutline]:
    for key, entry in entries.items():
        if isinstance(entry, dict):  # empty slots are kept in the file and of no interest here
            uid, comment, content = entry.get("uid"), entry.get("comment"), entry.get("content")
            comment = comment if isinstance(comment, str) else ""
            internal = comment.startswith("_") and isinstance(content, str)
            is_number = isinstance(uid, int) and not isinstance(uid, bool)
            yield EntryOutline(key, uid if is_number else None, comment, content if internal else None)


def _title(name: object) -> str | None:
    return name if isinstance(name, str) else None


@cache
def _quick_decoder() -> Callable[[bytes], Any]:
    import msgspec  # noqa: PLC0415

    raw = msgspec.Raw
    entry = msgspec.defstruct(
        "Entry", [("uid", int | None, None), ("comment", str | None, None), ("content", raw, raw())]
    )
    entries: Any = dict[str, entry | None]  # type: ignore[valid-type]  # the type is made at run time
    return msgspec.json.Decoder(msgspec.defstruct("Book", [("entries", entries), ("name", str | None, None)])).decode


def _outline_quickly(data: bytes) -> tuple[tuple[EntryOutline, ...], str | None] | None:
    """Outline a big book with msgspec, several times faster; None where it is absent or refuses.

    It refuses half emoji and odd types that the standard library takes, so a refusal says nothing about the book.
    """
    try:
        import msgspec  # noqa: PLC0415
    except ImportError:
        return None

    try:
        book: Any = _quick_decoder()(data)
        outline = []
        for key, entry in book.entries.items():
            if entry is not None:
                comment = entry.comment or ""
                content = None
                if comment.startswith("_"):
                    raw = msgspec.json.decode(entry.content) if entry.content else None
                    content = raw if isinstance(raw, str) else None
                outline.append(EntryOutline(key, entry.uid, comment, content))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return tuple(outline), book.name
