"""The contamination report of a story whose timelines share a lorebook; it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.attribution.kinship import accounts_of
from forklore.attribution.origins import EntryOrigin, kept_entries, origins
from forklore.disk.gather import open_timeline, open_timelines
from forklore.disk.workspace import ChatUnreadable
from forklore.errors import BadRequest
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.address import ChatAddress
from forklore.model.timeline import Timeline

MOST = 200
"""How many entries are shown at once at most, to somebody who does not ask for all."""


@dataclass(frozen=True, slots=True)
class Contamination:
    """Whose messages can have produced each entry of a lorebook, and how it would be split."""

    story: str
    """The address of the story's main chat."""
    book: str
    timelines: tuple[Timeline, ...]
    """Those that share the book."""
    total: int
    """How many entries there are."""
    apart: int
    """How many of them not every timeline would keep; these come first."""
    start: int
    entries: tuple[EntryOrigin, ...]
    """Those from *start* on that were asked for."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as ``contamination`` shows it."""
        return {
            "story": self.story,
            "book": self.book,
            "timelines": [timeline.to_json() for timeline in self.timelines],
            "total": self.total,
            "apart": self.apart,
            "start": self.start,
            "entries": [entry.to_json() for entry in self.entries],
        }


def contamination(address: ChatAddress, context: Context, *, start: int = 0, count: int | None = None) -> Contamination:
    """Return where the entries of the timeline's lorebook come from, and where isolating would put them.

    They are *count* from *start* on, or all; only of these it is searched who wrote them.
    """
    if count is not None and not 1 <= count <= MOST:
        raise BadRequest("entries_at_once", count=count, most=MOST)
    index = context.index(of=address, with_log=False)
    with open_timeline(context.workspace, address) as timeline:
        timeline.needs_header()
        story, book = index.story(address), timeline.book
        if timeline.book_name is None or book is None:
            raise BadRequest("lorebook_unreadable" if timeline.book_name else "no_lorebook", chat=str(address))
        if story is None:
            raise ChatUnreadable("unplaced", chat=str(address))
        users = [index.timeline(chat.address) for chat in index.users(timeline.book_name)]
        sharing = tuple(each for each in users if each is not None)
        members = (*story.timelines, *(each for each in sharing if each not in story.timelines))
        with open_timelines(context.workspace, [each.chat for each in members]) as opened:
            accounts = accounts_of(members, opened, {each.chat for each in sharing}, timeline.book_name)
            split = [each for each in sharing if _would_be_split(each, index)]
            kept = kept_entries(book, sharing, split, accounts, members)
            if not 0 <= start <= len(kept):
                raise BadRequest("no_entry", entry=start, count=len(kept))
            shown = kept[start:] if count is None else kept[start : start + count]
            entries = tuple(origins(shown, accounts))
        apart = sum(len(each.goes_to) < len(sharing) for each in kept)
        return Contamination(story.main, timeline.book_name, sharing, len(kept), apart, start, entries)


def _would_be_split(timeline: Timeline, index: WorkspaceIndex) -> bool:
    """Whether isolating the timeline would give it a part of the book: it is not the book's owner."""
    return bool(index.sharers(timeline.chat)) and not index.is_owner(timeline.chat)
