"""Memory Books: memories as entries of the chat's lorebook, or of books that the chat names besides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forklore.adapters.row import ENTRY, METADATA, Adapter, Row
from forklore.adapters.rules import (
    Clamp,
    CloneBook,
    DropBeyond,
    Keep,
    LeaveOut,
    NullBeyond,
    RePoint,
    Unhide,
    WhenGone,
    Write,
)

_SPACE = "STMemoryBooks"
_COPIED = {"version": 1, "status": "completed", "branchChatId": "{chat}"}
"""What keeps it from copying the lorebooks of a branch once more."""

ADAPTER = Adapter(
    "Memory Books",
    "8.6.5",
    (
        Row(METADATA, _SPACE, always=Keep()),
        Row(METADATA, f"{_SPACE}.manualLorebook", always=CloneBook("manual")),
        Row(METADATA, f"{_SPACE}.manualCharacterLorebooks{{}}", always=CloneBook("character memories")),
        Row(METADATA, f"{_SPACE}.narratorMode.members[].lorebookName", always=CloneBook("narrator")),
        Row(METADATA, f"{_SPACE}.sidePromptLorebookOverrides{{}}", always=CloneBook("side prompts")),
        Row(METADATA, f"{_SPACE}.branchLorebookCopies", always=Write(_COPIED, makes_in="branch")),
        Row(METADATA, f"{_SPACE}.highestMemoryProcessed", past=Clamp(to="kept:STMB_end")),
        Row(METADATA, f"{_SPACE}.highestMemoryProcessedManuallySet", past=LeaveOut()),
        Row(METADATA, f"{_SPACE}.autoSummaryNextPromptAt", past=LeaveOut()),
        Row(METADATA, f"{_SPACE}.autoConsolidationLastPromptKey", past=LeaveOut()),
        Row(METADATA, f"{_SPACE}.sceneStart", past=NullBeyond()),
        Row(METADATA, f"{_SPACE}.sceneEnd", past=NullBeyond()),
        Row(ENTRY, "STMB_end", when="stmemorybooks", past=DropBeyond(then=Unhide("STMB_start", "STMB_end"))),
        Row(ENTRY, "disabledBySummaryId", past=WhenGone({"disable": False})),
        Row(ENTRY, "STMB_chatId", always=RePoint("chat")),
        Row(ENTRY, "STMB_canonicalLorebook", always=RePoint("lorebook")),
        Row(ENTRY, "STMB_sp_*_lastMsgId", past=Clamp()),
        Row(ENTRY, "STMB_tracker_lastMsgId", past=Clamp()),
    ),
    in_entries=b'"STMB_',
    shared="STMemoryBooks.characterMemoryBookLocks",
)


def copied_from(metadata: Mapping[str, Any], chat: str, book: str | None) -> str | None:
    """Return the lorebook that Memory Books copied for this very branch, None when it did not copy this one."""
    space = metadata.get(_SPACE)
    marker = space.get("branchLorebookCopies") if isinstance(space, dict) else None
    if not isinstance(marker, dict) or marker.get("branchChatId") != chat:
        return None
    mappings = marker.get("mappings")
    for mapping in mappings if isinstance(mappings, list) else ():
        if isinstance(mapping, dict) and mapping.get("copyName") == book:
            source = mapping.get("sourceName")
            return source if isinstance(source, str) else None
    return None
