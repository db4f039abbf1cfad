"""Splitting a lorebook that several timelines wrote into: which entries one of them can account for.

What a timeline has is what it had when it parted from its parent, and what its own messages have made since. An entry
that can be shown to come from messages which the timeline does not have is left out; where nothing tells, a timeline
that has gone on keeps it, and it is named: never may a timeline lose what it wrote itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forklore.attribution.witnesses import POSSIBLE, Account, Accounts, Trace, Work, terms_of, wrote
from forklore.channels.registry import registry_lines
from forklore.formats.lorebook_json import EntryKey, Lorebook
from forklore.model.fact import Fact

BASE, OWN, LIVE = "base", "own", "live"
"""Which state of an entry is taken: as it was when the timelines parted, as the timeline's last snapshot, as it is."""


@dataclass(frozen=True)
class Kin:
    """A timeline and those it shared its lorebook with."""

    subject: Account
    """The timeline in question."""
    at: int
    """The last message it has in common with its parent."""
    gone_on: bool
    """Whether it may have written something since; also when nobody knows where it parted from its parent."""
    accounts: Accounts
    """What it and the others know."""
    parent: Account | None = None
    children: frozenset[str] = frozenset()
    """The names of the chats that were forked from it."""

    def shared_with(self, other: Account) -> int:
        """Return the last message that it has in common with another timeline, -1 for none."""
        return self.accounts.shared(self.subject, other)


class Share(NamedTuple):
    """What the timeline gets of one entry."""

    uid: Any
    comment: str
    keeps: bool
    because: Fact
    version: str = LIVE
    in_doubt: bool = False
    """It is kept, although it may come from another timeline."""


@dataclass(frozen=True)
class Split:
    """The whole book, entry by entry; internal entries follow from the others."""

    base: Work | None
    """The last snapshot from before the timelines parted."""
    shares: Mapping[EntryKey, Share] = field(default_factory=dict)

    @property
    def left_out(self) -> tuple[Share, ...]:
        """The entries that the timeline does not get."""
        return tuple(share for share in self.shares.values() if not share.keeps)

    @property
    def in_doubt(self) -> tuple[Share, ...]:
        """The entries that are kept because nothing tells whose they are."""
        return tuple(share for share in self.shares.values() if share.keeps and share.in_doubt)


def split_book(book: Lorebook, kin: Kin) -> Split:
    """Say of every entry whether the timeline gets it, and in which state."""
    base = _base(kin)
    known = base.snapshot if base else {}
    live = {key: entry for key, (_, entry) in book.live_entries.items()}
    registered = {(line.uid, line.name) for line in registry_lines(book.outline.registry_entries)}
    shares = {}
    for key in (*known, *(key for key in live if key not in known)):
        if not key[1].startswith("_"):
            before, now = known.get(key), live.get(key)
            question = _Question(kin, base is not None, key, before, now, key in registered)
            shares[key] = question.answer()
    return Split(base, shares)


def _base(kin: Kin) -> Work | None:
    """Return the last snapshot from before the timelines parted that cannot hold the future.

    Of those that the timeline's own scenes let us trust, one that was taken later than a version of a scene which only
    the parent has may hold it all the same.
    """
    later = kin.parent.works if kin.parent else ()
    earliest = min((time for work in later if work.message > kin.at for time in work.times), default=None)
    for work in reversed([work for work in kin.subject.works if work.snapshot and work.message <= kin.at]):
        if work.taken is not None and (earliest is None or work.taken <= earliest):
            return work
    return None


class _Question(NamedTuple):
    """Whether a timeline gets one entry."""

    kin: Kin
    has_base: bool
    key: EntryKey
    before: Mapping[str, Any] | None
    """The entry when the timelines parted."""
    now: Mapping[str, Any] | None
    is_registered: bool
    """Whether it was made by ST-Auto-Recap, and not by hand."""

    def answer(self) -> Share:
        if self.before is not None:
            return self._of_both(self.before)
        if self._own_scenes_list_it():
            return self._written_by_itself()
        if self.has_base and not self.kin.gone_on:
            return self._gets_not(wrote("later"))
        return self._written_since()

    # --- what was there when the timelines parted -----------------------------------------------------------------

    def _of_both(self, before: Mapping[str, Any]) -> Share:
        elsewhere = self._made_elsewhere()
        if elsewhere and elsewhere.is_listed and not self._ever_listed():
            # The snapshot was taken when another timeline had written into the book already.
            if not self._is_mentioned():
                return self._gets_not(elsewhere.because)
            return self._gets(wrote("others", reason=elsewhere.because), BASE, in_doubt=True)
        if self.kin.gone_on and self._own_scenes_list_it():
            return self._written_by_itself()
        by_hand = self.now is not None and _reads_otherwise(before, self.now) and not self._others_touch()
        if self.kin.gone_on and by_hand:
            return self._gets(wrote("by_hand"), in_doubt=True)
        return self._gets(wrote("before"), BASE)

    # --- what came later ------------------------------------------------------------------------------------------

    def _written_by_itself(self) -> Share:
        if self._others_touch():
            return self._gets(wrote("both"), OWN, in_doubt=True)
        return self._gets(wrote("own"))

    def _written_since(self) -> Share:
        """Decide on an entry that no snapshot from before the parting and no scene of the timeline itself knows."""
        if elsewhere := self._made_elsewhere():
            # A scene that lists the entry is sure. A snapshot is not: it holds what any timeline has written by then.
            sure = self.has_base if elsewhere.is_listed else not self.kin.gone_on
            if sure or not (self._is_mentioned() or self._may_be_by_hand(elsewhere)):
                return self._gets_not(elsewhere.because)
            return self._gets(wrote("others", reason=elsewhere.because), in_doubt=True)
        trace = self.kin.subject.first_trace(self.key)
        if trace and trace.is_listed and trace.message <= self.kin.at:
            return self._gets(trace.because)
        other = None if self._is_mentioned() else self._mentioned_elsewhere()
        if other and self.is_registered:
            return self._gets_not(other)
        return self._gets(other or wrote("unknown"), in_doubt=self.has_base or other is not None)

    def _may_be_by_hand(self, elsewhere: Trace) -> bool:
        return not elsewhere.is_listed and not self.is_registered

    # --- evidence -------------------------------------------------------------------------------------------------

    def _own_scenes_list_it(self) -> bool:
        return self.kin.subject.lists(self.key, after=self.kin.at)

    def _ever_listed(self) -> bool:
        return self.kin.subject.lists(self.key, after=-1)

    def _others_touch(self) -> bool:
        others = (other for other in self.kin.accounts.listing(self.key) if other is not self.kin.subject)
        return any(other.lists(self.key, after=self.kin.shared_with(other)) for other in others)

    def _made_elsewhere(self) -> Trace | None:
        """Return where another timeline made the entry, in messages that this one has not."""
        known = [
            (other, trace) for other, trace in self.kin.accounts.knowing(self.key) if other is not self.kin.subject
        ]
        inside = [trace for other, trace in known if trace.message <= self.kin.shared_with(other)]
        outside = [trace for other, trace in known if trace.message > self.kin.shared_with(other)]
        listed = [trace for trace in outside if trace.is_listed]
        # A snapshot proves less than a scene: it may have been taken when others had written into the book already.
        if any(trace.is_listed for trace in inside) or (inside and not listed):
            return None
        return next(iter([*listed, *(trace for trace in outside if trace.confidence != POSSIBLE)]), None)

    def _terms(self) -> tuple[str, ...]:
        named, keys = terms_of(self.now or self.before or {})
        return (*named, *keys)

    def _is_mentioned(self) -> bool:
        return self.kin.accounts.mentions(self.kin.subject, self._terms())

    def _mentioned_elsewhere(self) -> Fact | None:
        for other, numbers in self.kin.accounts.mentioning(self._terms()):
            shared = self.kin.shared_with(other)
            message = next((number for number in numbers if number > shared), None)
            if other is not self.kin.subject and message is not None:
                name = other.chat.partition("/")[2]
                return wrote("mentioned", chat=name, message=message)
        return None

    # --- answers --------------------------------------------------------------------------------------------------

    def _gets(self, because: Fact, version: str = LIVE, *, in_doubt: bool = False) -> Share:
        version = BASE if self.now is None and self.before is not None and version == LIVE else version
        return Share(*self.key, keeps=True, because=because, version=version, in_doubt=in_doubt)

    def _gets_not(self, because: Fact) -> Share:
        return Share(*self.key, keeps=False, because=because)


def _reads_otherwise(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether an entry says something else than before; its place in the order is changed by every scene."""
    return any(before.get(key) != now.get(key) for key in ("content", "key", "disable", "constant"))


__all__ = ["BASE", "LIVE", "OWN", "Kin", "Share", "Split", "split_book"]
