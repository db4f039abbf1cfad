"""How well a timeline is kept apart from the others, told from what is known of every chat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.timeline import ChatFacts, Timeline

ISOLATED, UNVERIFIED, LEAKS = "isolated", "unverified", "leaks"
_WORSE = (ISOLATED, UNVERIFIED, LEAKS)


class Health(NamedTuple):
    """``isolated``, ``unverified`` or ``leaks``, and the code of the finding that says why."""

    health: str
    reason: str | None = None


_WELL = Health(ISOLATED)


def health_of(timeline: Timeline, index: WorkspaceIndex) -> Health:
    """Return the health of a timeline, as ``verify`` would find it."""
    facts = index.facts(timeline.chat)
    if facts is None or facts.damaged:
        return Health(UNVERIFIED, "CHAT_DAMAGED")
    if index.sharers(timeline.chat):
        return Health(LEAKS, "SHARED_LOREBOOK")
    doubt = _doubt(timeline, facts, index)
    return Health(UNVERIFIED, doubt) if doubt else _WELL


def _doubt(timeline: Timeline, facts: ChatFacts, index: WorkspaceIndex) -> str | None:
    book = timeline.lorebook
    if book is not None and not index.has_book(book):
        return "LOREBOOK_MISSING"
    if index.is_shared_on_purpose(book):
        return None
    if timeline.record == "legacy" and (book is not None or facts.running_version is not None):
        return "LEGACY_FORK"
    return "LOREBOOK_FROM_PRESENT" if facts.is_from_present else None


def worst(healths: Iterable[Health]) -> Health:
    """Return the worst of several, the first of those that are equally bad."""
    return max(healths, key=lambda each: _WORSE.index(each.health), default=_WELL)
