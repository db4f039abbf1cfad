"""What a channel is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint

Earlier = Mapping[str, Cut]
"""The cuts of the channels that stand before this one in the table."""


class Channel(NamedTuple):
    """One kind of state a timeline carries, with its own rule for being cut at a message."""

    name: str
    keys: frozenset[str]
    """The top-level ``chat_metadata`` keys this channel looks after."""
    cut: Callable[[TimelineState, ForkPoint, Earlier], Cut]
