"""Workspaces in memory: chats and lorebooks as bytes, given to a rule as ``disk.gather`` would give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from forklore.formats.chat_facts import links_of, lorebook_name, read_header
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.lorebook_json import parse_lorebook
from forklore.gathered.timeline import MISSING, BookState, TimelineState
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.address import ChatAddress
from forklore.model.plan import HEADER
from forklore.model.timeline import ChatFacts
from forklore.testing.indexes import workspace_index


def facts_of(address: str, data: bytes) -> ChatFacts:
    """Return what a chat says about itself."""
    folder, _, name = address.partition("/")
    chat = Chat.from_bytes(data)
    said = read_header(chat.line_bytes(HEADER), name)._asdict()
    return ChatFacts(folder=folder, name=name, messages=chat.message_count, links=tuple(links_of(chat)), **said)


@dataclass(frozen=True)
class World:
    """A workspace: *chats* by their address, *books* by their name, and what else its index knows."""

    chats: Mapping[str, bytes]
    books: Mapping[str, bytes] = field(default_factory=dict)
    around: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def index(self) -> WorkspaceIndex:
        """What is known of all of it."""
        facts = [facts_of(address, data) for address, data in self.chats.items()]
        return workspace_index(facts, books=self.books, **self.around)

    def timeline(self, of: str, **members: Any) -> TimelineState:
        """Return a timeline with its place; *members* as ``TimelineState`` has them, in the place of what is found."""
        address, chat = ChatAddress(*of.split("/")), Chat.from_bytes(self.chats[of])
        try:
            known: dict[str, Any] = {"metadata": chat.metadata}
        except ChatDamaged as error:
            known = {"metadata": {}, "damage": error.fact}
        name, place = lorebook_name(known["metadata"]), self.index.timeline(of)
        known["lorebook"] = self._book(name) if name is not None else None
        known["place"] = place
        known["renamed_from"] = self.index.old_name(address, known["metadata"])
        if place is not None and place.parent:
            known["parent_links"] = tuple(links_of(Chat.from_bytes(self.chats[place.parent])))
        return TimelineState(address, f"chats/{of}.jsonl", chat, **{**known, **members})

    def _book(self, name: str) -> BookState:
        path = f"worlds/{name}.json"
        if name not in self.books:
            return BookState(name, path, fault=MISSING)
        return BookState(name, path, parse_lorebook(name, self.books[name]))
