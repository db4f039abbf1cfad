"""A finding and what could be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.model.finding import Finding


@dataclass(frozen=True, slots=True)
class RepairOffered:
    """One repair of a finding, with what it would change."""

    name: str
    does: str
    plan: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the repair as ``repair`` lists it."""
        return {
            "repair": self.name,
            "does": self.does,
            "plan": [{"action": action, "path": path} for action, path in self.plan],
        }


@dataclass(frozen=True, slots=True)
class Repairs:
    """A finding and its repairs, best first; with an operation, the one that was made."""

    chat: str
    finding: Finding
    offered: tuple[RepairOffered, ...]
    applied: str | None = None
    operation: str | None = None
    pending: tuple[str, ...] = ()
    """What could not be written any more after the finding was gone."""

    def to_json(self) -> dict[str, Any]:
        """Return the answer of ``repair``."""
        return {
            "chat": self.chat,
            "finding": self.finding.to_json(),
            "repairs": [offer.to_json() for offer in self.offered],
            "applied": self.applied,
            "operation": self.operation,
            "pending": list(self.pending),
        }
