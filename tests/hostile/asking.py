"""What is asked of an altered workspace: every command, through the command line and through the library."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from forklore.app.forklore import Forklore
from tests.hostile import crafting, enemies
from tests.hostile.altering import LINK_PLACES, Altering
from tests.hostile.crafting import BRANCH, BUSY, CHAT, CHECKPOINT, GROUP_CHAT, NATIVE, QUEUED

_CHATS = (CHAT, CHAT, CHECKPOINT, BRANCH, GROUP_CHAT, NATIVE, BUSY, "Mira/Linked", "Linked/whispered", "group:17/Rest")
_LOOKING_CODES = ("LOREBOOK_MISSING", "SHARED_LOREBOOK", "LEGACY_FORK", "LINK_OUTSIDE", "OPERATION_FOREIGN")


@dataclass(frozen=True)
class Asked:
    """One request."""

    words: tuple[str, ...]
    """The command and its arguments."""
    reads_only: bool
    call: Callable[[Forklore], Any] | None = None
    """The same through the library; None: through the command line."""
    allows: str | None = None
    """The link that the user allows with it."""

    def __str__(self) -> str:
        through = "library: " if self.call else ""
        return through + " ".join(word if word and " " not in word else repr(word) for word in self.words)


def ask(chance: random.Random, altering: Altering) -> Asked:
    """Draw one request."""
    drawn = chance.random()
    if drawn < 0.3:
        return _reading(chance)
    if drawn < 0.45:
        return _looking_in_the_library(chance)
    if drawn < 0.6:
        return _changing_in_the_library(chance, altering)
    return _changing(chance, altering)


def _chat(chance: random.Random) -> str:
    return chance.choice(_CHATS) if chance.random() < 0.95 else f"Mira/{crafting.UP}../Stories/whispered"


# --- looking ------------------------------------------------------------------------------------------------------


def _reading(chance: random.Random) -> Asked:
    chat = _chat(chance)
    words: Sequence[tuple[str, ...]] = (
        ("stories",),
        ("tree", chat),
        ("show", chat),
        ("check", chat),
        ("verify", chat),
        ("status", chat),
        ("log",),
        ("log",),
        ("trash",),
        ("doctor",),
        ("doctor",),
        ("settings",),
        ("queue", chat),
        ("extension", "status"),
        ("cleanup",),
        ("contamination", chat),
        ("checkpoint", chat, "--dry-run"),
        ("branch", chat, "--dry-run"),
        ("isolate", chat, "--dry-run"),
        ("isolate", "--all", "--dry-run"),
        ("repair", chat, chance.choice(_LOOKING_CODES)),
        ("repair", "worlds", "LINK_OUTSIDE"),
    )
    return Asked(chance.choice(words), reads_only=True)


def _looking_in_the_library(chance: random.Random) -> Asked:
    chat = _chat(chance)
    calls: dict[str, Callable[[Forklore], Any]] = {
        "stories": lambda f: f.stories(),
        "show": lambda f: f.show(chat),
        "verify": lambda f: f.verify(chat),
        "log": lambda f: f.log(),
        "trash": lambda f: f.trash(),
        "doctor": lambda f: f.doctor(),
        "extension": lambda f: f.extension(),
        "view overview": lambda f: f.view.overview(),
        "view groups": lambda f: f.view.groups(),
        "view layout": lambda f: f.view.layout(chat),
        "view messages": lambda f: f.view.messages(chat),
        "view recap": lambda f: f.view.recap(chat, 1),
        "view preview": lambda f: f.view.preview("checkpoint", chat),
    }
    name = chance.choice(sorted(calls))
    return Asked((name, chat), reads_only=True, call=calls[name])


# --- changing -----------------------------------------------------------------------------------------------------


def _item(chance: random.Random, altering: Altering) -> str:
    known = crafting.items_of(altering.tree)
    return chance.choice(known) if known and chance.random() < 0.85 else _word(enemies.text(chance, altering.home))


def _operation(chance: random.Random, altering: Altering) -> str:
    known = [path.rpartition("/")[2].removesuffix(".json") for path in crafting.operations_of(altering.tree)]
    return chance.choice(known) if known and chance.random() < 0.9 else _word(enemies.text(chance, altering.home))


def _word(text: str) -> str:
    """Return *text* as a command line can have it, which is not everything."""
    return text.replace("\0", "").encode("utf-8", "replace").decode() or "x"


def _changing(chance: random.Random, altering: Altering) -> Asked:
    chat = _chat(chance)
    template = altering.template
    words: list[tuple[str, ...]] = [
        ("doctor", "--fix"),
        ("doctor", "--fix"),
        ("checkpoint", chat),
        (
            "checkpoint",
            chat,
            "--at",
            "1",
            "--name",
            chance.choice(["Anew", _word(enemies.text(chance, altering.home))]),
        ),
        ("branch", chat),
        ("undo",),
        ("undo",),
        ("undo", _operation(chance, altering)),
        ("undo", _operation(chance, altering)),
        ("undo", _operation(chance, altering)),
        ("restore", _item(chance, altering)),
        ("restore", _item(chance, altering)),
        ("delete", chat, "--yes"),
        ("cleanup", "--apply"),
        ("trash", "--empty", "--older-than", "0", "--yes"),
        ("isolate", chat),
        ("isolate", chat, "--share"),
        ("isolate", "--all"),
        ("settings", "--default-policy", chance.choice(["strict", "standard"])),
        ("settings", "--share", chance.choice(["Lore", "Linked"])),
        ("queue", BUSY, "--cancel", QUEUED),
        ("extension", "install"),
        ("extension", "uninstall"),
        ("repair", chat, "SHARED_LOREBOOK", "--with", "isolate"),
        ("repair", chat, "LOREBOOK_MISSING", "--with", chance.choice(["from-trash", "from-parent", "empty"])),
    ]
    if chance.random() < 0.15:
        place = altering._named(chance.choice(LINK_PLACES))
        return Asked(("repair", place, "LINK_OUTSIDE", "--with", "allow"), reads_only=False, allows=place)
    if template.operation and chance.random() < 0.45:
        where = chance.choice([template.staging, template.operation])
        words = [("repair", where, "OPERATION_FOREIGN", "--with", chance.choice(["finish", "discard"]))]
    return Asked(chance.choice(words), reads_only=False)


def _changing_in_the_library(chance: random.Random, altering: Altering) -> Asked:
    chat = _chat(chance)
    item, operation = _item(chance, altering), _operation(chance, altering)
    calls: dict[str, Callable[[Forklore], Any]] = {
        "doctor --fix": lambda f: f.doctor(fix=True),
        "checkpoint": lambda f: f.checkpoint(chat, leave_parent=True),
        "branch": lambda f: f.branch(chat, at=1),
        "undo": lambda f: f.undo(operation),
        "restore": lambda f: f.restore(item),
        "delete": lambda f: f.delete(chat, yes=True),
        "trash --empty": lambda f: f.empty_trash(0),
        "change_settings": lambda f: f.change_settings(names={"checkpoint": "{parent} - Save {n}"}),
        "extension install": lambda f: f.extension("install"),
        "extension uninstall": lambda f: f.extension("uninstall"),
    }
    name = chance.choice(sorted(calls))
    return Asked((name, chat, item, operation), reads_only=False, call=calls[name])


def told_by(result: Any) -> str:
    """Return everything that a result of the library tells."""
    return json.dumps(result.to_json()) if hasattr(result, "to_json") else repr(result)
