"""Lorebook files: what a fork needs to know of a book, without building every entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, cast

from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import REFUSALS, NotJson, encode, faster_reader, parse, parse_object, to_bytes, to_text
from forklore.model.fact import Cause
from forklore.model.plan import Put

_BIG = 1 << 20  # from this size on the faster reader pays for its own import
_HUGE = 8 << 20  # from this size on finding the memory takes longer than taking a book apart as it comes
_SPACE = 1 << 20  # for the entries that are read at a time; few entries alone have more than some kilobytes

# How SillyTavern lays out a book.
_OPENING = b'{\n    "entries": {\n        "'
_ENTRY_ENDS = b"\n        }"
_NEXT_BEGINS = b',\n        "'
_CLOSING = b"\n    }\n}"
_BRACE_OPENS, _BRACE_CLOSES = b"{}"

QUEUE_COMMENT = "__operation_queue"
REGISTRY_PREFIX = "_registry_"
_UNNAMED = "(unnamed)"

EntryKey = tuple[Any, str]
"""The UID and the comment of an entry: a UID alone may be used again for another one."""


class LorebookUnreadable(Cause):
    """The bytes are not a lorebook."""


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

    @property
    def story_entries(self) -> int:
        """How many entries are none of those."""
        return len(self) - len(self.internal)

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
    read: Callable[[], bytes] = field(compare=False)
    """Returns the whole file, which may be large."""
    outline: Outline
    title: str | None
    """The optional top-level ``name``, which a clone gives its own."""
    size: int
    """How many bytes the file has."""
    signs: Mapping[bytes, bool] = field(default_factory=dict, compare=False)
    """Which texts were looked for while it was read, and whether they are in it."""

    def holds(self, sign: bytes) -> bool:
        """Whether a text stands in the file."""
        known = self.signs.get(sign)
        return sign in self.data if known is None else known

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file; asked for only where a book has to be changed."""
        return self.read()

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
    def live_entries(self) -> Mapping[EntryKey, tuple[str, Mapping[str, Any]]]:
        """The entries but the queue, each with its key in the file, by UID and comment."""
        return {
            known_as(entry): (key, entry)
            for key, entry in self.entries.items()
            if isinstance(entry, dict) and entry.get("comment") != QUEUE_COMMENT
        }


def unread_lorebook(name: str, size: int) -> Lorebook:
    """Return what a book of *size* bytes is taken for until it is read: plain entries, no title, an idle queue."""
    return Lorebook(name, lambda: b'{"entries":{}}', Outline(), None, size)


def known_as(entry: Mapping[str, Any]) -> EntryKey:
    """Return what tells an entry from others: its UID, whatever stands there, and its comment."""
    uid = entry.get("uid")
    return encode(uid) if isinstance(uid, list | dict) else uid, comment_of(entry)


def comment_of(entry: Mapping[str, Any]) -> str:
    """Return the comment of an entry; snapshots write ``(unnamed)`` for an empty one."""
    comment = entry.get("comment")
    return comment if isinstance(comment, str) and comment != _UNNAMED else ""


def parse_lorebook(name: str, data: bytes) -> Lorebook:
    """Return the book in *data*; raise ``LorebookUnreadable`` when it is none."""
    outlined = _outline_quickly(data) if faster_reader(is_worth_it=len(data) >= _BIG) else None
    if outlined is None:
        outlined = _outline(data)
    return Lorebook(name, lambda: data, *outlined, size=len(data))


def read_lorebook(
    name: str,
    size: int,
    *,
    read: Callable[[], bytes],
    chunks: Callable[[], Iterable[Any]],
    signs: Sequence[bytes] = (),
) -> Lorebook:
    """Return the book that is read as a whole or in chunks; raise ``LorebookUnreadable`` when it is none.

    A huge one that is laid out as usual is never in memory as a whole. *signs* are looked for on the way.
    """
    found: set[bytes] = set()
    outlined = None
    if size >= _HUGE and faster_reader(is_worth_it=True):
        outlined = _outline_in_pieces(chunks(), signs, found)
    if outlined is None:
        data = read()
        found = {sign for sign in signs if sign in data}
        book = parse_lorebook(name, data)
    else:
        book = Lorebook(name, read, outlined, None, size=size)
    return replace(book, signs={sign: sign in found for sign in signs})


def retitled(book: Lorebook, clone: str) -> bytes:
    """Return the bytes of *book* with the top-level ``name``, if it has one, changed to *clone*; nothing else."""
    if book.title is None:
        return book.data
    return to_bytes(apply_edits(to_text(book.data), [Put(("name",), encode(clone))]).text)


def _outline(data: bytes) -> tuple[Outline, str | None]:
    try:
        book = parse_object(data)
    except NotJson as error:
        raise LorebookUnreadable("not_json", reason=str(error)) from error
    entries = book.get("entries")
    if not isinstance(entries, dict):
        raise LorebookUnreadable("no_entries")
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


# --- the faster reader ----------------------------------------------------------------------------------------------


class _Decoders(NamedTuple):
    """What the faster reader makes of a whole book, and of some of its entries."""

    book: Callable[[bytes], Any]
    entries: Callable[[bytes | memoryview], dict[str, Any]]


@cache
def _decoders() -> _Decoders:
    import msgspec  # noqa: PLC0415

    raw, decoder = msgspec.Raw, msgspec.json.Decoder
    fields = [("uid", int | None, None), ("comment", str | None, None), ("content", raw, raw())]
    entries: Any = dict[str, msgspec.defstruct("Entry", fields, gc=False) | None]  # type: ignore[misc]  # made at run time
    book = msgspec.defstruct("Book", [("entries", entries), ("name", str | None, None)])
    return _Decoders(decoder(book).decode, decoder(entries).decode)


class _Columns:
    """An outline in the making."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._uids: list[int | None] = []
        self._comments: list[str] = []
        self._contents: dict[str, str] = {}
        self._slots: set[str] = set()

    def add(self, entries: dict[str, Any]) -> None:
        """Add some entries and keep what the outline tells of them; raises ``ValueError`` for a key it has already."""
        before = len(self._slots)
        self._slots.update(entries)
        if len(self._slots) < before + len(entries):
            raise ValueError("a key stands twice")
        if None in entries.values():  # an empty slot is no entry
            entries = {key: entry for key, entry in entries.items() if entry is not None}
        comments = [entry.comment or "" for entry in entries.values()]
        self._keys += entries
        self._uids += [entry.uid for entry in entries.values()]
        self._comments += comments
        for key in [key for key, comment in zip(entries, comments, strict=True) if comment[:1] == "_"]:
            if entries[key].content:
                content = parse(bytes(entries[key].content))
                if isinstance(content, str):
                    self._contents[key] = content

    def outline(self) -> Outline:
        """Return the outline of all that was added."""
        return Outline(tuple(self._keys), tuple(self._uids), tuple(self._comments), self._contents)


def _outline_quickly(data: bytes) -> tuple[Outline, str | None] | None:
    """Outline a book with the faster reader; None where it refuses, which says nothing about the book."""
    columns = _Columns()
    try:
        book = _decoders().book(data)
        columns.add(book.entries)
        return columns.outline(), book.name
    except REFUSALS:
        return None


def _outline_in_pieces(chunks: Iterable[Any], signs: Sequence[bytes], found: set[bytes]) -> Outline | None:
    """Outline a book while it is read; None where that cannot be done, which says nothing about the book.

    Those of the *signs* that stand in it are added to *found*.
    """
    columns = _Columns()
    try:
        for some in _some_entries(chunks):
            text = cast("bytearray", some.obj)
            found.update(sign for sign in signs if sign not in found and text.find(sign, 0, len(some)) >= 0)
            columns.add(_decoders().entries(some))
        return columns.outline()
    except REFUSALS:
        return None


def _some_entries(chunks: Iterable[Any]) -> Iterator[memoryview]:
    """Yield the entries of a book, some at a time, as JSON objects that are gone when the next ones come.

    Between two of them there is nothing but a comma, and around them nothing but what every book has. So if all that is
    yielded is JSON, the whole book is. Raises ``ValueError`` for a book that is not laid out as usual.
    """
    # One piece of memory for all: while other threads work, getting new one from the system is what would take longest.
    space = bytearray(_SPACE)
    view = memoryview(space)
    held = 0
    for chunk in chunks:
        if held + len(chunk) > _SPACE:
            raise ValueError("one entry is as large as a book")
        view[held : held + len(chunk)] = chunk
        if not held:
            if not space.startswith(_OPENING):
                raise ValueError("laid out otherwise")
            view[: len(_OPENING) - 1] = b"{".rjust(len(_OPENING) - 1)
        held += len(chunk)
        last = space.rfind(_ENTRY_ENDS + _NEXT_BEGINS, 0, held)
        if last >= 0:
            comma = last + len(_ENTRY_ENDS)
            view[comma] = _BRACE_CLOSES
            yield view[: comma + 1]
            view[comma] = _BRACE_OPENS
            rest = view[comma:held]
            view[: len(rest)] = rest
            held = len(rest)
    end = held - len(_CLOSING)
    if not space.endswith(_CLOSING, 0, held):
        raise ValueError("laid out otherwise")
    view[end] = _BRACE_CLOSES
    yield view[: end + 1]
