"""Making one change visible, telling whether it is, and taking it back.

Each change becomes visible by one rename, and what that rename takes away tells afterwards whether it happened:

| Change | Visible when | On another disk than ``.forklore`` |
|---|---|---|
| create | the staged file has become the target | staged beside the target |
| restore | the file has left the trash | a copy is staged beside the target, the trash is emptied afterwards |
| trash | the target has gone to the trash | a copy goes to the trash, then the target under a hidden name |
| edit | see ``forklore.disk.transaction.swapping`` | staged beside the target |
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from forklore.disk.disk import Disk, fingerprint_at, is_there
from forklore.disk.files import ContextChanged
from forklore.disk.places import Places
from forklore.disk.transaction.staging import has_content
from forklore.disk.transaction.swapping import JournalledChange, Swapper, content_of
from forklore.errors import NameTaken


class Publisher:
    """Publishes changes in one workspace."""

    def __init__(self, places: Places, operation: str, disk: Disk, *, is_foreign: bool = False) -> None:
        """Work for *operation* on the workspace of *places*; what somebody else's takes back goes to the trash."""
        self._places, self._operation, self._disk, self._is_foreign = places, operation, disk, is_foreign
        self.swapper = Swapper(places, operation, disk, is_foreign=is_foreign)

    # --- the four questions -----------------------------------------------------------------------------------------

    def publish(self, change: JournalledChange) -> None:
        """Make the change visible in one step; raises ``ContextChanged`` or ``NameTaken`` and changes nothing."""
        target = self.target(change)
        match change["do"]:
            case "edit":
                if "staged" in change and not self.swapper.swap(change):
                    raise ContextChanged(file=target.name)
            case "trash":
                self._into_trash(change, target)
            case _:
                try:
                    self._disk.rename_new(self._source(change), target)
                except FileExistsError as error:
                    raise NameTaken(name=target.stem) from error
                self._disk.sync_folder(target.parent)

    def is_published(self, change: JournalledChange) -> bool:
        """Whether the change was made visible before the operation was interrupted."""
        match change["do"]:
            case "edit":
                return self.swapper.is_swapped(change)
            case "trash":
                return self._is_in_trash(change)
        target = self.target(change)
        # Both names can be left where a rename is a link and a removal, or where a folder was not synced.
        return is_there(target) and (not is_there(self._source(change)) or self._has(target, change))

    def complete(self, change: JournalledChange) -> None:
        """Remove the other name of what was published, where publishing was interrupted or left a copy."""
        match change["do"]:
            case "restore":
                item = self.item(change)
                if self._has(item, change) and self._has(self.target(change), change):
                    self._let_go(item)
            case "trash":
                target = self.target(change)
                if self._has(target, change) and self._has(self._away(change), change):
                    self._let_go(target)
                    self._disk.sync_folder(target.parent)

    def take_back(self, change: JournalledChange) -> None:
        """Leave no trace of the change; what somebody else has put there meanwhile stays."""
        target = self.target(change)
        published = self.is_published(change)
        match change["do"]:
            case "create":
                if published and self._has(target, change):
                    self._let_go(target)
                    self._disk.sync_folder(target.parent)
            case "restore":
                if published and self._has(target, change):
                    self._back_to_trash(change, target)
            case "trash":
                if published and (not is_there(target) or self._has(target, change)):
                    self._put_back(self._away(change), target)
                    published = False
                copied = not published and "beside" in change and self._has(target, change)
                if copied and self._has(self.item(change), change):
                    self._let_go(self.item(change))

    def is_lost(self, change: JournalledChange) -> bool:
        """Whether what a change made is neither staged nor there: somebody has renamed or removed it since."""
        if change["do"] not in ("create", "restore"):
            return False
        return not is_there(self._source(change)) and not is_there(self.target(change))

    def keep_aside(self, change: JournalledChange) -> None:
        """Move what lies where an edit was staged to the trash, unless it is ours or what we had read."""
        if "staged" not in change or change["do"] != "edit" or self.swapper.is_redundant(change):
            return
        staged = self._staged(change)
        if is_there(staged):
            kept = self._places.item(f"{self._operation}/{staged.name}-{self.target(change).name[-100:]}")
            self._disk.make_folder(kept.parent)
            self._disk.rename_new(staged, kept)
            self._disk.sync_folder(kept.parent)

    def _let_go(self, path: Path) -> None:
        """Remove a file that is there twice, or that we have made; of that, somebody else's journal is no proof."""
        if not self._is_foreign:
            self._disk.remove(path)
            return
        kept = self._places.item(f"{self._operation}/{path.name}")
        if path.parent == kept.parent or is_there(kept):
            return  # a file too many is no loss
        self._disk.make_folder(kept.parent)
        try:
            self._disk.rename_new(path, kept)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return
        self._disk.sync_folder(kept.parent)

    # --- places ---------------------------------------------------------------------------------------------------

    def target(self, change: JournalledChange) -> Path:
        """Return the file that the change is about; only an edit follows a link, the others speak of the name."""
        return self._places.target(change)

    def item(self, change: JournalledChange) -> Path:
        """Return where the change's file is, or will be, in the trash."""
        return self._places.item(change["item"])

    def _source(self, change: JournalledChange) -> Path:
        """Return what becomes the target."""
        return self._staged(change) if "staged" in change else self.item(change)

    def _staged(self, change: JournalledChange) -> Path:
        return self._places.staged(change, self._operation)

    def _away(self, change: JournalledChange) -> Path:
        """Return what the target becomes when it is trashed."""
        return self._places.beside(change, self._operation) if "beside" in change else self.item(change)

    def _has(self, path: Path, change: JournalledChange) -> bool:
        return has_content(path, content_of(change))

    # --- the trash ------------------------------------------------------------------------------------------------

    def _into_trash(self, change: JournalledChange, target: Path) -> None:
        before = fingerprint_at(target, follow=False)
        if not self._has(target, change):
            raise ContextChanged("gone", file=target.name)
        item, away = self.item(change), self._away(change)
        self._disk.make_folder(item.parent)
        if "beside" in change:
            copy = self._staged(change)
            if is_there(copy):
                self._disk.rename_new(copy, item)
                self._disk.sync_folder(item.parent)
            if not self._has(item, change):
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(item))
        self._disk.rename_new(target, away)
        if fingerprint_at(away, follow=False) != before:
            self._put_back(away, target)
            raise ContextChanged(file=target.name)
        self._disk.sync_folder(away.parent)
        self._disk.sync_folder(target.parent)

    def _is_in_trash(self, change: JournalledChange) -> bool:
        away = self._away(change)
        if not is_there(away):
            return False
        if self._has(away, change):
            return True
        # Somebody saved it at the last moment, and we were interrupted before we could see that.
        self._put_back(away, self.target(change))
        return False

    def _put_back(self, away: Path, target: Path) -> None:
        try:
            self._disk.rename_new(away, target)
        except FileExistsError:
            return  # it was saved once more: the later save stays in its place, and the earlier one in the trash
        self._disk.sync_folder(target.parent)

    def _back_to_trash(self, change: JournalledChange, target: Path) -> None:
        item = self.item(change)
        if self._has(item, change):
            self._let_go(target)
        elif not is_there(item):
            self._disk.make_folder(item.parent)
            self._disk.rename_new(target, item)
            self._disk.sync_folder(item.parent)
        self._disk.sync_folder(target.parent)
