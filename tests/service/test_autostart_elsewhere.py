"""The service that runs by itself where there is no systemd: a real shell for Termux, stand-ins for the others."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forklore.access.keys import Token, add_token, read_tokens
from forklore.access.running import find_running
from forklore.autostart.commands import Commands, SystemRefused
from forklore.autostart.machine import AsRoot, Machine, Unsupported
from forklore.autostart.results import ServiceForeign, ServiceNotInstalled, ServiceNotRunning
from forklore.autostart.service import Autostart
from forklore.autostart.wanted import Wanted
from forklore.disk.state import State
from forklore.disk.workspace import UserNeeded
from forklore.errors import ForkloreError
from forklore.web.server import PasswordNeeded, PortTaken
from tests.service.managing import SOURCE, wait_for
from tests.service.standing_in import LaunchControl, StandIn, TaskScheduler
from tests.service.test_autostart import ODD, files_in, free_port, stories_at, use

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow]


class House:
    """A user with stories, a state folder and a system that starts programs."""

    def __init__(self, folder: Path, system: str | None) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.root = stories_at(folder / ODD / "default-user")
        self.state = State(self.home / "a state")
        self.environment = {"FORKLORE_STATE": str(self.state.folder), "PYTHONPATH": str(SOURCE)}
        prefix = folder / "usr"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin/sh").symlink_to(shutil.which("sh") or "/bin/sh")
        self.machine = Machine(
            system, self.home, self.home / ".config", self.state.folder, "maren", "PC\\maren", 501, prefix=str(prefix)
        )
        self.commands = self._commands(system)
        self.wanted = Wanted(data=str(self.root), roots=(self.root,), port=int(free_port()))

    def _commands(self, system: str | None) -> Commands:
        kinds: dict[str, type[StandIn]] = {"windows": TaskScheduler, "launchd": LaunchControl}
        return kinds[system](self.environment) if system in kinds else Commands()

    @property
    def autostart(self) -> Autostart:
        return Autostart(self.state, machine=self.machine, commands=self.commands, environment=self.environment)

    def end(self) -> None:
        """Let nothing go on after the test."""
        self.autostart.uninstall()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[[str | None], House]]:
    made: list[House] = []

    def build(system: str | None) -> House:
        made.append(House(tmp_path / str(len(made)), system))
        return made[-1]

    yield build
    for each in made:
        each.end()


SYSTEMS = pytest.mark.parametrize("system", ["termux", "windows", "launchd"])


@SYSTEMS
def test_it_runs_until_it_is_removed(house: Callable[[str | None], House], system: str) -> None:
    if sys.platform == "win32":
        pytest.skip("the shell and the stand-ins are for Linux and macOS")
    there = house(system)
    made = there.autostart.install(there.wanted)

    assert made.running
    assert [finding.code for finding in made.findings] == (["SERVICE_ENVIRONMENT"] if system == "windows" else [])
    assert made.written == (made.file,)
    assert use(there.autostart.open(now=time.time()).logins[0][1]) == 200
    before = _pid(there)

    again = there.autostart.install(there.wanted)
    assert (again.running, again.written) == (True, ())
    assert _pid(there) != before
    elsewhere = Wanted(data=there.wanted.data, roots=there.wanted.roots, port=int(free_port()))
    moved = there.autostart.install(elsewhere)
    assert (moved.running, moved.written) == (True, (moved.file,))
    assert find_running(there.state, there.wanted.port) is None

    gone = there.autostart.uninstall()
    assert (gone.installed, gone.running) == (False, False)
    assert find_running(there.state, elsewhere.port) is None
    left = {name for name in files_in(there.home) if not name.startswith(".cache")}
    assert left == {f"a state/sessions-{there.wanted.port}.json"}
    assert there.autostart.uninstall().removed == ()


def _pid(there: House) -> int:
    running = find_running(there.state, there.wanted.port)
    assert running is not None
    return running.pid


def test_the_script_of_termux_starts_it_when_the_phone_starts(house: Callable[[str | None], House]) -> None:
    there = house("termux")
    made = there.autostart.install(there.wanted)
    assert made.file is not None
    assert os.access(made.file, os.X_OK)
    assert stat.S_IMODE(os.stat(made.file).st_mode) == 0o700
    os.kill(_pid(there), signal.SIGKILL)  # the phone is switched off
    wait_for(lambda: find_running(there.state, there.wanted.port) is None)
    found = there.autostart.status()
    assert [finding.code for finding in found.findings] == ["SERVICE_STOPPED"]
    assert "Serving" in found.findings[0].params["log"][-1]
    with pytest.raises(ServiceNotRunning):
        there.autostart.open(now=time.time())

    boot = subprocess.Popen([made.file])
    try:
        wait_for(lambda: there.autostart.status().running)
        assert use(there.autostart.open(now=time.time()).logins[0][1]) == 200
    finally:
        there.autostart.uninstall()
        assert boot.wait(60) == 0


def test_the_task_is_as_windows_needs_it(house: Callable[[str | None], House]) -> None:
    there = house("windows")
    there.autostart.install(there.wanted)

    assert isinstance(there.commands, TaskScheduler)
    ((name, content),) = there.commands.tasks.items()
    assert name == "Forklore (maren)"
    text = content.decode("utf-16")
    assert "<UserId>PC\\maren</UserId>" in text
    assert "<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>" in text
    assert "<DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>" in text


@pytest.mark.parametrize("system, word", [("windows", "/Create"), ("launchd", "bootstrap")])
def test_when_the_system_refuses_nothing_is_left(house: Callable[[str | None], House], system: str, word: str) -> None:
    there = house(system)
    assert isinstance(there.commands, StandIn)
    there.commands.refuses = word

    with pytest.raises(SystemRefused, match="Access is denied"):
        there.autostart.install(there.wanted)
    assert files_in(there.home) == set()
    assert not there.autostart.status().installed


def test_when_the_disk_refuses_nothing_is_left(house: Callable[[str | None], House]) -> None:
    there = house("termux")
    (there.home / ".termux").write_text("a file where a folder should be")

    with pytest.raises(OSError, match=r"termux"):
        there.autostart.install(there.wanted)
    assert files_in(there.home) == {".termux"}
    assert not there.autostart.status().installed


def test_what_somebody_else_wrote_stays(house: Callable[[str | None], House]) -> None:
    there = house("termux")
    script = there.home / ".termux/boot/forklore"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nsomething else\n")

    with pytest.raises(ServiceForeign):
        there.autostart.install(there.wanted)
    there.autostart.uninstall()
    assert files_in(there.home) == {".termux/boot/forklore"}


def test_a_port_that_is_taken_is_told_before_anything_is_written(house: Callable[[str | None], House]) -> None:
    there = house("termux")
    with socket.create_server(("127.0.0.1", there.wanted.port)), pytest.raises(PortTaken):
        there.autostart.install(there.wanted)
    assert files_in(there.home) == set()


def test_others_are_let_in_only_with_a_password_that_no_command_line_shows(
    house: Callable[[str | None], House],
) -> None:
    there = house("termux")
    wanted = Wanted(data=there.wanted.data, roots=there.wanted.roots, port=there.wanted.port, host="0.0.0.0")
    with pytest.raises(PasswordNeeded):
        there.autostart.install(wanted)
    assert files_in(there.home) == set()
    secret = Wanted(
        data=wanted.data, roots=wanted.roots, port=wanted.port, host="0.0.0.0", password="correct horse battery"
    )
    made = there.autostart.install(secret)
    assert made.running
    assert made.file is not None
    assert b"horse" not in Path(made.file).read_bytes()
    assert not any("horse" in word for word in made.command)
    (file,) = [Path(path) for path in there.home.rglob("service-password")]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert use(there.autostart.open(now=time.time()).logins[0][1]) == 200

    again = there.autostart.install(wanted)  # it is known by now
    assert again.running
    assert str(file) in there.autostart.uninstall().removed


def test_a_password_opens_one_workspace_alone(house: Callable[[str | None], House]) -> None:
    there = house("termux")
    other = stories_at(there.home / "other")
    wanted = Wanted(data="/x", roots=(there.root, other), port=there.wanted.port, password="correct horse battery")
    with pytest.raises(UserNeeded):
        there.autostart.install(wanted)


def test_what_is_asked_to_be_forgotten_is(house: Callable[[str | None], House]) -> None:
    there = house("termux")
    there.autostart.install(there.wanted)
    assert use(there.autostart.open(now=time.time()).logins[0][1]) == 200
    add_token(there.state, there.root, Token("x", "http://127.0.0.1:8000", "now"))

    there.autostart.uninstall(keep_log=True, forget=True)
    assert read_tokens(there.state, there.root) == ()
    assert "a state/service.log" in files_in(there.home)
    assert not any("sessions" in name for name in files_in(there.home))


@pytest.mark.parametrize("refusal", [Unsupported, AsRoot])
def test_where_it_fits_nowhere_nothing_is_written(
    house: Callable[[str | None], House], refusal: type[ForkloreError]
) -> None:
    there = house("termux" if refusal is AsRoot else None)
    if refusal is AsRoot:
        there.machine = Machine("systemd", there.home, there.home, there.state.folder, "root", "root", 0, by_sudo=True)

    with pytest.raises(refusal):
        there.autostart.install(there.wanted)
    assert not there.autostart.status().installed
    with pytest.raises(ServiceNotInstalled):
        there.autostart.open(now=time.time())
    assert files_in(there.home) == set()
