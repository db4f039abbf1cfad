"""The contamination report: whose messages can have produced each entry of a lorebook that timelines shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore import texts
from forklore.attribution.kinship import kin_of
from forklore.attribution.splitting import split_book
from forklore.attribution.witnesses import CERTAIN, LIKELY, POSSIBLE, Account, Accounts, terms_of, wrote
from forklore.formats.lorebook_json import EntryKey, Lorebook
from forklore.model.fact import Fact
from forklore.model.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Producer:
    """A timeline that can have produced an entry."""

    chat: str
    confidence: str
    """``certain``, ``likely`` or ``possible``."""
    because: Fact

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as the report shows it."""
        because = {"because": texts.words(self.because), "reason": self.because}
        return {"chat": self.chat, "confidence": self.confidence, **because}


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


class Kept(NamedTuple):
    """An entry, and who of those sharing the book gets it."""

    key: EntryKey
    entry: Mapping[str, Any]
    goes_to: tuple[str, ...]


def kept_entries(
    book: Lorebook,
    sharing: Sequence[Timeline],
    to_isolate: Sequence[Timeline],
    accounts: Accounts,
    timelines: Sequence[Timeline],
) -> list[Kept]:
    """Say of each entry that is not internal who of those *sharing* the book gets it; first those not everybody gets.

    Those *to_isolate* get what their split gives them; the others keep the book as it is.
    """
    kin = {timeline.chat: kin_of(timeline, accounts, timelines) for timeline in to_isolate}
    splits = {chat: split_book(book, each).shares for chat, each in kin.items() if each is not None}
    entries = []
    for key, (_, entry) in book.live_entries.items():
        if key[1].startswith("_"):
            continue
        goes_to = (
            each.chat
            for each in sharing
            if each.chat not in splits or (key in splits[each.chat] and splits[each.chat][key].keeps)
        )
        entries.append(Kept(key, entry, tuple(goes_to)))
    return sorted(entries, key=lambda kept: len(kept.goes_to) == len(sharing))


def origins(entries: Iterable[Kept], accounts: Accounts) -> Iterator[EntryOrigin]:
    """Say of each entry who can have produced it: all messages are searched for each."""
    sources = [account for account in accounts if account.last >= 0]
    for key, entry, goes_to in entries:
        yield EntryOrigin(*key, tuple(_producers(key, entry, sources)), goes_to)


_RANK = {CERTAIN: 0, LIKELY: 1, POSSIBLE: 2}


def _producers(key: EntryKey, entry: Mapping[str, Any], sources: Sequence[Account]) -> Iterator[Producer]:
    """Yield the timelines whose scenes know the entry; if none does, those whose messages speak of it."""
    known = [found for source in sources if (found := _by_scenes(key, source))]
    if not known:
        known = [found for source in sources if (found := _by_words(entry, source))]
    yield from sorted(known, key=lambda producer: _RANK[producer.confidence])


def _by_scenes(key: EntryKey, source: Account) -> Producer | None:
    for work in source.works:
        if work.message >= source.since and work.lists(key):
            return Producer(source.chat, CERTAIN, wrote("scene", message=work.message))
    trace = source.first_trace(key)
    if trace is None or trace.message < source.since:
        return None
    return Producer(source.chat, trace.confidence, trace.because)


def _by_words(entry: Mapping[str, Any], source: Account) -> Producer | None:
    named, keys = terms_of(entry)
    for terms, confidence, what in ((named, LIKELY, "name"), (keys, POSSIBLE, "key")):
        if numbers := source.mentions(terms):
            return Producer(source.chat, confidence, wrote(what, message=numbers[0]))
    return None
