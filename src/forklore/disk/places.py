"""The way from a path in a workspace to a real file: the only one.

A workspace may come from a stranger, so a name in it may be a link to anything. A link is followed as long as it stays
in the folder it stands in (``worlds``, ``chats``, …). A linked *folder* that leads elsewhere is followed once the user
has said so; that answer lies in the user's state folder, with the place it was given for. Nothing of our own in
``.forklore`` is ever a link.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from forklore.disk.state import State
from forklore.disk.system import is_link, long_path, real_path
from forklore.errors import LinkOutside, PathOutside
from forklore.model.stored import (
    ALLOW,
    FOLDER,
    TRASH,
    beside_path,
    folder_path,
    is_plain_name,
    outside,
    relative_path,
    staged_path,
    story_path,
    trash_item,
)
from forklore.printable import shell_word

_LINKS = "links.json"
_SLASH = os.sep
_STORY = {"chats", "group chats", "groups", "worlds", "characters"}


class Places:
    """Where the files of one workspace are."""

    def __init__(self, root: Path, state: Callable[[], State] | None = None) -> None:
        """Lead to the files below *root*; *state* tells which linked folders the user lets us follow."""
        self.root = long_path(root)
        self._base = str(self.root)
        self._state = state
        self._known_folders: dict[str, str] = {}

    # --- what is stored ---------------------------------------------------------------------------------------------

    def target(self, change: Mapping[str, Any]) -> Path:
        """Return the file that a stored change is about; raises ``PathOutside``.

        Only an edit is of the file behind a link, which may be followed but is never replaced; the others are about the
        name, and a link is neither made nor moved.
        """
        path = story_path(change["path"])
        with _as_stored():
            return self._behind(path) if change["do"] == "edit" else self._own(path)

    def staged(self, change: Mapping[str, Any], operation: str) -> Path:
        """Return where a stored change has its new content; raises ``PathOutside``."""
        with _as_stored():
            return self._own(staged_path(change["staged"], operation))

    def beside(self, change: Mapping[str, Any], operation: str) -> Path:
        """Return the hidden name that a trashed file has beside its place; raises ``PathOutside``."""
        with _as_stored():
            return self._own(beside_path(change["beside"], operation))

    def item(self, stored: object) -> Path:
        """Return where an item of the trash is; raises ``PathOutside``, and ``LinkOutside`` if the trash is a link."""
        self.folder(TRASH)
        with _as_stored():
            return self._own(f"{TRASH}/{trash_item(stored)}")

    def stored_folder(self, stored: object) -> Path:
        """Return a folder that a stored note speaks of; raises ``PathOutside``."""
        with _as_stored():
            return Path(self.folder(folder_path(stored)))

    # --- what is there ----------------------------------------------------------------------------------------------

    def file(self, path: str) -> str:
        """Return what the system calls a file; raises ``LinkOutside`` when it is, or lies in, a link that leads out."""
        folder, slash, name = path.rpartition("/")
        if not is_plain_name(name) or _is_odd(name):
            raise outside(path)
        place = f"{self.folder(folder)}{_SLASH}{name}" if slash else f"{self._base}{_SLASH}{name}"
        if is_link(place) and not self._stays(path, place):
            raise LinkOutside("file", path=path)
        return place

    def folder(self, path: str) -> str:
        """Return what the system calls a folder; raises ``LinkOutside`` when it is, or lies in, a link that leads out.

        It is asked for again and again, so the answer is kept.
        """
        known = self._known_folders.get(path)
        if known is None:
            parts = relative_path(path).split("/")
            if any(map(_is_odd, parts)):
                raise outside(path)
            for depth in range(len(parts)):
                above = "/".join(parts[: depth + 1])
                place = self.place(above)
                if is_link(place) and not self._stays(above, place):
                    raise _folder_outside(above, real_path(place))
            known = self._known_folders[path] = self.place(path)
        return known

    def place(self, path: str) -> str:
        """Return what the system calls a path, wherever it leads."""
        return f"{self._base}{_SLASH}{path.replace('/', _SLASH)}"

    def _behind(self, path: str) -> Path:
        """Return the file itself that a path leads to, by its own name in the workspace."""
        place = self.file(path)
        if is_link(place):
            real = real_path(place)
            for name, home in {"": self._real_base, **self._followed}.items():
                if real.startswith(f"{home}{os.sep}"):
                    return self.root / name / os.path.relpath(real, home)
        return Path(place)

    def _own(self, path: str) -> Path:
        """Return a file that is no link."""
        place = self.file(path)
        if is_link(place):
            raise LinkOutside("no_link", path=path)
        return Path(place)

    # --- links ------------------------------------------------------------------------------------------------------

    def leads_out(self, path: str) -> bool:
        """Whether a file or folder is a link that is not followed."""
        place = self.place(path)
        return is_link(place) and not self._stays(path, place)

    def _stays(self, path: str, place: str) -> bool:
        """Whether a link leads to where we may follow it: within its own folder, or as the user has allowed."""
        top = path.partition("/")[0]
        if top == FOLDER:
            return False
        real = real_path(place)
        if self._followed.get(path) == real:
            return True
        homes = {f"{self._real_base}{os.sep}{top}"}
        homes.update(real for name, real in self._followed.items() if f"{path}/".startswith(f"{name}/"))
        return path != top and any(real.startswith(f"{home}{os.sep}") for home in homes)

    @cached_property
    def _real_base(self) -> str:
        return real_path(self._base)

    @cached_property
    def _followed(self) -> dict[str, str]:
        """The linked folders that the user lets us follow, with the place each led to when it was allowed."""
        if self._state is None:
            return {}
        state = self._state()
        stored = state.read(state.of_workspace(self.root, _LINKS)).get("followed")
        if not isinstance(stored, dict):
            return {}
        return {name: real for name, real in stored.items() if isinstance(real, str)}

    def allow(self, path: str) -> str:
        """Follow a linked folder from now on, as long as it leads where it leads now; return where that is."""
        place = self.place(relative_path(path))
        real = real_path(place)
        if path.partition("/")[0] not in _STORY or not is_link(place) or not os.path.isdir(real):
            raise PathOutside("no_linked_folder", path=path)
        if self._state is not None:
            state = self._state()
            file = state.of_workspace(self.root, _LINKS)
            with state.alone(file):
                followed = {**self._followed, path: real}
                state.write(file, {"root": self._real_base, "followed": followed})
        self.__dict__.pop("_followed", None)
        return real


@contextmanager
def _as_stored() -> Iterator[None]:
    """Tell of a stored path that leads out through a link as of any other that leads out."""
    try:
        yield
    except LinkOutside as error:
        raise PathOutside("link", reason=error.fact) from error


def _is_odd(name: str) -> bool:
    """Whether the system would take a name for another one."""
    return sys.platform == "win32" and (":" in name or name.endswith((".", " ")))


def _folder_outside(path: str, real: str) -> LinkOutside:
    if path.partition("/")[0] == FOLDER:
        return LinkOutside("ours", path=path)
    return LinkOutside("folder", path=path, target=real, argument=shell_word(path), repair=ALLOW)
