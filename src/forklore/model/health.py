"""How well a timeline is kept apart from the others of its story, told from what is known of every chat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import NamedTuple

from forklore.model.timeline import ChatFacts, Story, Timeline

ISOLATED, UNVERIFIED, LEAKS = "isolated", "unverified", "leaks"
_WORSE = (ISOLATED, UNVERIFIED, LEAKS)


class Health(NamedTuple):
    """``isolated``, ``unverified`` or ``leaks``, and the code of the finding that says why."""

    health: str
    reason: str | None = None


_WELL = Health(ISOLATED)


def health_of(
    story: Story,
    facts: Mapping[str, ChatFacts],
    *,
    is_there: Callable[[str], bool],
    shared_on_purpose: Container[str],
    copies: Container[str] = (),
) -> dict[str, Health]:
    """Return the health of each timeline by its address.

    *facts* are those of its chats by their address, *is_there* tells whether there is a lorebook of a name, *copies*
    are the addresses of main chats that share their lorebook with the chat they are a copy of.
    """
    users = Counter(timeline.lorebook for timeline in story.timelines)
    return {
        timeline.chat: _health(
            timeline,
            facts.get(timeline.chat),
            is_shared=users[timeline.lorebook] > 1 or timeline.chat in copies,
            is_there=is_there,
            on_purpose=timeline.lorebook is not None and timeline.lorebook in shared_on_purpose,
        )
        for timeline in story.timelines
    }


def _health(
    timeline: Timeline, facts: ChatFacts | None, *, is_shared: bool, is_there: Callable[[str], bool], on_purpose: bool
) -> Health:
    if facts is None or facts.damaged:
        return Health(UNVERIFIED, "CHAT_DAMAGED")
    book = timeline.lorebook
    if book is not None and is_shared and not on_purpose:
        return Health(LEAKS, "SHARED_LOREBOOK")
    if book is not None and not is_there(book):
        return Health(UNVERIFIED, "LOREBOOK_MISSING")
    if on_purpose:
        return _WELL
    if timeline.record == "legacy" and (book is not None or facts.running_version is not None):
        return Health(UNVERIFIED, "LEGACY_FORK")
    return _WELL


def worst(healths: Iterable[Health]) -> Health:
    """Return the worst of several, the first of those that are equally bad."""
    return max(healths, key=lambda each: _WORSE.index(each.health), default=_WELL)
