"""What is known of this computer."""

from __future__ import annotations

from pathlib import Path

import pytest

from forklore.autostart.machine import Machine, this_machine


@pytest.mark.parametrize("program, expected", [("/cache/uv/python", True), ("/cached/python", False)])
def test_a_program_where_others_clean_up_is_fleeting(program: str, *, expected: bool) -> None:
    machine = Machine("systemd", Path("/home/a"), Path("/c"), Path("/s"), "a", cleaned=(Path("/tmp"), Path("/cache")))

    assert machine.is_fleeting(program) is expected


def test_this_machine_cleans_up_its_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert this_machine(tmp_path).is_fleeting(str(tmp_path / "python"))
