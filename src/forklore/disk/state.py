"""The user's state folder: keys, and answers that only the user may give.

A workspace may come from a stranger, so nothing that opens a door or is believed lies in one. It lies here, readable by
the user alone, and what is about one workspace is bound to the place where that workspace lies.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk, write_whole
from forklore.disk.system import real_path
from forklore.errors import DiskFailed, FormatNewer

FORMAT = 1
_KEY_BYTES = 32
_WAIT_SECONDS = 5.0


class State:
    """What Forklore keeps for one user, outside of every workspace."""

    def __init__(self, folder: Path) -> None:
        """Keep everything in *folder*; nothing is touched yet."""
        self.folder = folder

    def of_workspace(self, root: Path, name: str) -> Path:
        """Return the file called *name* that is about the workspace at *root*, wherever links lead to it."""
        place = real_path(root)
        return self.folder / "workspaces" / hashlib.sha256(os.fsencode(place)).hexdigest()[:32] / name

    # --- small files ------------------------------------------------------------------------------------------------

    def read(self, path: Path) -> dict[str, Any]:
        """Return the JSON object in a file, an empty one when there is none; raises ``FormatNewer``."""
        try:
            value = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(value, dict):
            return {}
        refuse_newer(value, FORMAT, str(path))
        return value

    def write(self, path: Path, value: dict[str, Any]) -> None:
        """Replace a file as a whole; raises ``OSError`` where the state folder cannot be written."""
        make_private(path.parent, upto=self.folder)
        write_whole(path, json.dumps({"format": FORMAT, **value}, indent=2).encode() + b"\n", private=True)

    @contextmanager
    def alone(self, path: Path) -> Iterator[None]:
        """Keep other processes from changing a file between our reading and our writing it."""
        from filelock import FileLock, Timeout  # noqa: PLC0415  # a heavy import that only writers need

        make_private(path.parent, upto=self.folder)
        lock = FileLock(path.with_name(f"{path.name}.lock"), is_singleton=False, thread_local=False)
        try:
            lock.acquire(timeout=_WAIT_SECONDS, poll_interval=0.02)
        except Timeout as error:
            raise DiskFailed("locked", file=str(path)) from error
        try:
            yield
        finally:
            lock.release()

    # --- the key ----------------------------------------------------------------------------------------------------

    def mac(self, data: bytes) -> str:
        """Return what only this user can write below *data*."""
        import hmac  # noqa: PLC0415  # slow to load, and only who changes something needs it

        return hmac.digest(self._key, data, "sha256").hex()

    def is_mac(self, mac: object, data: bytes) -> bool:
        """Whether *mac* was written below *data* by this user."""
        import hmac  # noqa: PLC0415

        return isinstance(mac, str) and hmac.compare_digest(mac.encode("utf-8", "replace"), self.mac(data).encode())

    @cached_property
    def _key(self) -> bytes:
        """The user's key, made when it is first asked for; where it cannot be kept it lasts as long as we do."""
        path = self.folder / "key"
        with suppress(OSError, ValueError):
            return _read_key(path)
        new = os.urandom(_KEY_BYTES)
        try:
            make_private(self.folder, upto=self.folder)
            temporary = path.with_name(f"key.{os.urandom(4).hex()}.new")
            write_whole(temporary, new.hex().encode(), private=True)
            try:
                Disk().rename_new(temporary, path)
            except FileExistsError:
                if _is_whole(path):
                    os.unlink(temporary)
                else:
                    os.replace(temporary, path)
            return _read_key(path)  # of two who make one at a time, both go on with the one that stayed
        except (OSError, ValueError):
            return new


def _read_key(path: Path) -> bytes:
    key = bytes.fromhex(path.read_text(encoding="ascii"))
    if len(key) != _KEY_BYTES:
        raise ValueError("no key")
    return key


def _is_whole(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return bool(_read_key(path))
    return False


def make_private(folder: Path, *, upto: Path) -> None:
    """Make *folder* and its parents up to *upto* so that nobody but the user can look into them."""
    if not folder.is_dir():
        if folder != upto:
            make_private(folder.parent, upto=upto)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    close_to_others(folder)


def close_to_others(folder: Path) -> None:
    """Let nobody but the owner look into a folder of ours; where it is somebody else's, it stays as it is."""
    if os.name == "posix":
        with suppress(OSError):
            if folder.stat().st_mode & 0o077:
                folder.chmod(0o700)


def refuse_newer(stored: Mapping[str, Any], known: int, what: str) -> None:
    """Raise ``FormatNewer`` when a newer Forklore wrote *stored*; without a number it is from before there was one."""
    number = stored.get("format", known)
    if isinstance(number, int) and number > known:
        raise FormatNewer(file=what, format=number, known=known)
