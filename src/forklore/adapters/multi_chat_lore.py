"""Multi Chat Lore: several lorebooks for a chat, gathered in one."""

from __future__ import annotations

from forklore.adapters.row import METADATA, Adapter, Row
from forklore.adapters.rules import CloneBook

_SPACE = "multi_chat_lore_proxy"

ADAPTER = Adapter(
    "Multi Chat Lore",
    "2026-08",
    (
        Row(METADATA, f"{_SPACE}.proxyName", always=CloneBook("gathered")),
        Row(METADATA, f"{_SPACE}.books[]", always=CloneBook("added")),
    ),
)
