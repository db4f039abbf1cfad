"""Summaryception: layers of summaries, of which only the first tells what its parts cover; it hides what it covers."""

from __future__ import annotations

from typing import Any

from forklore.adapters.fork import Fork
from forklore.adapters.row import MESSAGE, METADATA, Adapter, Row
from forklore.adapters.rules import Clamp, LeaveOut, Show, is_number


def _first_layer(layers: Any, fork: Fork) -> Any:
    """Return the layers without those made of others, and the first one without what covers later messages."""
    if not isinstance(layers, list):
        return layers
    return [[part for part in layer if _is_within(part, fork)] for layer in layers[:1] if isinstance(layer, list)]


def _is_within(part: Any, fork: Fork) -> bool:
    covered = part.get("turnRange") if isinstance(part, dict) else None
    last = covered[-1] if isinstance(covered, list) and covered else None
    return is_number(last) and last <= fork.last


ADAPTER = Adapter(
    "Summaryception",
    "19",
    (
        Row(METADATA, "summaryception.layers", past=_first_layer),
        Row(METADATA, "summaryception.summarizedUpTo", past=Clamp()),
        Row(METADATA, "summaryception.ghostedIndices", past=LeaveOut()),
        Row(METADATA, "summaryception"),
        Row(MESSAGE, "extra.sc_ghosted", past=Show()),
    ),
    in_messages=b'"sc_ghosted"',
    hidden=b'"sc_ghosted"',
)
