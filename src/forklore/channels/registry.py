"""Registries: lists of entities inside the lorebook, and their cache in the chat's metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import eq
from typing import Any, NamedTuple

from forklore.channels.cut import Channel, Earlier
from forklore.formats.json_text import encode
from forklore.formats.lorebook_json import REGISTRY_PREFIX, EntryOutline, Outline
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.fact import Fact, fact
from forklore.model.plan import Edit, Put

_KEY = "auto_lorebooks"
_KNOWN = {"lorebookName", "attachedAt", "registry"}
_UID = re.compile(r"^uid\s*[=:]\s*(\d+)$", re.IGNORECASE)
_LONGEST_UID = 400  # digits: more than any number that JavaScript can hold
_NONE = "—"


class RegistryLine(NamedTuple):
    """One entity that a registry lists."""

    type: str
    uid: int
    name: str
    aliases: tuple[str, ...]
    synopsis: str

    def to_cache(self) -> dict[str, Any]:
        """Return the record that ST-Auto-Recap keeps of this line in the chat's metadata."""
        return {
            "uid": self.uid,
            "id": str(self.uid),
            "type": self.type,
            "name": self.name,
            "comment": self.name,
            "synopsis": self.synopsis,
            "aliases": list(self.aliases),
        }


def registry_lines(registries: Iterable[EntryOutline]) -> Iterator[RegistryLine]:
    """Yield every line of the *registries*; lines without a UID are no items."""
    for entry in registries:
        kind = entry.comment.removeprefix(REGISTRY_PREFIX)
        for line in (entry.content or "").split("\n"):
            if item := _parse_line(kind, line):
                yield item


def lines_by_uid(content: str) -> dict[int, str]:
    """Return the lines of a registry as they are written, by the UID each one names."""
    parsed = ((_parse_line("", line), line) for line in content.split("\n"))
    return {item.uid: line for item, line in parsed if item}


def _parse_line(kind: str, line: str) -> RegistryLine | None:
    line = line.strip()
    if not line.startswith("-"):
        return None
    uid: int | None = None
    fields: dict[str, str] = {}
    for part in line[1:].split("|"):
        if match := _UID.match(part.strip()):
            uid = int(match[1][:_LONGEST_UID])  # a longer one names no entry, whatever its end
        else:
            key, _, value = part.partition(":")
            value = value.strip()
            fields.setdefault(key.strip().lower(), "" if value == _NONE else value)
    if uid is None:
        return None
    aliases = tuple(alias.strip() for alias in fields.get("aliases", "").split(";") if alias.strip())
    return RegistryLine(kind, uid, fields.get("name", ""), aliases, fields.get("synopsis", ""))


def broken_lines(outline: Outline) -> Iterator[Fact]:
    """Yield what is wrong with each registry line that names a missing or another entry."""
    registries = outline.registry_entries
    if not registries:
        return
    comments = outline.by_uid
    if _are_sound(registries, comments):
        return
    seen: set[int] = set()
    for line in registry_lines(registries):
        about = {"registry": line.type, "uid": line.uid, "name": line.name}
        comment = comments.get(line.uid)
        if comment is None:
            yield fact("registry_line", case="missing", **about)
        elif line.name != comment:
            yield fact("registry_line", case="other", entry=comment, **about)
        elif line.uid in seen:
            yield fact("registry_line", case="twice", **about)
        seen.add(line.uid)


def _are_sound(registries: Iterable[EntryOutline], comments: Mapping[int, str]) -> bool:
    """Whether all is written as ST-Auto-Recap writes it and every line is right: quick to see, and nearly always so."""
    contents = [entry.content or "" for entry in registries]
    lines = [line for content in contents for line in content.split("\n- UID=")[1:]]
    # As many aliases and synopses as lines, and no other parts: so nothing but its beginning gives a line its UID.
    counts = [
        (text.count("\n"), text.count(" | aliases: "), text.count(" | synopsis: "), text.count("|") / 3)
        for text in contents
    ]
    if any(sum(column) != len(lines) for column in zip(*counts, strict=True)):
        return False
    if any(text.lstrip().startswith("-") for text in contents):  # a line where the heading is: not looked at here
        return False
    named = [line.partition(" | aliases: ")[0] for line in lines]
    known = {f"{uid} | name: {name}" for uid, name in comments.items()}
    # A name in a line has no blanks around it and no bar in it, and a dash means that there is none.
    names = comments.values()
    if _NONE in names or "|" in "".join(names) or not all(map(eq, names, map(str.strip, names))):
        for uid, name in comments.items():
            if name != name.strip() or name == _NONE or "|" in name:
                known.discard(f"{uid} | name: {name}")
    return len(set(named)) == len(named) and known.issuperset(named)


def rebuilt(entry: EntryOutline, comments: Mapping[int, str], seen: set[int]) -> str:
    """Return a registry's content with every line naming the entry that its UID has.

    A line whose entry is not there goes, and so does one whose UID is in *seen*; those of this registry are added.
    """
    kind = entry.comment.removeprefix(REGISTRY_PREFIX)
    lines = []
    for line in (entry.content or "").split("\n"):
        item = _parse_line(kind, line)
        if item is None:
            lines.append(line)
        elif item.uid in comments and item.uid not in seen:
            seen.add(item.uid)
            lines.append(line if item.name == comments[item.uid] else _line(item, comments[item.uid]))
    return "\n".join(lines)


def _line(item: RegistryLine, name: str) -> str:
    aliases = "; ".join(item.aliases) or _NONE
    return f"- UID={item.uid} | name: {name} | aliases: {aliases} | synopsis: {item.synopsis or _NONE}"


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    cache = parent.metadata.get(_KEY)
    if not isinstance(cache, dict):
        return Cut(carried=(_KEY,) if cache is not None and not point.is_head else ())
    edits: list[Edit] = []
    if "lorebookName" in cache:  # without a clone it names none: never the parent's
        edits.append(Put((_KEY, "lorebookName"), encode(point.clone_name)))
    if point.is_head:
        return Cut(edits=tuple(edits))
    registry = cache.get("registry", {})
    understood = isinstance(registry, dict) and set(cache) <= _KNOWN and set(registry) <= {"index"}
    left_out = False
    if isinstance(cache.get("registry"), dict):
        outline: Outline = earlier["lorebook"].value.outline
        index = {str(line.uid): line.to_cache() for line in registry_lines(outline.registry_entries)}
        edits.append(Put((_KEY, "registry", "index"), encode(index)))
        left_out = point.clone_name is None and bool(registry.get("index"))  # without a book nothing tells what it was
    return Cut(edits=tuple(edits), carried=() if understood else (_KEY,), left_out=(_KEY,) if left_out else ())


CHANNEL = Channel("registry", frozenset({_KEY}), _cut)
