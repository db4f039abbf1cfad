"""Group files: which chats a group lists."""

from __future__ import annotations

from typing import NamedTuple

from forklore.formats.json_text import parse_object


class Group(NamedTuple):
    """One group: its id is the file's name."""

    group_id: str
    name: str
    chats: tuple[str, ...]
    members: tuple[str, ...]


def parse_group(group_id: str, data: bytes) -> Group:
    """Return the group in *data*; values of an unexpected type count as absent. Raises ``NotJson``."""
    group = parse_object(data)
    name = group.get("name")
    return Group(
        group_id,
        name if isinstance(name, str) else "",
        _strings(group.get("chats")),
        _strings(group.get("members")),
    )


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
