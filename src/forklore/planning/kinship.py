"""Kinship: where a timeline parted from those it shares its story or its lorebook with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from forklore.channels.splitting import Kin
from forklore.channels.witnesses import Witness, last_in_common
from forklore.model.timeline import Timeline


def kin_of(timeline: Timeline, witnesses: Mapping[str, Witness], timelines: Sequence[Timeline]) -> Kin:
    """Return the kin of a timeline that is among the *witnesses* and has at least one message.

    Where it was forked is what the tree knows, else what the messages tell. When nothing tells, its own last message
    stands for it, and whatever nobody else can be shown to have written may be its own.
    """
    subject = witnesses[timeline.chat]
    parent = witnesses.get(timeline.parent) if timeline.parent else None
    known = timeline.at
    if known is None and parent is not None:
        common = last_in_common(subject.text, parent.text)
        known = common if common >= 0 else None
    at = subject.last if known is None else min(known, subject.last)

    def seen_by_subject(witness: Witness) -> Witness:
        shared = at if witness is parent and known is not None else last_in_common(subject.text, witness.text)
        return replace(witness, shared=shared)

    relatives = {chat: seen_by_subject(witness) for chat, witness in witnesses.items() if chat != timeline.chat}
    return Kin(
        replace(subject, shared=at),
        at,
        gone_on=known is None or subject.last > known,
        relatives=tuple(relatives.values()),
        parent=relatives.get(timeline.parent) if timeline.parent else None,
        children=frozenset(each.chat.partition("/")[2] for each in timelines if each.parent == timeline.chat),
    )
