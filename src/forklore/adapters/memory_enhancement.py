"""st-memory-enhancement: tables whose cells are looked up in a dictionary that only grows."""

from __future__ import annotations

from forklore.adapters.row import METADATA, Adapter, Row
from forklore.adapters.rules import Keep

ADAPTER = Adapter("st-memory-enhancement", "2.2", (Row(METADATA, "sheets", always=Keep()),))
