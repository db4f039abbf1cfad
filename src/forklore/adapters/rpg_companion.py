"""RPG Companion: the present state in the metadata, and the state after each reply on the message."""

from __future__ import annotations

from typing import Any

from forklore.adapters.fork import Fork
from forklore.adapters.row import GONE, METADATA, Adapter, Row

_KEY = "rpg_companion_swipes"


def _after_the_last_reply(value: Any, fork: Fork) -> Any:
    """Return what was generated with the last reply that the fork has."""
    del value
    for number in reversed(list(fork.chat.messages_with(b'"%b"' % _KEY.encode(), upto=fork.last))):
        message = fork.chat.message(number)
        extra = message.get("extra")
        states = extra.get(_KEY) if isinstance(extra, dict) else None
        shown = message.get("swipe_id", 0)
        if isinstance(states, dict) and (state := states.get(str(shown))) is not None:
            return state
        if isinstance(states, list) and isinstance(shown, int) and 0 <= shown < len(states):
            return states[shown]
    return GONE


ADAPTER = Adapter(
    "RPG Companion",
    "3.7",
    (
        Row(METADATA, "rpg_companion.lastGeneratedData", past=_after_the_last_reply),
        Row(METADATA, "rpg_companion.committedTrackerData", past=_after_the_last_reply),
        Row(METADATA, "rpg_companion"),
    ),
)
