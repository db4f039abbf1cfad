"""Reading the settings of a workspace."""

from __future__ import annotations

import json
from typing import Any

from forklore.checks.settings import Settings, SettingsInvalid, settings_of
from forklore.disk.files import read_small
from forklore.disk.places import Places
from forklore.disk.state import refuse_newer
from forklore.errors import FormatNewer
from forklore.model.stored import SETTINGS, SETTINGS_FORMAT


def read_settings(places: Places) -> Settings:
    """Return the settings of a workspace; without a file everything is as usual."""
    try:
        return settings_of(read_stored(places))
    except FormatNewer as error:
        return Settings(fault=error)


def read_stored(places: Places) -> dict[str, Any]:
    """Return what stands in the file, also what is not known here; raises ``FormatNewer``."""
    try:
        stored = json.loads(read_small(places.file(SETTINGS)))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsInvalid("unreadable", reason=getattr(error, "strerror", None) or str(error)) from error
    if not isinstance(stored, dict):
        raise SettingsInvalid("no_object")
    refuse_newer(stored, SETTINGS_FORMAT, SETTINGS)
    return stored
