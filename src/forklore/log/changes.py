"""Changes as journal and log describe them, taken apart with care: a stranger may have written them.

Whatever is wrong with a description makes it ``Unreadable``, and a path in it that leads out of the workspace is
``PathOutside``; what is returned can be used without asking again what it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from forklore.formats.json_text import NotJson, parse
from forklore.model.plan import HEADER, LineEdit
from forklore.model.stored import beside_path, staged_path, story_path, trash_item

T = TypeVar("T")

KINDS = ("create", "edit", "trash", "restore")
_DIGEST = re.compile(r"[0-9a-f]{64}").fullmatch
_LONGEST_PATH = 64  # steps into a JSON document


class Unreadable(Exception):
    """What was stored is not what it should be."""


def change_of(stored: object) -> dict[str, Any]:
    """Return one change as the log describes it; raises ``Unreadable`` or ``PathOutside``."""
    value = object_of(stored, "a change")
    kind = value.get("do")
    if kind not in KINDS:
        raise Unreadable(f"a change does {kind!r}")
    change: dict[str, Any] = {"do": kind, "path": story_path(value.get("path"))}
    if kind == "edit":
        if "role" in value:
            change["role"] = text_of(value["role"], "a role")
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
    change, value = change_of(stored), object_of(stored, "a change")
    if "staged" in value:
        change["staged"] = staged_path(value["staged"], operation)
        change["mine"] = _fingerprint(value.get("mine"))
    if "beside" in value:
        change["beside"] = beside_path(value["beside"], operation)
    if change["do"] == "edit" and "staged" in change:
        change["content"] = list_of(value.get("content"), _unproven_segment)
        change["expected"] = _fingerprint(value.get("expected"))
    if change["do"] == "edit" and not {"edits", "inverse"} <= change.keys():
        raise Unreadable("an edit says nothing")
    if change["do"] == "create" and "staged" not in change:
        raise Unreadable("new content is nowhere")
    if "beside" in change and "staged" not in change:
        raise Unreadable("what leaves its disk for the trash has no copy there")
    if change["do"] == "trash" and not change["item"].startswith(f"{operation}/"):
        raise Unreadable("what goes to the trash would take the place of something else there")
    return change


def notes_of(stored: object) -> dict[str, Any]:
    """Return what an operation notes of itself, as far as it is known here."""
    notes = object_of(stored, "the notes")
    return {key: convert(notes[key]) for key, convert in _NOTES.items() if key in notes}


def _text(value: object) -> str:
    return text_of(value, "a note")


_NOTES: Mapping[str, Callable[[object], Any]] = {
    "fork": _text,
    "message": lambda value: number_of(value, "a note"),
    "isolated": _text,
    "lorebook": lambda value: None if value is None else _text(value),
    "repair": _text,
    "code": _text,
    "needs": story_path,
    "children": lambda value: list_of(value, _text),
    "left": lambda value: list_of(value, change_of),
    "taken_out": lambda value: list_of(value, change_of),
    "sent": lambda value: dict(object_of(value, "a note")),
}


# --- small parts --------------------------------------------------------------------------------------------------


def object_of(value: object, what: str) -> Mapping[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is no object")
    return value


def text_of(value: object, what: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise Unreadable(f"{what} is no text")
    return value


def number_of(value: object, what: str) -> int:
    """Return a whole number, which true and false are not."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreadable(f"{what} is no number")
    return value


def list_of(value: object, convert: Callable[[object], T]) -> list[T]:
    """Return a list with each of its items converted."""
    if not isinstance(value, list):
        raise Unreadable("what should be a list is none")
    return [convert(item) for item in value]


def _segment(value: object) -> list[Any]:
    """Return how long a part of a file is, and its digest, without which it could be any file."""
    segment = _unproven_segment(value)
    if not segment[1]:
        raise Unreadable("a content has no digest")
    return segment


def _unproven_segment(value: object) -> list[Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise Unreadable("a content is not told by its length and its digest")
    length, digest = number_of(value[0], "a length"), text_of(value[1], "a digest")
    if length < 0 or (digest and not _DIGEST(digest)):
        raise Unreadable("a content is not told by its length and its digest")
    return [length, digest]


def _fingerprint(value: object) -> list[int]:
    if not isinstance(value, list) or len(value) != 3:
        raise Unreadable("a fingerprint has not three numbers")
    return [number_of(each, "a part of a fingerprint") for each in value]


def _edit(stored: object) -> dict[str, Any]:
    """Return an edit as it was stored, once it is sure that it is one and that it leaves JSON behind."""
    value = dict(object_of(stored, "an edit"))
    if value.get("do") not in ("put", "drop", "append", "take"):
        raise Unreadable("an edit is of no known kind")
    value.setdefault("line", None)
    if value["line"] is not None and number_of(value["line"], "a line") < HEADER:
        raise Unreadable("an edit is of no line")
    _json_path(value.get("path"))
    for key in ("text", "only_if"):
        if value.get(key) is not None:
            _json_text(value[key])
    if not 0 <= number_of(value.get("prune", 0), "a number of parents") <= _LONGEST_PATH:
        raise Unreadable("an edit removes too much")
    if "slot" in value:
        _slot(value["slot"])
    if value["line"] is not None and any("\n" in each for each in _spliced(value)):
        raise Unreadable("an edit of one line has several")
    try:
        LineEdit.from_json(value)
    except (TypeError, ValueError, KeyError) as error:
        raise Unreadable(f"an edit is not whole ({error})") from error
    return value


def _json_path(value: object) -> None:
    if not isinstance(value, list) or not 0 < len(value) <= _LONGEST_PATH:
        raise Unreadable("an edit leads nowhere")
    for step in value:
        if not isinstance(step, str):
            number_of(step, "a step of a path")


def _spliced(value: Mapping[str, Any]) -> list[str]:
    """Return the texts of an edit that become part of the line."""
    return [value.get("text") or "", *(value["slot"][1:4] if "slot" in value else ())]


def _json_text(value: object) -> str:
    text = text_of(value, "a value")
    try:
        parse(text)
    except NotJson as error:
        raise Unreadable("a value is not JSON") from error
    return text


_BETWEEN = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*").fullmatch


def _slot(value: object) -> None:
    """Refuse a place that would put anything but blanks, a comma and a key into a document."""
    if not isinstance(value, list) or len(value) != 6:
        raise Unreadable("a place is not whole")
    level, before, after, name, later, copies = value
    number_of(level, "a level")
    number_of(copies, "a number of copies")
    list_of(later, lambda each: text_of(each, "a sibling"))
    if not all(_BETWEEN(text_of(each, "a blank")) for each in (before, after)):
        raise Unreadable("a place has more than blanks around it")
    if text_of(name, "a key"):
        # As a document with one member, in which the key stands as it would stand.
        _json_text("{" + name + "0}")


__all__ = [
    "KINDS",
    "Unreadable",
    "change_of",
    "journalled_change_of",
    "list_of",
    "notes_of",
    "number_of",
    "object_of",
    "text_of",
]
