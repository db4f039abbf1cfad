"""MVU and Tavern Helper: variables on each message, and a copy of the present ones in the metadata."""

from __future__ import annotations

from typing import Any

from forklore.adapters.fork import Fork
from forklore.adapters.row import GONE, METADATA, Adapter, Row

_SIGN = b'"stat_data"'


def _as_of_the_last_message(value: Any, fork: Fork) -> Any:
    """Return what the last message that says so has; it keeps them on some messages only."""
    del value
    for number in reversed(list(fork.chat.messages_with(_SIGN, upto=fork.last))):
        message = fork.chat.message(number)
        held, shown = message.get("variables"), message.get("swipe_id", 0)
        if isinstance(held, list) and isinstance(shown, int) and 0 <= shown < len(held):
            variables = held[shown]
            if isinstance(variables, dict) and "stat_data" in variables:
                return variables["stat_data"]
    return GONE


ADAPTER = Adapter(
    "Tavern Helper", "4.9", (Row(METADATA, "variables.stat_data", past=_as_of_the_last_message),), in_messages=_SIGN
)
