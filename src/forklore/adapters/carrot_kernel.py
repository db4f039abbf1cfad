"""CarrotKernel: more lorebooks for a chat."""

from __future__ import annotations

from forklore.adapters.row import METADATA, Adapter, Row
from forklore.adapters.rules import CloneBook

ADAPTER = Adapter("CarrotKernel", "2026-08", (Row(METADATA, "carrot_chat_books[]", always=CloneBook("added")),))
