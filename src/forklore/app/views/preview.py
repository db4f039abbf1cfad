"""The preview: what a fork would come to, before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.check import ForkRequest
from forklore.app.context import Context
from forklore.app.dry_run import planned_fork
from forklore.app.fork import ForkTold, told_of_fork
from forklore.channels.running_recap import read_running_recap
from forklore.model.address import ChatAddress
from forklore.model.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(ForkTold):
    """A fork that was planned and not made."""

    versions_kept: tuple[int, ...]
    """The numbers of the running recaps that go along."""
    versions_left_out: tuple[int, ...]
    plan: Plan

    def to_json(self) -> dict[str, Any]:
        """Return the preview as the page gets it."""
        return {
            **ForkTold.to_json(self),
            "versions_kept": list(self.versions_kept),
            "versions_left_out": list(self.versions_left_out),
            **self.plan.to_json(),
        }


def show_preview(
    kind: str,
    address: ChatAddress,
    context: Context,
    *,
    at: int | None,
    name: str | None,
    swipe: int | None,
    show_last_scene: bool,
) -> Preview:
    """Return what a fork would come to; raises ``ForkBlocked`` when it would be refused."""
    request = ForkRequest(kind, address, at, name, swipe, show_last_scene=show_last_scene)
    with planned_fork(request, context) as (timeline, draft, report, plan):
        before = read_running_recap(timeline.metadata).numbers
        kept: tuple[int, ...] = draft.cuts["running_recap"].value.numbers
        return Preview(
            **told_of_fork(draft, report, timeline),
            versions_kept=kept,
            versions_left_out=tuple(number for number in before if number not in kept),
            plan=plan,
        )
