"""The service as the user wants it, and the command that is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from forklore.access.keys import is_ours
from forklore.web.addresses import is_loopback

_ENVIRONMENT = ("FORKLORE_STATE", "FORKLORE_CACHE", "PYTHONPATH")
"""What is set here the service gets too, or it would be another one than the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The service as the user wants it."""

    data: str
    """An absolute path."""
    user: str | None = None
    roots: tuple[Path, ...]
    """What *data* and *user* mean now."""
    host: str = "127.0.0.1"
    port: int = 7788
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    poll: bool = False
    password: str | None = None

    @property
    def needs_password(self) -> bool:
        """Whether nobody comes in without: others can reach it, or SillyTavern runs as another user."""
        return not is_loopback(self.host) or not all(map(is_ours, self.roots))


def program_of(executable: str, *, exists: Callable[[Path], bool] = Path.exists) -> str:
    """Return the Python to start; on Windows the one that opens no window."""
    windowless = Path(executable).with_name("pythonw.exe")
    return str(windowless) if executable.lower().endswith("python.exe") and exists(windowless) else executable


def command_of(wanted: Wanted, *, program: str, log: Path, password_file: Path | None) -> tuple[str, ...]:
    """Return the command that serves what is wanted; no folder it is started in can put other modules before ours."""
    options = [f"--host={wanted.host}", f"--port={wanted.port}"]
    options += [f"--name={name}" for name in wanted.names]
    options += [f"--origin={origin}" for origin in wanted.origins]
    options += ["--poll"] if wanted.poll else []
    options += [f"--password-file={password_file}"] if password_file else []
    user = [f"--user={wanted.user}"] if wanted.user else []
    return (program, "-P", "-m", "forklore", f"--data={wanted.data}", *user, "serve", *options, f"--log={log}")


def environment_of(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what the service has to be told besides; a path means the same wherever it is started."""
    return tuple(
        (name, os.pathsep.join(os.path.abspath(part) for part in value.split(os.pathsep) if part))  # noqa: PTH100  # also of no path at all
        for name in _ENVIRONMENT
        if (value := environment.get(name))
    )
