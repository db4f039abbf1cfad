"""Extensions: what their rows say about the metadata and the messages of a fork."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore.adapters import ADAPTERS
from forklore.adapters.engine import cut_messages, cut_metadata, settings_steps
from forklore.channels.cut import Channel, Earlier
from forklore.channels.lorebook import BookCut, Clone, fork_of
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Edit


@dataclass(frozen=True, slots=True)
class Extended:
    """What extensions need besides their metadata."""

    messages: Mapping[int, list[Edit]] = field(default_factory=dict)
    """The changes to messages, by their numbers."""
    shown: frozenset[int] = frozenset()
    """The messages that are shown to the model again, because the memory that covered them did not come along."""
    settings: tuple[dict[str, Any], ...] = ()
    """What SillyTavern's page copies in its settings."""


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    book: BookCut = earlier["lorebook"].value
    clones: tuple[Clone, ...] = earlier["more_lorebooks"].value
    entries = [book.entries, *(clone.book.entries for clone in clones)]
    fork = fork_of(parent, point, *entries)
    adapters = [adapter for adapter in ADAPTERS if adapter.knows(parent.metadata)]
    cut = cut_metadata(fork, adapters)
    messages = cut_messages(fork, ADAPTERS)
    covered = (range(max(first, 0), min(last, point.at) + 1) for each in entries for first, last in each.unhidden)
    shown = messages.shown.union(*covered)
    own = (Clone(point.clone_name, parent.lorebook, book),) if parent.lorebook and point.clone_name is not None else ()
    gone = {clone.name: clone.gone for clone in (*own, *clones)}
    renamed = {"lorebook": fork.books, "chat": {point.parent_name: point.chat_name}}
    value = Extended(messages.edits, shown, tuple(settings_steps(ADAPTERS, renamed, gone)))
    return Cut(value, edits=cut.edits, carried=cut.carried, left_out=cut.left_out)


def settings_of(timeline: TimelineState) -> tuple[dict[str, Any], ...]:
    """Return what SillyTavern's page copies for a fork that is there: it may have been closed when it was made."""
    identity, clones = timeline.identity, timeline.recorded_books
    above = identity.get("parent") if identity else None
    if not isinstance(above, str) or not timeline.is_fork:
        return ()
    renamed = {
        "lorebook": {str(each["original"]): str(each["name"]) for each in clones if each["name"] != each["original"]},
        "chat": {above: timeline.name},
    }
    gone = {str(each["name"]): each["gone"] for each in clones if isinstance(each.get("gone"), list)}
    return tuple(settings_steps(ADAPTERS, renamed, gone))


CHANNEL = Channel("extensions", frozenset(), _cut)
