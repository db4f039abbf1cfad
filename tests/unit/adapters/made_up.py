"""Tidewriter: an extension that nobody has written. All that Forklore needs to know of one stands here."""

from __future__ import annotations

from forklore.adapters.row import ENTRY, MESSAGE, METADATA, SETTINGS, Adapter, Row
from forklore.adapters.rules import Clamp, CloneBook, CopyTo, DropBeyond, FreshId, LeaveOut, RePoint

ADAPTER = Adapter(
    "Tidewriter",
    "1.0",
    (
        Row(METADATA, "tidewriter.id", always=FreshId("tide-{uuid}")),
        Row(METADATA, "tidewriter.diary", always=CloneBook("diary")),
        Row(METADATA, "tidewriter.tides[].last", past=DropBeyond()),
        Row(METADATA, "tidewriter.read_upto", past=Clamp()),
        Row(METADATA, "tidewriter.mood", past=LeaveOut()),
        Row(METADATA, "tidewriter"),
        Row(MESSAGE, "extra.tide.lorebook", always=RePoint("lorebook")),
        Row(ENTRY, "tide_last", past=DropBeyond()),
        Row(ENTRY, "tide_chat", always=RePoint("chat")),
        Row(SETTINGS, "extension_settings.tidewriter.charts[{lorebook}]", always=CopyTo()),
    ),
    in_messages=b'"tide"',
    in_entries=b'"tide_last"',
)
