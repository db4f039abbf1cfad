"""Running the system's own programs: the one place where that is done, so that a test can stand in for the system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from forklore.errors import ForkloreError, Kind
from forklore.model.fact import Fact, fact

_SECONDS = 90  # stopping waits for what is being written


class Ran(NamedTuple):
    """What a program left behind."""

    code: int
    text: str
    fault: Fact | None = None
    """Why it said nothing."""

    @property
    def reason(self) -> str | Fact:
        """Why it failed, in its own words where it has any."""
        return self.fault or self.text or fact("program_ended", exit_code=self.code)


class SystemRefused(ForkloreError):
    """The system would not do what it was asked for."""

    code = "SERVICE_REFUSED"
    kind = Kind.CONFLICT


class Commands:
    """Programs of this computer."""

    def run(self, *command: str) -> Ran:
        """Run a program until it ends, and return what it said; one that is not there has failed."""
        try:
            ran = subprocess.run(  # noqa: S603  # words of our own and absolute paths, and no shell takes them apart
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
                env=_environment(),
            )
        except FileNotFoundError:
            return Ran(127, "", fact("program_missing", program=command[0]))
        except subprocess.TimeoutExpired:
            return Ran(124, "", fact("program_stuck", program=command[0], seconds=_SECONDS))
        said = (ran.stdout + ran.stderr).decode("oem" if sys.platform == "win32" else "utf-8", "replace")
        return Ran(ran.returncode, " ".join(said.split()))

    def launch(self, shell: str, file: str) -> None:
        """Have a shell run a script that goes on when we have ended, and when the terminal is closed."""
        nowhere = subprocess.DEVNULL
        apart = [shell, "-c", '"$0" "$1" &', shell, file]  # nobody's child, so nobody has to wait for it
        subprocess.run(  # noqa: S603  # as above
            apart, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True, check=False
        )

    def must(self, *command: str) -> None:
        """Run a program that has to succeed; raises ``SystemRefused``."""
        ran = self.run(*command)
        if ran.code != 0:
            raise SystemRefused(command=" ".join(command[:2]), reason=ran.reason)


def _environment() -> dict[str, str]:
    """Return our environment; who became this user with ``su`` is told where systemd can be reached."""
    environment = dict(os.environ)
    if hasattr(os, "getuid") and not environment.get("XDG_RUNTIME_DIR"):
        place = Path(f"/run/user/{os.getuid()}")
        if place.is_dir():
            environment["XDG_RUNTIME_DIR"] = str(place)
    return environment
