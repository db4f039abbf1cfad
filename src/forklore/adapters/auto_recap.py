"""ST-Auto-Recap: the settings that it keeps for each chat, by the chat's name."""

from __future__ import annotations

from forklore.adapters.row import SETTINGS, Adapter, Row
from forklore.adapters.rules import CopyTo

_SETTINGS = "extension_settings.auto_recap_memory"
_OF_A_CHAT = ("chats_enabled", "chat_profiles", "chat_sticky_presets", "chat_strip_patterns")

ADAPTER = Adapter(
    "ST-Auto-Recap",
    "2.0.0",
    tuple(Row(SETTINGS, f"{_SETTINGS}.{each}[{{chat}}]", always=CopyTo()) for each in _OF_A_CHAT),
)
