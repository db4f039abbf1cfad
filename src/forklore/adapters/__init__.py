"""Extensions beside SillyTavern itself: where each keeps its state, and what a fork does with it.

An extension is one file with an ``ADAPTER`` and one line in the table here.
"""

from forklore.adapters import (
    auto_recap,
    canonize,
    carrot_kernel,
    char_memory,
    horae,
    memory_books,
    memory_enhancement,
    multi_chat_lore,
    mvu,
    objective,
    openvault,
    rpg_companion,
    summaryception,
    timeline_memory,
    tunnelvision,
)
from forklore.adapters.engine import books_in
from forklore.adapters.row import METADATA, Adapter
from forklore.adapters.rules import CloneBook
from forklore.formats.chat_facts import MoreBooks

ADAPTERS: tuple[Adapter, ...] = (
    auto_recap.ADAPTER,
    memory_books.ADAPTER,
    tunnelvision.ADAPTER,
    canonize.ADAPTER,
    char_memory.ADAPTER,
    mvu.ADAPTER,
    memory_enhancement.ADAPTER,
    openvault.ADAPTER,
    rpg_companion.ADAPTER,
    horae.ADAPTER,
    summaryception.ADAPTER,
    timeline_memory.ADAPTER,
    objective.ADAPTER,
    carrot_kernel.ADAPTER,
    multi_chat_lore.ADAPTER,
)

IN_MESSAGES: tuple[bytes, ...] = tuple(
    dict.fromkeys(adapter.in_messages for adapter in ADAPTERS if adapter.in_messages)
)
"""What stands in the messages that some row speaks of."""

IN_ENTRIES: tuple[bytes, ...] = tuple(adapter.in_entries for adapter in ADAPTERS if adapter.in_entries)
"""What stands in the entries that some row speaks of."""

MORE_BOOKS = MoreBooks(
    tuple(
        dict.fromkeys(
            row.key
            for adapter in ADAPTERS
            for row in adapter.rows
            if row.target == METADATA and isinstance(row.always, CloneBook)
        )
    ),
    lambda metadata: books_in(metadata, ADAPTERS),
)
"""How extensions name lorebooks in a chat's metadata."""

__all__ = ["ADAPTERS", "IN_ENTRIES", "IN_MESSAGES", "MORE_BOOKS", "Adapter"]
