"""Lorebooks that are shared on purpose: kept in the workspace's settings, where no save of SillyTavern reaches them."""

from __future__ import annotations

from forklore.app.applying import apply_alone
from forklore.app.means import Means
from forklore.app.settings import FORMAT, read_settings
from forklore.disk.files import OpenFile
from forklore.formats.json_text import encode, to_bytes
from forklore.model.plan import Append, Bytes, Change, CreateFile, EditFile, LineEdit, Plan
from forklore.model.stored import SETTINGS

_KEY = "shared_books"


def is_shared_on_purpose(book: str, means: Means) -> bool:
    """Whether the user said that several timelines are meant to share this lorebook."""
    return book in shared_books(means)


def shared_books(means: Means) -> frozenset[str]:
    """Return the lorebooks that several timelines are meant to share, as the settings say now."""
    return read_settings(means.workspace.places).shared_books


def share_on_purpose(book: str, chat: str, means: Means) -> str:
    """Note that a lorebook is shared on purpose; return the operation, which can be undone like any other."""

    def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
        return share_plan(book, chat, means), {}

    return apply_alone(make_plan, means).operation.id


def share_plan(book: str, chat: str, means: Means) -> Plan:
    """Return the plan that notes a lorebook as shared on purpose."""
    read_settings(means.workspace.places).needs_known()
    change: Change = EditFile(SETTINGS, (LineEdit(None, Append((_KEY,), encode(book))),), role="settings")
    if not means.workspace.exists(SETTINGS):
        said = {"format": FORMAT, _KEY: [book]}
        change = CreateFile(SETTINGS, (Bytes(to_bytes(encode(said, indent=2)) + b"\n"),))
    return Plan("share", chat, (change,), commit=0)
