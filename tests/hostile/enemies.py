"""What a stranger writes where a path, a name or a number is expected."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from tests.hostile.crafting import UP

TARGETS = (
    "diary.txt",
    "diary.json",
    ".config/autostart/evil.desktop",
    ".config/autostart/existing.desktop",
    "Documents/tax/2026.txt",
    "Documents/letters",
    "Documents/letters/journal.json",
    "Documents/empty",
    "Stories/whispered.jsonl",
    "Stories",
    "Books/other.json",
    "Books",
    "Trash/1/0-old.jsonl",
    "new.json",
    "chain",
    "SillyTavern/data/other-user/secrets.json",
    "SillyTavern/data/other-user/chats/Ann/Hers.jsonl",
)
"""What lies outside, or could, by its path in the home folder."""

NOT_OURS = ("secrets.json", "settings.json", "characters/Mira.png", "thumbnails/x.png", "extensions/other/index.js")
"""What lies in the workspace and is nobody's to change."""

INSIDE = (
    "worlds/Lore.json",
    "worlds",
    "chats/Mira",
    "chats/Mira/Tale.jsonl",
    "chats/Mira/Kept.jsonl",
    "groups/17.json",
    ".forklore",
    ".forklore/lock",
    ".forklore/holder",
    ".forklore/operations",
    ".forklore/staging",
    ".forklore/settings.json",
    ".forklore/trash",
    "extensions/forklore/index.js",
    "worlds/Lore.json/x",
    "worlds/New.json",
    "chats/Mira/New.jsonl",
    "chats/New/New.jsonl",
)

ODD = (
    "C:\\Windows\\x.json",
    "C:x.json",
    "\\\\server\\share\\x",
    "\\\\?\\C:\\x",
    "CON",
    "NUL.json",
    "COM1",
    "worlds/CON.json",
    "worlds/nul",
    "chats/Mira/LPT1.jsonl",
    "chats/AUX/x.jsonl",
    "a\0b",
    "worlds/a\0.json",
    "worlds/x.json.",
    "worlds/x.json ",
    "worlds /x.json",
    "worlds./x.json",
    "worlds/Lore.json:stream",
    "worlds/Lore.json::$DATA",
    "x" * 10_000,
    "worlds/" + "y" * 10_000 + ".json",
    "worlds/" + "y/" * 3_000 + "z.json",
    "\ud800",
    "worlds/\udfff.json",
    "chats/Mira/\ud83d.jsonl",
    "worlds/\udcff.json",
    "",
    ".",
    "..",
    "./",
    "../",
    " ",
    "\n",
    "\x1b[31mred",
    "\u202egnp.exe",
    "worlds//Lore.json",
    "./worlds/Lore.json",
    "worlds/./Lore.json",
    "WORLDS/lore.JSON",
    "worlds/Lore\u0301.json",
    "$HOME/diary.txt",
    "~/diary.txt",
    "%USERPROFILE%\\x",
    "%2e%2e/%2e%2e/diary.txt",
    "file:///diary.txt",
    "/proc/self/cwd/here.txt",
    "-rf",
    "{0.__class__}",
    "{parent}{n}{parent!r:>99999}",
)


@dataclass(frozen=True)
class Raw:
    """JSON text that no encoder writes."""

    text: str


FORMATS: tuple[Any, ...] = (
    0,
    -1,
    2,
    999,
    "1",
    None,
    1.0,
    1.5,
    True,
    [1],
    Raw("1e400"),
    Raw("9" * 30),
    Raw("9" * 5000),
    Raw("NaN"),
)
"""What may stand where the number of a format is expected."""

_DEEP = 100
_BOTTOMLESS = 20_000
WRONG: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    7,
    2**31,
    2**63,
    10**30,
    1.5,
    Raw("-0.0"),
    Raw("NaN"),
    Raw("Infinity"),
    Raw("-Infinity"),
    Raw("1e999"),
    Raw("1" + "0" * 5_000),
    Raw("-" + "9" * 400),
    [],
    {},
    [[]],
    [None],
    ["x"],
    [0, "", 0],
    {"a": 1},
    {"": {}},
    Raw("[" * _DEEP + "]" * _DEEP),
    Raw('{"a":' * _DEEP + "0" + "}" * _DEEP),
    Raw("[" * _BOTTOMLESS + "]" * _BOTTOMLESS),
    Raw('{"a":' * _BOTTOMLESS + "0" + "}" * _BOTTOMLESS),
)
"""Values of another type, size or depth than anybody expects."""


def path_out(chance: random.Random, home: str, target: str | None = None) -> str:
    """Return one of the many ways to spell a path that leads out of the workspace."""
    target = target or chance.choice(TARGETS)
    up = UP if chance.random() < 0.6 else "../" * chance.randrange(1, 9)
    return chance.choice(
        [
            f"{home}/{target}",
            f"{home}/{target}",
            f"{home}/working/../{target}/",
            f"/proc/self/cwd/../{target}",
            f"{up}{target}",
            f"{up}{target}",
            f"{up}{target}".replace("/", "\\"),
            f"./{up.replace('/', '//')}./{target}",
            f"worlds/../{up}{target}",
            f"worlds/\\..\\..\\..\\{up}{target}",
            f"chats/Mira/../../{up}{target}",
            f".forklore/trash/../../{up}{target}",
            f"../../{up}{target}",  # as seen from the trash
            f"../../../{up}{target}",  # as seen from the folder of an operation
        ]
    )


def text(chance: random.Random, home: str) -> str:
    """Return a text that should not be there, most often a path."""
    drawn = chance.random()
    if drawn < 0.45:
        return path_out(chance, home)
    if drawn < 0.6:
        return chance.choice(NOT_OURS + INSIDE)
    return chance.choice(ODD)


def value(chance: random.Random, home: str) -> Any:
    """Return anything at all."""
    return text(chance, home) if chance.random() < 0.55 else chance.choice(WRONG)


# --- JSON with raw text in it -------------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """Return *value* as JSON, with every ``Raw`` as it is; lone surrogates stay escaped."""
    raws: list[str] = []

    def marked(part: Any) -> Any:
        match part:
            case Raw():
                raws.append(part.text)
                return f"\0raw {len(raws) - 1}\0"
            case dict():
                return {key: marked(each) for key, each in part.items()}
            case list():
                return [marked(each) for each in part]
        return part

    encoded = json.dumps(marked(value))
    for number, raw in enumerate(raws):
        encoded = encoded.replace(f'"\\u0000raw {number}\\u0000"', raw)
    return encoded.encode()
