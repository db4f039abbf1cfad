"""A property list for launchd on macOS."""

from __future__ import annotations

import plistlib

from forklore.autostart.start import STOP_SECONDS, WAIT_SECONDS, WRITTEN_BY, Start, refuse_unwritable

LABEL = "forklore.serve"


def plist(start: Start) -> bytes:
    """Return the agent that starts *start* when the user logs in."""
    refuse_unwritable((*start.command, *(value for _, value in start.environment)))
    written = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": list(start.command),
            "EnvironmentVariables": dict(start.environment),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": WAIT_SECONDS,
            "ExitTimeOut": STOP_SECONDS,
        },
        sort_keys=False,
    )
    return written.replace(b"<plist", f"<!-- {WRITTEN_BY} -->\n<plist".encode(), 1)
