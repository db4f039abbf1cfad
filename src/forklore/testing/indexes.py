"""A builder for what is known of a workspace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from forklore.gathered.workspace import BookFile, WorkspaceIndex
from forklore.model.address import place_of
from forklore.model.timeline import ChatFacts, grow_stories


def workspace_index(
    chats: Sequence[ChatFacts], *, books: Iterable[str] = (), shared: str = "", **members: Any
) -> WorkspaceIndex:
    """Return the index of a workspace with these *chats* and *books*, some of them *shared* on purpose."""
    on_purpose = frozenset(shared.split())
    return WorkspaceIndex(
        chats=tuple(chats),
        stories=grow_stories(chats, shared_on_purpose=on_purpose),
        present=frozenset((place_of(chat.folder), chat.name) for chat in chats),
        books={name: BookFile(name, f"worlds/{name}.json", 2, 0.0) for name in books},
        shared_on_purpose=on_purpose,
        **members,
    )
