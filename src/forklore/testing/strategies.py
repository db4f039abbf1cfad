"""Hypothesis strategies for stories as no program of ours would write them, but as files may be.

Everything is made as text, not as values: a number keeps its spelling, a string its escapes, an object its blanks, its
key order and its equal keys.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from forklore.testing import stories

# --- JSON text ----------------------------------------------------------------------------------------------------

_NUMBERS = (
    *("0", "-0", "7", "-12", "1762111859000", "9007199254740993", "123456789012345678901234567890"),
    *("1.0", "1E5", "1e-7", "-0.0", "2.50", "1e400", "0.1000000000000000055511151231257827"),
)
_WORDS = (
    *("", "a", "Maren", 'it\'s "quoted"', "back\\slash", "tab\tand\nbreak", "</script>", "\u2028", "\x7f", "\0"),
    *("海の底", "Третий вариант", "קפה", "مرحبا", "नमस्ते", "ไทย", "🧜\u200d♀️ café", "e\u0301", "\ufeffmark"),
    *("\ud83d", "\ude00 half", "{parent}", '"bookmark_link"', '"scene_break"', '{"is_system":true}'),
)
# Keys that mean something to us or to SillyTavern are not among the unknown ones.
_UNKNOWN_KEYS = ("zz", "zz", "Zusatz", "鍵", "with blank", "1", "-1", "__proto__", 'quo"te', "back\\", "\ud83d", "")

words = st.sampled_from(_WORDS) | st.text(st.characters(exclude_categories=[]), max_size=8)
blanks = st.sampled_from(["", "", "", " ", "\t", "  "])


@st.composite
def strings(draw: st.DrawFn, values: st.SearchStrategy[str] = words) -> str:
    """Return the JSON text of a string, with only what must be escaped, with every other letter, or with all."""
    value = draw(values)
    plain = json.dumps(value, ensure_ascii=False)
    style = draw(st.integers(0, 2))
    if style == 1:
        plain = json.dumps(value)
    elif style == 2:
        plain = plain.replace("/", "\\/")
    # A half emoji has no bytes of its own, so it is always an escape.
    return "".join(f"\\u{ord(c):04X}" if "\ud800" <= c <= "\udfff" else c for c in plain)


def _array(values: Sequence[str], blank: str) -> str:
    return f"[{blank}{f',{blank}'.join(values)}{blank}]"


def _object(members: Sequence[tuple[str, str]], blank: str) -> str:
    return "{" + blank + f"{blank},".join(f"{key}{blank}:{value}" for key, value in members) + blank + "}"


_RAW = "@not UTF-8@"  # becomes bytes that no text can hold
scalars = strings() | st.just(f'"{_RAW}"') | st.sampled_from([*_NUMBERS, "true", "false", "null"])
unknown_keys = strings(st.sampled_from(_UNKNOWN_KEYS))


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arrays = st.builds(_array, st.lists(inner, max_size=3), blanks)
    objects = st.builds(_object, st.lists(st.tuples(unknown_keys, inner), max_size=3), blanks)
    return arrays | objects


json_texts: st.SearchStrategy[str] = st.recursive(scalars, _deeper, max_leaves=6)
"""Any JSON value in one line, spelled in any way."""

unknown_members = st.lists(st.tuples(unknown_keys, json_texts), max_size=3)


@st.composite
def objects(draw: st.DrawFn, known: Sequence[tuple[str, str]]) -> str:
    """Return an object with the *known* members, unknown ones among them, in any order; equal keys may occur."""
    members = [(json.dumps(key), value) for key, value in known]
    for member in draw(unknown_members):
        members.insert(draw(st.integers(0, len(members))), member)
    turn = draw(st.integers(0, len(members)))
    members = members[turn:] + members[:turn]
    return _object(members, draw(blanks))


# --- messages -----------------------------------------------------------------------------------------------------


@st.composite
def extras(draw: st.DrawFn) -> str:
    """Return the ``extra`` of a message: links, scenes with snapshots, unknown members, or no object at all."""
    known: list[tuple[str, str]] = []
    if draw(st.integers(0, 4)) == 0:
        known.append(("bookmark_link", draw(strings() | json_texts)))
    if draw(st.integers(0, 4)) == 0:
        known.append(("branches", _array(draw(st.lists(strings(), max_size=2)), draw(blanks))))
    if draw(st.integers(0, 2)) == 0:
        known.append((draw(st.sampled_from(["auto_recap_memory", "auto_summarize_memory"])), draw(scenes())))
    return draw(objects(known))


@st.composite
def scenes(draw: st.DrawFn) -> str:
    """Return what ST-Auto-Recap keeps on a message, with or without a snapshot of a book."""
    entries = [stories.entry(uid, f"character-{uid}", draw(words)) for uid in draw(_uids)]
    taken = draw(st.none() | st.integers(0, 9))
    recap = draw(st.sampled_from(["", "  ", "An old recap in plain text.", stories.RECAP, '{"stage1":{"sn":"x"}}']))
    scene = stories.scene(draw(words), recap=recap, entries=stories.snapshot(entries, "Book"), taken=taken)
    memory = scene["auto_recap_memory"]
    memory["scene_break_visible"] = draw(st.booleans())
    memory["scene_break"] = draw(st.booleans())
    return json.dumps(memory)


_uids = st.lists(st.integers(0, 6), unique=True, max_size=4)


@st.composite
def messages(draw: st.DrawFn) -> str:
    """Return a message in one line: shown or hidden, with or without swipes."""
    text = draw(strings())
    known = [
        ("name", draw(strings())),
        ("is_user", draw(st.sampled_from(["true", "false"]))),
        ("is_system", draw(st.sampled_from(["true", "false", "false"]))),
        ("mes", text),
    ]
    if draw(st.booleans()):
        known.append(("extra", draw(extras() | st.just("null"))))
    if draw(st.integers(0, 2)) == 0:
        others = draw(st.lists(strings(), max_size=2))
        infos = [draw(objects([("extra", draw(extras()))])) for _ in range(len(others) + 1)]
        known.append(("swipes", _array([text, *others], draw(blanks))))
        known.append(("swipe_id", "0"))
        known.append(("swipe_info", _array(infos, draw(blanks))))
    return draw(objects(known))


# --- whole stories ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WildStory:
    """A chat and a lorebook that hold together, however oddly they are written."""

    chat: bytes
    book: bytes | None
    chat_name: str = "Tale"
    book_name: str = "Book"

    @property
    def files(self) -> dict[str, bytes]:
        """The story as the files of a workspace."""
        files = {f"chats/Mira/{self.chat_name}.jsonl": self.chat}
        if self.book is not None:
            files[f"worlds/{self.book_name}.json"] = self.book
        return files


@st.composite
def headers(draw: st.DrawFn, book: str | None) -> str:
    """Return a header line, with running versions that have gaps and whatever else the metadata may hold."""
    numbers = sorted(draw(st.lists(st.integers(0, 20), unique=True, max_size=4)))
    versions = [_recap_version(number, draw(st.integers(0, 6)), draw(unknown_members)) for number in numbers]
    current = draw(st.sampled_from(numbers)) if numbers else 0
    recap = {"chat_id": json.dumps("Tale"), "current_version": str(current), "versions": _array(versions, "")}
    known = [("integrity", json.dumps("slug"))]
    if book is not None:
        known.append(("world_info", json.dumps(book)))
        known.append(("timedWorldInfo", draw(_timed_effects(book))))
        cache = {"lorebookName": book, "attachedAt": 5, "registry": {"index": {}}}
        known.append(("auto_lorebooks", json.dumps(cache)))
    if draw(st.booleans()):
        known.append(("auto_recap_running_scene_recaps", draw(objects(list(recap.items())))))
    if draw(st.booleans()):
        known.append(("lastInContextMessageId", str(draw(st.integers(0, 9)))))
    if draw(st.booleans()):
        known.append(("autoLorebooks", '{"pendingOps":{"entry_1":{"stage":"lorebook_entry_lookup"}}}'))
    if draw(st.booleans()):
        known.append(("auto_recap", '{"combined_recap":{"content":"all","message_count":3,"timestamp":1}}'))
    metadata = draw(objects(known))
    return draw(objects([("chat_metadata", metadata), ("user_name", '"unused"')]))


def _recap_version(number: int, upto: int, unknown: Sequence[tuple[str, str]]) -> str:
    version = stories.recap_version(number, upto)
    return _object([*((json.dumps(key), json.dumps(value)) for key, value in version.items()), *unknown], "")


@st.composite
def _timed_effects(draw: st.DrawFn, book: str) -> str:
    groups: dict[str, dict[str, object]] = {"sticky": {}, "cooldown": {}}
    for uid in draw(_uids):
        effect = {"hash": draw(st.integers(0, 2**53)), "start": draw(st.integers(0, 9)), "end": 20, "protected": False}
        groups[draw(st.sampled_from(["sticky", "cooldown"]))][f"{book}.{uid}"] = effect
    return json.dumps(groups)


@st.composite
def lorebooks(draw: st.DrawFn) -> str:
    """Return a book: entries with unknown fields, empty slots, a queue with leftovers, file-level keys."""
    members = []
    for uid in draw(_uids):
        entry = stories.entry(uid, draw(st.sampled_from([f"character-{uid}", "", "(unnamed)"])), draw(words))
        known = [(key, json.dumps(value)) for key, value in entry.items()]
        members.append((str(uid), draw(objects(known))))
    if draw(st.booleans()):
        members.append(("7", "null"))
    if draw(st.booleans()):
        statuses = draw(st.lists(st.sampled_from(["cancelled", "failed", "completed"]), max_size=2))
        operations = [stories.operation(number, status) for number, status in enumerate(statuses)]
        members.append((str(stories.QUEUE_UID), json.dumps(stories.queue(operations))))
    top_level = [("entries", _object([(json.dumps(key), value) for key, value in members], draw(blanks)))]
    if draw(st.booleans()):
        top_level.append(("name", draw(strings())))
    return draw(objects(top_level))


@st.composite
def wild_stories(draw: st.DrawFn, *, with_book: bool | None = None) -> WildStory:
    """Return any story: any script, spelling and line end, bytes that are not UTF-8, a BOM, blank lines."""
    has_book = draw(st.booleans()) if with_book is None else with_book
    header = draw(headers("Book" if has_book else None))
    lines = [header, *draw(st.lists(messages(), min_size=1, max_size=5))]
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\n \n"]))
    text = draw(st.sampled_from(["", "", "\ufeff", "\n"])) + end.join(lines)
    text += draw(st.sampled_from(["", "", "\n", "\r\n", "\n\n", "\n  "]))
    book = draw(st.sampled_from(["", "", "\ufeff"])) + draw(lorebooks()) if has_book else None
    return WildStory(_bytes(text), _bytes(book) if book is not None else None)


def _bytes(text: str) -> bytes:
    return text.encode().replace(_RAW.encode(), b"\xff\xc3(")
