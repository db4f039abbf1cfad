"""Timeline Memory: chapters, each with its last message."""

from __future__ import annotations

from forklore.adapters.row import METADATA, Adapter, Row
from forklore.adapters.rules import DropBeyond

ADAPTER = Adapter("Timeline Memory", "2026-08", (Row(METADATA, "timeline[].endMsgId", past=DropBeyond()),))
