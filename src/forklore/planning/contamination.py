"""The contamination report: whose messages can have produced each entry of a lorebook that timelines shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forklore.channels.lorebook import live_entries
from forklore.channels.splitting import split_book
from forklore.channels.witnesses import CERTAIN, LIKELY, POSSIBLE, EntryKey, Witness, terms_of, words_of
from forklore.formats.lorebook_json import Lorebook
from forklore.model.timeline import Timeline
from forklore.planning.kinship import kin_of


@dataclass(frozen=True, slots=True)
class Producer:
    """A timeline that can have produced an entry."""

    chat: str
    confidence: str
    """``certain``, ``likely`` or ``possible``."""
    because: str

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as the report shows it."""
        return {"chat": self.chat, "confidence": self.confidence, "because": self.because}


@dataclass(frozen=True, slots=True)
class EntryOrigin:
    """Where an entry comes from, and where isolating every fork would put it."""

    uid: Any
    comment: str
    produced_by: tuple[Producer, ...]
    goes_to: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the entry as the report shows it."""
        return {
            "uid": self.uid,
            "comment": self.comment,
            "produced_by": [producer.to_json() for producer in self.produced_by],
            "goes_to": list(self.goes_to),
        }


def origins(
    book: Lorebook,
    sharing: Sequence[Timeline],
    to_isolate: Sequence[Timeline],
    witnesses: Mapping[str, Witness],
    timelines: Sequence[Timeline],
) -> tuple[EntryOrigin, ...]:
    """Say of each entry that is not internal who can have produced it, and who of those *sharing* the book gets it.

    Those *to_isolate* get what their split gives them; the others keep the book as it is.
    """
    by_chat = {timeline.chat: timeline for timeline in timelines}
    kin = {chat: kin_of(by_chat[chat], witnesses, timelines) for chat in witnesses if by_chat[chat].kind != "main"}
    splits = {timeline.chat: split_book(book, kin[timeline.chat]).shares for timeline in to_isolate}
    sources = [_Source(witness, kin[chat].at + 1 if chat in kin else 0) for chat, witness in witnesses.items()]
    entries = []
    for key, (_, entry) in live_entries(book).items():
        if key[1].startswith("_"):
            continue
        goes_to = (
            each.chat
            for each in sharing
            if each.chat not in splits or (key in splits[each.chat] and splits[each.chat][key].keeps)
        )
        entries.append(EntryOrigin(*key, tuple(_producers(key, entry, sources)), tuple(goes_to)))
    return tuple(entries)


class _Source:
    """The part of a timeline that its parent does not have."""

    def __init__(self, witness: Witness, since: int) -> None:
        self.chat = witness.chat
        self.witness, self.since = witness, since
        self.words = words_of(witness.text, since=since)


_RANK = {CERTAIN: 0, LIKELY: 1, POSSIBLE: 2}


def _producers(key: EntryKey, entry: Mapping[str, Any], sources: Sequence[_Source]) -> Iterator[Producer]:
    """Yield the timelines whose scenes know the entry; if none does, those whose messages speak of it."""
    known = [found for source in sources if (found := _by_scenes(key, source))]
    if not known:
        known = [found for source in sources if (found := _by_words(entry, source))]
    yield from sorted(known, key=lambda producer: _RANK[producer.confidence])


def _by_scenes(key: EntryKey, source: _Source) -> Producer | None:
    for work in source.witness.works:
        if work.message >= source.since and work.lists(key):
            because = f"the scene that ends at message {work.message} made it or merged into it"
            return Producer(source.chat, CERTAIN, because)
    trace = source.witness.first_trace(key)
    if trace is None or trace.message < source.since:
        return None
    return Producer(source.chat, trace.confidence, trace.because)


def _by_words(entry: Mapping[str, Any], source: _Source) -> Producer | None:
    named, keys = terms_of(entry)
    for terms, confidence, what in ((named, LIKELY, "its name"), (keys, POSSIBLE, "one of its keys")):
        if (message := source.words.first(terms)) is not None:
            return Producer(source.chat, confidence, f"{what} is first mentioned in message {message}")
    return None
