"""What ``forklore service`` says where nothing has to be started for it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from forklore.disk.state import State
from tests.edges.running import command_line, run

OPTIONS = ["--host=::1", "--port=7000", "--name=x", "--origin=http://x", "--poll", "--no-browser"]


@pytest.fixture(autouse=True)
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be on a phone that has nothing yet."""
    monkeypatch.setenv("TERMUX_VERSION", "0.118")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FORKLORE_STATE", str(tmp_path / "state"))


def test_what_is_not_installed_is_said_to_be_so() -> None:
    assert run("service", "status").out == "The service is not installed.\n→ forklore service install\n"
    assert run("service", "uninstall").out == "The service is not installed.\n"
    found = run("service", "status", "--json").json
    assert (found["installed"], found["running"], found["findings"]) == (False, False, [])


def test_without_a_service_there_is_no_link() -> None:
    ran = run("service", "open", "--json")

    assert (ran.code, ran.error["code"]) == (4, "SERVICE_NOT_INSTALLED")


@pytest.mark.parametrize("option", [*OPTIONS, "--keep-log"])
def test_an_option_of_another_action_is_refused(option: str) -> None:
    ran = run("service", "status", option, "--json")

    assert (ran.code, ran.error["code"]) == (2, "BAD_REQUEST")
    assert option.partition("=")[0] in ran.error["message"]


def test_without_stories_there_is_nothing_to_serve(tmp_path: Path) -> None:
    ran = run("--data", tmp_path, "service", "install", "--json")

    assert (ran.code, ran.error["code"]) == (4, "WORKSPACE_NOT_FOUND")
    assert list(tmp_path.iterdir()) == []


def test_a_service_that_does_not_run_says_why(tmp_path: Path) -> None:
    log = tmp_path / "state" / "service.log"
    state = State(log.parent)
    state.write(
        state.folder / "service.json",
        {
            "system": "termux",
            "file": str(tmp_path / "gone"),
            "digest": "",
            "command": [str(tmp_path / "no python"), "serve"],
            "data": str(tmp_path / "no stories"),
            "roots": [str(tmp_path / "no stories")],
            "user": None,
            "host": "127.0.0.1",
            "port": 7000,
            "names": [],
            "origins": [],
            "poll": False,
            "address": "http://127.0.0.1:7000",
            "log": str(log),
            "has_password": False,
        },
    )
    log.write_text("2026-11-17 The end\n")
    ran = run("service", "status")

    assert ran.code == 3
    lines = ran.out.splitlines()
    assert lines[0] == "The service is installed but not running."
    assert "  2026-11-17 The end" in lines
    for code in ("SERVICE_PROGRAM_GONE", "SERVICE_FOLDER_GONE", "SERVICE_FILE_GONE", "SERVICE_STOPPED"):
        assert code in ran.out
    assert run("service", "open", "--json").error["code"] == "SERVICE_NOT_RUNNING"
    gone = run("service", "uninstall")
    assert gone.out.startswith("The service was removed.")
    assert not log.exists()


def test_what_goes_wrong_is_in_the_log_and_nowhere_else(tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    log.write_bytes(b"x" * (2 << 20))
    ran = subprocess.run(
        command_line("--data", tmp_path / "nowhere", "serve", "--log", log), capture_output=True, check=False
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (4, b"", b"")
    first, *rest = log.read_text(encoding="utf-8").splitlines()  # what was too long was begun anew
    assert first.endswith("starts")
    assert "nowhere" in rest[0]


def test_a_password_can_be_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("short\n")
    stories = Path(__file__).parents[1] / "samples" / "hollow_quay_clean"
    ran = subprocess.run(
        command_line("--data", stories, "--json", "serve", "--host=0.0.0.0", "--password-file", tmp_path / "password"),
        capture_output=True,
        env={**os.environ, "FORKLORE_PASSWORD": "long enough to be good"},
        check=False,
    )

    assert json.loads(ran.stdout)["error"]["code"] == "PASSWORD_NEEDED"


@pytest.mark.parametrize("content", ["{}", "[]", "x", '{"system": "x", "command": []}'])
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "service.json").write_text(content)

    assert run("service", "status", "--json").json["installed"] is False
