"""Forklore: every checkpoint and branch of a SillyTavern story a complete, isolated, verified point in time.

``forklore.open(path)`` returns an object with one method per command.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forklore.app.applying import DryRun
    from forklore.app.check import ForkBlocked
    from forklore.app.fork import ForkMade
    from forklore.app.forklore import Forklore
    from forklore.app.log import LogShown
    from forklore.app.open import open_workspace as open  # the public name
    from forklore.app.queue import QueueShown
    from forklore.app.show import Status, Stories, TimelineShown
    from forklore.app.undo import Undone
    from forklore.errors import ForkloreError, Kind
    from forklore.model.finding import Finding, Report, Severity
    from forklore.model.timeline import Story, Timeline
    from forklore.version import VERSION as __version__  # noqa: N811

# Imported when first asked for: a command that only lists chats should not pay for forking.
_HOME = {
    "open": ("forklore.app.open", "open_workspace"),
    "Forklore": ("forklore.app.forklore", "Forklore"),
    "DryRun": ("forklore.app.applying", "DryRun"),
    "ForkBlocked": ("forklore.app.check", "ForkBlocked"),
    "ForkMade": ("forklore.app.fork", "ForkMade"),
    "LogShown": ("forklore.app.log", "LogShown"),
    "QueueShown": ("forklore.app.queue", "QueueShown"),
    "Status": ("forklore.app.show", "Status"),
    "Stories": ("forklore.app.show", "Stories"),
    "TimelineShown": ("forklore.app.show", "TimelineShown"),
    "Undone": ("forklore.app.undo", "Undone"),
    "ForkloreError": ("forklore.errors", "ForkloreError"),
    "Kind": ("forklore.errors", "Kind"),
    "Finding": ("forklore.model.finding", "Finding"),
    "Report": ("forklore.model.finding", "Report"),
    "Severity": ("forklore.model.finding", "Severity"),
    "Story": ("forklore.model.timeline", "Story"),
    "Timeline": ("forklore.model.timeline", "Timeline"),
    "__version__": ("forklore.version", "VERSION"),
}

__all__ = [
    "DryRun",
    "Finding",
    "ForkBlocked",
    "ForkMade",
    "Forklore",
    "ForkloreError",
    "Kind",
    "LogShown",
    "QueueShown",
    "Report",
    "Severity",
    "Status",
    "Stories",
    "Story",
    "Timeline",
    "TimelineShown",
    "Undone",
    "__version__",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'forklore' has no attribute {name!r}")
    module, attribute = _HOME[name]
    value = globals()[name] = getattr(importlib.import_module(module), attribute)
    return value
