"""Where a fork is cut off its parent, and what comes of one kind of state when it is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from forklore.model.finding import Finding
from forklore.model.plan import Edit


class ForkPoint(NamedTuple):
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
    clones: Mapping[str, str] = MappingProxyType({})
    """The names of the other lorebooks of the parent, and of their clones."""


class Cut(NamedTuple):
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
    record: Mapping[str, Any] = MappingProxyType({})
    """What the fork's state record says about this channel."""
