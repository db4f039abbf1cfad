"""A script for Termux:Boot on Android."""

from __future__ import annotations

import shlex

from forklore.autostart.start import WRITTEN_BY, Start


def script(start: Start, shell: str) -> bytes:
    """Return the script that starts *start* when the phone has started; it is replaced by the program itself."""
    environment = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in start.environment)
    return f"#!{shell}\n# {WRITTEN_BY}\n{environment}exec {shlex.join(start.command)}\n".encode(
        "utf-8", "surrogateescape"
    )
