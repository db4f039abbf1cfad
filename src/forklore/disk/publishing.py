"""Making one change visible, telling whether it is, and taking it back."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk, fingerprint_at
from forklore.disk.files import ContextChanged, OpenFile
from forklore.disk.staging import Content, content_is
from forklore.errors import ForkloreError, Kind
from forklore.model.plan import Fingerprint

JournalledChange = dict[str, Any]
"""A change as the journal describes it: what is done to which path, and where the new content is staged."""


class NameTaken(ForkloreError):
    """A file of that name exists already; nothing is ever overwritten."""

    code = "NAME_TAKEN"
    kind = Kind.CONFLICT
    action = "Choose another name. Nothing was changed."


def content_of(change: JournalledChange) -> Content:
    """Return the content that a journalled change speaks of."""
    return tuple((length, digest) for length, digest in change["content"])


class Publisher:
    """Publishes changes in one workspace."""

    def __init__(self, root: Path, trash: Path, disk: Disk) -> None:
        """Work on the workspace at *root*, with removed files going to *trash*."""
        self._root, self._trash, self._disk = root, trash, disk

    def target(self, path: str) -> Path:
        """Return the real file behind a path of the workspace: a link to a file is followed, never replaced."""
        target = self._root / path
        return Path(os.path.realpath(target)) if target.is_symlink() else target

    def publish(self, change: JournalledChange) -> None:
        """Make the change visible in one step; raises ``ContextChanged`` or ``NameTaken`` and changes nothing."""
        target = self.target(change["path"])
        match change["do"]:
            case "create":
                self._rename_new(self._root / change["staged"], target)
            case "edit":
                if "staged" in change and not self.swap(change, target):
                    raise ContextChanged(f"{target.name!r} changed meanwhile.")
            case "trash":
                self._into_trash(change, target)
            case "restore":
                self._disk.make_folder(target.parent)
                self._rename_new(self._trash / change["item"], target)
        self._disk.sync_folder(target.parent)

    def _rename_new(self, source: Path, target: Path) -> None:
        try:
            self._disk.rename_new(source, target)
        except FileExistsError as error:
            raise NameTaken(f"{target.stem!r} exists already.") from error

    def _into_trash(self, change: JournalledChange, target: Path) -> None:
        try:
            with OpenFile(target) as file:
                same = content_is(file, content_of(change))
        except FileNotFoundError as error:
            raise ContextChanged(f"{target.name!r} is gone.") from error
        if not same:
            raise ContextChanged(f"{target.name!r} changed meanwhile.")
        item = self._trash / change["item"]
        self._disk.make_folder(item.parent)
        self._disk.rename_new(target, item)
        self._disk.sync_folder(item.parent)

    def swap(self, change: JournalledChange, target: Path) -> bool:
        """Replace *target* by the staged file if it is still the one that was read; return whether it was."""
        staged = self._root / change["staged"]
        expected = Fingerprint.from_json(change["expected"])
        if fingerprint_at(target) != expected:
            return False
        if not self._disk.exchange(staged, target):
            if fingerprint_at(target) != expected:
                return False
            self._disk.replace(staged, target)  # the best that systems without an exchange offer
            return True
        if fingerprint_at(staged) == expected:
            return True
        self._give_back(staged, target, Fingerprint.from_json(change["mine"]))
        return False

    def _give_back(self, staged: Path, target: Path, mine: Fingerprint) -> None:
        """Put back what somebody saved just before our exchange; of two saves the later one stays."""
        self._disk.exchange(staged, target)
        if fingerprint_at(staged) != mine:
            self._disk.exchange(staged, target)

    def is_published(self, change: JournalledChange) -> bool:
        """Whether the change was made visible before the operation was interrupted."""
        target = self.target(change["path"])
        match change["do"]:
            case "create":
                staged: Path = self._root / change["staged"]
                # The rename took the staged file away; where links are used, both names may be left.
                return not staged.exists() or (target.exists() and os.path.samefile(staged, target))
            case "trash":
                return (self._trash / change["item"]).exists()
            case "restore":
                return not (self._trash / change["item"]).exists() and target.exists()
        if "staged" not in change:
            return False
        self.settle(change, target)
        return fingerprint_at(self._root / change["staged"]) != Fingerprint.from_json(change["mine"])

    def settle(self, change: JournalledChange, target: Path) -> None:
        """Undo an exchange that was interrupted before we knew whose file it took out."""
        staged = self._root / change["staged"]
        aside = fingerprint_at(staged)
        mine, expected = Fingerprint.from_json(change["mine"]), Fingerprint.from_json(change["expected"])
        if aside not in (None, mine, expected) and fingerprint_at(target) == mine:
            self._disk.exchange(staged, target)

    def unpublish(self, change: JournalledChange) -> None:
        """Take a published change back; what somebody else has put there meanwhile stays."""
        target = self.target(change["path"])
        with suppress(FileNotFoundError, FileExistsError):
            match change["do"]:
                case "create":
                    with OpenFile(target) as file:
                        ours = content_is(file, content_of(change))
                    if ours:  # whatever else stands there now is not ours to remove
                        self._disk.remove(target)
                case "trash":
                    self._disk.rename_new(self._trash / change["item"], target)
                case "restore":
                    self._disk.rename_new(target, self._trash / change["item"])
            self._disk.sync_folder(target.parent)
