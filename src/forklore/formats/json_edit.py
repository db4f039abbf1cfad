"""JSON text that is edited in place, so that every byte that need not change stays as it was.

``json.loads`` and ``json.dumps`` of a whole document would lose duplicate keys, number spellings and escapes that other
programs wrote. Here the text is taken apart only along the paths of the edits, in one pass; everything else stays the
text it was, and goes back between the same blanks and commas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]  # C scanner of the standard library, not in its stubs
from typing import Any, NamedTuple

from forklore.formats.json_text import NotJson, decode_value, encode, same_value, skip_blanks
from forklore.model.plan import Append, Drop, Edit, JsonPath, Put, Slot, Take

Guide = dict[str | int, Any]
"""The paths that will be looked at, as a tree: what lies on none of them is not taken apart."""


_LONG = 4096  # what is shorter is taken apart in no time


class Edited(NamedTuple):
    """The text after some edits, and the edits that take them back."""

    text: str
    inverse: tuple[Edit, ...]


def apply_edits(text: str, edits: Sequence[Edit]) -> Edited:
    """Make *edits* one after the other and say which edits take them back.

    Where nothing else changed they are taken back byte for byte; what was dropped comes back between the siblings it
    had.
    An edit whose condition does not hold, or that has nothing to do, changes nothing and has no inverse.
    """
    inverse: list[Edit] = []
    with _not_json():
        document = _taken_apart(text, [edit.path for edit in edits])
        for edit in edits:
            if not edit.path:
                raise NotJson("an edit needs a path")
            inverse[:0] = _APPLY[type(edit)](document.root, edit)
    return Edited(document.text() if inverse else text, tuple(inverse))


def value_text(text: str, path: JsonPath) -> str | None:
    """Return the JSON text of the value at *path*, exactly as it is written, or None."""
    with _not_json():
        found = _find(_taken_apart(text, [path]).root, path)
    return found.member.text() if found else None


def item_texts(text: str, path: JsonPath) -> list[str]:
    """Return the JSON text of each item of the array at *path*, exactly as written; empty when there is none."""
    with _not_json():
        found = _find(_taken_apart(text, [path]).root, path)
        array = found.member.opened() if found else None
    return [item.text() for item in array.members.values()] if array and not array.is_object else []


@contextmanager
def _not_json() -> Iterator[None]:
    try:
        yield
    except (ValueError, IndexError, RecursionError) as error:  # an index beyond the text: it ends too early
        raise NotJson(str(error)) from error


# --- a text taken apart -------------------------------------------------------------------------------------------


class _Member:
    """One member of an object, or one item of an array."""

    __slots__ = ("before", "name", "value")

    def __init__(self, before: str, name: str, value: str | _Container) -> None:
        self.before = before  # what separates it from its elder sibling, or from the bracket
        self.name = name  # the key and the colon as they are written; nothing in an array
        self.value = value

    def text(self) -> str:
        """Return the value as it is written."""
        return self.value if isinstance(self.value, str) else self.value.text()

    def opened(self) -> _Container | None:
        """Return the value taken apart, None when it has no members."""
        if isinstance(self.value, str):
            if self.value[0] not in "{[":
                return None
            self.value = _scan(self.value, 0, {}, {})[0]
        return self.value


class _Container:
    """An object or an array, taken apart: its members in their order, each with a number that it keeps."""

    __slots__ = ("closing", "is_object", "made", "members", "places")

    def __init__(self, *, is_object: bool) -> None:
        self.is_object = is_object
        self.members: dict[int, _Member] = {}
        self.places: dict[str, list[int]] = {}  # by their keys; of equal keys the last one counts, as everywhere
        self.closing = ""  # what stands between the last member and the bracket
        self.made = 0

    def text(self) -> str:
        """Return the whole as it is written."""
        parts = ["{" if self.is_object else "["]
        for member in self.members.values():
            parts += (member.before, member.name, member.text())
        parts += (self.closing, "}" if self.is_object else "]")
        return "".join(parts)

    def place(self, step: str | int) -> int | None:
        """Return the number of the member that a *step* of a path leads to."""
        if self.is_object:
            return self.places[step][-1] if isinstance(step, str) and self.places.get(step) else None
        if isinstance(step, str) or not 0 <= step < len(self.members):
            return None
        return list(self.members)[step]

    def add(self, key: str | None, member: _Member) -> None:
        """Add a member as the last one."""
        self.members[self.made] = member
        if key is not None:
            self.places.setdefault(key, []).append(self.made)
        self.made += 1

    def append(self, key: str | None, value: str) -> None:
        """Add a member that is laid out like its elders: one a line in a book, all in one line in a chat."""
        first = next(iter(self.members.values()), None)
        colon = first.name[scanstring(first.name, 1)[1] :] if first and first.name else ":"
        before = f",{first.before}" if first else ""
        self.add(key, _Member(before, "" if key is None else f"{encode(key)}{colon}", value))

    def put_back(self, key: str | None, value: str, slot: Slot) -> None:
        """Add a member where it once stood: before the first of those that came after it, else as the last one."""
        order = list(self.members)
        place, later = len(order), Counter(slot.later)
        for at in reversed(range(len(order))):  # from the end: an equal one may have stood before it too
            known = self._known_as(order[at])
            if later[known]:
                later[known] -= 1
                place = at
        blanks = slot.before.replace(",", "", 1)
        before = slot.before if "," in slot.before else slot.after or f",{blanks}"
        if not order:
            before, self.closing = blanks, self.closing.removeprefix(blanks)
        elif place == 0:
            first = self.members[order[0]]
            before, first.before = first.before, before
        self.add(key, _Member(before, slot.name or ("" if key is None else f"{encode(key)}:"), value))
        order.insert(place, self.made - 1)
        self.members = {number: self.members[number] for number in order}

    def remove(self, number: int, level: int) -> Slot:
        """Remove a member with exactly one comma: the one before it, or for the first one the one after it.

        Returns its place; *level* is how many steps led to it.
        """
        order = list(self.members)
        place = order.index(number)
        later = tuple(self._known_as(number) for number in order[place + 1 :])
        member = self.members.pop(number)
        after = ""
        if place == 0:
            second = next(iter(self.members.values()), None)
            if second:
                after, second.before = second.before, member.before
            else:
                self.closing = member.before + self.closing
        if self.is_object:
            key = scanstring(member.name, 1)[0]
            self.places[key].remove(number)
        return Slot(level, member.before, after, member.name, later)

    def _known_as(self, number: int) -> str:
        """Return what tells a member from its siblings."""
        member = self.members[number]
        return str(scanstring(member.name, 1)[0]) if self.is_object else member.text()


class _Document(NamedTuple):
    """A text taken apart."""

    before: str
    root: _Container
    after: str

    def text(self) -> str:
        return self.before + self.root.text() + self.after


def _taken_apart(text: str, paths: Iterable[JsonPath]) -> _Document:
    guide: Guide = {}
    for path in paths:
        below = guide
        for step in path:
            below = below.setdefault(step, {})
    start = skip_blanks(text, 1 if text.startswith("\ufeff") else 0)
    if text[start] not in "{[":
        raise NotJson("not an object")
    root, end = _scan(text, start, guide, _ends_in_long(text) if len(text) > _LONG else {})
    return _Document(text[:start], root, text[end:])


@lru_cache(maxsize=1)
def _ends_in_long(text: str) -> dict[int, int]:
    """Return where the values that begin at a place of *text* are known to end; who looks further adds to it.

    It is kept for one text: the same header is cut for a fork, then edited for its parent.
    """
    del text
    return {}


def _scan(text: str, at: int, guide: Guide, ends: dict[int, int]) -> tuple[_Container, int]:
    """Take the object or array apart that begins at *at*; return it, and where it ends."""
    container = _Container(is_object=text[at] == "{")
    bracket = "}" if container.is_object else "]"
    end = at + 1
    at = skip_blanks(text, end)
    while text[at] != bracket or container.members:
        start, key = at, None
        if container.is_object:
            key, at = _scan_name(text, at)
        below = guide.get(container.made if key is None else key)
        before, name = text[end:start], text[start:at]
        value: str | _Container
        if below and text[at] in "{[":
            value, end = _scan(text, at, below, ends)
        else:
            end = ends.get(at) or decode_value(text, at)[1]
            ends[at] = end
            value = text[at:end]
        container.add(key, _Member(before, name, value))
        at = skip_blanks(text, end)
        if text[at] == bracket:
            break
        if text[at] != ",":
            raise NotJson("a comma is missing")
        at = skip_blanks(text, at + 1)
    container.closing = text[end:at]
    return container, at + 1


def _scan_name(text: str, at: int) -> tuple[str, int]:
    if text[at] != '"':
        raise NotJson("a key is missing")
    key, at = scanstring(text, at + 1)
    at = skip_blanks(text, at)
    if text[at] != ":":
        raise NotJson("a colon is missing")
    return key, skip_blanks(text, at + 1)


class _Found(NamedTuple):
    """A value in its place."""

    holder: _Container
    number: int

    @property
    def member(self) -> _Member:
        return self.holder.members[self.number]


def _find(root: _Container, path: JsonPath) -> _Found | None:
    """Return the place of the value at *path*, or None."""
    found: _Found | None = None
    container: _Container | None = root
    for step in path:
        if found:
            container = found.member.opened()
        number = container.place(step) if container else None
        if container is None or number is None:
            return None
        found = _Found(container, number)
    return found


# --- editing ------------------------------------------------------------------------------------------------------


def _put(root: _Container, edit: Put) -> list[Edit]:
    found = _find(root, edit.path)
    if found:
        old = found.member.text()
        if old == edit.text or (edit.only_if is not None and not same_value(old, edit.only_if)):
            return []
        found.member.value = edit.text
        return [Put(edit.path, old, only_if=edit.text)]
    return _make(root, edit) if edit.only_if is None else []


def _make(root: _Container, edit: Put) -> list[Edit]:
    """Put a member where there is none yet, with the parents that are missing."""
    known = next(length for length in reversed(range(len(edit.path))) if not length or _find(root, edit.path[:length]))
    below = edit.path[known:]
    if any(isinstance(step, int) for step in below):
        raise NotJson("an array is not made longer")
    parent = _find(root, edit.path[:known])
    container = parent.member.opened() if parent else root
    if container and container.is_object:
        key, text = str(below[0]), _nested(below[1:], edit.text)
        if edit.slot is not None and edit.slot.level == known + 1:
            container.put_back(key, text, edit.slot)
        else:
            container.append(key, text)
        return [Drop(edit.path, edit.text, len(below) - 1)]
    if parent is None:
        raise NotJson("not an object")
    # A parent that is there but is no object cannot hold a member: it is replaced as a whole, and kept.
    old, new = parent.member.text(), _nested(below, edit.text)
    parent.member.value = new
    return [Put(edit.path[:known], old, only_if=new)]


def _nested(keys: JsonPath, text: str) -> str:
    for key in reversed(keys):
        text = f"{{{encode(key)}:{text}}}"
    return text


def _drop(root: _Container, edit: Drop) -> list[Edit]:
    found = _find(root, edit.path)
    if not found or not found.holder.is_object:  # an item is taken by what it is: its number may be another's by now
        return []
    if edit.only_if is not None and not same_value(found.member.text(), edit.only_if):
        return []
    old = found.member.text()
    slot = _remove_at(root, edit.path)
    return [Put(edit.path, old, slot=_prune(root, edit.path, edit.prune) or slot)]


def _remove_at(root: _Container, path: JsonPath) -> Slot | None:
    slot: Slot | None = None
    while found := _find(root, path):
        removed = found.holder.remove(found.number, len(path))
        slot = slot or removed
        if not found.holder.is_object:
            break  # in an object an earlier member with an equal key would come to light
    return slot


def _prune(root: _Container, path: JsonPath, levels: int) -> Slot | None:
    """Remove up to *levels* parents that became empty; return the place of the topmost one that went."""
    slot: Slot | None = None
    for level in range(1, levels + 1):
        found = _find(root, path[:-level])
        container = found.member.opened() if found and found.holder.is_object else None
        if container is None or container.members:
            break
        slot = _remove_at(root, path[:-level])
    return slot


def _array_at(root: _Container, path: JsonPath) -> _Container | None:
    found = _find(root, path)
    container = found.member.opened() if found else None
    return container if container and not container.is_object else None


def _append(root: _Container, edit: Append) -> list[Edit]:
    array = _array_at(root, edit.path)
    if array is None:
        back = _put(root, Put(edit.path, f"[{edit.text}]", slot=edit.slot))
        made = back[0]
        return [Take(edit.path, edit.text, made.prune + 1)] if isinstance(made, Drop) else back
    copies = sum(same_value(item.text(), edit.text) for item in array.members.values())
    if copies > (edit.slot.copies if edit.slot else 0):
        return []
    if edit.slot is not None and edit.slot.level == len(edit.path) + 1:
        array.put_back(None, edit.text, edit.slot)
    else:
        array.append(None, edit.text)
    return [Take(edit.path, edit.text)]


def _take(root: _Container, edit: Take) -> list[Edit]:
    array = _array_at(root, edit.path)
    if array is None:
        return []
    equal = [number for number, item in array.members.items() if same_value(item.text(), edit.text)]
    back: list[Edit] = []
    for taken, number in enumerate(equal, 1):
        text = array.members[number].text()
        slot = array.remove(number, len(edit.path) + 1)._replace(copies=len(equal) - taken)
        back.insert(0, Append(edit.path, text, slot))
    if equal and edit.prune and not array.members:
        slot_of_array = _remove_at(root, edit.path)
        pruned = _prune(root, edit.path, edit.prune - 1) or slot_of_array
        back[0] = Append(edit.path, edit.text, pruned)
    return back


_APPLY: dict[type[Edit], Callable[[_Container, Any], list[Edit]]] = {
    Put: _put,
    Drop: _drop,
    Append: _append,
    Take: _take,
}
