"""Stand-ins for systems that are not here: the Task Scheduler of Windows, and launchd.

Only the program that the system is asked with is played, after what Microsoft and Apple document; nothing of it was
recorded on a real one. What they start is a real ``forklore serve``, from the file that was really written.
"""

from __future__ import annotations

import os
import plistlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from forklore.autostart.commands import Commands, Ran
from tests.property.test_autostart import windows_words
from tests.service.managing import SOURCE

_SPACE = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}


class StandIn(Commands):
    """Starts and stops one program, and notes what it was asked for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Start it with *environment*."""
        self.asked: list[tuple[str, ...]] = []
        self.refuses: str | None = None
        """A word; what is asked with it is refused."""
        self.process: subprocess.Popen[bytes] | None = None
        self._environment = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}

    def run(self, *command: str) -> Ran:
        """Do what the system would do."""
        self.asked.append(command)
        if self.refuses in command:
            return Ran(1, "ERROR: Access is denied.")
        return self._do(*command)

    def start(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the program, as the system would."""
        told = {**self._environment, **(environment or {})}
        self.process = subprocess.Popen(command, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self) -> None:
        """Stop the program, as the system would."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def _do(self, *command: str) -> Ran:
        raise NotImplementedError


class TaskScheduler(StandIn):
    """``schtasks``."""

    tasks: dict[str, bytes]

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Know no task."""
        super().__init__(environment)
        self.tasks = {}

    def _do(self, *command: str) -> Ran:
        program, action, *rest = command
        assert program == "schtasks"
        name = rest[rest.index("/TN") + 1]
        if action == "/Create":
            self.tasks[name] = Path(rest[rest.index("/XML") + 1]).read_bytes()
            return Ran(0, "SUCCESS")
        if name not in self.tasks:
            return Ran(1, "ERROR: The system cannot find the file specified.")
        if action == "/Run":
            self.log_on()
        elif action == "/End":
            self.stop()
        elif action == "/Delete":
            del self.tasks[name]
        return Ran(0, "SUCCESS")

    def log_on(self) -> None:
        """Do what happens when the user logs on."""
        (content,) = self.tasks.values()
        root = ET.fromstring(content)
        arguments = windows_words(root.findtext(".//t:Arguments", "", _SPACE))
        self.start([root.findtext(".//t:Command", "", _SPACE), *arguments])


class LaunchControl(StandIn):
    """``launchctl``; of a service that is going it says for a moment that it is still there, as the real one does."""

    loaded: str | None = None
    still_there = 0

    def _do(self, *command: str) -> Ran:
        program, action, *rest = command
        assert program == "launchctl"
        if action == "bootstrap":
            if self.still_there:
                self.still_there -= 1
                return Ran(5, "Bootstrap failed: 5: Input/output error")
            assert rest[0] == "gui/501"
            self.loaded = rest[1]
            read = plistlib.loads(Path(rest[1]).read_bytes())
            self.start(read["ProgramArguments"], read["EnvironmentVariables"])
        elif action == "bootout":
            assert rest == ["gui/501/forklore.serve"]
            if self.loaded is None:
                return Ran(3, "Boot-out failed: 3: No such process")
            self.loaded, self.still_there = None, 2
            self.stop()
        return Ran(0, "")
