"""The folder of one running operation: its journal, what is staged in it, and a note of what is staged elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk, is_there, same_disk
from forklore.errors import DiskFailed

FOLDER = ".forklore"
_JOURNAL = "journal.json"
_ELSEWHERE = "elsewhere.json"
FORMAT = 1


class JournalUnreadable(Exception):
    """The journal is there, but it is no journal."""


class OperationFolder:
    """One folder in ``.forklore/staging``."""

    def __init__(self, root: Path, operation_id: str, disk: Disk) -> None:
        """Speak of the folder of the operation *operation_id* in the workspace at *root*; nothing is touched yet."""
        self.id = operation_id
        self.path = root / FOLDER / "staging" / operation_id
        self._root, self._disk = root, disk
        self._elsewhere: frozenset[Path] = frozenset()
        self._looked_at: set[Path] = set()
        self._is_made = self._is_first = False

    # --- places ---------------------------------------------------------------------------------------------------

    def make(self, targets: Iterable[Path]) -> None:
        """Make the folder; of the folders *targets*, note those from which nothing can be renamed into it."""
        if not self._is_made:
            # The journal's sync makes them durable; until then they may as well be lost.
            self._is_first = not is_there(self.path.parent)
            self._disk.make_folder(self.path, durable=False)
            self._is_made = True
        unknown = set(targets) - self._looked_at
        self._looked_at |= unknown
        elsewhere = {folder for folder in unknown if self._is_elsewhere(folder)}
        if elsewhere:
            self._elsewhere |= elsewhere
            # Durable before the first file is written there: what is not noted would never be tidied away.
            self._write(self.path / _ELSEWHERE, sorted(map(self.name_of, self._elsewhere)))
            self._sync()

    def _is_elsewhere(self, folder: Path) -> bool:
        try:
            return not same_disk(folder, self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False  # there will be nothing to rename to, and that is found out soon enough

    def is_elsewhere(self, target: Path) -> bool:
        """Whether *target* lies where a file of this folder cannot be renamed to."""
        return target.parent in self._elsewhere

    def aside(self, target: Path, number: int) -> Path:
        """Return where the new content of *target* is staged: in the folder, or beside the target."""
        return self.beside(target, number) if self.is_elsewhere(target) else self.path / str(number)

    def beside(self, target: Path, number: int) -> Path:
        """Return a name in the folder of *target* that neither SillyTavern nor a person looks at."""
        return target.parent / f".forklore-{self.id}-{number}.tmp"

    def name_of(self, path: Path) -> str:
        """Return *path* as the journal names it: relative to the workspace, so that a workspace can be moved."""
        try:
            return os.path.relpath(path, self._root)
        except ValueError:  # on another drive of Windows
            return str(path)

    # --- the journal ----------------------------------------------------------------------------------------------

    def write_journal(self, journal: dict[str, Any]) -> None:
        """Make the journal durable: what is in the folder counts from here on."""
        self._write(self.path / _JOURNAL, journal)
        self._sync()

    def _sync(self) -> None:
        """Make the names in the folder durable, and those that lead to it."""
        self._disk.sync_folder(self.path)
        self._disk.sync_folder(self.path.parent)
        if self._is_first:
            self._disk.sync_folder(self.path.parent.parent)
            self._disk.sync_folder(self._root)
            self._is_first = False

    def read_journal(self) -> dict[str, Any] | None:
        """Return the journal; None when the operation never got that far, ``JournalUnreadable`` when it is garbled."""
        try:
            data = (self.path / _JOURNAL).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            journal = json.loads(data)
        except ValueError as error:
            raise JournalUnreadable(str(error)) from error
        if not isinstance(journal, dict) or not {"commit", "changes", "kind", "chat"} <= journal.keys():
            raise JournalUnreadable("not a journal")
        return journal

    def write_log(self, path: Path, operation: dict[str, Any]) -> None:
        """Make the operation's entry in the log durable: it is over."""
        self._disk.make_folder(path.parent)
        self._write(path, operation)
        self._disk.sync_folder(path.parent)

    def _write(self, path: Path, value: Any) -> None:
        """Write a small JSON file in one step: it is there whole, or not at all."""
        temporary = self.path / "temporary"  # in here, so that it goes with the folder, whatever happens
        self._disk.remove(temporary)
        descriptor = self._disk.create(temporary)
        try:
            self._disk.write(descriptor, json.dumps(value).encode())
            self._disk.sync(descriptor)
        finally:
            os.close(descriptor)
        self._disk.replace(temporary, path)

    # --- after a crash, and at the end ----------------------------------------------------------------------------

    def find_elsewhere(self) -> None:
        """Read the note of what is staged elsewhere; raises ``DiskFailed`` when such a disk is not connected."""
        try:
            names = json.loads((self.path / _ELSEWHERE).read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return
        self._elsewhere = frozenset(self._root / name for name in names)
        for folder in self._elsewhere:
            if not os.path.isdir(folder):
                raise DiskFailed(
                    f"The folder {str(folder)!r} is not there, and an interrupted operation has files in it.",
                    action="Connect the disk it is on, then try again. "
                    f"If it is gone for good, delete the folder {str(self.path)!r}.",
                )

    def remove(self, *, is_logged: bool) -> None:
        """Remove the folder and what was staged elsewhere.

        The journal goes first: a journal whose staged files are gone would look like an operation that was published.
        """
        if is_there(self.path):
            self._disk.remove(self.path / _JOURNAL)
            if not is_logged:
                self._disk.sync_folder(self.path)
        for folder in self._elsewhere:
            with suppress(FileNotFoundError):
                for name in os.listdir(folder):
                    if name.startswith(f".forklore-{self.id}-") and name.endswith(".tmp"):
                        self._disk.remove(folder / name)
        self._disk.remove_tree(self.path)
