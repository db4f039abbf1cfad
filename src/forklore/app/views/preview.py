"""The preview: what a fork would come to, before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.forking import ForkRequest, planned_fork
from forklore.app.means import Means
from forklore.channels.running_recap import read_running_recap
from forklore.errors import BadRequest
from forklore.model.address import ChatAddress
from forklore.model.finding import Finding
from forklore.model.plan import Plan

_KINDS = ("checkpoint", "branch")


@dataclass(frozen=True, slots=True)
class Preview:
    """A fork that was planned and not made."""

    kind: str
    chat: str
    parent: str
    at: int
    messages: int
    lorebook: str | None
    original_lorebook: str | None
    entries: int
    lorebook_source: str
    warnings: tuple[Finding, ...]
    carried_from_present: tuple[str, ...]
    left_out: tuple[str, ...]
    versions_kept: tuple[int, ...]
    """The numbers of the running recaps that go along."""
    versions_left_out: tuple[int, ...]
    plan: Plan

    def to_json(self) -> dict[str, Any]:
        """Return the preview as the page gets it."""
        return {
            "kind": self.kind,
            "chat": self.chat,
            "parent": self.parent,
            "at": self.at,
            "messages": self.messages,
            "lorebook": self.lorebook,
            "original_lorebook": self.original_lorebook,
            "entries": self.entries,
            "lorebook_source": self.lorebook_source,
            "warnings": [finding.to_json() for finding in self.warnings],
            "carried_from_present": list(self.carried_from_present),
            "left_out": list(self.left_out),
            "versions_kept": list(self.versions_kept),
            "versions_left_out": list(self.versions_left_out),
            **self.plan.to_json(),
        }


def show_preview(
    kind: str,
    address: ChatAddress,
    means: Means,
    *,
    at: int | None,
    name: str | None,
    swipe: int | None,
    show_last_scene: bool,
) -> Preview:
    """Return what a fork would come to; raises ``ForkBlocked`` when it would be refused."""
    if kind not in _KINDS:
        raise BadRequest(f"There is no fork of the kind {kind!r}; there are {' and '.join(_KINDS)}.")
    request = ForkRequest(kind, address, at, name, swipe, show_last_scene=show_last_scene)
    with planned_fork(request, means) as (read, draft, report, plan):
        before = read_running_recap(read.parent.metadata).numbers
        kept: tuple[int, ...] = draft.cuts["running_recap"].value.numbers
        point = draft.point
        return Preview(
            kind=kind,
            chat=str(address.sibling(point.chat_name)),
            parent=str(address),
            at=point.at,
            messages=point.at + 1,
            lorebook=point.clone_name,
            original_lorebook=read.book_name,
            entries=len(draft.book.outline),
            lorebook_source=draft.book.source,
            warnings=report.warnings,
            carried_from_present=tuple(draft.carried),
            left_out=tuple(draft.left_out),
            versions_kept=kept,
            versions_left_out=tuple(number for number in before if number not in kept),
            plan=plan,
        )
