"""CharMemory: memories in a file of the Data Bank, and how far it has read."""

from __future__ import annotations

from forklore.adapters.row import METADATA, Adapter, Row
from forklore.adapters.rules import Clamp, Keep

ADAPTER = Adapter(
    "CharMemory",
    "2.3",
    (
        Row(METADATA, "charMemory", always=Keep()),
        Row(METADATA, "charMemory.lastExtractedIndex", past=Clamp()),
    ),
)
