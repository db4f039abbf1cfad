"""The health of timelines, from what the scan of all chats knows."""

from __future__ import annotations

from functools import cached_property

from forklore.app.around import Around
from forklore.app.means import Means
from forklore.model.address import ChatAddress
from forklore.model.health import Health, health_of
from forklore.model.timeline import ChatFacts, Story


class Known:
    """Every story of the workspace, with what is known of each chat."""

    def __init__(self, means: Means) -> None:
        """Look through the workspace."""
        self._means = means
        self._around = Around(means)
        self._shared = frozenset(book for book in self._around.used_books if self._around.is_shared_on_purpose(book))

    @property
    def stories(self) -> tuple[Story, ...]:
        """Every story."""
        return self._around.stories

    @cached_property
    def facts(self) -> dict[str, ChatFacts]:
        """What each chat says about itself, by its address."""
        return {chat.address: chat for chat in self._around.facts.values()}

    def health_of(self, story: Story) -> dict[str, Health]:
        """Return the health of each timeline of a story, by its address."""
        main = ChatAddress.parse(story.main)
        copies = (story.main,) if main and self._around.original_of(main) else ()
        return health_of(story, self.facts, is_there=self._is_there, shared_on_purpose=self._shared, copies=copies)

    def _is_there(self, book: str) -> bool:
        # The list first: it is at hand, and only a book that is not in it costs a look at the disk.
        return book in self._books or self._means.workspace.exists(self._means.workspace.book_path(book))

    @cached_property
    def _books(self) -> frozenset[str]:
        return frozenset(self._means.workspace.book_file_names())
