"""What every operation needs besides its own request."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from forklore.app.progress import Progress
from forklore.app.settings import Settings
from forklore.checks.requirements import Policy
from forklore.disk.run import Run
from forklore.disk.state import State
from forklore.disk.transaction import Transactions
from forklore.disk.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Outside:
    """What comes from outside the files: the clock, the sources of ids, the cache folder, the version."""

    now_ms: Callable[[], int]
    timestamp: Callable[[], str]
    new_id: Callable[[], str]
    new_operation_id: Callable[[int], str]
    """Makes an id for the operation with that number."""
    cache: Callable[[], Path | None]
    """Where the quick index of all chats may be kept."""
    state: Callable[[], State]
    """What the user keeps outside of every workspace: keys, and answers."""
    version: str


@dataclass(frozen=True, slots=True)
class Means(Outside):
    """The workspace with all that operations on it need."""

    workspace: Workspace
    transactions: Transactions
    settings: Settings
    policy: Policy
    progress: Progress
    request: str | None = None
    """What whoever asks calls the request; operations keep it, so that he can ask what became of it."""

    def begin(self, written: Callable[[int], None] | None = None) -> AbstractContextManager[Run]:
        """Begin an operation; *written* hears how much of it is written."""
        return self.transactions.begin(self.new_operation_id, self.request, written)

    def advance(self, done: int, total: int) -> None:
        """Tell how far looking has come, where it can also stop; raises ``Cancelled`` when it should."""
        self.progress.go_on()
        self.progress.advance(done, total)
