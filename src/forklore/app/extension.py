"""The extension inside SillyTavern: putting it into the user's folder, updating it there, and taking it away again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forklore
from forklore import texts
from forklore.access.keys import (
    EXTENSION,
    PAIRING,
    forget_access,
    is_code_waiting,
    is_ours,
    offer_code,
    read_tokens,
    remove_former_access,
)
from forklore.disk.disk import write_whole
from forklore.disk.files import read_small
from forklore.disk.places import Places
from forklore.disk.state import State
from forklore.disk.system import is_link
from forklore.errors import ForkloreError, Kind, LinkOutside
from forklore.model.stored import is_plain_name
from forklore.version import VERSION

SOURCE = Path(forklore.__file__).parent / "extension"
"""What is installed, as it lies in the package."""
TEXTS = "texts"
"""The folder of the words in it, which are everybody's."""
MANIFEST = "manifest.json"
LIST = "installed.json"
"""The files that were put there; nothing else is ever removed."""


class ExtensionForeign(ForkloreError):
    """Something else lies where the extension would go."""

    code = "EXTENSION_FOREIGN"
    kind = Kind.CONFLICT


@dataclass(frozen=True, slots=True)
class Extension:
    """The extension as it is in one user's folder."""

    folder: str
    installed: str | None
    """The version that lies there, None when there is none."""
    version: str
    """The version that Forklore brings."""
    paired: bool
    """Whether a browser has been given access."""
    code_waiting: bool
    """Whether there is a one-time code that was not used yet and is not too old."""
    password_needed: bool
    """Whether the folder is another user's, so that only the password pairs a browser."""
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def current(self) -> bool:
        """Whether the installed version is the one that Forklore brings."""
        return self.installed == self.version

    def to_json(self) -> dict[str, Any]:
        """Return the extension as the command shows it."""
        return {
            "folder": self.folder,
            "installed": self.installed,
            "version": self.version,
            "current": self.current,
            "paired": self.paired,
            "code_waiting": self.code_waiting,
            "password_needed": self.password_needed,
            "written": list(self.written),
            "removed": list(self.removed),
        }


def status(
    root: Path, state: State, *, now: float, written: tuple[str, ...] = (), removed: tuple[str, ...] = ()
) -> Extension:
    """Return what is installed in the workspace *root*."""
    manifest = _read(root, MANIFEST)
    return Extension(
        folder=(root / EXTENSION).as_posix(),
        installed=str(manifest["version"]) if _listed(root) and "version" in manifest else None,
        version=VERSION,
        paired=bool(read_tokens(state, root)),
        code_waiting=is_code_waiting(state, root, now=now),
        password_needed=not is_ours(root),
        written=written,
        removed=removed,
    )


def install(root: Path, state: State, *, now: float) -> Extension:
    """Put the extension into the workspace *root*, or bring it up to date, and leave a code that works once.

    SillyTavern sees an extension by its manifest, so that one goes last.
    """
    try:
        folder = Path(Places(root).folder(EXTENSION))
    except LinkOutside as error:
        raise LinkOutside("extension", reason=error.fact) from error
    if folder.exists() and any(folder.iterdir()) and not _listed(root):
        raise ExtensionForeign(folder=folder.as_posix())
    if is_link(folder / TEXTS):
        raise LinkOutside("extension", reason=LinkOutside("ours", path=f"{EXTENSION}/{TEXTS}").fact)
    files = _files()
    obsolete = [name for name in _listed(root) if name not in files]
    (folder / TEXTS).mkdir(parents=True, exist_ok=True)
    write_whole(folder / LIST, _encoded({"version": VERSION, "files": sorted({*files, *obsolete})}))
    written = tuple(name for name, content in files.items() if _update(folder / name, content))
    removed = tuple(name for name in obsolete if _remove(folder / name))
    write_whole(folder / LIST, _encoded({"version": VERSION, "files": sorted(files)}))
    remove_former_access(root)
    if is_ours(root):
        offer_code(state, root, now=now)
    return status(root, state, now=now, written=written, removed=removed)


def uninstall(root: Path, state: State, *, now: float) -> Extension:
    """Take away what ``install`` has put there, and let no browser in any more; the manifest goes first."""
    folder = root / EXTENSION
    removed: tuple[str, ...] = ()
    if listed := _listed(root):
        names = sorted(listed, key=lambda name: name != MANIFEST)
        removed = tuple(name for name in (*names, PAIRING, LIST) if _remove(folder / name))
        for emptied in (folder / TEXTS, folder):
            if not is_link(emptied) and emptied.is_dir() and not any(emptied.iterdir()):
                emptied.rmdir()
    remove_former_access(root)
    forget_access(state, root)  # also where SillyTavern has deleted the folder already
    return status(root, state, now=now, removed=removed)


def renew_code(root: Path, state: State, *, now: float) -> None:
    """Leave a new code where the extension is installed, so that browsers pair again by themselves.

    Where that cannot be, they pair with the password, or after the extension is installed again.
    """
    with suppress(OSError, ForkloreError):
        if _listed(root) and is_ours(root):
            offer_code(state, root, now=now)


def _files() -> dict[str, bytes]:
    """Return everything that is installed, by its path in the extension's folder; the manifest is the last."""
    files = {path.name: path.read_bytes() for path in sorted(SOURCE.iterdir()) if path.is_file()}
    manifest = json.loads(files.pop(MANIFEST)) | {"version": VERSION}
    scripts = {f"{TEXTS}/{path.name}": path.read_bytes() for path in sorted(texts.FOLDER.glob("*.js"))}
    words = {f"{TEXTS}/{language}.json": _encoded(texts.catalogue(language)) for language in texts.LANGUAGES}
    return {**files, **scripts, **words, MANIFEST: _encoded(manifest)}


def _listed(root: Path) -> list[str]:
    """Return the paths of our files in the extension's folder; a list that somebody tampered with leads nowhere else.

    There is none where a link leads elsewhere: nothing is touched there.
    """
    names = _read(root, LIST).get("files")
    if not isinstance(names, list):
        return []
    below = "" if is_link(root / EXTENSION / TEXTS) else f"{TEXTS}/"
    return [name for name in names if isinstance(name, str) and is_plain_name(name.removeprefix(below))]


def _read(root: Path, name: str) -> dict[str, Any]:
    """Return the JSON object in a file of the extension, an empty one when there is none to be read."""
    try:
        value = json.loads(read_small(Places(root).file(f"{EXTENSION}/{name}")))
    except (OSError, ValueError, RecursionError, ForkloreError):
        return {}
    return value if isinstance(value, dict) else {}


def _encoded(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=4) + "\n").encode()


def _update(path: Path, content: bytes) -> bool:
    """Write a file unless it is as wanted; return whether it was written."""
    with suppress(OSError):
        if not is_link(path) and read_small(path) == content:
            return False
    write_whole(path, content)
    return True


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
