"""What every channel is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore.gathered.timeline import TimelineState
from forklore.model.finding import Finding
from forklore.model.plan import Edit


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Where a fork is cut off its parent, and what the new timeline is called."""

    kind: str
    at: int
    is_head: bool
    """Nothing of the parent lies after this point: no later message, and the last message is the one shown."""
    derived_upto: int
    """The last message whose text may have shaped the state: *at*, or one less when another swipe is chosen."""
    chat_name: str
    clone_name: str | None
    parent_name: str
    parent_timeline: str | None
    timeline: str
    integrity: str
    made_at: int
    """Milliseconds since 1970."""
    program_version: str


@dataclass(frozen=True, slots=True)
class Cut:
    """One channel, made to fit the fork."""

    value: Any = None
    """What requirements and later channels may ask of this one."""
    edits: tuple[Edit, ...] = ()
    """Changes to the fork's ``chat_metadata``; paths begin inside it."""
    carried: tuple[str, ...] = ()
    """Metadata keys that come from the present, because nothing tells what they were at the fork point."""
    left_out: tuple[str, ...] = ()
    """Metadata keys of which something cannot be shown to lie before the fork point, and is not taken along.

    A list that is merely cut at a message, as the running recap's, is not left out.
    """
    findings: tuple[Finding, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    """What the fork's state record says about this channel."""


Earlier = Mapping[str, Cut]
"""The cuts of the channels that stand before this one in the table."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One kind of state a timeline carries, with its own rule for being cut at a message."""

    name: str
    keys: frozenset[str]
    """The top-level ``chat_metadata`` keys this channel looks after."""
    cut: Callable[[TimelineState, ForkPoint, Earlier], Cut]
