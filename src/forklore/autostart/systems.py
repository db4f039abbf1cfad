"""The systems that start programs for a user: where each wants its file, and how it is told to heed it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from forklore.autostart import launchd, systemd, termux, windows
from forklore.autostart.commands import Commands, SystemRefused
from forklore.autostart.machine import Machine
from forklore.autostart.start import Start
from forklore.errors import ForkloreError, Kind


class SystemUnreachable(ForkloreError):
    """systemd does not look after this user yet."""

    code = "SERVICE_UNREACHABLE"
    kind = Kind.CONFLICT


class System(ABC):
    """One way to have a program started."""

    name: ClassVar[str]
    mode: ClassVar[int] = 0o644
    takes_environment: ClassVar[bool] = True
    """Whether the program can be told something besides its arguments."""

    def __init__(self, machine: Machine, commands: Commands) -> None:
        """Ask the system of *machine* with its own *commands*."""
        self._machine = machine
        self._commands = commands

    @property
    @abstractmethod
    def file(self) -> Path:
        """The file that has to be written."""

    @abstractmethod
    def content(self, start: Start) -> bytes:
        """Return what has to be in it."""

    def refuse(self) -> None:  # noqa: B027  # most have nothing to refuse
        """Raise what will stand in the way, before anything is written."""

    @abstractmethod
    def begin(self) -> None:
        """Start the program now, and from now on by itself; one that runs already is started anew."""

    @abstractmethod
    def end(self) -> None:
        """Stop the program, and start it no more; that the system knows nothing of it is fine."""

    def forget(self) -> None:  # noqa: B027  # most notice it by themselves
        """Have the system notice that the file is gone."""

    def ends_at_logout(self) -> bool:
        """Whether the program stops when a user who came in from elsewhere logs out."""
        return False


class Systemd(System):
    """A unit of the user's own systemd."""

    name = "systemd"
    _UNIT = "forklore.service"

    @property
    def file(self) -> Path:
        """The unit."""
        return self._machine.config / "systemd" / "user" / self._UNIT

    def content(self, start: Start) -> bytes:
        """Return the unit."""
        return systemd.unit(start)

    def refuse(self) -> None:
        """Raise ``SystemUnreachable`` where there is no systemd for this user."""
        ran = self._commands.run("systemctl", "--user", "show-environment")
        if ran.code != 0:
            raise SystemUnreachable(reason=ran.reason)

    def begin(self) -> None:
        """Enable and start the unit."""
        self._commands.must("systemctl", "--user", "daemon-reload")
        self._commands.must("systemctl", "--user", "enable", "--quiet", self._UNIT)
        self._commands.must("systemctl", "--user", "restart", self._UNIT)

    def end(self) -> None:
        """Stop and disable the unit."""
        self._commands.run("systemctl", "--user", "disable", "--now", "--quiet", self._UNIT)

    def forget(self) -> None:
        """Have systemd read its units again; the link that enabled ours goes also where systemd does not answer."""
        link = self.file.parent / "default.target.wants" / self._UNIT
        if link.is_symlink():
            link.unlink()
        self._commands.run("systemctl", "--user", "daemon-reload")
        self._commands.run("systemctl", "--user", "reset-failed", self._UNIT)

    def ends_at_logout(self) -> bool:
        """Whether it ends with an ssh or text session, since the user does not linger."""
        if not self._machine.is_without_screen:
            return False
        ran = self._commands.run("loginctl", "show-user", str(self._machine.uid), "--property=Linger", "--value")
        return ran.text == "no"


class Launchd(System):
    """An agent of launchd."""

    name = "launchd"
    _ATTEMPTS = 20

    @property
    def file(self) -> Path:
        """The property list."""
        return self._machine.home / "Library" / "LaunchAgents" / f"{launchd.LABEL}.plist"

    def content(self, start: Start) -> bytes:
        """Return the property list."""
        return launchd.plist(start)

    def begin(self) -> None:
        """Load the agent, which starts it; the former one may take a moment to go."""
        self.end()
        self._commands.run("launchctl", "enable", f"{self._domain}/{launchd.LABEL}")
        for _ in range(self._ATTEMPTS):
            ran = self._commands.run("launchctl", "bootstrap", self._domain, str(self.file))
            if ran.code == 0:
                return
            time.sleep(0.25)
        raise SystemRefused("launchd", command="launchctl bootstrap", reason=ran.reason)

    def end(self) -> None:
        """Unload the agent, which stops it."""
        self._commands.run("launchctl", "bootout", f"{self._domain}/{launchd.LABEL}")

    @property
    def _domain(self) -> str:
        return f"gui/{self._machine.uid}"


class Windows(System):
    """A task of the Task Scheduler. It keeps a copy of its own; the file is what it is made from."""

    name = "windows"
    takes_environment = False

    @property
    def file(self) -> Path:
        """What the task is made from."""
        return self._machine.state / "service-task.xml"

    def content(self, start: Start) -> bytes:
        """Return the task."""
        return windows.task(start, self._machine.account)

    def begin(self) -> None:
        """Make the task and run it."""
        self._commands.run("schtasks", "/End", "/TN", self._task)
        file = str(self.file.resolve())  # a Python from the Microsoft Store sees our folder in another place
        ran = self._commands.run("schtasks", "/Create", "/F", "/TN", self._task, "/XML", file)
        if ran.code != 0:
            raise SystemRefused("task_scheduler", reason=ran.reason)
        self._commands.must("schtasks", "/Run", "/TN", self._task)

    def end(self) -> None:
        """Stop the task and delete it."""
        self._commands.run("schtasks", "/End", "/TN", self._task)
        self._commands.run("schtasks", "/Delete", "/F", "/TN", self._task)

    @property
    def _task(self) -> str:
        return f"Forklore ({self._machine.user})"


class Termux(System):
    """A script for Termux:Boot. Nobody watches over what it starts, so whoever stops it has to find the process."""

    name = "termux"
    mode = 0o700

    @property
    def file(self) -> Path:
        """The script."""
        return self._machine.home / ".termux" / "boot" / "forklore"

    def content(self, start: Start) -> bytes:
        """Return the script."""
        return termux.script(start, f"{self._machine.prefix}/bin/sh")

    def begin(self) -> None:
        """Run the script."""
        self._commands.launch(f"{self._machine.prefix}/bin/sh", str(self.file))

    def end(self) -> None:
        """Leave the process to the caller; the script is only a file."""

    def forget(self) -> None:
        """Remove the folders that nobody else uses."""
        with suppress(OSError):
            self.file.parent.rmdir()


SYSTEMS: tuple[type[System], ...] = (Systemd, Launchd, Windows, Termux)
