"""What names lorebooks besides chats, as it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forklore.formats.settings_json import SettingsBooks
from forklore.model.fact import Fact


@dataclass(frozen=True, slots=True)
class Naming:
    """Character cards and settings, and whatever could not be read."""

    cards: Mapping[str, str]
    """The lorebook of each character that has one."""
    settings: SettingsBooks
    unreadable: tuple[Fact, ...]
    """What may name any lorebook, since it cannot be read."""
