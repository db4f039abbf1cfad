"""Horae: notes on each message; its summaries stand on the first one."""

from __future__ import annotations

from typing import Any

from forklore.adapters.fork import Fork
from forklore.adapters.row import GONE, MESSAGE, Adapter, Row
from forklore.adapters.rules import is_number


def _inside(covered: Any, fork: Fork) -> Any:
    """Return that a summary is gone which covers later messages."""
    last = covered[-1] if isinstance(covered, list) and covered else None
    return GONE if is_number(last) and last > fork.last else covered


ADAPTER = Adapter(
    "Horae",
    "1.15",
    (Row(MESSAGE, "horae_meta.autoSummaries[].range", past=_inside, goes="item"),),
    in_messages=b'"autoSummaries"',
)
