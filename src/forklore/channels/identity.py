"""Identity: a fork is nobody else, knows its parent and says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forklore.channels.cut import Channel, Cut, Earlier, ForkPoint, Parent
from forklore.formats.json_text import encode
from forklore.model.plan import Put
from forklore.model.timeline import mark_of

KEY = "forklore"
FORMAT = 1


def own_identity(metadata: Mapping[str, Any], chat_name: str) -> Mapping[str, Any] | None:
    """Return what Forklore wrote about this very chat; None when it wrote nothing or it was inherited by copying."""
    identity = metadata.get(KEY)
    if isinstance(identity, dict) and identity.get("chat") == chat_name:
        return identity
    return None


def newer_format(metadata: Mapping[str, Any]) -> int | None:
    """Return the number of the format in which a newer Forklore wrote about the chat; None when it is one we know."""
    identity = metadata.get(KEY)
    number = identity.get("format") if isinstance(identity, dict) else None
    return number if isinstance(number, int) and number > FORMAT else None


def _cut(parent: Parent, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    identity = {
        "format": FORMAT,
        "timeline": point.timeline,
        "chat": point.chat_name,
        "kind": point.kind,
        "parent": point.parent_name,
        "parent_timeline": point.parent_timeline,
        "parent_mark": mark_of(parent.metadata.get("integrity")),
        "message": point.at,
    }
    return Cut(
        value=identity,
        edits=(
            Put(("main_chat",), encode(point.parent_name)),
            Put(("integrity",), encode(point.integrity)),
        ),
    )


CHANNEL = Channel("identity", frozenset({KEY, "integrity", "main_chat"}), _cut)
