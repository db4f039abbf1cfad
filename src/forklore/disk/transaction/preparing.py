"""Staging a plan: all that can fail for want of space is done here, before anything is visible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from forklore.disk.disk import Disk, is_there
from forklore.disk.files import OpenFile
from forklore.disk.transaction.folder import OperationFolder
from forklore.disk.transaction.publishing import Publisher
from forklore.disk.transaction.staging import Stager, has_content, prepare_edit
from forklore.disk.transaction.swapping import JournalledChange
from forklore.errors import NameTaken
from forklore.model.names import cut_to_bytes
from forklore.model.plan import Change, CreateFile, EditFile, Piece, Plan, Range, RestoreFile, TrashFile
from forklore.planning.undo import TrashAltered, UndoRefused

if TYPE_CHECKING:
    from forklore.disk.transaction.staging import Writing

_DOES: dict[type[Change], str] = {CreateFile: "create", EditFile: "edit", TrashFile: "trash", RestoreFile: "restore"}
_AHEAD = 500  # numbers of changes that were begun before the plan knew their place
Begun = tuple[JournalledChange, "Writing | None"]
"""A change as the journal will describe it, and the writing that has to end first."""


class Preparation:
    """Stages the changes of one plan and describes them for the journal.

    Changes that are known before the plan is may be begun ahead: the disk copies while we still read and check.
    """

    def __init__(
        self, folder: OperationFolder, publisher: Publisher, disk: Disk, progress: Callable[[int], None] | None
    ) -> None:
        """Stage into *folder*; nothing is touched yet."""
        self._folder, self._publisher, self._disk = folder, publisher, disk
        self._progress = progress
        self._open_files = ExitStack()
        self._stager: Stager | None = None
        self._ahead: dict[Change, Begun] = {}
        self.working_on = ""
        """The path of the change that is being staged, for whoever has to say what failed."""

    def stage_ahead(self, changes: Sequence[Change], sources: dict[str, OpenFile]) -> None:
        """Begin to stage *changes* that the plan is likely to ask for."""
        stager = self._begin_staging(changes)
        for change in changes:
            if change not in self._ahead:
                number = _AHEAD + len(self._ahead)
                self._ahead[change] = self._begin(stager, change, _described(change), number=number, sources=sources)

    def stage(self, plan: Plan, sources: dict[str, OpenFile]) -> list[JournalledChange]:
        """Write all new content aside, several files at a time, and return the changes as the journal has them."""
        begun: list[Begun] = []
        try:
            stager = self._begin_staging(plan.changes)
            for number, change in enumerate(plan.changes):
                self.working_on = change.path
                ahead = self._ahead.get(change)
                begun.append(ahead or self._begin(stager, change, _described(change), number=number, sources=sources))
            for written, writing in begun:
                if writing is not None:
                    self.working_on = written["path"]
                    staged = stager.finish(writing)
                    written |= {"staged": self._folder.name_of(staged.path), "mine": staged.fingerprint.to_json()}
                    written.setdefault("content", [list(segment) for segment in staged.content])
        finally:
            self.close()  # also when one failed: nothing may still be writing when we take back
        return [written for written, _ in begun]

    def close(self) -> None:
        """Wait for everything that was begun, and let go of the files that were opened for it."""
        if self._stager is not None:
            self._stager.close()
        self._open_files.close()

    def _begin_staging(self, changes: Sequence[Change]) -> Stager:
        self._folder.make(self._publisher.target(_described(change)).parent for change in changes)
        if self._stager is None:
            self._stager = Stager(self._disk, self._progress)
        return self._stager

    def _begin(
        self,
        stager: Stager,
        change: Change,
        written: JournalledChange,
        *,
        number: int,
        sources: dict[str, OpenFile],
    ) -> Begun:
        target = self._publisher.target(written)
        if isinstance(change, CreateFile | RestoreFile) and is_there(target):
            # Found out now, so that whatever stands there after a crash with our content is known to be ours.
            raise NameTaken(name=target.stem)
        aside = self._folder.aside(target, number)
        match change:
            case CreateFile():
                model = next(iter(sources.values()), None)
                return written, stager.begin(aside, change.pieces, sources, model.stat if model else None)
            case EditFile():
                return self._begin_edit(stager, change, written, aside=aside, sources=sources)
            case TrashFile():
                written["item"] = f"{self._folder.id}/{number}-{_short(target)}"
                written["content"] = [list(segment) for segment in change.content]
                if self._folder.is_elsewhere(target):
                    written["beside"] = self._folder.name_of(self._folder.beside(target, number))
                    return self._begin_copy(stager, written, target, self._folder.path / str(number))
            case RestoreFile():
                written["item"] = change.item
                written["content"] = [list(segment) for segment in change.content]
                item = self._publisher.item(written)
                if is_there(item) and not has_content(item, change.content):
                    raise TrashAltered(item=change.item)
                if not is_there(item):
                    raise UndoRefused("not_in_trash", file=target.name)
                self._disk.make_folder(target.parent)
                if self._folder.is_elsewhere(target):
                    return self._begin_copy(stager, written, item, aside)
        return written, None

    def _begin_edit(
        self, stager: Stager, change: EditFile, written: JournalledChange, *, aside: Path, sources: dict[str, OpenFile]
    ) -> Begun:
        file = sources.get(change.path)
        if file is None:
            file = sources[change.path] = self._opened(self._publisher.target(written))
        prepared = prepare_edit(change, file)
        written |= {"role": change.role, "edits": [edit.to_json() for edit in change.edits], "inverse": []}
        if prepared is None:
            return written, None
        written["inverse"] = [edit.to_json() for edit in prepared.inverse]
        written["expected"] = file.fingerprint.to_json()
        # What we put in tells our new content well enough; what is copied around it need not be proven.
        return written, stager.begin(aside, prepared.pieces, sources, file.stat, prove=False)

    def _begin_copy(self, stager: Stager, written: JournalledChange, source: Path, copy: Path) -> Begun:
        """Begin to copy a whole file: no rename leads from one disk to another, so a copy has to be ready for it."""
        file = self._opened(source)
        pieces: tuple[Piece, ...] = (Range(written["path"], 0, file.size),)
        return written, stager.begin(copy, pieces, {written["path"]: file}, file.stat)

    def _opened(self, path: Path) -> OpenFile:
        return self._open_files.enter_context(OpenFile(path))


def _described(change: Change) -> JournalledChange:
    return {"do": _DOES[type(change)], "path": change.path}


def _short(target: Path) -> str:
    """Return a name for the trash that still tells what it was and fits where the whole name may not."""
    return cut_to_bytes(target.stem, 80) + target.suffix
