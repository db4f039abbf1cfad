"""What every use case is given besides its own request: the workspace, the settings, and what comes from outside."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from forklore.app.progress import Progress
from forklore.checks.requirements import Policy
from forklore.checks.settings import Settings
from forklore.disk.disk import Disk
from forklore.disk.settings import read_settings
from forklore.disk.workspace import ChatNotFound, Workspace
from forklore.model.address import ChatAddress
from forklore.model.names import book_key

# Whoever only looks at one chat waits for none of these.
if TYPE_CHECKING:
    from forklore.disk.state import State
    from forklore.disk.transaction.recovery import Transactions
    from forklore.disk.transaction.run import Run
    from forklore.gathered.workspace import WorkspaceIndex
    from forklore.model.timeline import Story


class OfChat(Protocol):
    """A result about one chat: a timeline, a fork that was made, a report."""

    @property
    def chat(self) -> str:
        """The address of the chat."""


class Addressed(Protocol):
    """What has the address of a chat."""

    @property
    def address(self) -> str | ChatAddress:
        """The address of the chat."""


ChatMeant = str | ChatAddress | OfChat | Addressed
"""How a chat is given: its address, its name or a part of that, or a result that is about it."""


def text_of(chat: ChatMeant) -> str:
    """Return the address or name that is given, of a result the address it has."""
    if isinstance(chat, str | ChatAddress):
        return str(chat)
    address = getattr(chat, "chat", None) or getattr(chat, "address", None)
    if not isinstance(address, str | ChatAddress):
        raise TypeError(f"{type(chat).__name__} is not about a chat")
    return str(address)


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class Context(Outside):
    """The workspace with all that use cases need."""

    workspace: Workspace
    settings: Settings
    policy: Policy
    progress: Progress
    disk: Disk
    request: str | None = None
    """What whoever asks calls the request; operations keep it, so that he can ask what became of it."""

    @cached_property
    def transactions(self) -> Transactions:
        """What changes the workspace, and what was changed."""
        from forklore.disk.transaction.recovery import Transactions

        return Transactions(self.workspace, self.state, self.disk, self.cache)

    def begin(self, written: Callable[[int], None] | None = None) -> AbstractContextManager[Run]:
        """Begin an operation; *written* hears how much of it is written."""
        return self.transactions.begin(self.new_operation_id, self.request, written)

    def resolve(self, chat: ChatMeant) -> ChatAddress:
        """Return the chat that is meant; raises ``ChatNotFound`` or ``ChatAmbiguous``."""
        text = text_of(chat)
        address = self.workspace.resolve(text)
        if not isinstance(chat, str) and not address.means(text):  # a result means its chat, never one like it
            raise ChatNotFound(chat=text)
        return address

    def advance(self, done: int, total: int) -> None:
        """Tell how far looking has come, where it can also stop; raises ``Cancelled`` when it should."""
        self.progress.go_on()
        self.progress.advance(done, total)

    def stories(self) -> tuple[Story, ...]:
        """Look at every story, and at nothing else."""
        from forklore.disk.scan import scan_stories

        return scan_stories(self.workspace, self.cache(), self.advance, shared_on_purpose=self._shared_keys())

    def is_shared_on_purpose(self, book: str) -> bool:
        """Whether the user said that several timelines are meant to share this lorebook."""
        return book_key(book, folds=self.workspace.folds_names) in self._shared_keys()

    def index(
        self, *, of: ChatAddress | None = None, with_log: bool = True, told_book: str | None = None
    ) -> WorkspaceIndex:
        """Look through the workspace once, closely at the chat *of* or at all; see ``gather_index``."""
        from forklore.disk.gather_index import gather_index

        return gather_index(
            self.workspace,
            self.cache(),
            shared_books=self._shared_books(),
            log=self.transactions.log if with_log else None,
            of=of,
            told_book=told_book,
            progress=self.advance,
        )

    def _shared_keys(self) -> frozenset[str]:
        folds = self.workspace.folds_names
        return frozenset(book_key(book, folds=folds) for book in self._shared_books())

    def _shared_books(self) -> frozenset[str]:
        return read_settings(self.workspace.places).shared_books
