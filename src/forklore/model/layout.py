"""The drawing of a story: a row for each timeline, a column for each message at which something happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from forklore.model.timeline import Story, Timeline


class Column(NamedTuple):
    """A message at which a fork leaves, or a timeline begins or ends."""

    message: int
    collapsed: int
    """How many messages lie between the column before and this one: a straight run."""


class Lane(NamedTuple):
    """One timeline, drawn as one row from a column to another."""

    timeline: Timeline
    row: int
    parent_row: int | None
    """The row it leaves; that of an elder ancestor where its parent itself has the message only inherited."""
    start: int
    """The column of the message it leaves at; the first one for the main chat."""
    end: int
    """The column of its last message."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of a story, from the first to the last, over their common columns."""

    main: str
    columns: tuple[Column, ...]
    lanes: tuple[Lane, ...]


class _Span(NamedTuple):
    first: int
    last: int


def lay_out(story: Story) -> Layout:
    """Return the drawing of *story*: of the forks that leave one row, the later stand nearer, so that no line crosses.

    A fork of which nobody knows where it left, or whose parent is shorter by now, leaves where the parent ends at the
    latest.
    """
    spans: dict[str, _Span] = {}
    leaves: dict[str, str] = {}
    """Each fork, and the timeline whose row it leaves."""
    for timeline in story.timelines:
        last = max(timeline.messages - 1, 0)
        if timeline.parent is None or timeline.parent not in spans:
            spans[timeline.chat] = _Span(0, last)
            continue
        above = timeline.parent
        at = max(0, min(last, spans[above].last) if timeline.at is None else timeline.at)
        while at < spans[above].first:  # its parent inherited the message, so it is drawn on an elder row
            above = leaves[above]
        first = min(at, spans[above].last)
        spans[timeline.chat] = _Span(first, max(first, last))
        leaves[timeline.chat] = above

    columns = _columns(spans)
    place = {column.message: number for number, column in enumerate(columns)}
    rows = {timeline.chat: row for row, timeline in enumerate(_in_rows(story, spans, leaves))}
    lanes = [
        Lane(
            timeline,
            rows[timeline.chat],
            rows[leaves[timeline.chat]] if timeline.chat in leaves else None,
            place[spans[timeline.chat].first],
            place[spans[timeline.chat].last],
        )
        for timeline in story.timelines
    ]
    return Layout(story.main, columns, tuple(sorted(lanes, key=lambda lane: lane.row)))


def _columns(spans: dict[str, _Span]) -> tuple[Column, ...]:
    messages = sorted({message for span in spans.values() for message in span})
    return tuple(
        Column(message, message - before - 1) for before, message in zip([-1, *messages], messages, strict=False)
    )


def _in_rows(story: Story, spans: dict[str, _Span], leaves: dict[str, str]) -> list[Timeline]:
    """Return the timelines from the first row to the last: each one, then what leaves it, the latest first."""
    forks: dict[str | None, list[Timeline]] = {}
    for timeline in story.timelines:
        forks.setdefault(leaves.get(timeline.chat), []).append(timeline)
    for siblings in forks.values():
        siblings.sort(key=lambda timeline: spans[timeline.chat].first)  # what comes last is taken first
    waiting = forks.get(None, [])[::-1]
    ordered = []
    while waiting:
        timeline = waiting.pop()
        ordered.append(timeline)
        waiting.extend(forks.get(timeline.chat, ()))
    return ordered


__all__ = ["Column", "Lane", "Layout", "lay_out"]
