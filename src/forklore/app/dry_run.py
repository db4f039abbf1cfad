"""What an operation would do: the one answer of every dry run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.model.finding import Report
from forklore.model.plan import Plan


@dataclass(frozen=True, slots=True)
class DryRun:
    """A plan that was made and not applied."""

    plan: Plan
    report: Report

    def to_json(self) -> dict[str, Any]:
        """Return the plan as ``--dry-run`` shows it."""
        return self.plan.to_json()
