"""What was found in a story: findings, and the report of the requirements before a fork."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from forklore import texts
from forklore.model.fact import Params


class Severity(Enum):
    """How bad a finding is; only an error blocks, and a note is nothing bad."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem found in a story: a code, what it is about, and the repairs that are offered."""

    code: str
    severity: Severity
    params: Params = field(default_factory=dict, hash=False)
    repairs: tuple[str, ...] = ()

    def part(self, part: str, language: str = "en") -> str:
        """Return one part of what is told: ``message``, ``why``, ``details``, ``action`` or ``steps``."""
        return texts.part_of(f"finding.{self.code}", part, self.params, language)

    @property
    def message(self) -> str:
        """What is wrong, in one line."""
        return self.part("message")

    @property
    def action(self) -> str:
        """What the user can do about it, in one line."""
        return self.part("action")

    @property
    def details(self) -> str:
        """Why it matters and what it is about; several lines where something is listed."""
        return "\n".join(text for text in (self.part("why"), self.part("details")) if text)

    @property
    def steps(self) -> tuple[str, ...]:
        """How to do what ``action`` says, one step after the other; empty where it is plain."""
        return tuple(self.part("steps").splitlines())

    def to_json(self) -> dict[str, Any]:
        """Return the one shape of every error, warning and finding."""
        return {
            "code": self.code,
            "params": dict(self.params),
            "severity": self.severity.value,
            "message": self.message,
            "action": self.action,
            "details": self.details,
            "repairs": list(self.repairs),
        }


class Located(NamedTuple):
    """A finding and where it is: a chat, or a path in the workspace."""

    finding: Finding
    chat: str | None = None
    path: str | None = None
    group: str | None = None
    """The group that should list the chat."""

    @property
    def where(self) -> str:
        """The chat or the path."""
        return self.chat or self.path or ""

    def to_json(self) -> dict[str, Any]:
        """Return the finding with its place, as ``doctor`` shows it."""
        place = {"chat": self.chat} if self.chat else {"path": self.path}
        return {**self.finding.to_json(), **place}


class ReportState(NamedTuple):
    """What each requirement saw, in the words of the validation result."""

    queue_empty: bool = True
    has_scene_break: bool = False
    has_scene_recap: bool = False
    has_running_recap: bool = False
    message_index: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the ``state`` object of a report."""
        return {
            "queueEmpty": self.queue_empty,
            "hasSceneBreak": self.has_scene_break,
            "hasSceneRecap": self.has_scene_recap,
            "hasRunningRecap": self.has_running_recap,
            "messageIndex": self.message_index,
        }


class Report(NamedTuple):
    """Every requirement held against one chat at one message."""

    chat: str
    at: int | None
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    state: ReportState = ReportState()
    notes: tuple[Finding, ...] = ()
    """What is neither wrong nor worth a warning."""

    @property
    def valid(self) -> bool:
        """Whether a fork may be made."""
        return not self.errors

    def to_json(self) -> dict[str, Any]:
        """Return the validation result with the chat and message it speaks of."""
        return {
            "chat": self.chat,
            "at": self.at,
            "valid": self.valid,
            "errors": [finding.to_json() for finding in self.errors],
            "warnings": [finding.to_json() for finding in self.warnings],
            "notes": [finding.to_json() for finding in self.notes],
            "state": self.state.to_json(),
        }
