"""The folder of one running operation: its journal, what is staged in it, and a note of what is staged elsewhere.

A journal says what is to be done with the user's files, and a folder may come from a stranger. So a journal is signed
with the user's own key, and one that is not is somebody else's: nothing is done with it unless the user asks for it.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk, is_there, same_disk
from forklore.disk.failures import left_over
from forklore.disk.files import read_small
from forklore.disk.places import Places
from forklore.disk.state import State, refuse_newer
from forklore.disk.system import is_link, usual_path
from forklore.errors import DiskFailed, ForkloreError, OperationForeign
from forklore.gathered.folder import Journal, Unfinished
from forklore.log.changes import (
    Unreadable,
    journalled_change_of,
    list_of,
    notes_of,
    number_of,
    object_of,
    text_of,
)
from forklore.log.operations import Turn
from forklore.model.stored import STAGING, hidden_name, is_hidden_name

_JOURNAL = "journal.json"
_NO_FILE_OF_OURS = {errno.EISDIR, errno.EINVAL, errno.EFBIG, errno.ELOOP, errno.ENXIO}
_ELSEWHERE = "elsewhere.json"
FORMAT = 1
_LONGEST_ID = 100


class OperationFolder:
    """One folder in ``.forklore/staging``."""

    def __init__(
        self,
        places: Places,
        operation_id: str,
        disk: Disk,
        state: Callable[[], State],
        *,
        is_foreign: bool = False,
    ) -> None:
        """Speak of the folder of an operation in the workspace of *places*; nothing is touched yet.

        *state* has the key that journals are signed with; one that *is_foreign* never becomes ours.
        """
        self._is_foreign = is_foreign
        self.id = operation_id
        self.path = Path(places.folder(STAGING)) / operation_id
        self._places, self._root, self._disk, self._state = places, places.root, disk, state
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
            folders = sorted(map(self.name_of, self._elsewhere))
            self._write(self.path / _ELSEWHERE, {"format": FORMAT, "folders": folders})
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
        return target.parent / hidden_name(self.id, number)

    def name_of(self, path: Path) -> str:
        """Return *path* as the journal names it: relative to the workspace, so that a workspace can be moved."""
        return path.relative_to(self._root).as_posix()

    # --- the journal ----------------------------------------------------------------------------------------------

    def write_journal(self, journal: Journal) -> None:
        """Make the journal durable, with our signature: what is in the folder counts from here on."""
        mac = {} if self._is_foreign else {"mac": self._state().mac(_signed_part(journal))}
        self._write(self.path / _JOURNAL, {**journal, **mac})
        self._sync()

    def _sync(self) -> None:
        """Make the names in the folder durable, and those that lead to it."""
        self._disk.sync_folder(self.path)
        self._disk.sync_folder(self.path.parent)
        if self._is_first:
            self._disk.sync_folder(self.path.parent.parent)
            self._disk.sync_folder(self._root)
            self._is_first = False

    def look(self) -> Unfinished:
        """Return what is known of the operation from its journal: whose it is, and whether it can be understood."""
        try:
            stored = self._read_journal()
            if stored is None:
                return Unfinished(self.id)
            refuse_newer(stored, FORMAT, f"{STAGING}/{self.id}")
            journal = self._journal(stored)
        except (ValueError, RecursionError) as error:
            reason = error.fact if isinstance(error, Unreadable) else str(error)
            return Unfinished(self.id, fault=OperationForeign("unreadable", reason=reason))
        except ForkloreError as error:
            return Unfinished(self.id, fault=error)
        except OSError as error:
            return Unfinished(self.id, fault=left_over(error))
        if not self._state().is_mac(stored.get("mac"), _signed_part(stored)):
            foreign = OperationForeign()
            return Unfinished(self.id, journal, foreign)
        return Unfinished(self.id, journal)

    def _read_journal(self) -> Mapping[str, Any] | None:
        """Return the journal as it was stored; None when the operation never got that far."""
        path = self.path / _JOURNAL
        try:
            data = read_small(path) if not is_link(path) else b""
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in _NO_FILE_OF_OURS:
                raise Unreadable("file", reason=error.strerror) from error
            raise
        return object_of(json.loads(data), "journal")

    def _journal(self, stored: Mapping[str, Any]) -> Journal:
        if stored.get("id") != self.id:
            raise Unreadable("other_id")
        changes = list_of(stored.get("changes"), lambda change: journalled_change_of(change, self.id))
        commit, undoes = number_of(stored.get("commit"), "commit"), stored.get("undoes")
        journal: Journal = {
            "format": FORMAT,
            "id": self.id,
            **Turn.from_json(stored).to_json(),
            "kind": text_of(stored.get("kind"), "kind"),
            "chat": text_of(stored.get("chat"), "chat"),
            "when": text_of(stored.get("when"), "when"),
            "undoes": None if undoes is None else text_of(undoes, "undoes"),
            "commit": commit,
            "notes": notes_of(stored.get("notes", {})),
            "changes": changes,
        }
        if not 0 <= commit < len(changes):
            raise Unreadable("value", field="commit")
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
        """Read the note of what is staged elsewhere; raises ``DiskFailed`` when such a disk is not connected.

        What the note says is a hint: only hidden files with the name of this operation are ever looked for.
        """
        path = self.path / _ELSEWHERE
        try:
            stored = json.loads(read_small(path)) if not is_link(path) else {}
        except (OSError, ValueError, RecursionError):
            return
        # Before there was a number, it was a mere list.
        names = stored.get("folders", []) if isinstance(stored, dict) else stored
        try:
            self._elsewhere = frozenset(list_of(names, self._places.stored_folder))
        except Unreadable:
            return
        for folder in self._elsewhere:
            if not os.path.isdir(folder):
                raise DiskFailed("not_connected", folder=usual_path(folder), staging=usual_path(self.path))

    def discard(self, trash: Path) -> None:
        """Move the folder as it is to the trash, with what lies beside files where that can be: nothing is done."""
        self._disk.make_folder(trash)
        names = (f"{self.id[:_LONGEST_ID]}-discarded{number}" for number in ("", *(f"-{n}" for n in range(2, 1000))))
        kept = next(place for name in names if not is_there(place := trash / name))
        with suppress(ForkloreError):
            self.find_elsewhere()
        self._disk.rename_new(self.path, kept)
        for hidden in self._hidden():
            with suppress(OSError):  # on another disk it stays where it is, and nobody sees it
                self._disk.rename_new(hidden, kept / hidden.name)
        self._disk.sync_folder(trash)

    def _hidden(self) -> list[Path]:
        """Return the hidden files of this operation beside those it changes."""
        found = []
        for folder in self._elsewhere:
            with suppress(FileNotFoundError):
                names = os.listdir(folder)
                found += [folder / name for name in names if is_hidden_name(name, self.id)]
        return found

    def remove(self, *, is_logged: bool) -> None:
        """Remove the folder and what was staged elsewhere.

        The journal goes first: a journal whose staged files are gone would look like an operation that was published.
        """
        if is_there(self.path):
            self._disk.remove(self.path / _JOURNAL)
            if not is_logged:
                self._disk.sync_folder(self.path)
        for hidden in self._hidden():
            self._disk.remove(hidden)
        self._disk.remove_tree(self.path)


def _signed_part(journal: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed: the same for a journal that is written and for one that was read."""
    rest = {key: value for key, value in journal.items() if key != "mac"}
    return b"journal\0" + json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()


__all__ = ["FORMAT", "OperationFolder"]
