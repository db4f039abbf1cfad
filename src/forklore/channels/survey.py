"""A survey of a chat: what only looking through all its messages tells, each question answered once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, TypeVar

from forklore.channels.scenes import Scene, has_recap_messages, scene_at, trusted_snapshots, unfinished_recaps
from forklore.formats.chat_jsonl import Chat, ChatDamaged

T = TypeVar("T")


class Survey:
    """What looking through a chat tells; who asks about many of its messages keeps it.

    Whoever opens the same content again hands over what is *known* of it.
    """

    def __init__(self, chat: Chat, known: dict[str, Any] | None = None) -> None:
        """Look through *chat*, as far as it is asked for."""
        self._chat = chat
        self._known: dict[str, Any] = {} if known is None else known

    def _once(self, name: str, look: Callable[[Chat], T]) -> T:
        if name not in self._known:
            self._known[name] = look(self._chat)
        answer: T = self._known[name]
        return answer

    @property
    def has_recaps(self) -> bool:
        """Whether messages carry data of ST-Auto-Recap."""
        return self._once("recaps", has_recap_messages)

    def unfinished_recaps(self, *, upto: int) -> list[int]:
        """Return the messages 0…*upto* whose recap has begun and not ended; raises ``ChatDamaged``."""
        found = self._once("unfinished", unfinished_recaps)
        for number, damage in found:
            if damage and number <= upto:
                raise ChatDamaged(damage["code"], **damage["params"])
        return [number for number, _ in found if number <= upto]

    def snapshot_before(self, upto: int) -> Scene | None:
        """Return the last scene at or before *upto* with a snapshot of the lorebook that cannot hold the future."""
        numbers = self._once("snapshots", trusted_snapshots)
        place = bisect_right(numbers, upto)
        return scene_at(self._chat, numbers[place - 1]) if place else None

    def shows_something(self, *, upto: int) -> bool:
        """Whether the model sees any of the messages 0…*upto*."""
        # Backwards: what the model sees is mostly at the end.
        hidden, shown = self._known.get("hidden up to", -1), self._known.get("shown")
        if shown is None or shown > upto:
            shown = next((number for number in range(upto, hidden, -1) if self._chat.is_shown(number)), None)
            self._known["hidden up to" if shown is None else "shown"] = max(hidden, upto) if shown is None else shown
        return shown is not None


def last_snapshot(chat: Chat) -> Scene | None:
    """Return the last trustworthy snapshot of the lorebook that lies inside the chat; None where a line is broken."""
    try:
        return Survey(chat).snapshot_before(chat.message_count - 1)
    except ChatDamaged:
        return None
