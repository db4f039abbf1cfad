"""Altering a workspace as a stranger would: one field, one file name, one link, one broken file at a time."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

from tests.hostile import enemies
from tests.hostile.crafting import BAIT, Template, items_of, operations_of
from tests.hostile.enemies import Raw, encode
from tests.hostile.trees import Folder, Link, Node, Pipe, Tree

Place = tuple[str | int, ...]
_PATHS = frozenset(
    {"path", "staged", "item", "beside", "id", "chat", "fork", "files", "chats", "world_info", "main_chat"}
)
"""The names of members that become a path somewhere."""
_MOST_SHOWN = 120
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9]{6}-[0-9a-f]{4}")

LINK_PLACES = (
    ".forklore",
    ".forklore/staging",
    ".forklore/trash",
    ".forklore/operations",
    ".forklore/lock",
    ".forklore/holder",
    ".forklore/settings.json",
    ".forklore/access.json",
    "worlds",
    "chats",
    "chats/Mira",
    "chats/Linked",
    "chats/Mira/Tale.jsonl",
    "chats/Mira/Kept.jsonl",
    "chats/Mira/Linked.jsonl",
    "worlds/Lore.json",
    "worlds/Lore__CP_Kept.json",
    "worlds/Linked.json",
    "groups",
    "groups/17.json",
    "groups/99.json",
    "group chats",
    "group chats/Round.jsonl",
    "characters",
    "characters/Mira.png",
    "settings.json",
    "extensions",
    "extensions/forklore",
    "extensions/forklore/installed.json",
    "extensions/forklore/index.js",
    "extensions/forklore/pairing.json",
    "extensions/forklore/manifest.json",
    "STAGING",
    "STAGING/journal.json",
    "STAGING/elsewhere.json",
    "STAGING/0",
    "STAGING/1",
    "STAGING/temporary",
    "OPERATION",
    "TRASHED",
    "TRASH FOLDER",
)
"""Where links are planted; capitals stand for a name that differs from template to template."""

_FOLDERS_OUT = (
    *("", "Documents", "Stories", "Books", "Groups", "Cards", "Operations", "Trash", "Addons", "working"),
    *("SillyTavern/data/other-user", "SillyTavern/data/other-user/chats", "Documents/empty", ".config/autostart"),
)
_LIKELY = {
    "worlds": "Books",
    "chats": "Stories",
    "groups": "Groups",
    "characters": "Cards",
    "operations": "Operations",
    "trash": "Trash",
    "forklore": "Addons",
    "extensions": "Addons",
    "staging": "Documents",
}
_FILES_OUT = tuple(path for path, node in BAIT.items() if isinstance(node, bytes) and "only-in-a-name" not in path)


class Altering:
    """One copy of a template on its way to a case; says what was altered."""

    def __init__(self, chance: random.Random, home: str, template: Template) -> None:
        """Begin with a copy of *template*; *home* is what its links and paths lead to."""
        self.chance, self.home, self.template = chance, home, template
        self.tree: Tree = dict(template.tree)
        self.altered: list[str] = []
        """What was altered, in words."""
        self.kinds: set[str] = set()
        """The same without what differs from case to case."""

    def alter(self) -> None:
        """Alter one thing."""
        ways: list[tuple[int, Callable[[], None]]] = [
            (50, self._alter_a_field),
            (18, self._aim),
            (20, self._plant_a_link),
            (8, self._break_a_file),
            (6, self._add_a_file),
            (5, self._rename_something),
        ]
        self.chance.choices([way for _, way in ways], [weight for weight, _ in ways])[0]()

    def _say(self, what: str, path: str, how: str) -> None:
        self.kinds.add(f"{how} {_general(path)}")
        self.altered.append(what if len(what) <= _MOST_SHOWN else f"{what[:_MOST_SHOWN]}…")

    # --- documents ------------------------------------------------------------------------------------------------

    def _documents(self) -> list[tuple[int, str]]:
        """Return the JSON documents there are, each with how often it is taken."""
        chats = [path for path in self.tree if path.endswith(".jsonl") and path.startswith(("chats/", "group chats/"))]
        found = [
            (30, self.template.journal if self.template.operation else ""),
            (20, self.chance.choice(operations_of(self.tree) or [""])),
            (8, f"{self.template.staging}/elsewhere.json" if self.template.operation else ""),
            (7, ".forklore/settings.json"),
            (4, ".forklore/access.json"),
            (3, "extensions/forklore/pairing.json"),
            (5, "extensions/forklore/installed.json"),
            (2, "extensions/forklore/manifest.json"),
            (6, "groups/17.json"),
            (3, "settings.json"),
            (14, self.chance.choice(sorted(chats) or [""])),
        ]
        return [(weight, path) for weight, path in found if path]

    def _read(self, path: str) -> Any:
        """Return the JSON document at *path*, or what usually stands there."""
        node = self.tree.get(path)
        if isinstance(node, bytes):
            with suppress(ValueError, RecursionError):
                return json.loads(node.partition(b"\n")[0] if path.endswith(".jsonl") else node)
        if path.endswith("elsewhere.json"):
            return ["worlds", "chats/Mira", self._path_out()]
        if path.endswith("access.json"):
            return {
                "tokens": [
                    {"hash": hashlib.sha256(b"token").hexdigest(), "origin": "http://127.0.0.1:8000", "made": ""}
                ]
            }
        return {"format": 1}

    def _write(self, path: str, data: bytes) -> None:
        node = self.tree.get(path)
        if path.endswith(".jsonl") and isinstance(node, bytes):
            data += b"\n" + node.partition(b"\n")[2]
        self.tree[path] = data

    def _alter_a_field(self) -> None:
        documents = self._documents()
        path = self.chance.choices([path for _, path in documents], [weight for weight, _ in documents])[0]
        document = deepcopy(self._read(path))
        places = list(_places(document))
        if path.endswith(".jsonl"):
            places = [place for place in places if place[:1] == ("chat_metadata",)] or places
        likely = [place for place in places if _PATHS & {*map(str, place)}]
        formats = [place for place in places if place[-1:] == ("format",)]
        drawn = self.chance.random()
        place = self.chance.choice(likely if likely and drawn < 0.45 else places)
        if formats and drawn > 0.93:
            place = self.chance.choice(formats)
        self._write(path, self._altered(document, place, path))

    def _altered(self, document: Any, place: Place, path: str) -> bytes:
        where = f"{path}: {'.'.join(map(str, place)) or 'all of it'}"
        drawn = self.chance.random()
        if place[-1:] == ("format",):
            new = self.chance.choice(enemies.FORMATS)
        elif drawn < 0.62:
            new = enemies.text(self.chance, self.home)
        else:
            new = enemies.value(self.chance, self.home)
        parent = _at(document, place[:-1]) if place else None
        if drawn > 0.94 and isinstance(parent, dict):
            del parent[place[-1]]
            self._say(f"{where} is missing", path, "field of")
        elif drawn > 0.9 and isinstance(parent, dict):
            parent[self.chance.choice(["path", "staged", "item", "beside", "format", "mac", "extra", "__proto__"])] = (
                new
            )
            self._say(f"{where} has a member more: {new!r}", path, "field of")
        elif drawn > 0.86 and isinstance(parent, dict):
            self._say(f"{where} is there twice: {new!r}", path, "field of")
            return _put(document, place[:-1], _twice(parent, str(place[-1]), new, first=drawn > 0.88))
        else:
            self._say(f"{where} = {new!r}", path, "field of")
            return _put(document, place, new)
        return encode(document)

    # --- aiming: several fields that fit together -----------------------------------------------------------------

    def _path_out(self, target: str | None = None) -> str:
        return enemies.path_out(self.chance, self.home, target)

    def _aim(self) -> None:
        """Let one change of a journal or an operation speak of a file outside, with the right content."""
        paths = operations_of(self.tree)
        if self.template.operation and self.chance.random() < 0.65:
            paths = [self.template.journal]
        path = self.chance.choice(paths or [""])
        document = self._read(path) if path else {}
        changes = document.get("changes") if isinstance(document, dict) else None
        if not isinstance(changes, list) or not changes or not isinstance(changes[0], dict):
            return
        number = self.chance.randrange(len(changes))
        change = changes[number]
        if not isinstance(change, dict):
            return
        target = self.chance.choice(_FILES_OUT)
        content = BAIT[target]
        assert isinstance(content, bytes)
        members = [key for key in ("path", "staged", "item", "beside", "path") if key in change]
        if not members:  # altered once already
            return
        member = self.chance.choice(members)
        change[member] = self._through_a_link(target) if self.chance.random() < 0.3 else self._path_out(target)
        said = [member]
        if "content" in change and self.chance.random() < 0.7:
            change["content"] = [[len(content), hashlib.sha256(content).hexdigest()]]
            said.append("content")
        if self.chance.random() < 0.3:
            change["do"] = self.chance.choice(["create", "edit", "trash", "restore"])
            said.append("do")
        if self.chance.random() < 0.2:
            other = self.chance.choice(["path", "staged", "item", "beside"])
            change[other] = self._path_out()
            said.append(other)
        if "commit" in document and self.chance.random() < 0.3:
            document["commit"] = self.chance.randrange(-1, len(changes))
            said.append("commit")
        self._say(f"{path}: changes.{number} aims with {', '.join(said)} at {change[member]!r}", path, "path of")
        self._write(path, encode(document))

    def _through_a_link(self, target: str) -> str:
        """Plant a link and return a path that leads through it."""
        folder, _, name = target.rpartition("/")
        door = self.chance.choice(
            ["worlds/door", "chats/door", ".forklore/door", ".forklore/trash/door", "groups/door"]
        )
        if self.chance.random() < 0.5:
            self.tree[door] = Link(f"{self.home}/{folder}")
            return f"{door}/{name}"
        self.tree[f"{door}.json"] = Link(f"{self.home}/{target}")
        return f"{door}.json"

    # --- links ----------------------------------------------------------------------------------------------------

    def _named(self, place: str) -> str:
        """Return the path that a place in capitals stands for."""
        if place.startswith("STAGING"):
            return place.replace("STAGING", self.template.staging if self.template.operation else ".forklore/staging/x")
        if place == "OPERATION":
            return self.chance.choice(operations_of(self.tree) or [".forklore/operations/x.json"])
        if place.startswith("TRASH"):
            item = f".forklore/trash/{self.chance.choice(items_of(self.tree) or ['x/0'])}"
            return item if place == "TRASHED" else item.rpartition("/")[0]
        return place

    def _plant_a_link(self) -> None:
        path = self._named(self.chance.choice(LINK_PLACES))
        is_file = isinstance(self.tree.get(path), bytes) or path.endswith(
            (".json", ".jsonl", "/0", "/1", "lock", "temporary")
        )
        drawn = self.chance.random()
        if drawn < 0.1:
            target = self.chance.choice([path, ".", "..", "nowhere", "../../..", "/proc/self/cwd"])
        elif drawn < 0.2:
            target = (
                f"{self.home}/{self.chance.choice(['missing', '.config/autostart/evil.desktop', 'Documents/new.json'])}"
            )
        elif is_file == (drawn < 0.9):
            target = f"{self.home}/{self.chance.choice((*_FILES_OUT, 'chain', 'Books/way-out.json'))}"
        else:
            likely = _LIKELY.get(path.rpartition("/")[2], "Stories")
            target = f"{self.home}/{likely if self.chance.random() < 0.6 else self.chance.choice(_FOLDERS_OUT)}"
        if drawn > 0.93:  # a chain: a link to a link
            self.tree["worlds/link.json"] = Link(target)
            target = "/".join([*[".."] * path.count("/"), "worlds/link.json"])
        self._clear(path)
        self.tree[path] = Link(target)
        self._say(f"{path} -> {target}", path, "link at")

    def _clear(self, path: str) -> None:
        """Take away what stands at *path*, below it, or in the way to it."""
        for each in [each for each in self.tree if each == path or each.startswith(f"{path}/")]:
            del self.tree[each]

    # --- broken files, more files, other names --------------------------------------------------------------------

    def _break_a_file(self) -> None:
        files = sorted(path for path, node in self.tree.items() if isinstance(node, bytes))
        ours = [path for path in files if path.startswith((".forklore/", "extensions/", "groups/"))]
        path = self.chance.choice(ours if self.chance.random() < 0.7 else files)
        data = self.tree[path]
        assert isinstance(data, bytes)
        ways: list[tuple[str, Any]] = [
            ("is empty", b""),
            ("is cut", data[: self.chance.randrange(len(data) + 1)]),
            ("is binary", bytes(self.chance.randrange(256) for _ in range(200))),
            ("is zeros", bytes(len(data))),
            ("has more at its end", data + b"\n{}"),
            ("has a byte order mark", b"\xef\xbb\xbf" + data),
            ("is UTF-16", data.decode(errors="replace").encode("utf-16", "surrogatepass")),
            ("is no UTF-8", data.replace(b"a", b"\xff", 3)),
            ("is a folder", Folder()),
            ("is a pipe", Pipe()),
            ("is a pipe", Pipe()),
            ("is bottomless", b"[" * 50_000),
            ("is missing", None),
        ]
        how, node = self.chance.choice(ways)
        if node is None:
            del self.tree[path]
        else:
            self.tree[path] = node
        self._say(f"{path} {how}", path, how)

    def _add_a_file(self) -> None:
        """Add what is not there yet: a copied journal, an operation under another name, odd names in the trash."""
        match self.chance.randrange(6):
            case 0 if self.template.operation:
                name = self._file_name()
                for path in [each for each in self.tree if each.startswith(f"{self.template.staging}/")]:
                    self.tree[f".forklore/staging/{name}/{path.rpartition('/')[2]}"] = self.tree[path]
                self._say(f"the journal is there once more, as {name!r}", self.template.journal, "copy of")
            case 1:
                name = self._file_name()
                source = self.chance.choice(operations_of(self.tree) or [""])
                self.tree[f".forklore/operations/{name}.json"] = self.tree.get(source, b"{}")
                self._say(f"{source} is there once more, as {name!r}", source, "copy of")
            case 2:
                name = self._file_name()
                self.tree[f".forklore/trash/{name}"] = self._draw(
                    b"x", Pipe(), Folder(), Link(f"{self.home}/diary.txt")
                )
                self._say(f"the trash holds {name!r}", ".forklore/trash", "name in")
            case 3:
                place = self.chance.choice([".forklore/lock", ".forklore/access.json", ".forklore/operations/x.json"])
                self._clear(place)
                self.tree[place] = self._draw(Pipe(), Folder(), b"9" * 5000, b"")
                self._say(f"{place} is {type(self.tree[place]).__name__}", place, "another")
            case 4:
                name = self._file_name()
                self.tree[f".forklore/staging/{name}/elsewhere.json"] = encode([self._path_out() for _ in range(3)])
                self.tree[f".forklore/staging/{name}/0"] = b"staged"
                self._say(f"an operation without a journal, {name!r}, has files elsewhere", "elsewhere.json", "another")
            case _:
                name = self._file_name()
                place = self.chance.choice(
                    ["chats/Mira/{}.jsonl", "worlds/{}.json", "groups/{}.json", "chats/{}/x.jsonl"]
                )
                self.tree[place.format(name)] = self._draw(b"{}", b"", Pipe(), self.tree.get("worlds/Lore.json", b""))
                self._say(f"{place.format(name)} is there", place, "another")

    def _draw(self, *nodes: Node) -> Node:
        return self.chance.choice(nodes)

    def _file_name(self) -> str:
        """Return a name that a file can have, and that somebody may trip over."""
        odd = [
            "CON",
            "a b ",
            "x.",
            "-rf",
            "\n",
            "\udcff",
            "'",
            '"',
            "\\..\\..\\x",
            "*",
            "é" * 60,
            "x" * 200,
            "...",
            "%s",
            "~",
        ]
        return self.chance.choice([*odd, "20991231-235959-999999-ffff", "1", "0"])

    def _rename_something(self) -> None:
        movable = (".forklore/trash/", ".forklore/operations/", ".forklore/staging/", "groups/")
        paths = sorted(path for path, node in self.tree.items() if path.startswith(movable) and isinstance(node, bytes))
        if not paths:
            return
        path = self.chance.choice(paths)
        name = self._file_name() + ("" if self.chance.random() < 0.5 else ".json")
        self.tree[f"{path.rpartition('/')[0]}/{name}"] = self.tree.pop(path)
        self._say(f"{path} is called {name!r}", path, "name of")


def _general(path: str) -> str:
    """Return a path without the ids in it."""
    return _ID.sub("ID", path) if not path.startswith(".forklore/trash/") else ".forklore/trash/ID"


# --- JSON ---------------------------------------------------------------------------------------------------------


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    yield place
    match value:
        case dict():
            for key, each in value.items():
                yield from _places(each, (*place, key))
        case list():
            for number, each in enumerate(value):
                yield from _places(each, (*place, number))


def _at(document: Any, place: Place) -> Any:
    for step in place:
        document = document[step]
    return document


def _put(document: Any, place: Place, new: Any) -> bytes:
    if not place:
        return encode(new)
    _at(document, place[:-1])[place[-1]] = new
    return encode(document)


def _twice(parent: dict[str, Any], key: str, new: Any, *, first: bool) -> Raw:
    """Return the text of an object that has a member twice; the enemy comes first or last."""
    inner, enemy = encode(parent).decode()[1:-1], f"{encode(key).decode()}: {encode(new).decode()}"
    return Raw(f"{{{enemy}, {inner}}}" if first else f"{{{inner}, {enemy}}}")
