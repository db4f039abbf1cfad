"""What a rule may ask about the fork that is being made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from forklore.formats.chat_jsonl import Chat
from forklore.model.cut import ForkPoint
from forklore.model.names import book_key


@dataclass(frozen=True)
class Fork:
    """A fork in the making: where it is cut, and what its lorebooks are called."""

    point: ForkPoint
    chat: Chat
    """The parent's."""
    metadata: Mapping[str, Any]
    """The parent's."""
    books: Mapping[str, str] = field(default_factory=dict)
    """The parent's lorebooks, and what their clones are called."""
    kept: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """What the entries that stay have in the fields that rows know."""

    @property
    def last(self) -> int:
        """The last message that may have shaped anything."""
        return self.point.derived_upto

    @cached_property
    def _clones(self) -> dict[str, str]:
        return {book_key(name, folds=False): clone for name, clone in self.books.items()}

    def clone_of(self, book: object) -> str | None:
        """Return what the clone of a lorebook is called, None when it has none."""
        return self._clones.get(book_key(book, folds=False)) if isinstance(book, str) and book else None

    def fresh(self, template: str) -> str:
        """Return an id that nobody else has, and this fork has whenever it is asked."""
        digits = sha256(f"{self.point.timeline}:{template}".encode()).hexdigest()
        return template.format(uuid="-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32])))

    def ids(self, name: str) -> frozenset[str]:
        """Return what the messages of the fork have in a field of that *name*."""
        if name not in self._ids:
            # A quote inside a text is escaped, so this finds members and nothing that somebody says.
            member = re.compile(rb'"%b"\s*:\s*"([^"\\]*)"' % re.escape(name.encode()))
            lines = map(self.chat.line_bytes, self.chat.messages_with(b'"%b"' % name.encode(), upto=self.last))
            found = (each for line in lines for each in member.findall(line))
            self._ids[name] = frozenset(each.decode("utf-8", "replace") for each in found)
        return self._ids[name]

    @cached_property
    def _ids(self) -> dict[str, frozenset[str]]:
        return {}
