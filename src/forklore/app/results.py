"""What each use case returns: frozen values with one JSON shape for command line, service and log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from forklore.channels.queue import QueuedOperation
from forklore.errors import ForkloreError, Kind, LinkOutside
from forklore.log.operations import Operation
from forklore.model.finding import Finding, Located, Report
from forklore.model.plan import EditFile, LineEdit, Plan
from forklore.model.timeline import Story


class Result(Protocol):
    """What a use case returns."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape of the result."""


class ForkBlocked(ForkloreError):
    """The story breaks a requirement."""

    kind = Kind.BLOCKED

    def __init__(self, report: Report, kind: str) -> None:
        """Speak for every blocking finding of *report*."""
        only = report.errors[0] if len(report.errors) == 1 else None
        message = only.message if only else f"Cannot create {kind}: {len(report.errors)} requirements are not met."
        action = only.action if only else "Do what each of them says, then try again."
        super().__init__(message, action=action, findings=(*report.errors, *report.warnings))
        self.code = only.code if only else "FORK_BLOCKED"  # type: ignore[misc]  # the only error whose code varies
        if only and only.code == LinkOutside.code:
            self.kind = LinkOutside.kind  # type: ignore[misc]  # it is the folder that is wrong, not the story
        self.report = report


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkTold:
    """What a fork comes to, whether it was made or is only planned."""

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

    def to_json(self) -> dict[str, Any]:
        """Return what the contract shows of every fork."""
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
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkMade(ForkTold):
    """A fork that was made."""

    operation: str
    running_version: int | None = None
    running_scenes: int = 0
    combined_messages: int | None = None
    """How many messages the combined recap covers, None when there is none."""

    def to_json(self) -> dict[str, Any]:
        """Return the fork as the contract shows it."""
        return {**ForkTold.to_json(self), "operation": self.operation}


@dataclass(frozen=True, slots=True)
class Stories:
    """Every story of a workspace."""

    stories: tuple[Story, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stories as the contract shows them."""
        return {"stories": [story.to_json() for story in self.stories]}


@dataclass(frozen=True, slots=True)
class SceneShown:
    """One scene break of a timeline, and whether everything is ready for a fork there."""

    message: int
    name: str
    codes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the scene break as ``show`` shows it."""
        return {"message": self.message, "name": self.name, "ready": not self.codes, "codes": list(self.codes)}


@dataclass(frozen=True, slots=True)
class TimelineShown:
    """One timeline in detail."""

    chat: str
    kind: str
    parent: str | None
    at: int | None
    messages: int
    lorebook: str | None
    entries: int | None
    isolated: bool
    record: str
    running_current: int | None
    running_versions: tuple[dict[str, Any], ...]
    scenes: tuple[SceneShown, ...]
    children: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as ``show`` shows it."""
        return {
            "chat": self.chat,
            "kind": self.kind,
            "parent": self.parent,
            "at": self.at,
            "messages": self.messages,
            "lorebook": self.lorebook,
            "entries": self.entries,
            "isolated": self.isolated,
            "record": self.record,
            "running_recap": {"current_version": self.running_current, "versions": list(self.running_versions)},
            "scene_breaks": [scene.to_json() for scene in self.scenes],
            "children": list(self.children),
        }


@dataclass(frozen=True, slots=True)
class Status:
    """The diagnostic object of a timeline."""

    is_checkpoint: bool
    main_chat: str | None
    current_chat: str
    checkpoint_state: dict[str, Any] | None
    current_lorebook: str | None
    lorebook_match: bool | None
    running_recap_current_version: int | None
    running_recap_version_match: bool | None

    @property
    def valid(self) -> bool:
        """Whether the timeline has a record and is as it says."""
        return bool(self.checkpoint_state and self.lorebook_match and self.running_recap_version_match)

    def to_json(self) -> dict[str, Any]:
        """Return the object as the checkpoint status command shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class QueueShown:
    """The operation queue of a timeline's lorebook."""

    chat: str
    lorebook: str | None
    operations: tuple[QueuedOperation, ...]
    operation: str | None = None
    """The operation that cancelled some of them."""

    @property
    def idle(self) -> bool:
        """Whether nothing is waiting or running."""
        return not any(operation.is_busy for operation in self.operations)

    def to_json(self) -> dict[str, Any]:
        """Return the queue as ``queue`` shows it."""
        return {
            "chat": self.chat,
            "lorebook": self.lorebook,
            "idle": self.idle,
            "operations": [operation.to_json() for operation in self.operations],
            "operation": self.operation,
        }


def operation_told(operation: Operation, **more: Any) -> dict[str, Any]:
    """Return what everybody is told of an operation."""
    facts = {"kind": operation.kind, "chat": operation.chat, "when": operation.when}
    return {"id": operation.id, **operation.turn.to_json(), **facts, **more, "undoes": operation.undoes}


@dataclass(frozen=True, slots=True)
class LogShown:
    """The operations of a workspace, newest first."""

    operations: tuple[Operation, ...]
    undone: frozenset[str]
    findings: tuple[Located, ...] = ()
    """What the log has besides: files that are no operations, or that lead out of the folder."""

    def to_json(self) -> dict[str, Any]:
        """Return the log as the contract shows it."""
        return {
            "operations": [operation_told(each, undone=each.id in self.undone) for each in self.operations],
            "findings": [located.to_json() for located in self.findings],
        }


@dataclass(frozen=True, slots=True)
class LeftToPage:
    """Edits of an open chat, or of a group, that SillyTavern's page makes itself."""

    chat: str | None
    group: str | None
    edits: tuple[LineEdit, ...]

    @classmethod
    def of(cls, change: EditFile, beside: str) -> LeftToPage:
        """Return the edits of *change* as those of a group, or of a chat in the folder of the chat *beside*."""
        folder, _, file = change.path.rpartition("/")
        name = file.rpartition(".")[0]
        if folder == "groups":
            return cls(None, name, change.edits)
        return cls(f"{beside.partition('/')[0]}/{name}", None, change.edits)

    def to_json(self) -> dict[str, Any]:
        """Return the edits; how a file is laid out means nothing to a page."""
        whole = {"line": None, "do": None, "path": None, "text": None, "only_if": None, "prune": 0}
        edits = [{key: each.to_json().get(key, value) for key, value in whole.items()} for each in self.edits]
        return {"chat": self.chat, "group": self.group, "edits": edits}


@dataclass(frozen=True, slots=True)
class Undone:
    """An operation that was undone, and the operation that did it."""

    undone: str
    operation: str
    pending: tuple[str, ...] = ()
    left: tuple[LeftToPage, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the undo as the contract shows it."""
        return {
            "undone": self.undone,
            "operation": self.operation,
            "pending": list(self.pending),
            "left": [each.to_json() for each in self.left],
        }


@dataclass(frozen=True, slots=True)
class DryRun:
    """A plan that was made and not applied."""

    plan: Plan
    report: Report

    def to_json(self) -> dict[str, Any]:
        """Return the plan as ``--dry-run`` shows it."""
        return self.plan.to_json()
