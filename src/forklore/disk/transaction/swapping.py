"""Replacing a file that others write too: only the very file that was read, and no save of theirs is ever lost.

Where the system can exchange two files in one step, the file that comes out tells whether it was the one we had read.
If somebody saved just before, their file came out, and it is given back. The journal names the staged file, so that an
exchange that was interrupted before we could look is settled by the next operation.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk, fingerprint_at
from forklore.disk.files import OpenFile
from forklore.disk.places import Places
from forklore.disk.transaction.staging import Content, has_content, prepare_edit
from forklore.errors import ForkloreError
from forklore.formats.json_text import NotJson
from forklore.model.plan import EditFile, Fingerprint, LineEdit
from forklore.planning.undo import taken_back

JournalledChange = dict[str, Any]
"""A change as the journal describes it: what is done to which path, and where the new content is staged."""


def content_of(change: JournalledChange) -> Content:
    """Return the content that a journalled change speaks of."""
    return tuple((length, digest) for length, digest in change["content"])


class Swapper:
    """Swaps staged files with those they replace."""

    def __init__(self, places: Places, operation: str, disk: Disk, *, is_foreign: bool = False) -> None:
        """Work for *operation* on the workspace of *places*; what somebody else staged is not believed."""
        self._places, self._operation, self._disk, self._is_foreign = places, operation, disk, is_foreign
        self._given_back: set[str] = set()
        """The files that an interrupted exchange was settled for: what came out of their place is still wanted."""

    def _staged(self, change: JournalledChange) -> Path:
        return self._places.staged(change, self._operation)

    def swap(self, change: JournalledChange) -> bool:
        """Replace the file by the staged one if it is still the one that was read; return whether it was."""
        staged, target = self._staged(change), self._places.target(change)
        expected = Fingerprint.from_json(change["expected"])
        if fingerprint_at(target) != expected:
            return False
        if not self._disk.exchange(staged, target):
            if fingerprint_at(target) != expected:
                return False
            self._disk.replace(staged, target)  # the best that systems without an exchange offer
        elif fingerprint_at(staged) != expected:
            self._give_back(staged, target, Fingerprint.from_json(change["mine"]))
            return False
        self._disk.sync_folder(target.parent)
        return True

    def _give_back(self, staged: Path, target: Path, placed: Fingerprint | None) -> None:
        """Put back what somebody saved just before our exchange; of several saves the latest one stays.

        *placed* is what the target holds if nobody has saved since. Should something else come out when the save goes
        in, then that is a later save, and its turn is next.
        """
        while True:
            latest = fingerprint_at(staged)
            if not self._disk.exchange(staged, target):
                self._keep_copy(target)  # the workspace was moved to a system without an exchange
                self._disk.replace(staged, target)
                break
            if fingerprint_at(staged) == placed:
                break
            placed = latest
        self._disk.sync_folder(target.parent)

    def _keep_copy(self, target: Path) -> None:
        """Copy a file to the trash before another one is put over it: nobody can tell whether that one was a save."""
        kept = self._places.item(f"{self._operation}/{target.name}")
        self._disk.make_folder(kept.parent)
        self._disk.remove(kept)  # what an interruption left of it
        with OpenFile(target) as file:
            copy = self._disk.create(kept, file.stat)
            try:
                file.copy_to(copy, 0, file.size, self._disk)
                self._disk.sync(copy)
            finally:
                os.close(copy)
        self._disk.sync_folder(kept.parent)

    def is_swapped(self, change: JournalledChange) -> bool:
        """Whether the staged file took the place of the one that was read; settles an interrupted exchange first."""
        if self._is_foreign:
            return self._is_edited(change)
        if "staged" not in change:
            return False
        self._settle(change)
        staged, target = self._staged(change), self._places.target(change)
        aside, expected = fingerprint_at(staged), Fingerprint.from_json(change["expected"])
        if aside is None:
            return True  # it was moved over the target
        if aside == expected:
            return fingerprint_at(target) != expected
        return self.is_staged(change) and self._is_mine(target, change)  # both names, on a disk without a journal

    def is_staged(self, change: JournalledChange) -> bool:
        """Whether the staged file is still the one we have written."""
        return self._is_mine(self._staged(change), change)

    def _is_mine(self, path: Path, change: JournalledChange) -> bool:
        """Whether this is our new content; on disks that number their files anew at each start it has to be read."""
        return fingerprint_at(path) == Fingerprint.from_json(change["mine"]) or has_content(path, content_of(change))

    def _settle(self, change: JournalledChange) -> None:
        """Give back a save that an interrupted exchange took out."""
        staged, target = self._staged(change), self._places.target(change)
        aside, there = fingerprint_at(staged), fingerprint_at(target)
        expected = Fingerprint.from_json(change["expected"])
        if aside is None or there is None or expected in (aside, there):
            return  # nothing was exchanged, or what came out is what we had read
        if self.is_staged(change):
            return
        # Somebody's save is aside. Only what is older than it gives way: us, or an earlier save of theirs.
        if self._is_mine(target, change) or aside.mtime_ns > there.mtime_ns:
            self._given_back.add(change["staged"])
            self._give_back(staged, target, there)

    def is_redundant(self, change: JournalledChange) -> bool:
        """Whether what is left in place of the staged file may go: it is ours, or the very file that we have edited.

        Where we have put something else into its place, nobody can tell whether that was a save.
        """
        if change["staged"] in self._given_back:
            return self._differ_by_the_edit_alone(change)
        aside = fingerprint_at(self._staged(change))
        if aside == Fingerprint.from_json(change["expected"]) or self.is_staged(change):
            return True
        return self._differ_by_the_edit_alone(change)

    def _differ_by_the_edit_alone(self, change: JournalledChange) -> bool:
        """Whether both are one file but for our edit, by their content: not every disk numbers its files for good."""
        inverse = tuple(LineEdit.from_json(edit) for edit in change["inverse"])
        try:
            with OpenFile(self._places.target(change)) as target, OpenFile(self._staged(change)) as aside:
                one, other = target.read(), aside.read()
                return one == other or taken_back(one, inverse) == other or taken_back(other, inverse) == one
        except (OSError, ForkloreError, NotJson, IndexError, ValueError):
            return False

    def _is_edited(self, change: JournalledChange) -> bool:
        """Whether a file says already what an edit would make it say."""
        edits = tuple(LineEdit.from_json(edit) for edit in change["edits"])
        try:
            with OpenFile(self._places.target(change)) as file:
                return prepare_edit(EditFile(change["path"], edits), file) is None
        except (OSError, ForkloreError, NotJson, IndexError):
            return False
