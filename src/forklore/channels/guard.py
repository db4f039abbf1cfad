"""The guard on a fork in the making: what would name the family, and is re-pointed by no row and no channel."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from forklore.adapters.guard import ENTRY, METADATA, Naming, in_entries, in_message, in_metadata
from forklore.channels.cut import Earlier
from forklore.channels.extensions import Extended
from forklore.channels.lorebook import clone_of
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.fact import some
from forklore.model.finding import Finding, Severity
from forklore.model.plan import Edit, JsonPath

REPAIRS = ("re-point", "leave-out", "accept")


def cut(parent: TimelineState, point: ForkPoint, earlier: Earlier, known: Collection[str]) -> Cut:
    """Return the places that would go on naming the parent, or another one of its family."""
    found = [naming for naming in _namings(parent, point, known) if not _is_changed(naming, parent, point, earlier)]
    return Cut(tuple(found), findings=tuple(told(found, case="fork")))


def _namings(parent: TimelineState, point: ForkPoint, known: Collection[str]) -> Iterator[Naming]:
    yield from in_metadata(parent.metadata, parent.family, known)
    with suppress(ChatDamaged):  # told where the line is needed
        yield from in_message(parent.chat.message(0), parent.family) if parent.family else ()
    own = own_names(parent)
    for book in parent.books:
        clone = clone_of(book, parent, point)
        if book.content is not None and clone is not None:
            yield from in_entries(book.content, own, clone)


def own_names(timeline: TimelineState) -> frozenset[str]:
    """Return what a timeline itself, its parent and its lorebooks are called."""
    above = timeline.metadata.get("main_chat")
    books = (book.name for book in timeline.books)
    return frozenset((timeline.name, *books, *((above,) if isinstance(above, str) and above else ())))


def _is_changed(naming: Naming, parent: TimelineState, point: ForkPoint, earlier: Earlier) -> bool:
    """Whether the fork has something else in that place, or the place not at all."""
    if naming.where == METADATA:
        edits: Iterable[Edit] = (edit for cut in earlier.values() for edit in cut.edits)
    elif naming.where == ENTRY:
        edits = _edits_of_entries(naming, parent, point, earlier)
    else:
        extended: Extended = earlier["extensions"].value
        edits = extended.messages.get(0, ())
    return any(_leads_to(edit.path, naming.path) for edit in edits)


def _edits_of_entries(naming: Naming, parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Iterable[Edit]:
    if naming.book == point.clone_name:
        edits: Iterable[Edit] = earlier["lorebook"].value.entries.edits
        return edits
    del parent
    return next((each.book.entries.edits for each in earlier["more_lorebooks"].value if each.name == naming.book), ())


def _leads_to(path: JsonPath, place: JsonPath) -> bool:
    return place[: len(path)] == path


def told(found: Iterable[Naming], case: str = "") -> Iterator[Finding]:
    """Yield what there is to say about names of the family, one finding for all of them."""
    namings = list(found)
    if namings:
        places, more = some([{"place": each.place, "name": each.name} for each in namings])
        params = {"count": len(namings), "places": places, "more": more, **({"case": case} if case else {})}
        yield Finding("NAMES_PARENT", Severity.WARNING, params, REPAIRS)
