"""Verifying a timeline: is it as it was recorded, its own, and whole? Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.channels.extensions import settings_of
from forklore.checks import verify as checks
from forklore.disk.gather import looked_through, open_timeline
from forklore.formats.chat_facts import links_of
from forklore.gathered.timeline import TimelineState
from forklore.model.address import ChatAddress
from forklore.model.finding import Finding, Severity

AS_RECORDED, EDITED, UNKNOWN = "as_recorded", "edited", "unknown"


@dataclass(frozen=True, slots=True)
class Verified:
    """What verifying a timeline found."""

    chat: str
    kind: str
    findings: tuple[Finding, ...]
    facts: dict[str, Any]
    """What the recorded digests prove about the fork point, of the messages and of each lorebook: no errors."""
    notes: tuple[Finding, ...] = ()
    """What is neither wrong nor worth a warning."""
    settings: tuple[dict[str, Any], ...] = ()
    """What SillyTavern's page copies in its settings, unless it is there."""

    @property
    def ok(self) -> bool:
        """Whether the timeline can be trusted; a warning is no error."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the answer of ``verify``."""
        return {
            "chat": self.chat,
            "kind": self.kind,
            "ok": self.ok,
            "findings": [finding.to_json() for finding in self.findings],
            "notes": [finding.to_json() for finding in self.notes],
            "facts": self.facts,
            "settings": list(self.settings),
        }


def verify(address: ChatAddress, context: Context) -> Verified:
    """Compare a timeline with its record and with the rest of the workspace."""
    index = context.index(of=address)
    with open_timeline(context.workspace, address) as opened:
        timeline = looked_through(opened, index, context.workspace, prove=True)
        found = checks.verify(timeline, index, (*checks.OPENING, *checks.ON_REQUEST))
        return Verified(
            str(address),
            timeline.kind,
            tuple(finding for finding in found if finding.severity is not Severity.NOTE),
            _facts(timeline),
            tuple(finding for finding in found if finding.severity is Severity.NOTE),
            settings_of(timeline),
        )


def _facts(timeline: TimelineState) -> dict[str, Any]:
    """Return what the recorded digests prove; they are of all messages and of a whole book, so not what changed."""
    book = timeline.book_name
    books = {} if book is None else {book: {"state": _state_of_book(timeline), "changed": []}}
    return {"messages": {"state": _state_of_messages(timeline), "changed": []}, "lorebooks": books}


def _state_of_messages(timeline: TimelineState) -> str:
    then, now, at = timeline.digests.get("messages"), timeline.digests_now.get("messages"), timeline.forked_at
    if not then or at is None:
        return UNKNOWN
    if not timeline.chat.has(at):
        return EDITED  # some were deleted
    if now is None:
        return UNKNOWN
    if now == then:
        return AS_RECORDED
    # A link to a fork that was made from one of them is enough to change the digest, and may be all.
    return UNKNOWN if any(link.message <= at for link in links_of(timeline.chat)) else EDITED


def _state_of_book(timeline: TimelineState) -> str:
    now, record = timeline.digests_now.get("lorebook"), timeline.record or {}
    if now is None or record.get("cloned_lorebook_name", timeline.book_name) != timeline.book_name:
        return UNKNOWN  # nothing was recorded of this book
    return AS_RECORDED if now == timeline.digests.get("lorebook") else EDITED


__all__ = ["Verified", "verify"]
