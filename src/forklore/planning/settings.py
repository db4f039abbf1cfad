"""Changing the settings of a workspace: what is to be otherwise, and nothing else of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from forklore.formats.json_text import encode, to_bytes
from forklore.model.plan import Append, Bytes, Change, CreateFile, Drop, Edit, EditFile, LineEdit, Plan, Put, Take
from forklore.model.stored import SETTINGS, SETTINGS_FORMAT

Stored = Mapping[str, Any]
"""The settings as they stand in their file."""
OBJECTS = ("names", "requirements")


def plan_settings(stored: Stored, wanted: Stored, *, is_new: bool, kind: str = "settings", chat: str = "") -> Plan:
    """Return the plan that makes the *stored* settings the *wanted* ones, in a file that *is new* or is there."""
    step: Change = EditFile(SETTINGS, tuple(LineEdit(None, edit) for edit in differences(stored, wanted)), "settings")
    if is_new:
        said = {"format": SETTINGS_FORMAT, **{key: value for key, value in wanted.items() if value}}
        step = CreateFile(SETTINGS, (Bytes(to_bytes(encode(said, indent=2)) + b"\n"),))
    return Plan(kind, chat, (step,), commit=0)


def differences(stored: Stored, wanted: Stored) -> Iterator[Edit]:
    """Yield the edits that make the *stored* settings the *wanted* ones."""
    if wanted.get("policy") != stored.get("policy"):
        yield Put(("policy",), encode(wanted["policy"]))
    for key in OBJECTS:
        before, after = stored.get(key, {}), wanted.get(key, {})
        yield from (Put((key, name), encode(value)) for name, value in after.items() if before.get(name) != value)
        yield from (Drop((key, name)) for name in before if name not in after)
    before, after = stored.get("shared_books", []), wanted.get("shared_books", [])
    yield from (Append(("shared_books",), encode(book)) for book in after if book not in before)
    yield from (Take(("shared_books",), encode(book)) for book in before if book not in after)
