"""Channels: each kind of state a timeline carries, with its own rule for being cut at a message.

A new channel is a new module with a ``CHANNEL`` and one line in the table here; nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from forklore.adapters import ADAPTERS
from forklore.adapters.engine import looks_after
from forklore.channels import (
    checkpoint_map,
    combined_recap,
    context_marker,
    extensions,
    guard,
    identity,
    lorebook,
    pending_operations,
    registry,
    running_recap,
    scenes,
    timed_effects,
)
from forklore.channels.cut import Channel
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint

CHANNELS: tuple[Channel, ...] = (
    scenes.CHANNEL,
    lorebook.CHANNEL,  # before the two that look into the clone
    lorebook.MORE_CHANNEL,
    registry.CHANNEL,
    timed_effects.CHANNEL,
    running_recap.CHANNEL,
    combined_recap.CHANNEL,
    pending_operations.CHANNEL,
    context_marker.CHANNEL,
    checkpoint_map.CHANNEL,
    extensions.CHANNEL,  # after the lorebooks: how far a memory reaches is told by its entry
    identity.CHANNEL,
)

LOOKED_AFTER = frozenset().union(*(channel.keys for channel in CHANNELS))


def _is_looked_after(key: str) -> bool:
    return key in LOOKED_AFTER or looks_after(key, ADAPTERS)


def cut_channels(
    parent: TimelineState, point: ForkPoint, channels: tuple[Channel, ...] = CHANNELS
) -> Mapping[str, Cut]:
    """Make every channel of *parent* fit the fork; what no channel knows is carried and, in the past, named."""
    cuts: dict[str, Cut] = {}
    for channel in channels:
        cuts[channel.name] = channel.cut(parent, point, cuts)
    cuts["names"] = guard.cut(parent, point, cuts, LOOKED_AFTER)
    if not point.is_head:
        cuts["unknown"] = Cut(carried=tuple(key for key in parent.metadata if not _is_looked_after(key)))
    return cuts


__all__ = ["CHANNELS", "LOOKED_AFTER", "Channel", "Cut", "ForkPoint", "cut_channels"]
