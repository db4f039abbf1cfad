"""Canonize: anchors on messages that hold a whole lorebook, and are written back into the book they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forklore.adapters.row import MESSAGE, Adapter, Anchor, Row
from forklore.adapters.rules import CloneBook

if TYPE_CHECKING:
    from forklore.gathered.timeline import TimelineState

_SIGN = b'"cnz'


def _last_anchor(parent: TimelineState, book: str, upto: int) -> Anchor | None:
    """Return the entries of a lorebook in the last anchor up to a message."""
    found = None
    for number in parent.chat.messages_with(_SIGN, upto=upto):
        extra = parent.chat.message(number).get("extra")
        anchor = extra.get("cnz") if isinstance(extra, dict) else None
        held = anchor.get("lorebook") if isinstance(anchor, dict) else None
        if isinstance(held, dict) and held.get("name") == book and isinstance(held.get("entries"), dict):
            found = Anchor(number, held["entries"])
    return found


ADAPTER = Adapter(
    "Canonize",
    "a64812c",
    (
        Row(MESSAGE, "extra.cnz.lorebook.name", always=CloneBook("canon")),
        Row(MESSAGE, "extra.cnz.plotLorebookName", always=CloneBook("plot")),
        Row(MESSAGE, "extra.cnz_addlb[].name", always=CloneBook("added")),
    ),
    in_messages=_SIGN,
    anchor=_last_anchor,
)
