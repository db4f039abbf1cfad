"""Forklore: every checkpoint and branch of a SillyTavern story a complete, isolated, verified point in time.

``forklore.open(path)`` returns an object with one method per command.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forklore.app.check import ForkBlocked, GroupMissing, NameInvalid
    from forklore.app.cleanup import Cleanup
    from forklore.app.contamination import Contamination
    from forklore.app.delete import ChatHasForks, Deleted
    from forklore.app.doctor import Examined
    from forklore.app.dry_run import DryRun
    from forklore.app.extension import Extension, ExtensionForeign
    from forklore.app.follow import Followed
    from forklore.app.fork import ForkMade
    from forklore.app.forklore import Forklore
    from forklore.app.isolate import Isolated, IsolationPlanned, NotAFork, SharedOnPurpose
    from forklore.app.isolate_all import IsolatedAll
    from forklore.app.log import LogShown, OperationNews
    from forklore.app.open import open_workspace as open  # the public name
    from forklore.app.progress import Cancelled
    from forklore.app.queue import LorebookDamaged, LorebookMissing, QueueDamaged, QueueShown
    from forklore.app.repair import Repairs
    from forklore.app.settings import SettingsShown
    from forklore.app.show import Status, Stories, TimelineShown
    from forklore.app.trash import ItemNotFound, Restored, TrashShown
    from forklore.app.undo import OperationNotFound, Undone
    from forklore.app.verify import Verified
    from forklore.app.views import (
        GroupsShown,
        LayoutShown,
        MadeShown,
        MessagesShown,
        Overview,
        Preview,
        RecapShown,
        Views,
        Where,
    )
    from forklore.checks.settings import SettingsInvalid
    from forklore.disk.failures import FileDamaged
    from forklore.disk.files import ContextChanged
    from forklore.disk.lock import CreationInProgress
    from forklore.disk.operation_log import OperationUnreadable
    from forklore.disk.workspace import ChatAmbiguous, ChatNotFound, ChatUnreadable, UserNeeded, WorkspaceNotFound
    from forklore.errors import (
        BadRequest,
        ConfirmationNeeded,
        DiskFailed,
        FileInUse,
        FileOnlineOnly,
        FileUnreadable,
        ForkloreError,
        FormatNewer,
        Kind,
        LinkOutside,
        NameTaken,
        OperationForeign,
        PathOutside,
        ReadOnly,
    )
    from forklore.log.operations import Operation
    from forklore.model.finding import Finding, Located, Report, Severity
    from forklore.model.timeline import Story, Timeline
    from forklore.planning.swipe import NoSuchSwipe
    from forklore.planning.undo import TrashAltered, UndoRefused
    from forklore.version import VERSION as __version__  # noqa: N811

# Imported when first asked for: a command that only lists chats should not pay for forking.
_HOME = {
    "open": ("forklore.app.open", "open_workspace"),
    "Forklore": ("forklore.app.forklore", "Forklore"),
    "DryRun": ("forklore.app.dry_run", "DryRun"),
    "ForkBlocked": ("forklore.app.check", "ForkBlocked"),
    "GroupMissing": ("forklore.app.check", "GroupMissing"),
    "NameInvalid": ("forklore.app.check", "NameInvalid"),
    "Cleanup": ("forklore.app.cleanup", "Cleanup"),
    "Contamination": ("forklore.app.contamination", "Contamination"),
    "ChatHasForks": ("forklore.app.delete", "ChatHasForks"),
    "Deleted": ("forklore.app.delete", "Deleted"),
    "Examined": ("forklore.app.doctor", "Examined"),
    "Extension": ("forklore.app.extension", "Extension"),
    "ExtensionForeign": ("forklore.app.extension", "ExtensionForeign"),
    "Followed": ("forklore.app.follow", "Followed"),
    "ForkMade": ("forklore.app.fork", "ForkMade"),
    "Isolated": ("forklore.app.isolate", "Isolated"),
    "IsolationPlanned": ("forklore.app.isolate", "IsolationPlanned"),
    "NotAFork": ("forklore.app.isolate", "NotAFork"),
    "SharedOnPurpose": ("forklore.app.isolate", "SharedOnPurpose"),
    "IsolatedAll": ("forklore.app.isolate_all", "IsolatedAll"),
    "OperationNews": ("forklore.app.log", "OperationNews"),
    "LogShown": ("forklore.app.log", "LogShown"),
    "Cancelled": ("forklore.app.progress", "Cancelled"),
    "LorebookDamaged": ("forklore.app.queue", "LorebookDamaged"),
    "LorebookMissing": ("forklore.app.queue", "LorebookMissing"),
    "QueueDamaged": ("forklore.app.queue", "QueueDamaged"),
    "QueueShown": ("forklore.app.queue", "QueueShown"),
    "Repairs": ("forklore.app.repair", "Repairs"),
    "SettingsShown": ("forklore.app.settings", "SettingsShown"),
    "Status": ("forklore.app.show", "Status"),
    "Stories": ("forklore.app.show", "Stories"),
    "TimelineShown": ("forklore.app.show", "TimelineShown"),
    "ItemNotFound": ("forklore.app.trash", "ItemNotFound"),
    "Restored": ("forklore.app.trash", "Restored"),
    "TrashShown": ("forklore.app.trash", "TrashShown"),
    "OperationNotFound": ("forklore.app.undo", "OperationNotFound"),
    "Undone": ("forklore.app.undo", "Undone"),
    "Verified": ("forklore.app.verify", "Verified"),
    "GroupsShown": ("forklore.app.views", "GroupsShown"),
    "LayoutShown": ("forklore.app.views", "LayoutShown"),
    "MadeShown": ("forklore.app.views", "MadeShown"),
    "MessagesShown": ("forklore.app.views", "MessagesShown"),
    "Overview": ("forklore.app.views", "Overview"),
    "Preview": ("forklore.app.views", "Preview"),
    "RecapShown": ("forklore.app.views", "RecapShown"),
    "Views": ("forklore.app.views", "Views"),
    "Where": ("forklore.app.views", "Where"),
    "SettingsInvalid": ("forklore.checks.settings", "SettingsInvalid"),
    "FileDamaged": ("forklore.disk.failures", "FileDamaged"),
    "ContextChanged": ("forklore.disk.files", "ContextChanged"),
    "CreationInProgress": ("forklore.disk.lock", "CreationInProgress"),
    "OperationUnreadable": ("forklore.disk.operation_log", "OperationUnreadable"),
    "NameTaken": ("forklore.disk.transaction.publishing", "NameTaken"),
    "ChatAmbiguous": ("forklore.disk.workspace", "ChatAmbiguous"),
    "ChatNotFound": ("forklore.disk.workspace", "ChatNotFound"),
    "ChatUnreadable": ("forklore.disk.workspace", "ChatUnreadable"),
    "UserNeeded": ("forklore.disk.workspace", "UserNeeded"),
    "WorkspaceNotFound": ("forklore.disk.workspace", "WorkspaceNotFound"),
    "BadRequest": ("forklore.errors", "BadRequest"),
    "ConfirmationNeeded": ("forklore.errors", "ConfirmationNeeded"),
    "DiskFailed": ("forklore.errors", "DiskFailed"),
    "FileInUse": ("forklore.errors", "FileInUse"),
    "FileOnlineOnly": ("forklore.errors", "FileOnlineOnly"),
    "FileUnreadable": ("forklore.errors", "FileUnreadable"),
    "ForkloreError": ("forklore.errors", "ForkloreError"),
    "FormatNewer": ("forklore.errors", "FormatNewer"),
    "Kind": ("forklore.errors", "Kind"),
    "LinkOutside": ("forklore.errors", "LinkOutside"),
    "OperationForeign": ("forklore.errors", "OperationForeign"),
    "PathOutside": ("forklore.errors", "PathOutside"),
    "ReadOnly": ("forklore.errors", "ReadOnly"),
    "Operation": ("forklore.log.operations", "Operation"),
    "Finding": ("forklore.model.finding", "Finding"),
    "Located": ("forklore.model.finding", "Located"),
    "Report": ("forklore.model.finding", "Report"),
    "Severity": ("forklore.model.finding", "Severity"),
    "Story": ("forklore.model.timeline", "Story"),
    "Timeline": ("forklore.model.timeline", "Timeline"),
    "NoSuchSwipe": ("forklore.planning.swipe", "NoSuchSwipe"),
    "TrashAltered": ("forklore.planning.undo", "TrashAltered"),
    "UndoRefused": ("forklore.planning.undo", "UndoRefused"),
    "__version__": ("forklore.version", "VERSION"),
}

__all__ = [
    "BadRequest",
    "Cancelled",
    "ChatAmbiguous",
    "ChatHasForks",
    "ChatNotFound",
    "ChatUnreadable",
    "Cleanup",
    "ConfirmationNeeded",
    "Contamination",
    "ContextChanged",
    "CreationInProgress",
    "Deleted",
    "DiskFailed",
    "DryRun",
    "Examined",
    "Extension",
    "ExtensionForeign",
    "FileDamaged",
    "FileInUse",
    "FileOnlineOnly",
    "FileUnreadable",
    "Finding",
    "Followed",
    "ForkBlocked",
    "ForkMade",
    "Forklore",
    "ForkloreError",
    "FormatNewer",
    "GroupMissing",
    "GroupsShown",
    "Isolated",
    "IsolatedAll",
    "IsolationPlanned",
    "ItemNotFound",
    "Kind",
    "LayoutShown",
    "LinkOutside",
    "Located",
    "LogShown",
    "LorebookDamaged",
    "LorebookMissing",
    "MadeShown",
    "MessagesShown",
    "NameInvalid",
    "NameTaken",
    "NoSuchSwipe",
    "NotAFork",
    "Operation",
    "OperationForeign",
    "OperationNews",
    "OperationNotFound",
    "OperationUnreadable",
    "Overview",
    "PathOutside",
    "Preview",
    "QueueDamaged",
    "QueueShown",
    "ReadOnly",
    "RecapShown",
    "Repairs",
    "Report",
    "Restored",
    "SettingsInvalid",
    "SettingsShown",
    "Severity",
    "SharedOnPurpose",
    "Status",
    "Stories",
    "Story",
    "Timeline",
    "TimelineShown",
    "TrashAltered",
    "TrashShown",
    "UndoRefused",
    "Undone",
    "UserNeeded",
    "Verified",
    "Views",
    "Where",
    "WorkspaceNotFound",
    "__version__",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'forklore' has no attribute {name!r}")
    module, attribute = _HOME[name]
    value = globals()[name] = getattr(importlib.import_module(module), attribute)
    return value
