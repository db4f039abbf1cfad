"""Rows: where an extension keeps something, and what becomes of it in a fork.

A row names a place and up to two rules: one for every fork, one for those in the past, which lies before the head. A
place is written as one would say it: ``space.map{}.list[].field``, where ``{}`` stands for every value of an object,
``[]`` for every item of an array, and ``*`` in a name for any letters. A row without a rule says that we know of the
place and have nothing better to do than to take it along; in the past it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from forklore.model.plan import JsonPath

if TYPE_CHECKING:
    from forklore.adapters.fork import Fork
    from forklore.gathered.timeline import TimelineState

METADATA, MESSAGE, ENTRY, SETTINGS = "metadata", "message", "entry", "settings"
"""Where rows look: the chat's metadata, each message, each entry of a lorebook, SillyTavern's settings."""


class _Gone:
    """What a rule returns for something that has no place in the fork."""

    def __repr__(self) -> str:
        return "GONE"


GONE: Final = _Gone()


class Rule(Protocol):
    """Says what becomes of a value."""

    def __call__(self, value: Any, fork: Fork, /) -> Any:
        """Return the same value, another one, or ``GONE``."""
        ...


class Row(NamedTuple):
    """One place and its rules."""

    target: str
    path: str
    always: Rule | None = None
    past: Rule | None = None
    """Comes after *always*."""
    when: str = ""
    """Only in entries that have this key."""
    goes: str = ""
    """``item`` where the item of the list goes, not only this field of it; entries always go as a whole."""

    def rules(self, *, is_head: bool) -> tuple[Rule, ...]:
        """Return the rules that count for a fork."""
        rules = (self.always,) if is_head else (self.always, self.past)
        return tuple(rule for rule in rules if rule is not None)

    @property
    def key(self) -> str:
        """The first name of the path, which may be a pattern."""
        return str(steps_of(self.path)[0])


class Anchor(NamedTuple):
    """The entries of a lorebook as they were, by their keys."""

    message: int
    """When they were so: after this message."""
    entries: Mapping[str, Any]
    is_whole: bool = True
    """Whether it is the whole lorebook, not only what this extension did to it."""


class Adapter(NamedTuple):
    """One extension: its rows, and how it is recognised."""

    name: str
    """As its users know it."""
    version: str
    """What the rows were read from."""
    rows: tuple[Row, ...]
    in_messages: bytes = b""
    """What stands in every message that its rows speak of."""
    in_entries: bytes = b""
    """What stands in every entry that its rows speak of."""
    hidden: bytes = b""
    """What stands in a message that it has hidden from the model."""
    shared: str = ""
    """Where its settings name lorebooks that chats are meant to share."""
    anchor: Callable[[TimelineState, str, int], Anchor | None] | None = None
    """Returns what it knows of a lorebook at a past message."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The metadata keys it looks after, which may be patterns."""
        return tuple(dict.fromkeys(row.key for row in self.rows if row.target == METADATA))

    def knows(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the metadata has something of this extension."""
        return any(fnmatchcase(key, pattern) for pattern in self.keys for key in metadata)


# --- places -------------------------------------------------------------------------------------------------------

EACH_ITEM, EACH_VALUE = "[]", "{}"


@lru_cache(maxsize=512)
def steps_of(path: str) -> tuple[str, ...]:
    """Return the names and ``[]`` or ``{}`` of a path, one after the other."""
    steps: list[str] = []
    for part in path.split("."):
        name, ends = part, []
        while name.endswith((EACH_ITEM, EACH_VALUE)):
            ends.append(name[-2:])
            name = name[:-2]
        steps += ([name] if name else []) + ends[::-1]
    return tuple(steps)


def places(value: Any, path: str) -> Iterator[tuple[JsonPath, Any]]:
    """Yield where the path leads in *value*, and what stands there."""
    return _places(value, steps_of(path), ())


def _places(value: Any, steps: tuple[str, ...], at: JsonPath) -> Iterator[tuple[JsonPath, Any]]:
    if not steps:
        yield at, value
        return
    for key, held in _members(value, steps[0]):
        yield from _places(held, steps[1:], (*at, key))


def _members(value: Any, step: str) -> Iterable[tuple[str | int, Any]]:
    """Return what one step leads to."""
    if step == EACH_ITEM:
        return enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, dict):
        return ()
    if step == EACH_VALUE:
        return value.items()
    if "*" in step:
        return ((key, held) for key, held in value.items() if fnmatchcase(key, step))
    return ((step, value[step]),) if step in value else ()


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a value, wherever it stands, but no names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for held in value.values() if isinstance(value, dict) else value:
            yield from texts_in(held)


def item_of(at: JsonPath, path: str) -> JsonPath:
    """Return the innermost item or member of a collection that a place belongs to; the place itself outside of one."""
    # From the end: a place in the notes of a swipe has more steps before it than the path.
    within = (number for number, step in enumerate(reversed(steps_of(path))) if step in (EACH_ITEM, EACH_VALUE))
    return at[: len(at) - next(within, 0)]
