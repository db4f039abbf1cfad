"""Where: may a fork be made at these messages? Quick, for buttons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.app.views.looking import looking, readiness
from forklore.app.views.messages import MOST
from forklore.errors import BadRequest
from forklore.model.address import ChatAddress


@dataclass(frozen=True, slots=True)
class Where:
    """What blocks a fork at each of some messages."""

    chat: str
    codes: tuple[tuple[int, tuple[str, ...]], ...]
    """The messages in the order they were asked for, each with its codes."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a button gets it."""
        return {
            "chat": self.chat,
            "messages": [{"number": number, "ready": not codes, "codes": list(codes)} for number, codes in self.codes],
        }


def show_where(address: ChatAddress, context: Context, *, at: Sequence[int]) -> Where:
    """Return what blocks a fork at the messages *at*."""
    if not 1 <= len(at) <= MOST:
        raise BadRequest("messages_at_once", count=len(at), most=MOST)
    with looking(address, context) as read:
        ready = readiness(read, context)
        # Backwards: what one message asks of all before it answers for the earlier ones too.
        codes = {number: ready.codes_at(number) for number in sorted(set(at), reverse=True)}
    return Where(str(address), tuple((number, codes[number]) for number in at))
