"""Lorebook files: what a fork needs to know of a book, without building every entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, cast

from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import REFUSALS, NotJson, encode, faster_reader, parse, parse_object, to_bytes, to_text
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
class Outline:
    """The outlines of all entries, kept by columns: a book may have ten thousand, and few are looked at one by one."""

    keys: tuple[str, ...] = ()
    uids: tuple[int | None, ...] = ()
    comments: tuple[str, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict)
    """The content of the internal entries, by their key in the file."""

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self.keys)

    def __iter__(self) -> Iterator[EntryOutline]:
        """Yield each entry in the order of the file."""
        return map(EntryOutline, self.keys, self.uids, self.comments, map(self.contents.get, self.keys))

    @cached_property
    def by_uid(self) -> dict[int, str]:
        """The comment of each UID."""
        comments: dict[int | None, str] = dict(zip(self.uids, self.comments, strict=True))
        comments.pop(None, None)
        return cast("dict[int, str]", comments)

    @cached_property
    def internal(self) -> tuple[EntryOutline, ...]:
        """The entries that ST-Auto-Recap keeps for itself: their comments begin with an underscore."""
        chosen = [number for number, comment in enumerate(self.comments) if comment[:1] == "_"]
        return tuple(
            EntryOutline(self.keys[i], self.uids[i], self.comments[i], self.contents.get(self.keys[i])) for i in chosen
        )

    @cached_property
    def queue_entries(self) -> tuple[EntryOutline, ...]:
        """The entries that hold an operation queue; more than one is a fault."""
        return tuple(entry for entry in self.internal if entry.comment == QUEUE_COMMENT)

    @cached_property
    def registry_entries(self) -> tuple[EntryOutline, ...]:
        """The entries that list entities of one type."""
        return tuple(entry for entry in self.internal if entry.comment.startswith(REGISTRY_PREFIX))


@dataclass(frozen=True)
class Lorebook:
    """A book as it is in the file."""

    name: str
    data: bytes
    outline: Outline
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


def parse_lorebook(name: str, data: bytes) -> Lorebook:
    """Return the book in *data*; raise ``LorebookUnreadable`` when it is none."""
    outlined = _outline_quickly(data) if faster_reader(is_worth_it=len(data) >= _BIG) else None
    if outlined is None:
        outlined = _outline(data)
    return Lorebook(name, data, *outlined, size=len(data))


def unsurprising_lorebook(name: str, size: int) -> Lorebook:
    """Return what a book of *size* bytes is taken for until it is read: plain entries, no title, an idle queue."""
    return Lorebook(name, b'{"entries":{}}', Outline(), None, size=size)


def retitled(book: Lorebook, clone: str) -> bytes:
    """Return the bytes of *book* with the top-level ``name``, if it has one, changed to *clone*; nothing else."""
    if book.title is None:
        return book.data
    return to_bytes(apply_edits(to_text(book.data), [Put(("name",), encode(clone))]).text)


def _outline(data: bytes) -> tuple[Outline, str | None]:
    try:
        book = parse_object(data)
    except NotJson as error:
        raise LorebookUnreadable(f"It is not readable JSON ({error}).") from error
    entries = book.get("entries")
    if not isinstance(entries, dict):
        raise LorebookUnreadable("It has no entries object.")
    held = {key: entry for key, entry in entries.items() if isinstance(entry, dict)}  # an empty slot is no entry
    uids = (entry.get("uid") for entry in held.values())
    comments = tuple(_text(entry.get("comment")) or "" for entry in held.values())
    contents = {
        key: content
        for (key, entry), comment in zip(held.items(), comments, strict=True)
        if comment[:1] == "_" and isinstance(content := entry.get("content"), str)
    }
    return Outline(tuple(held), tuple(map(_number, uids)), comments, contents), _text(book.get("name"))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _give_way(_entry: object) -> None:
    """Do nothing, but in Python: so threads that hash and sync meanwhile get the interpreter between two entries."""


@cache
def _quick_decoder() -> Callable[[bytes], Any]:
    import msgspec  # noqa: PLC0415

    raw = msgspec.Raw
    entry = msgspec.defstruct(
        "Entry",
        [("uid", int | None, None), ("comment", str | None, None), ("content", raw, raw())],
        namespace={"__post_init__": _give_way},
        gc=False,
    )
    entries: Any = dict[str, entry | None]  # type: ignore[valid-type]  # the type is made at run time
    return msgspec.json.Decoder(msgspec.defstruct("Book", [("entries", entries), ("name", str | None, None)])).decode


def _outline_quickly(data: bytes) -> tuple[Outline, str | None] | None:
    """Outline a book with the faster reader; None where it refuses, which says nothing about the book."""
    try:
        book: Any = _quick_decoder()(data)
        held = book.entries
        if None in held.values():  # an empty slot is no entry
            held = {key: entry for key, entry in held.items() if entry is not None}
        comments = tuple([entry.comment or "" for entry in held.values()])
        contents = {}
        for key in [key for key, comment in zip(held, comments, strict=True) if comment[:1] == "_"]:
            if held[key].content:
                content = parse(bytes(held[key].content))
                if isinstance(content, str):
                    contents[key] = content
    except REFUSALS:
        return None
    return Outline(tuple(held), tuple([entry.uid for entry in held.values()]), comments, contents), book.name
