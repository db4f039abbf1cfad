"""A real systemd for one user, in namespaces of its own: the units of whoever runs the tests are never touched.

It needs a Linux on which the tests may make namespaces, and systemd's programs; elsewhere such a test is skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.edges.running import Ran, command_line

SOURCE = Path(__file__).parents[2] / "src"
_SYSTEMD = "/usr/lib/systemd/systemd"
_ENTER = """
set -e
mount --make-rprivate /
mkdir "$1"
echo $$ > "$1/cgroup.procs"
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system "/run/user/$(id -u)"
chmod 700 "/run/user/$(id -u)"
exec unshare --cgroup sh -c '
    umount --lazy /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit 1
    XDG_RUNTIME_DIR="/run/user/$(id -u)" "$0" --user &
    wait
    exec sleep infinity
' "$2"
"""


@dataclass
class Manager:
    """A systemd that runs."""

    inside: int
    home: Path

    def systemctl(self, *words: str) -> Ran:
        """Ask it something as the user would."""
        return self._run(["systemctl", "--user", *words], {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"})

    def forklore(self, *arguments: str | Path, **environment: str) -> Ran:
        """Run our command line as somebody who became this user, and whom nobody told where systemd is."""
        return self._run(command_line("--json", *arguments), environment)

    def _run(self, command: list[str], environment: dict[str, str]) -> Ran:
        enter = ["nsenter", "--target", str(self.inside), "--mount", "--pid", "--cgroup", "--"]
        told = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **environment}
        ran = subprocess.run([*enter, *command], capture_output=True, env=told, timeout=120, check=False)
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


@contextmanager
def managed(home: Path) -> Iterator[Manager]:
    """Start a systemd for the user whose home is *home*; when it ends, everything that it started ends too."""
    places = [Path(place) for place in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")]
    cgroups = next((place for place in places if (place / "cgroup.procs").exists()), None)
    needed = ("unshare", "nsenter", "systemctl", _SYSTEMD)
    if sys.platform != "linux" or os.getuid() != 0 or cgroups is None or not all(map(shutil.which, needed)):
        pytest.skip("no systemd can be started here")
    group = cgroups / f"forklore-test-{os.getpid()}-{threading.get_native_id()}"
    process = subprocess.Popen(
        [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-c",
            _ENTER,
            "sh",
            group,
            _SYSTEMD,
        ],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        manager = Manager(_child_of(process), home)
        wait_for(lambda: process.poll() is not None or manager.systemctl("show-environment").code == 0)
        if process.poll() is not None:
            pytest.skip("no systemd may be started here")
        yield manager
    finally:
        process.kill()
        process.communicate()
        wait_for(lambda: _emptied(group))


def _child_of(process: subprocess.Popen[bytes]) -> int:
    place = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: process.poll() is not None or bool(place.read_text()))
    return int(place.read_text()) if process.poll() is None else 0


def _emptied(group: Path) -> bool:
    """Remove the group, which works when the last process has gone."""
    try:
        for folder in sorted(group.rglob("*/"), reverse=True):
            folder.rmdir()
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until it is so."""
    for _ in range(int(seconds * 20)):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it did not come to that")
