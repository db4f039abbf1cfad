"""What only a page needs: each view is a module here, and a method of ``Views``."""

from __future__ import annotations

from collections.abc import Sequence

from forklore.app.context import ChatMeant, Context
from forklore.app.views.groups import GroupsShown, show_groups
from forklore.app.views.layout import LayoutShown, show_layout
from forklore.app.views.made import MadeShown, show_made
from forklore.app.views.messages import MessagesShown, show_messages
from forklore.app.views.overview import Overview, show_overview
from forklore.app.views.preview import Preview, show_preview
from forklore.app.views.recap import RecapShown, show_recap
from forklore.app.views.where import Where, show_where


class Views:
    """The views of one workspace; nothing is changed by looking."""

    def __init__(self, context: Context) -> None:
        """Look at the workspace of *context*."""
        self._context = context

    def overview(self, open_chat: str | None = None) -> Overview:
        """Return every story with its health, the latest first; *open_chat* is open in SillyTavern."""
        return show_overview(self._context, open_chat)

    def groups(self) -> GroupsShown:
        """Return what the groups are called."""
        return show_groups(self._context)

    def layout(self, chat: ChatMeant) -> LayoutShown:
        """Return the drawing of the story that *chat* belongs to."""
        return show_layout(self._context.resolve(chat), self._context)

    def messages(self, chat: ChatMeant, start: int = 0, count: int = 50) -> MessagesShown:
        """Return *count* messages from *start* on, each with whether a fork may be made there."""
        return show_messages(self._context.resolve(chat), self._context, start=start, count=count)

    def recap(self, chat: ChatMeant, at: int) -> RecapShown:
        """Return what the recaps say at a message."""
        return show_recap(self._context.resolve(chat), self._context, at=at)

    def preview(
        self,
        kind: str,
        chat: ChatMeant,
        *,
        at: int | None = None,
        name: str | None = None,
        swipe: int | None = None,
        show_last_scene: bool = False,
    ) -> Preview:
        """Return what a fork would come to; raises ``ForkBlocked`` when it would be refused."""
        address = self._context.resolve(chat)
        return show_preview(
            kind, address, self._context, at=at, name=name, swipe=swipe, show_last_scene=show_last_scene
        )

    def where(self, chat: ChatMeant, at: Sequence[int]) -> Where:
        """Return whether a fork may be made at each of some messages."""
        return show_where(self._context.resolve(chat), self._context, at=at)

    def made(self, request: str) -> MadeShown:
        """Return what became of the *request* for a fork, for whoever has lost the answer."""
        return show_made(request, self._context)


__all__ = [
    "GroupsShown", "LayoutShown", "MadeShown", "MessagesShown", "Overview", "Preview", "RecapShown", "Views", "Where",
]  # fmt: skip
