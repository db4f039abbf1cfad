"""The folder itself, apart from its stories, as it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore.errors import ForkloreError
from forklore.log.operations import Unread
from forklore.model.stored import STAGING

Journal = dict[str, Any]
"""What an operation is about to do, taken apart and found in order."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An operation that is running, or was interrupted."""

    id: str
    journal: Journal | None = None
    """What it is about to do; none when it did not get that far, or cannot be understood."""
    fault: ForkloreError | None = None
    """Why the next operation does not simply see to it."""

    @property
    def path(self) -> str:
        """Where it is staged."""
        return f"{STAGING}/{self.id}"

    @property
    def paths(self) -> frozenset[str]:
        """The files that it makes or takes away."""
        changes = self.journal["changes"] if self.journal else ()
        return frozenset(change["path"] for change in changes if change["do"] != "edit")


class LinkOut(NamedTuple):
    """A link that leads out of the workspace and is not followed."""

    path: str
    is_folder: bool
    leads_to: str


class FolderState(NamedTuple):
    """Everything that rules about the folder may ask."""

    unfinished: tuple[Unfinished, ...]
    unread: tuple[Unread, ...]
    """The files of the log that are no operations."""
    settings_fault: ForkloreError | None
    links: tuple[LinkOut, ...]
