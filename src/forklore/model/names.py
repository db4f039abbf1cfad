"""Names of chats and lorebook clones that SillyTavern and every file system accept as they are."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from forklore.model.fact import Fact, fact

MAX_NAME_BYTES = 235
"""Longest name in UTF-8 bytes: 255 less the extension and the suffix of SillyTavern's temporary files."""

MAX_LABEL_CHARACTERS = 50
SHORTEST_CUT_BYTES = 40
"""A parent or base is not cut below this, so that a name still tells where it comes from."""

_TITLES = {"checkpoint": "Checkpoint", "branch": "Branch"}
_CLONE_MARKS = {"checkpoint": "__CP_", "branch": "__BR_"}

# Lone surrogates belong here because they have no UTF-8 form and so cannot be part of a file name.
_FORBIDDEN = re.compile(r'[/?<>\\:*|"\x00-\x1f\x80-\x9f\ud800-\udfff]')
_DANGEROUS = re.compile(r'[/\\\0:*?"<>|]')
_HALF = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")  # the others stand for bytes of a name on the disk
_REPLACEMENT = "\ufffd"  # what SillyTavern writes to the disk for half a character
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE | re.DOTALL)

_NEW_SUFFIX = {kind: re.compile(rf" - {title} #[0-9]+\Z") for kind, title in _TITLES.items()}
_OLD_PREFIX = {kind: re.compile(rf"\A{title} #[0-9]+ - (?=.)", re.DOTALL) for kind, title in _TITLES.items()}
_ONLY_KIND = {kind: re.compile(rf"\A{title} #[0-9]+\Z") for kind, title in _TITLES.items()}
_OLD_BRANCH = re.compile(r"\ABranch #([0-9]{1,9}) - [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_STAMP = re.compile(r" - [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} ?@ ?[0-9]{1,2}h[0-9a-z ]*\Z")
_LOOSE_HYPHENS = re.compile(r"\A\s*-+(?:\s+-+)*(?:\s+|\Z)|(?:\s+-+)+\s*\Z")
_INHERITED_MARK = re.compile("|".join(_CLONE_MARKS.values()))
_FIELD = re.compile(r"\{[^{}]*\}")
_TEMPLATE_HOLE = re.compile(r"\{parent\}|\{n\}")


class NameTemplates(NamedTuple):
    """How a fork without a typed name is called; `{parent}` and `{n}` are filled in."""

    checkpoint: str = "{parent} - Checkpoint #{n}"
    branch: str = "{parent} - Branch #{n}"

    def of_kind(self, kind: str) -> str:
        """Return the template for `checkpoint` or `branch`; any other kind is a ValueError."""
        _require_fork_kind(kind)
        return self.checkpoint if kind == "checkpoint" else self.branch


_DEFAULT_TEMPLATES = NameTemplates()


def fault_of_template(template: str) -> Fact | None:
    """Return why a template is none: an unknown placeholder, or a character that no file's name can have."""
    for field in _FIELD.findall(template):
        if not _TEMPLATE_HOLE.fullmatch(field):
            return fact("placeholder_unknown", placeholder=field)
    forbidden = _FORBIDDEN.search(template)
    return fact("character_forbidden", character=forbidden[0]) if forbidden else None


def sanitise(name: str) -> str:
    """Return the name as it can stand on every disk, or "" when nothing usable is left."""
    usable = _strip_end(_without_forbidden(name)).lstrip()
    return "" if _RESERVED.fullmatch(usable) else usable


def comparable(name: str) -> str:
    """Return the name so that names which are one file on Windows or macOS compare equal."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


@lru_cache(maxsize=20_000)  # who looks through a workspace asks for each of its lorebooks many times
def book_file_name(book: str) -> str:
    """Return what a lorebook's file is called: SillyTavern takes dangerous characters out of the name first."""
    if _DANGEROUS.search(book):
        book = sanitise(book)
    return f"{_HALF.sub(_REPLACEMENT, book)}.json"


def book_key(book: str, *, folds: bool) -> str:
    """Return what tells a lorebook from others: the name of its file, as the disk compares names."""
    name = book_file_name(book).removesuffix(".json")
    return comparable(name) if folds else name


def fits(name: str) -> bool:
    """Say whether a file of SillyTavern's can have the name: it is short enough, and tells something."""
    return _byte_length(name) <= MAX_NAME_BYTES and tells(name)


def tells(name: str) -> bool:
    """Say whether the name has more than dots in it, and is none that macOS gives the shadow of another file."""
    return bool(name.strip(".")) and not name.startswith("._")


def cut_to_bytes(text: str, limit: int) -> str:
    """Return the longest beginning of at most `limit` UTF-8 bytes that ends in no blank or dot.

    A letter is not parted from its combining marks, unless nothing would be left otherwise.
    """
    encoded = _encode(text)
    if len(encoded) <= limit:
        return _strip_end(text)
    end = max(limit, 0)
    while end and encoded[end] & 0xC0 == 0x80:  # inside a character
        end -= 1
    length = len(encoded[:end].decode("utf-8", "surrogatepass"))
    whole = length
    while whole and unicodedata.category(text[whole]).startswith("M"):
        whole -= 1
    return _strip_end(text[: whole or length])


def default_fork_name(
    parent: str, kind: str, taken: Callable[[str], bool], templates: NameTemplates
) -> tuple[str, int]:
    """Return the name SillyTavern would suggest for a fork of `parent`, and its number.

    The number is the first from 1 whose name is free. A template that leaves the parent too little room gives
    way to the default one, a template without `{n}` gets the number at its end. Hyphens around the parent's name
    are left out: those of the template are enough.
    """
    template = _without_forbidden(templates.of_kind(kind))
    if "{n}" not in template:
        template += " #{n}"
    origin = _without_own_kind(_without_forbidden(parent), kind)
    numbered = ((_fork_name(template, origin, kind=kind, n=n), n) for n in count(1))
    return next((name, n) for name, n in numbered if not taken(name))


def kind_from_name(name: str) -> str | None:
    """Return `checkpoint` or `branch` when the name follows SillyTavern's new or old style, else None."""
    if "#" not in name:
        return None  # nearly always, and told at once
    # The suffix first: a new checkpoint of an old-style branch carries both, and the suffix came last.
    for patterns in (_NEW_SUFFIX, _OLD_PREFIX):
        for kind, pattern in patterns.items():
            if pattern.search(name):
                return kind
    return None


def message_from_old_branch_name(name: str) -> int | None:
    """Return the message an old-style branch (`Branch #42 - <date>`) was made at, else None."""
    if _has_new_suffix(name):
        return None
    match = _OLD_BRANCH.match(name)
    return int(match[1]) if match else None


def parent_from_name(name: str) -> str | None:
    """Return the chat that a new-style name was derived from, else None.

    It is a guess: a branch of `X - Branch #1` is called `X - Branch #2`.
    """
    for pattern in _NEW_SUFFIX.values():
        match = pattern.search(name)
        if match and match.start():
            return name[: match.start()]
    return None


def fork_label(name: str) -> str:
    """Return the text that labels the lorebook of a fork which is there already: `Branch_2`, or its name undated."""
    for kind, title in _TITLES.items():
        for match in (_NEW_SUFFIX[kind].search(name), _OLD_PREFIX[kind].match(name)):
            if match:
                return f"{title}_{''.join(re.findall(r'#([0-9]+)', match[0]))}"
    return _unless_blank(_STAMP.sub("", name), name)


def clone_label(text: str) -> str:
    """Return the text as the last part of a clone's name: letters and digits of any script, `_` and `-`."""
    kept = "".join(character for character in text if character.isspace() or _is_label_character(character))
    label = re.sub(r"\s+", "_", kept)
    label = (label.strip("_") or label)[:MAX_LABEL_CHARACTERS]
    return label.rstrip("_") or label


def clone_name(base: str, kind: str, label_source: str, taken: Callable[[str], bool]) -> str:
    """Return a free name for the lorebook clone of a fork: `<base>__CP_<label>` or `<base>__BR_<label>`.

    A base that is itself a clone counts without its own mark and label. A name too long loses the end of the
    base first, then the end of the label.
    """
    _require_fork_kind(kind)
    origin = _without_inherited_mark(_without_forbidden(base))
    label = clone_label(label_source) or _TITLES[kind]
    endings = ("" if n == 1 else f"_{n}" for n in count(1))
    names = (_clone_name(origin, _CLONE_MARKS[kind], label=label, ending=ending) for ending in endings)
    return next(name for name in names if not taken(name))


def clone_base(name: str) -> str | None:
    """Return the lorebook that a clone's name begins with, None when the name is not that of a clone."""
    mark = _INHERITED_MARK.search(name)
    return name[: mark.start()] if mark and name[: mark.start()].strip() and mark.end() < len(name) else None


def _fork_name(template: str, origin: str, *, kind: str, n: int) -> str:
    number = str(n)
    if MAX_NAME_BYTES - _byte_length(_fill(template, "", number)) <= SHORTEST_CUT_BYTES:
        template = _DEFAULT_TEMPLATES.of_kind(kind)
    # `con.x - Checkpoint #1` is a reserved name on Windows, `_con.x - …` is not.
    return _cut_fork_name(template, origin, number=number) or _cut_fork_name("_" + template, origin, number=number)


def _cut_fork_name(template: str, origin: str, *, number: str) -> str:
    room = MAX_NAME_BYTES - _byte_length(_fill(template, "", number))
    holes = template.count("{parent}")
    if _byte_length(origin) * holes > room:
        origin = cut_to_bytes(origin, room // holes)
    origin = _without_hyphens(origin)
    name = _fill(template, origin, number)
    return sanitise(name if origin else _without_hyphens(name))


def _clone_name(origin: str, mark: str, *, label: str, ending: str) -> str:
    # `con.x__CP_Test` is a reserved name on Windows, `_con.x__CP_Test` is not.
    return _cut_clone_name(origin, mark, label=label, ending=ending) or _cut_clone_name(
        "_" + origin, mark, label=label, ending=ending
    )


def _cut_clone_name(origin: str, mark: str, *, label: str, ending: str) -> str:
    room = MAX_NAME_BYTES - _byte_length(mark + ending)
    room_for_origin = max(room - _byte_length(label), SHORTEST_CUT_BYTES)
    if _byte_length(origin) > room_for_origin:
        origin = cut_to_bytes(origin, room_for_origin)
    return sanitise(origin + mark + cut_to_bytes(label, room - _byte_length(origin)) + ending)


def _fill(template: str, parent: str, number: str) -> str:
    # In one pass, because a parent may itself contain "{n}".
    return _TEMPLATE_HOLE.sub(lambda hole: parent if hole[0] == "{parent}" else number, template)


def _without_hyphens(text: str) -> str:
    """Return the text without hyphens that join it to nothing, "" when there is nothing else."""
    return _LOOSE_HYPHENS.sub("", text) if text.strip() else ""


def _without_own_kind(parent: str, kind: str) -> str:
    for pattern in (_NEW_SUFFIX[kind], _OLD_PREFIX[kind], _ONLY_KIND[kind]):
        parent = pattern.sub("", parent, count=1)
    return parent


def _without_inherited_mark(base: str) -> str:
    return _unless_blank(_INHERITED_MARK.split(base, maxsplit=1)[0], base)


def _unless_blank(text: str, otherwise: str) -> str:
    return text if text.strip() else otherwise


def _has_new_suffix(name: str) -> bool:
    return any(pattern.search(name) for pattern in _NEW_SUFFIX.values())


def _is_label_character(character: str) -> bool:
    return character in "_-" or unicodedata.category(character)[0] in "LNM"


def _without_forbidden(text: str) -> str:
    return _FORBIDDEN.sub("", text)


def _strip_end(text: str) -> str:
    end = len(text)
    while end and (text[end - 1] == "." or text[end - 1].isspace()):
        end -= 1
    return text[:end]


def _byte_length(text: str) -> int:
    return len(_encode(text))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _require_fork_kind(kind: str) -> None:
    if kind not in _TITLES:
        raise ValueError(f"a fork is a checkpoint or a branch, not {kind!r}")
