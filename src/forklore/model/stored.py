"""Paths that were stored in a file: which of them may become real ones.

A journal, a log, a trash list may have been written by a stranger. So a stored path is taken only as a relative path
into the folders that Forklore works in; where links lead on the disk is seen to by ``forklore.disk.places``.
"""

from __future__ import annotations

import re

from forklore.errors import PathOutside

FOLDER = ".forklore"
STAGING = f"{FOLDER}/staging"
TRASH = f"{FOLDER}/trash"
OPERATIONS = f"{FOLDER}/operations"
SETTINGS = f"{FOLDER}/settings.json"
SETTINGS_FORMAT = 1
ALLOW = "allow"
"""The repair that lets a linked folder be followed."""

_SHOWN = 200  # characters of a path that leads out
_LONGEST = 255  # characters of a name; no file system has longer ones
_SEPARATORS = re.compile(r"[/\\\0]").search
_DRIVE = re.compile(r"[A-Za-z]:").match
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\..*)? *", re.IGNORECASE | re.DOTALL)
_NO_NAME = re.compile("[\ud800-\udc7f\udd00-\udfff]").search  # the rest of the surrogates stand for single bytes
_STAGED = re.compile(r"[0-9]{1,6}").fullmatch
_OPERATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}").fullmatch
_NUMBERED = re.compile(r"([1-9][0-9]{0,14})-[0-9a-f]{8}").fullmatch
_BEFORE_NUMBERS = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9]{6}-[0-9a-f]{4}").fullmatch  # the moment it was made
HIGHEST = 10**15 - 1
"""The highest number that an operation can have."""
_SUFFIXES = {"chats": ".jsonl", "group chats": ".jsonl", "groups": ".json", "worlds": ".json"}
_DEEPEST = {"chats": 3}  # chats/<character>/<chat>.jsonl; everything else lies in its folder


def is_plain_name(name: str) -> bool:
    """Whether a file or folder can be called *name* and nothing else can be meant: no device, no drive, no way up."""
    return (
        name not in {"", ".", ".."}
        and len(name) <= _LONGEST
        and not _SEPARATORS(name)
        and not _DRIVE(name)
        and not _DEVICE.fullmatch(name)
        and not _NO_NAME(name)
    )


def is_operation_id(name: str) -> bool:
    """Whether an operation can have this id: it becomes the name of files, and part of commands that people copy."""
    return _OPERATION(name) is not None and is_plain_name(name)


def operation_id(number: int, chance: str) -> str:
    """Return the id of the operation with a *number*: short enough to type, and another one on every machine."""
    return f"{number}-{chance}"


def number_in(operation: str) -> int | None:
    """Return the number that an id tells: 0 for one of before there were numbers, None for one that tells nothing."""
    if _BEFORE_NUMBERS(operation):
        return 0
    numbered = _NUMBERED(operation)
    return int(numbered[1]) if numbered else None


def relative_path(stored: object) -> str:
    """Return a path that leads down from the workspace, whatever it leads to; raises ``PathOutside``."""
    if not isinstance(stored, str) or not all(map(is_plain_name, stored.split("/"))):
        raise outside(stored)
    return stored


def story_path(stored: object) -> str:
    """Return the path of a file that an operation may change; raises ``PathOutside``."""
    path = relative_path(stored)
    if path == SETTINGS:
        return path
    parts = path.split("/")
    top, name = parts[0], parts[-1]
    if len(parts) not in (2, _DEEPEST.get(top, 2)) or not name.endswith(_SUFFIXES.get(top, "\0")):
        raise outside(stored)
    return path


def folder_path(stored: object) -> str:
    """Return the path of a folder that holds such files; raises ``PathOutside``."""
    path = relative_path(stored)
    parts = path.split("/")
    if path != FOLDER and not (parts[0] in _SUFFIXES and len(parts) < _DEEPEST.get(parts[0], 2)):
        raise outside(stored)
    return path


def beside_path(stored: object, operation: str) -> str:
    """Return the path of a hidden file that *operation* laid beside the one it changes; raises ``PathOutside``."""
    path = relative_path(stored)
    folder, _, name = path.rpartition("/")
    if not is_hidden_name(name, operation):
        raise outside(stored)
    folder_path(folder)
    return path


def staged_path(stored: object, operation: str) -> str:
    """Return the path of new content that *operation* wrote aside; raises ``PathOutside``."""
    path = relative_path(stored)
    folder, _, name = path.rpartition("/")
    if folder == f"{STAGING}/{operation}" and _STAGED(name):
        return path
    return beside_path(stored, operation)


def trash_item(stored: object) -> str:
    """Return what something in the trash is called, relative to the trash; raises ``PathOutside``."""
    item = relative_path(stored)
    if item.count("/") != 1:
        raise outside(stored)
    return item


def hidden_name(operation: str, number: int) -> str:
    """Return the name of a file of an operation beside one it changes, at which neither people nor SillyTavern look."""
    return f".forklore-{operation}-{number}.tmp"


def is_hidden_name(name: str, operation: str) -> bool:
    """Whether a hidden file is one of this very operation."""
    number = name.removeprefix(f".forklore-{operation}-").removesuffix(".tmp")
    return _STAGED(number) is not None and name == f".forklore-{operation}-{number}.tmp"


def outside(stored: object) -> PathOutside:
    """Return what to tell of a stored path that leads out."""
    shown = stored if isinstance(stored, str) else repr(stored)
    return PathOutside(path=shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…")


__all__ = [
    "FOLDER",
    "HIGHEST",
    "OPERATIONS",
    "SETTINGS",
    "STAGING",
    "TRASH",
    "beside_path",
    "folder_path",
    "hidden_name",
    "is_hidden_name",
    "is_operation_id",
    "is_plain_name",
    "number_in",
    "operation_id",
    "outside",
    "relative_path",
    "staged_path",
    "story_path",
    "trash_item",
]
