"""Running the command line in a test, inside this process or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from forklore.cli.main import program

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
ILSE = "Ilse Brandt/Ilse Brandt - 2025-11-09@20h41m55s"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output; anything beside it fails."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error in the JSON document, which has every field an error has."""
        error: dict[str, Any] = self.json["error"]
        assert set(error) == {"code", "params", "kind", "message", "action", "findings"}
        return error


def run(*arguments: str | Path, env: Mapping[str, str | None] | None = None) -> Ran:
    """Run a command in this process; only an orderly exit is let through."""
    ran = CliRunner(env=env).invoke(program, [str(argument) for argument in arguments])
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return Ran(ran.exit_code, ran.stdout, ran.stderr)


def command_line(*arguments: str | Path) -> list[str]:
    """Return what starts the command line as a process."""
    return [sys.executable, "-m", "forklore", *(str(argument) for argument in arguments)]


def run_process(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Run a command as a process of its own."""
    ran = subprocess.run(
        command_line(*arguments),
        capture_output=True,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        timeout=60,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Return everything below *root*, also what Forklore keeps for itself; folders are None."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None for path in root.rglob("*")
    }
