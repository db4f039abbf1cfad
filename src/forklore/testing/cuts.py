"""Builders for what a channel is given, and for looking at what it gives back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from forklore.channels import cut_channels
from forklore.checks.requirements import ForkAttempt
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import encode
from forklore.formats.lorebook_json import Lorebook, parse_lorebook
from forklore.gathered.timeline import BookState, TimelineState
from forklore.model.address import ChatAddress
from forklore.model.cut import Cut, ForkPoint
from forklore.testing.stories import Json, chat_bytes, lorebook_bytes


def parent(
    metadata: Json, messages: Iterable[Json], entries: Iterable[Json] | None = None, *, book: str = "Lore", **top: Any
) -> TimelineState:
    """Return a timeline as it was read; with *entries* it has the lorebook *book*, with *top* as its top-level keys."""
    if entries is None:
        return timeline(Chat.from_bytes(chat_bytes(metadata, messages)))
    whole = {"world_info": book, **metadata}
    return timeline(Chat.from_bytes(chat_bytes(whole, messages)), parse_lorebook(book, lorebook_bytes(entries, **top)))


def timeline(chat: Chat, book: Lorebook | None = None, *, folder: str = "Mira", **members: Any) -> TimelineState:
    """Return the timeline "Tale" as it was read; *members* as ``TimelineState`` has them."""
    try:
        known: dict[str, Any] = {"metadata": chat.metadata}
    except ChatDamaged as error:
        known = {"damage": str(error)}
    if book is not None:
        known["lorebook"] = BookState(book.name, f"worlds/{book.name}.json", book)
    return TimelineState(ChatAddress(folder, "Tale"), "chats/Mira/Tale.jsonl", chat, **{**known, **members})


def point(
    origin: TimelineState, at: int | None = None, *, kind: str = "checkpoint", other_swipe: bool = False
) -> ForkPoint:
    """Return the point at which the timeline "Tale" is forked as "Fork": at a message, or at the head."""
    last = origin.chat.message_count - 1
    at = last if at is None else at
    return ForkPoint(
        kind=kind,
        at=at,
        is_head=at == last and not other_swipe,
        derived_upto=at - 1 if other_swipe else at,
        chat_name="Fork",
        clone_name="Lore__CP_Fork" if origin.book is not None else None,
        parent_name="Tale",
        parent_timeline=None,
        timeline="6f0d",
        integrity="fresh",
        made_at=1_762_200_000_000,
        program_version="0.0.0",
    )


def cut(origin: TimelineState, channel: str, at: int | None = None, *, other_swipe: bool = False) -> Cut:
    """Return one channel of a timeline, cut at a message or at the head."""
    return cut_channels(origin, point(origin, at, other_swipe=other_swipe))[channel]


def attempt(origin: TimelineState, at: int | None = None, **members: Any) -> ForkAttempt:
    """Return a fork of a timeline that somebody wants to make; *members* as ``ForkAttempt`` has them."""
    last = origin.chat.last
    at = last if at is None else at
    cuts = cut_channels(origin, point(origin, at)) if at is not None and origin.chat.has(at) else {}
    return ForkAttempt(origin, at=at, **{"kind": "checkpoint", "cuts": cuts, "damage": origin.damage, **members})


def metadata_after(origin: TimelineState, made: Cut) -> Json:
    """Return the timeline's metadata as one channel's cut leaves it."""
    after: Json = json.loads(apply_edits(encode(origin.metadata), made.edits).text)
    return after
