"""The laws that every extension's rows keep, whatever they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forklore.adapters import ADAPTERS
from forklore.adapters.row import METADATA, Adapter, places
from forklore.adapters.rules import FreshId, Write, filled
from forklore.app.fork import ForkMade
from forklore.app.forklore import Forklore
from forklore.testing.sillytavern import OpenChat
from forklore.testing.stories import read_workspace
from tests.unit.adapters import made_up
from tests.unit.adapters.filling import (
    ADDRESS,
    AT,
    BOOK,
    CHAT,
    HIDDEN,
    OLD_ID,
    Timeline,
    fill,
    hides,
    leaves,
    of_later,
    read,
    renamed,
    teach,
)

pytestmark = pytest.mark.parametrize(
    "adapters",
    [*((adapter,) for adapter in ADAPTERS), (made_up.ADAPTER,), ADAPTERS],
    ids=[*(adapter.name for adapter in ADAPTERS), made_up.ADAPTER.name, "all at once"],
)
kinds = pytest.mark.parametrize("kind", ["branch", "checkpoint"])
Adapters = tuple[Adapter, ...]


@pytest.fixture
def story(adapters: Adapters, tmp_path: Path) -> Iterator[Forklore]:
    with pytest.MonkeyPatch.context() as patch:
        if made_up.ADAPTER in adapters:
            teach(patch, made_up.ADAPTER)
        yield fill(tmp_path, adapters)


def forked(story: Forklore, chat: str = ADDRESS, *, at: int | None, kind: str = "branch") -> ForkMade:
    made: ForkMade = getattr(story, kind)(chat, at=at)
    return made


def name_of(made: ForkMade) -> str:
    return made.chat.partition("/")[2]


def parts(story: Forklore, made: ForkMade) -> Timeline:
    return read(story.root, name_of(made), [book["name"] for book in made.lorebooks])


def names_of(made: ForkMade, adapters: Adapters, before: Timeline, after: Timeline) -> dict[str, str]:
    """Return what is called otherwise in a fork: its lorebooks, its chat, its ids."""
    names = {book["original"]: book["name"] for book in made.lorebooks}
    names[made.parent.partition("/")[2]] = name_of(made)
    fresh = [row.path for adapter in adapters for row in adapter.rows if isinstance(row.always, FreshId)]
    for path in fresh:
        olds, news = places(before.metadata, path), places(after.metadata, path)
        names |= {old: new for (_, old), (_, new) in zip(olds, news, strict=True)}
    return names


def as_written(timeline: Timeline, adapters: Adapters, chat: str) -> Timeline:
    """Return a timeline with what rows write whatever was there."""
    for row in (row for adapter in adapters for row in adapter.rows):
        if isinstance(row.always, Write) and row.target == METADATA:
            for (*at, last), _ in list(places(timeline.metadata, row.path)):
                holder: Any = timeline.metadata
                for step in at:
                    holder = holder[step]
                holder[last] = filled(row.always.value, {"chat": chat})
    return timeline


@kinds
def test_nothing_later_is_in_a_fork_of_the_past(story: Forklore, kind: str) -> None:
    made = forked(story, at=AT, kind=kind)

    assert of_later(parts(story, made)) == []


def test_what_no_rule_cuts_is_told(adapters: Adapters, story: Forklore) -> None:
    rows = [row for adapter in adapters for row in adapter.rows if row.target == METADATA]
    known = {row.path for row in rows if row.always is None and row.past is None}

    made = forked(story, at=AT)

    assert {path.replace("*", "Any") for path in known} <= set(made.carried_from_present)


@pytest.mark.parametrize("at", [None, AT])
def test_nothing_in_a_fork_names_what_is_its_parents(story: Forklore, at: int | None) -> None:
    made = forked(story, at=at)

    parents = re.compile(rf"{BOOK}(?![\w ]*__)|{CHAT}(?! - )|{OLD_ID}")
    assert [each for each in leaves(parts(story, made)) if parents.search(str(each))] == []


@kinds
def test_at_the_head_nothing_is_lost(adapters: Adapters, story: Forklore, kind: str) -> None:
    books = [path.stem for path in story.root.glob("worlds/*.json")]
    before = read(story.root, CHAT, books)

    made = forked(story, at=None, kind=kind)

    after = parts(story, made)
    expected = as_written(renamed(before, names_of(made, adapters, before, after)), adapters, name_of(made))
    assert after == expected
    assert made.carried_from_present == made.left_out == ()


def test_a_fork_of_the_fork_at_the_same_message_differs_in_names_alone(adapters: Adapters, story: Forklore) -> None:
    first = forked(story, at=AT)
    once = parts(story, first)
    fork = OpenChat(story.root, first.chat)
    fork.say("Another way.", "Indeed.")
    fork.write()

    second = forked(story, first.chat, at=AT)

    twice = parts(story, second)
    expected = as_written(renamed(once, names_of(second, adapters, once, twice)), adapters, name_of(second))
    assert twice == expected


def test_what_only_a_later_summary_covered_is_shown_again(adapters: Adapters, story: Forklore) -> None:
    past, head = forked(story, at=AT), forked(story, at=None)

    assert not any(message["is_system"] for message in parts(story, past).messages)
    hidden = [number for number, message in enumerate(parts(story, head).messages) if message["is_system"]]
    assert hidden == (list(HIDDEN) if any(map(hides, adapters)) else [])


@pytest.mark.parametrize("at", [None, AT])
def test_undo_leaves_every_byte_as_it_was(story: Forklore, at: int | None) -> None:
    before = read_workspace(story.root)
    forked(story, at=at)

    story.undo()

    assert read_workspace(story.root) == before
