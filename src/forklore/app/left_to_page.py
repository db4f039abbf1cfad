"""What is left to SillyTavern's page: edits of the chat that it has open, and of the groups that it knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.log.operations import Operation
from forklore.model.plan import EditFile, LineEdit


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


def left_by(operation: Operation) -> tuple[LeftToPage, ...]:
    """Return what the making of a fork has left to the page, as its operation notes it."""
    left = (
        EditFile(change["path"], tuple(LineEdit.from_json(edit) for edit in change.get("edits", ())))
        for change in operation.notes.get("left", ())
    )
    return tuple(LeftToPage.of(change, operation.chat) for change in left)


def parent_of(operation: Operation) -> str | None:
    """Return the chat that the making of a fork has, or leaves, a link in."""
    links = (EditFile(change["path"], ()) for change in operation.all_changes if change.get("role") == "link")
    return next((LeftToPage.of(link, operation.chat).chat for link in links), None)
