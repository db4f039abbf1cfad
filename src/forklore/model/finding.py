"""What was found in a story: findings, and the report of the requirements before a fork."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from forklore.printable import printable


class Severity(Enum):
    """How bad a finding is; only an error blocks."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem found in a story, with what the user can do about it.

    Each text is one line whatever names are in it; what it speaks of may be *listed*, one line each.
    """

    code: str
    severity: Severity
    message: str
    action: str = ""
    details: str = ""
    repairs: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("message", "action", "details"):
            text = getattr(self, name)
            if not text.isprintable():
                object.__setattr__(self, name, printable(text))
        object.__setattr__(self, "listed", tuple(map(printable, self.listed)))

    @property
    def lines(self) -> tuple[str, ...]:
        """The details, and then what is listed."""
        return (self.details, *self.listed) if self.details else self.listed

    def to_json(self) -> dict[str, Any]:
        """Return the one shape of every error, warning and finding."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "action": self.action,
            "details": "\n".join(self.lines),
            "repairs": list(self.repairs),
        }


@dataclass(frozen=True, slots=True)
class Located:
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


@dataclass(frozen=True, slots=True)
class ReportState:
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


@dataclass(frozen=True, slots=True)
class Report:
    """Every requirement held against one chat at one message."""

    chat: str
    at: int | None
    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    state: ReportState = field(default_factory=ReportState)

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
            "state": self.state.to_json(),
        }
