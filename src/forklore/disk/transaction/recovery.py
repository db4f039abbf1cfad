"""The operations of one workspace: how one begins, and how what a crash left is finished or taken back.

Whoever begins an operation first finishes or takes back what a crash left, if it is signed with the user's own key.
Whoever only looks leaves it alone, and passes over what belongs to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from forklore.disk.disk import Disk
from forklore.disk.failures import left_over
from forklore.disk.operation_log import OperationLog
from forklore.disk.state import State
from forklore.disk.system import is_link
from forklore.disk.transaction.run import Run, Site
from forklore.disk.workspace import Workspace
from forklore.errors import DiskFailed, FormatNewer, LinkOutside, OperationForeign, PathOutside
from forklore.gathered.folder import Unfinished
from forklore.log.telling import tell
from forklore.model.fact import Fact, fact
from forklore.model.stored import STAGING, is_operation_id


class Transactions:
    """Applies plans to one workspace and finishes what a crash left. The caller holds the workspace's lock."""

    def __init__(
        self,
        workspace: Workspace,
        state: Callable[[], State],
        disk: Disk | None = None,
        cache: Callable[[], Path | None] = lambda: None,
    ) -> None:
        """Work on a workspace; nothing is touched yet.

        *state* has the user's key, *cache* is where the index of chats may be kept.
        """
        self.places = workspace.places
        self.log = OperationLog(self.places)
        self.disk = disk or Disk()
        self._site = Site(workspace, self.log, state, self.disk, cache)

    # --- applying -------------------------------------------------------------------------------------------------

    @contextmanager
    def begin(
        self, new_id: Callable[[int], str], request: str | None, progress: Callable[[int], None] | None = None
    ) -> Iterator[Run]:
        """Begin an operation; leaving the block without having applied a plan leaves no trace of it.

        *new_id* makes an id for its number; *request* is what whoever asked calls the request.
        """
        turn = self.log.next_turn(request)
        run = Run(self._site, new_id(turn.number), turn, progress)
        try:
            yield run
        finally:
            run.abandon()

    # --- recovery -------------------------------------------------------------------------------------------------

    def leftovers(self) -> list[str]:
        """Return the ids of operations that are running, or were interrupted."""
        try:
            with os.scandir(self.places.folder(STAGING)) as entries:
                folders = [entry.name for entry in entries if entry.is_dir() and not is_link(entry.path)]
                return sorted(name for name in folders if is_operation_id(name))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def unfinished(self) -> list[Unfinished]:
        """Return what is known of the operations that are running, or were interrupted; nothing is changed."""
        return [Run(self._site, name).look() for name in self.leftovers()]

    def recover(self) -> list[Fact]:
        """Finish or take back every interrupted operation of ours; return what was done with each.

        What is not ours, or cannot be understood, is left alone. Raises ``ForkloreError`` when the disk does not let
        us: nothing new should be begun on top of it.
        """
        with _disk_failures():
            return [done for name in self.leftovers() if (done := self._recover(name))]

    def _recover(self, name: str) -> Fact | None:
        run = Run(self._site, name)
        found = run.look()
        try:
            if found.fault:
                raise found.fault
            return run.resume(found.journal)
        except _NOT_OURS as error:
            tell("operation %s is left alone: %s", name, error)
        except DiskFailed:
            if found.fault or found.journal is not None:
                raise  # it is ours, and waits for its disk
        return None

    def finish_foreign(self, name: str) -> Fact:
        """Finish or take back an operation that is not ours, because the user asks for it; return what was done."""
        with _disk_failures():
            run = Run(self._site, name, is_foreign=True)
            found = run.look()
            if found.fault and not (found.journal and found.fault.code == OperationForeign.code):
                raise found.fault
            return run.resume(found.journal) or fact("recovered", case="nothing")

    def discard(self, name: str) -> None:
        """Move an interrupted operation to the trash as it is: nothing of it is done, and nothing is taken back."""
        with _disk_failures():
            Run(self._site, name).discard()


@contextmanager
def _disk_failures() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise left_over(error) from error


_NOT_OURS = (OperationForeign, PathOutside, LinkOutside, FormatNewer)
