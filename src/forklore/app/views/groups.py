"""The groups: what each is called, as addresses only have their ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context


@dataclass(frozen=True, slots=True)
class GroupsShown:
    """The groups of a workspace that have a name, by their id."""

    names: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the groups as the page gets them."""
        return {"groups": [{"id": group, "name": name} for group, name in self.names.items()]}


def show_groups(context: Context) -> GroupsShown:
    """Return what every group is called."""
    return GroupsShown({group.group_id: group.name for group in context.workspace.groups() if group.name})
