"""Changes as journal and log describe them, taken apart with care: a stranger may have written them.

Whatever is wrong with a description makes it ``Unreadable``, and a path in it that leads out of the workspace is
``PathOutside``; what is returned can be used without asking again what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from forklore import texts
from forklore.formats.json_text import NotJson, parse
from forklore.model.fact import Cause, Fact, fact
from forklore.model.plan import HEADER, LineEdit
from forklore.model.stored import beside_path, staged_path, story_path, trash_item

T = TypeVar("T")

KINDS = ("create", "edit", "trash", "restore")
_DIGEST = re.compile(r"[0-9a-f]{64}").fullmatch
_LONGEST_PATH = 64  # steps into a JSON document


class Unreadable(Cause):
    """What was stored is not what it should be."""

    def __init__(self, case: str, **params: Any) -> None:
        """Say what is wrong, and mostly of which *field*."""
        super().__init__("stored", case=case, **params)


def change_of(stored: object) -> dict[str, Any]:
    """Return one change as the log describes it; raises ``Unreadable`` or ``PathOutside``."""
    value = object_of(stored, "changes")
    kind = value.get("do")
    if kind not in KINDS:
        raise Unreadable("value", field="do")
    change: dict[str, Any] = {"do": kind, "path": story_path(value.get("path"))}
    if kind == "edit":
        if "role" in value:
            change["role"] = text_of(value["role"], "role")
        for key in ("edits", "inverse"):
            if key in value:
                change[key] = list_of(value[key], _edit)
    else:
        change["content"] = list_of(value.get("content"), _segment)
    if kind in ("trash", "restore"):
        change["item"] = trash_item(value.get("item"))
    return change


def journalled_change_of(stored: object, operation: str) -> dict[str, Any]:
    """Return one change as the journal of *operation* describes it; raises ``Unreadable`` or ``PathOutside``."""
    change, value = change_of(stored), object_of(stored, "changes")
    if "staged" in value:
        change["staged"] = staged_path(value["staged"], operation)
        change["mine"] = _fingerprint(value.get("mine"))
    if "beside" in value:
        change["beside"] = beside_path(value["beside"], operation)
    if change["do"] == "edit" and "staged" in change:
        change["content"] = list_of(value.get("content"), _unproven_segment)
        change["expected"] = _fingerprint(value.get("expected"))
    if change["do"] == "edit" and not {"edits", "inverse"} <= change.keys():
        raise Unreadable("value", field="edits")
    if change["do"] == "create" and "staged" not in change:
        raise Unreadable("value", field="staged")
    if "beside" in change and "staged" not in change:
        raise Unreadable("value", field="beside")
    if change["do"] == "trash" and not change["item"].startswith(f"{operation}/"):
        raise Unreadable("other_trash")
    return change


def notes_of(stored: object) -> dict[str, Any]:
    """Return what an operation notes of itself, as far as it is known here."""
    notes = object_of(stored, "notes")
    return {key: convert(notes[key]) for key, convert in _NOTES.items() if key in notes}


def _text(value: object) -> str:
    return text_of(value, "notes")


_NOTES: Mapping[str, Callable[[object], Any]] = {
    "fork": _text,
    "message": lambda value: number_of(value, "notes"),
    "isolated": _text,
    "lorebook": lambda value: None if value is None else _text(value),
    "repair": _text,
    "code": _text,
    "needs": story_path,
    "children": lambda value: list_of(value, _text),
    "left": lambda value: list_of(value, change_of),
    "taken_out": lambda value: list_of(value, change_of),
    "sent": lambda value: dict(object_of(value, "notes")),
}


# --- what is pending ----------------------------------------------------------------------------------------------

NOT_WRITTEN = "not_written"


def not_written(what: str, reason: str | Fact | None) -> Fact:
    """Return the fact that *what* could not be written after an operation was committed, and the *reason*.

    *what* is the role of an edit or the kind of a change.
    """
    return fact(NOT_WRITTEN, what=what.replace(" ", "_"), reason=reason)


def pending_of(stored: object) -> Fact:
    """Return what an operation has not written, as its file says; a reason that nobody can word is left out."""
    if isinstance(stored, str):  # "link: No space left", as it was once
        what, _, why = stored.partition(": ")
        return not_written(what, why or None)
    value = object_of(stored, "pending")
    params = object_of(value.get("params"), "pending")
    reason = params.get("reason")
    return not_written(text_of(params.get("what"), "pending"), reason if _can_be_told(reason) else None)


def _can_be_told(reason: object) -> bool:
    try:
        if isinstance(reason, dict):
            return all(texts.words(reason, language) for language in texts.LANGUAGES)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return False
    return isinstance(reason, str)


# --- small parts --------------------------------------------------------------------------------------------------


def object_of(value: object, field: str) -> Mapping[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise Unreadable("object", field=field)
    return value


def text_of(value: object, field: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise Unreadable("text", field=field)
    return value


def number_of(value: object, field: str) -> int:
    """Return a whole number, which true and false are not."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreadable("number", field=field)
    return value


def list_of(value: object, convert: Callable[[object], T]) -> list[T]:
    """Return a list with each of its items converted."""
    if not isinstance(value, list):
        raise Unreadable("list")
    return [convert(item) for item in value]


def _segment(value: object) -> list[Any]:
    """Return how long a part of a file is, and its digest, without which it could be any file."""
    segment = _unproven_segment(value)
    if not segment[1]:
        raise Unreadable("value", field="content")
    return segment


def _unproven_segment(value: object) -> list[Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise Unreadable("value", field="content")
    length, digest = number_of(value[0], "content"), text_of(value[1], "content")
    if length < 0 or (digest and not _DIGEST(digest)):
        raise Unreadable("value", field="content")
    return [length, digest]


def _fingerprint(value: object) -> list[int]:
    if not isinstance(value, list) or len(value) != 3:
        raise Unreadable("value", field="fingerprint")
    return [number_of(each, "fingerprint") for each in value]


def _edit(stored: object) -> dict[str, Any]:
    """Return an edit as it was stored, once it is sure that it is one and that it leaves JSON behind."""
    value = dict(object_of(stored, "edits"))
    if value.get("do") not in ("put", "drop", "append", "take"):
        raise Unreadable("value", field="do")
    value.setdefault("line", None)
    if value["line"] is not None and number_of(value["line"], "line") < HEADER:
        raise Unreadable("value", field="line")
    _json_path(value.get("path"))
    for key in ("text", "only_if"):
        if value.get(key) is not None:
            _json_text(value[key])
    if not 0 <= number_of(value.get("prune", 0), "prune") <= _LONGEST_PATH:
        raise Unreadable("value", field="prune")
    if "slot" in value:
        _slot(value["slot"])
    if value["line"] is not None and any("\n" in each for each in _spliced(value)):
        raise Unreadable("value", field="text")
    try:
        LineEdit.from_json(value)
    except (TypeError, ValueError, KeyError) as error:
        raise Unreadable("value", field="edits") from error
    return value


def _json_path(value: object) -> None:
    if not isinstance(value, list) or not 0 < len(value) <= _LONGEST_PATH:
        raise Unreadable("value", field="path")
    for step in value:
        if not isinstance(step, str):
            number_of(step, "path")


def _spliced(value: Mapping[str, Any]) -> list[str]:
    """Return the texts of an edit that become part of the line."""
    return [value.get("text") or "", *(value["slot"][1:4] if "slot" in value else ())]


def _json_text(value: object) -> str:
    text = text_of(value, "text")
    try:
        parse(text)
    except NotJson as error:
        raise Unreadable("value", field="text") from error
    return text


_BETWEEN = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*").fullmatch


def _slot(value: object) -> None:
    """Refuse a place that would put anything but blanks, a comma and a key into a document."""
    if not isinstance(value, list) or len(value) != 6:
        raise Unreadable("value", field="slot")
    level, before, after, name, later, copies = value
    number_of(level, "slot")
    number_of(copies, "slot")
    list_of(later, lambda each: text_of(each, "slot"))
    if not all(_BETWEEN(text_of(each, "slot")) for each in (before, after)):
        raise Unreadable("value", field="slot")
    if text_of(name, "slot"):
        # As a document with one member, in which the key stands as it would stand.
        _json_text("{" + name + "0}")


__all__ = [
    "KINDS",
    "NOT_WRITTEN",
    "Unreadable",
    "change_of",
    "journalled_change_of",
    "list_of",
    "not_written",
    "notes_of",
    "number_of",
    "object_of",
    "pending_of",
    "text_of",
]
