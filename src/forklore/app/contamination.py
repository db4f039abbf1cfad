"""The contamination report of a story whose timelines share a lorebook; it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.kinship import family_of, witnesses_of
from forklore.app.means import Means
from forklore.app.reading import reading
from forklore.errors import BadRequest
from forklore.model.address import ChatAddress
from forklore.model.timeline import Timeline
from forklore.planning.contamination import EntryOrigin, origins


@dataclass(frozen=True, slots=True)
class Contamination:
    """Whose messages can have produced each entry of a lorebook, and how it would be split."""

    story: str
    """The address of the story's main chat."""
    book: str
    timelines: tuple[Timeline, ...]
    """Those that share the book."""
    entries: tuple[EntryOrigin, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the report as ``contamination`` shows it."""
        return {
            "story": self.story,
            "book": self.book,
            "timelines": [timeline.to_json() for timeline in self.timelines],
            "entries": [entry.to_json() for entry in self.entries],
        }


def contamination(address: ChatAddress, means: Means) -> Contamination:
    """Return where every entry of the timeline's lorebook comes from, and where isolating would put it."""
    with reading(means.workspace, address) as read:
        read.needs_header()
        book = read.parent.book
        if read.book_name is None or book is None:
            why = "names a lorebook that cannot be read" if read.book_name else "has no lorebook"
            raise BadRequest(f"{str(address)!r} {why}.")
        family = family_of(address, read.book_name, means)
        with witnesses_of(family, read, means.workspace) as witnesses:
            forks = [each for each in family.sharing if _would_be_split(each, family.sharing)]
            entries = origins(
                book,
                family.sharing,
                [each for each in forks if each.chat in witnesses and witnesses[each.chat].last >= 0],
                {chat: witness for chat, witness in witnesses.items() if witness.last >= 0},
                family.members,
            )
        return Contamination(family.story.main, read.book_name, family.sharing, entries)


def _would_be_split(timeline: Timeline, sharing: tuple[Timeline, ...]) -> bool:
    """Whether isolating the timeline would give it a part of the book: it is a fork, and not the book's owner."""
    return timeline.kind != "main" and timeline.record != "recorded" and len(sharing) > 1
