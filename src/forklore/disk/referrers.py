"""Temporary stand-in."""

from __future__ import annotations

from pathlib import Path

from forklore.disk.scan import scan_chats
from forklore.disk.workspace import Workspace


class Referrers:
    def __init__(self, books: set[str]) -> None:
        self.books = books
        self.unreadable: tuple[str, ...] = ()

    def of(self, book: str) -> tuple[str, ...]:
        return ("x",) if book in self.books else ()


def referrers(workspace: Workspace, cache: Path | None) -> Referrers:
    return Referrers({chat.lorebook for chat in scan_chats(workspace, cache) if chat.lorebook})
