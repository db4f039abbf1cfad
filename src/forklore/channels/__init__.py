"""Channels: each kind of state a timeline carries, with its own rule for being cut at a message.

A new channel is a new module with a ``CHANNEL`` and one line in the table here; nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping

from forklore.channels import (
    checkpoint_map,
    combined_recap,
    context_marker,
    identity,
    lorebook,
    pending_operations,
    registry,
    running_recap,
    scenes,
    timed_effects,
)
from forklore.channels.cut import Channel, Cut, ForkPoint
from forklore.gathered.timeline import TimelineState

CHANNELS: tuple[Channel, ...] = (
    scenes.CHANNEL,
    lorebook.CHANNEL,  # before the two that look into the clone
    registry.CHANNEL,
    timed_effects.CHANNEL,
    running_recap.CHANNEL,
    combined_recap.CHANNEL,
    pending_operations.CHANNEL,
    context_marker.CHANNEL,
    checkpoint_map.CHANNEL,
    identity.CHANNEL,
)

_LOOKED_AFTER = frozenset().union(*(channel.keys for channel in CHANNELS))


def cut_channels(
    parent: TimelineState, point: ForkPoint, channels: tuple[Channel, ...] = CHANNELS
) -> Mapping[str, Cut]:
    """Make every channel of *parent* fit the fork; what no channel knows is carried and, in the past, named."""
    cuts: dict[str, Cut] = {}
    for channel in channels:
        cuts[channel.name] = channel.cut(parent, point, cuts)
    if not point.is_head:
        cuts["unknown"] = Cut(carried=tuple(key for key in parent.metadata if key not in _LOOKED_AFTER))
    return cuts


__all__ = ["CHANNELS", "Channel", "Cut", "ForkPoint", "cut_channels"]
