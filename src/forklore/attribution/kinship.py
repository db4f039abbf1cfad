"""Kinship: where a timeline parted from those it shares its story or its lorebook with."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from forklore.attribution.splitting import Kin
from forklore.attribution.witnesses import Account, Accounts, SceneReader, last_in_common
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.gathered.timeline import TimelineState
from forklore.model.timeline import Timeline


def accounts_of(
    members: Sequence[Timeline], read: Mapping[str, TimelineState], sharing: Container[str], book: str | None
) -> Accounts:
    """Return what each of the *members* that was *read* knows of a lorebook; one that cannot be read knows nothing.

    Those *sharing* the book name it. Of the others, only the scenes that worked on it count: a clone goes on where its
    original ended, so scenes from before it was made name the original.
    """
    return Accounts(_accounts(members, read, sharing, book))


def _accounts(
    members: Sequence[Timeline], read: Mapping[str, TimelineState], sharing: Container[str], book: str | None
) -> Iterator[Account]:
    reader = SceneReader()
    for member in members:
        timeline, parent = read.get(member.chat), read.get(member.parent or "")
        if timeline is None or timeline.damage:
            continue
        try:
            works = reader.works_of(timeline.chat, None if member.chat in sharing else book)
        except ChatDamaged:
            continue
        yield Account(member.chat, timeline.chat, works, parent=member.parent, parted=_parted(member, timeline, parent))


def _parted(member: Timeline, timeline: TimelineState, parent: TimelineState | None) -> int | None:
    """Return the last message that a timeline has in common with its parent: as the tree knows, else as both tell."""
    if member.at is not None:
        return min(member.at, timeline.last)
    common = last_in_common(timeline.chat, parent.chat) if parent is not None else -1
    return common if common >= 0 else None


def kin_of(timeline: Timeline, accounts: Accounts, timelines: Sequence[Timeline]) -> Kin | None:
    """Return the kin of a timeline; None when it gave no account or has no message.

    When nothing tells where it was forked, its own last message stands for that, and whatever nobody else can be shown
    to have written may be its own.
    """
    subject = accounts.get(timeline.chat)
    if subject is None or subject.last < 0:
        return None
    known = subject.parted
    return Kin(
        subject,
        subject.last if known is None else known,
        gone_on=known is None or subject.last > known,
        accounts=accounts,
        parent=accounts.get(timeline.parent),
        children=frozenset(each.chat.partition("/")[2] for each in timelines if each.parent == timeline.chat),
    )
