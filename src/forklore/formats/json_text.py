"""JSON text that is edited in place, so that every byte that need not change stays as it was.

``json.loads`` and ``json.dumps`` of a whole document would lose duplicate keys, number spellings and escapes that other
programs wrote. Here a value is found by its path and only its text is replaced; everything around it is kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json.decoder import scanstring  # type: ignore[attr-defined]  # C scanner of the standard library, not in its stubs
from typing import Any, NamedTuple

from forklore.model.plan import Append, Drop, Edit, JsonPath, Put, Take

_SKIP_BLANKS = re.compile(r"[ \t\n\r]*").match
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """The text is not JSON, or not of the shape that was asked for."""


def _refuse(constant: str) -> Any:
    raise NotJson(f"{constant} is no JSON value")  # Python reads NaN and Infinity, SillyTavern does not


_DECODE_VALUE = json.JSONDecoder(parse_constant=_refuse).raw_decode


def parse(data: bytes | str) -> Any:
    """Return the value of JSON *data*; raise ``NotJson`` when it is none."""
    text = data if isinstance(data, str) else to_text(data)
    try:
        value, end = _DECODE_VALUE(text, _blanks(text, 1 if text.startswith("\ufeff") else 0))
        if _blanks(text, end) != len(text):
            raise NotJson("something follows the value")
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error
    return value


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return the object that JSON *data* spells; raise ``NotJson`` when it is no object."""
    value = parse(data)
    if not isinstance(value, dict):
        raise NotJson("not an object")
    return value


def encode(value: Any, *, indent: int | None = None) -> str:
    """Return *value* as SillyTavern writes it: nothing escaped but what must be, half emoji as escapes.

    It is compact, or laid out with *indent*. A number beyond what JavaScript can hold becomes null, as it does there.
    """
    separators = (",", ":" if indent is None else ": ")
    try:
        text = json.dumps(value, ensure_ascii=False, separators=separators, indent=indent, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=separators, indent=indent)
    return escape_lone_surrogates(text)


def escape_lone_surrogates(text: str) -> str:
    """Return JSON *text* with each half of an emoji written as an escape, as JavaScript does."""
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_text(data: bytes) -> str:
    """Return *data* as text from which ``to_bytes`` makes the same bytes, even where it is not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Return the bytes that *text* was made of."""
    return text.encode("utf-8", "surrogateescape")


# --- finding ------------------------------------------------------------------------------------------------------


class _Member(NamedTuple):
    """Where one member of an object, or one item of an array, stands in the text."""

    key: str | int
    start: int  # of the key, or of the item
    value: int
    end: int


def _blanks(text: str, at: int) -> int:
    match = _SKIP_BLANKS(text, at)
    return match.end() if match else at  # the pattern matches the empty string too


def _value_end(text: str, at: int) -> int:
    end: int = _DECODE_VALUE(text, at)[1]
    return end


def _members(text: str, at: int) -> list[_Member]:
    """Return the members of the object, or the items of the array, that begins at *at*."""
    closing, is_object = ("}", True) if text[at] == "{" else ("]", False)
    found: list[_Member] = []
    at = _blanks(text, at + 1)
    while text[at] != closing:
        start = at
        key: str | int = len(found)
        if is_object:
            if text[at] != '"':
                raise NotJson("a key is missing")
            key, at = scanstring(text, at + 1)
            at = _blanks(text, at)
            if text[at] != ":":
                raise NotJson("a colon is missing")
            at = _blanks(text, at + 1)
        end = _value_end(text, at)
        found.append(_Member(key, start, at, end))
        at = _blanks(text, end)
        if text[at] == ",":
            at = _blanks(text, at + 1)
        elif text[at] != closing:
            raise NotJson("a comma is missing")
    return found


def _find(text: str, path: JsonPath) -> tuple[int, int] | None:
    """Return where the value at *path* stands, or None; of equal keys the last one counts, as everywhere."""
    start = _blanks(text, 1 if text.startswith("\ufeff") else 0)
    end = len(text) if path else _value_end(text, start)
    for step in path:
        if text[start] != ("{" if isinstance(step, str) else "["):
            return None
        hits = [member for member in _members(text, start) if member.key == step]
        if not hits:
            return None
        start, end = hits[-1].value, hits[-1].end
    return start, end


def value_text(text: str, path: JsonPath) -> str | None:
    """Return the JSON text of the value at *path*, exactly as it is written, or None."""
    try:
        span = _find(text, path)
    except (ValueError, IndexError, RecursionError) as error:
        raise NotJson(str(error)) from error
    return text[span[0] : span[1]] if span else None


def item_texts(text: str, path: JsonPath) -> list[str]:
    """Return the JSON text of each item of the array at *path*, exactly as written; empty when there is none."""
    try:
        span = _find(text, path)
        if span is None or text[span[0]] != "[":
            return []
        return [text[item.value : item.end] for item in _members(text, span[0])]
    except (ValueError, IndexError, RecursionError) as error:
        raise NotJson(str(error)) from error


# --- editing ------------------------------------------------------------------------------------------------------


class Edited(NamedTuple):
    """The text after some edits, and the edits that take them back."""

    text: str
    inverse: tuple[Edit, ...]


def apply_edits(text: str, edits: Sequence[Edit]) -> Edited:
    """Make *edits* one after the other and say which edits take them back.

    What was put or appended is taken back byte for byte; what was dropped comes back as the last of its siblings.
    An edit whose condition does not hold, or that has nothing to do, changes nothing and has no inverse.
    """
    try:
        prefix = _common_object(text, edits)
        span = _find(text, prefix)
        if span is None or text[span[0]] != "{":
            return _one_by_one(text, edits)
        inside = [_moved(edit, edit.path[len(prefix) :]) for edit in edits]
        part = _by_member(text[span[0] : span[1]], inside)
    except (ValueError, IndexError, RecursionError) as error:
        raise NotJson(str(error)) from error
    inverse = tuple(_moved(edit, (*prefix, *edit.path)) for edit in part.inverse)
    return Edited(text[: span[0]] + part.text + text[span[1] :], inverse)


def _one_by_one(text: str, edits: Sequence[Edit]) -> Edited:
    inverse: list[Edit] = []
    for edit in edits:
        text, back = _APPLY[type(edit)](text, edit)
        inverse[:0] = back
    return Edited(text, tuple(inverse))


def _moved(edit: Edit, path: JsonPath) -> Edit:
    return replace(edit, path=path)


def _common_object(text: str, edits: Sequence[Edit]) -> JsonPath:
    """Return the path of the smallest object that all *edits* are made in, with the parents they may prune."""
    shared = min((_scope(edit) for edit in edits), key=len, default=())
    while shared and not all(edit.path[: len(shared)] == shared for edit in edits):
        shared = shared[:-1]
    while shared and ((span := _find(text, shared)) is None or text[span[0]] != "{"):
        shared = shared[:-1]
    return shared


def _scope(edit: Edit) -> JsonPath:
    pruned = edit.prune if isinstance(edit, Drop | Take) else 0
    return edit.path[: max(0, len(edit.path) - 1 - pruned)]


def _by_member(text: str, edits: Sequence[Edit]) -> Edited:
    """Edit the object *text* member by member, so that a large object is looked through once and not for every edit."""
    members = _members(text, 0)
    places = {member.key: i for i, member in enumerate(members)}
    groups: dict[str | int, list[Edit]] = {}
    for edit in edits:
        groups.setdefault(edit.path[0], []).append(edit)
    if len(places) < len(members) or not members:
        return _one_by_one(text, edits)  # equal keys, or nothing to look through
    inverse: list[Edit] = []
    changed: dict[int, str | None] = {}
    added: list[tuple[str | int, str]] = []
    for key, group in groups.items():
        place = places.get(key)
        member = members[place] if place is not None else None
        alone = _one_by_one(f"{{{text[member.start : member.end]}}}" if member else "{}", group)
        inverse[:0] = alone.inverse
        left = _members(alone.text, 0)
        value = alone.text[left[0].value : left[0].end] if left else None
        if place is not None:
            changed[place] = value
        elif value is not None:
            added.append((key, value))
    return Edited(_rebuilt(text, members, changed, added), tuple(inverse))


def _rebuilt(
    text: str, members: list[_Member], changed: dict[int, str | None], added: list[tuple[str | int, str]]
) -> str:
    """Return the object *text* with members changed, removed (None) and added; from the end, so that places hold."""
    if added and all(changed.get(i, "") is None for i in range(len(members))):
        added_text = ",".join(f"{encode(key)}:{value}" for key, value in added)
        return f"{{{added_text}}}"
    first, last = members[0], members[-1]
    before_key, colon = text[1 : first.start], text[scanstring(text, first.start + 1)[1] : first.value]
    tail = "".join(f",{before_key}{encode(key)}{colon}{value}" for key, value in added)
    text = text[: last.end] + tail + text[last.end :]
    for i in sorted(changed, reverse=True):
        value = changed[i]
        if value is not None:
            text = text[: members[i].value] + value + text[members[i].end :]
        elif i:
            text = text[: members[i - 1].end] + text[members[i].end :]
        else:
            text = _cut_out(text, _members(text, 0), 0)
    return text


def _same(left: str, right: str) -> bool:
    return left == right or _equal(parse(left), parse(right))


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are one in JSON too, where true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _put(text: str, edit: Put) -> tuple[str, list[Edit]]:
    if not edit.path:
        raise NotJson("an edit needs a path")
    span = _find(text, edit.path)
    if span:
        old = text[span[0] : span[1]]
        if old == edit.text or (edit.only_if is not None and not _same(old, edit.only_if)):
            return text, []
        return text[: span[0]] + edit.text + text[span[1] :], [Put(edit.path, old, only_if=edit.text)]
    if edit.only_if is not None:
        return text, []
    parent, made, new = edit.path[:-1], 0, edit.text
    missing = edit.path[-1]
    while (found := _find(text, parent)) is None:
        new = f"{{{encode(missing)}:{new}}}"
        parent, missing, made = parent[:-1], parent[-1], made + 1
    if text[found[0]] != "{":
        if not parent:
            raise NotJson("not an object")
        # A parent that is there but is no object cannot hold a member: it is replaced as a whole, and kept.
        replaced = text[found[0] : found[1]]
        new = f"{{{encode(missing)}:{new}}}"
        return text[: found[0]] + new + text[found[1] :], [Put(parent, replaced, only_if=new)]
    return _insert_member(text, found[0], encode(missing), new), [Drop(edit.path, edit.text, made)]


def _insert_member(text: str, at: int, key: str, value: str) -> str:
    members = _members(text, at)
    if not members:
        return f"{text[: at + 1]}{key}:{value}{text[at + 1 :]}"
    first, last = members[0], members[-1]
    # The new member is laid out like its elder siblings: one a line in a book, all in one line in a chat.
    before_key = text[at + 1 : first.start]
    key_end = scanstring(text, first.start + 1)[1]
    colon = text[key_end : first.value]
    return f"{text[: last.end]},{before_key}{key}{colon}{value}{text[last.end :]}"


def _cut_out(text: str, members: list[_Member], which: int) -> str:
    """Remove one member with exactly one comma: the one before it, or for the first one the one after it."""
    member = members[which]
    if which:
        return text[: members[which - 1].end] + text[member.end :]
    if len(members) > 1:
        return text[: member.start] + text[members[1].start :]
    return text[: member.start] + text[member.end :]


def _drop(text: str, edit: Drop) -> tuple[str, list[Edit]]:
    span = _find(text, edit.path)
    if not span or (edit.only_if is not None and not _same(text[span[0] : span[1]], edit.only_if)):
        return text, []
    old = text[span[0] : span[1]]
    path: JsonPath = edit.path
    text = _remove_at(text, path)
    while _find(text, path):  # equal keys: the earlier one would come to light
        text = _remove_at(text, path)
    return _prune(text, path, edit.prune), [Put(edit.path, old)]


def _remove_at(text: str, path: JsonPath) -> str:
    holder = _find(text, path[:-1])
    if holder is None:
        raise NotJson("nothing to remove there")
    members = _members(text, holder[0])
    last = max(i for i, member in enumerate(members) if member.key == path[-1])
    return _cut_out(text, members, last)


def _prune(text: str, path: JsonPath, levels: int) -> str:
    for level in range(1, levels + 1):
        parent = path[:-level]
        span = _find(text, parent)
        if not parent or span is None or _members(text, span[0]):
            break
        text = _remove_at(text, parent)
    return text


def _append(text: str, edit: Append) -> tuple[str, list[Edit]]:
    span = _find(text, edit.path)
    if span is None or text[span[0]] != "[":
        text, back = _put(text, Put(edit.path, f"[{edit.text}]"))
        made = back[0].prune if isinstance(back[0], Drop) else None
        return text, back if made is None else [Take(edit.path, edit.text, made + 1)]
    items = _members(text, span[0])
    if any(_same(text[item.value : item.end], edit.text) for item in items):
        return text, []
    if items:
        between = text[span[0] + 1 : items[0].start]
        text = f"{text[: items[-1].end]},{between}{edit.text}{text[items[-1].end :]}"
    else:
        text = f"{text[: span[0] + 1]}{edit.text}{text[span[0] + 1 :]}"
    return text, [Take(edit.path, edit.text)]


def _take(text: str, edit: Take) -> tuple[str, list[Edit]]:
    span = _find(text, edit.path)
    if span is None or text[span[0]] != "[":
        return text, []
    items = _members(text, span[0])
    equal = [i for i, item in enumerate(items) if _same(text[item.value : item.end], edit.text)]
    for i in reversed(equal):
        text = _cut_out(text, items, i)
        span = _find(text, edit.path)
        items = _members(text, span[0]) if span else []
    if not equal:
        return text, []
    if edit.prune and not items:
        text = _prune(_remove_at(text, edit.path), edit.path, edit.prune - 1)
    return text, [Append(edit.path, edit.text)]


_APPLY: dict[type[Edit], Any] = {Put: _put, Drop: _drop, Append: _append, Take: _take}
