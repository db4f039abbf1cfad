"""The extension inside SillyTavern: putting it into the user's folder, updating it there, and taking it away again."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forklore
from forklore.disk.access import EXTENSION, PAIRING, read_tokens, remove_tokens
from forklore.disk.disk import write_whole
from forklore.errors import ForkloreError, Kind
from forklore.version import VERSION

SOURCE = Path(forklore.__file__).parent / "extension"
"""What is installed, as it lies in the package."""
MANIFEST = "manifest.json"
LIST = "installed.json"
"""The files that were put there; nothing else is ever removed."""


class ExtensionForeign(ForkloreError):
    """Something else lies where the extension would go."""

    code = "EXTENSION_FOREIGN"
    kind = Kind.CONFLICT
    action = "Move that folder away, then install again. Nothing was changed."


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
    """Whether the one-time code has not been used yet."""
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
            "written": list(self.written),
            "removed": list(self.removed),
        }


def status(root: Path, *, written: tuple[str, ...] = (), removed: tuple[str, ...] = ()) -> Extension:
    """Return what is installed in the workspace *root*."""
    folder = root / EXTENSION
    manifest = _read(folder / MANIFEST)
    return Extension(
        folder=folder.as_posix(),
        installed=str(manifest["version"]) if _is_ours(folder) and "version" in manifest else None,
        version=VERSION,
        paired=bool(read_tokens(root)),
        code_waiting=(folder / PAIRING).is_file(),
        written=written,
        removed=removed,
    )


def install(root: Path, made: str) -> Extension:
    """Put the extension into the workspace *root*, or bring it up to date, and leave a code that works once.

    SillyTavern sees an extension by its manifest, so that one goes last.
    """
    folder = root / EXTENSION
    if folder.exists() and any(folder.iterdir()) and not _is_ours(folder):
        raise ExtensionForeign(f"{folder.as_posix()!r} is not Forklore's extension.")
    names = sorted((path.name for path in SOURCE.iterdir() if path.is_file()), key=lambda name: name == MANIFEST)
    obsolete = [name for name in _listed(folder) if name not in names]
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / LIST, _encoded({"version": VERSION, "files": sorted({*names, *obsolete})}))
    written = tuple(name for name in names if _update(folder / name, _content(name)))
    removed = tuple(name for name in obsolete if _remove(folder / name))
    write_whole(folder / LIST, _encoded({"version": VERSION, "files": sorted(names)}))
    write_whole(folder / PAIRING, _encoded({"code": secrets.token_hex(16), "made": made}))
    return status(root, written=written, removed=removed)


def uninstall(root: Path) -> Extension:
    """Take away what ``install`` has put there, and let no browser in any more; the manifest goes first."""
    folder = root / EXTENSION
    removed: tuple[str, ...] = ()
    if _is_ours(folder):
        names = sorted(_listed(folder), key=lambda name: name != MANIFEST)
        removed = tuple(name for name in (*names, PAIRING, LIST) if _remove(folder / name))
        if not any(folder.iterdir()):
            folder.rmdir()
    remove_tokens(root)  # also where SillyTavern has deleted the folder already
    return status(root, removed=removed)


def _content(name: str) -> bytes:
    content = (SOURCE / name).read_bytes()
    if name != MANIFEST:
        return content
    return _encoded(json.loads(content) | {"version": VERSION})


def _is_ours(folder: Path) -> bool:
    return bool(_listed(folder))


def _listed(folder: Path) -> list[str]:
    """Return the names of our files in *folder*; a list that somebody tampered with leads nowhere else."""
    names = _read(folder / LIST).get("files")
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, str) and name == Path(name).name and name not in ("", "..")]


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, an empty one when there is none to be read."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _encoded(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=4) + "\n").encode()


def _update(path: Path, content: bytes) -> bool:
    """Write a file unless it is as wanted; return whether it was written."""
    try:
        if path.read_bytes() == content:
            return False
    except FileNotFoundError:
        pass
    write_whole(path, content)
    return True


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
