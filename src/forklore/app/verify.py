"""Verifying a timeline: is it as it was recorded, its own, and whole? Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.checks import verify as checks
from forklore.disk.gather import looked_through, open_timeline
from forklore.formats.chat_facts import links_of
from forklore.gathered.timeline import TimelineState
from forklore.model.address import ChatAddress
from forklore.model.finding import Finding, Severity


@dataclass(frozen=True, slots=True)
class Verified:
    """What verifying a timeline found."""

    chat: str
    kind: str
    findings: tuple[Finding, ...]
    facts: dict[str, str]
    """What the recorded digests prove about the fork point, in words: no errors."""

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
            "facts": self.facts,
        }


def verify(address: ChatAddress, context: Context) -> Verified:
    """Compare a timeline with its record and with the rest of the workspace."""
    index = context.index(of=address)
    with open_timeline(context.workspace, address) as opened:
        timeline = looked_through(opened, index, context.workspace, prove=True)
        return Verified(str(address), timeline.kind, checks.verify(timeline, index), _facts(timeline))


def _facts(timeline: TimelineState) -> dict[str, str]:
    """Return what the recorded digests prove; what was never recorded is not spoken of."""
    then, now = timeline.digests, timeline.digests_now
    facts: dict[str, str] = {}
    if then.get("messages") and timeline.forked_at is not None:
        facts["messages"] = _messages_fact(timeline, timeline.forked_at)
    if "lorebook" in now:
        facts["lorebook"] = "as cloned" if now["lorebook"] == then["lorebook"] else "has gone on since the fork"
    return facts


def _messages_fact(timeline: TimelineState, at: int) -> str:
    if not timeline.chat.has(at):
        return f"fewer than at the fork: {timeline.chat.message_count} of {at + 1}"
    if "messages" not in timeline.digests_now:
        return "changed while they were read"
    if timeline.digests_now["messages"] == timeline.digests["messages"]:
        return f"0 to {at} as they were at the fork"
    if any(link.message <= at for link in links_of(timeline.chat)):
        return f"0 to {at} are not byte for byte as at the fork; a link to a fork made from one of them is enough"
    return f"0 to {at} were edited since the fork"


__all__ = ["Verified", "verify"]
