"""The doctor of a large workspace: finds all that is wrong and nothing else, mends it once, and survives a kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.testing.damage import Planted, write_damaged_workspace
from forklore.testing.stories import read_workspace
from tests.edges.running import command_line, run, snapshot
from tests.needed import posix_only

TIMELINES = 300
KILLS = 4

Found = set[tuple[str, str]]


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Found]:
    """A damaged workspace that nobody may change, and what is wrong with it."""
    root = tmp_path_factory.mktemp("hospital") / "data"
    return root, places(write_damaged_workspace(root, timelines=TIMELINES))


@pytest.fixture
def patient(hospital: tuple[Path, Found], tmp_path: Path) -> Path:
    """A copy of the damaged workspace."""
    return shutil.copytree(hospital[0], tmp_path / "patient")


def places(planted: Iterable[Planted]) -> Found:
    """Return findings by code and file: a chat may be named by its address or by its path."""
    return {(code, path_of(where)) for code, where in planted}


def path_of(where: str) -> str:
    if where.startswith(("chats/", "group chats/", "groups/", "worlds/", ".forklore/")):
        return where
    if where.startswith("group:"):
        return f"group chats/{where.partition('/')[2]}.jsonl"
    return f"chats/{where}.jsonl"


def found(answer: dict[str, Any]) -> Found:
    """Return the findings of the doctor by code and file; each is whole."""
    for finding in answer["findings"]:
        assert {"code", "severity", "message", "action", "details", "repairs"} <= set(finding)
        assert finding["message"]
        assert finding["action"]
        assert bool(finding.get("chat")) != bool(finding.get("path"))
    return places(Planted(f["code"], f.get("chat") or f["path"]) for f in answer["findings"])


def doctor(root: Path, *options: str) -> dict[str, Any]:
    """Run the doctor; while something is wrong it exits with 3."""
    ran = run("--data", root, "doctor", *options, "--json")
    answer: dict[str, Any] = ran.json
    assert "error" not in answer, answer
    assert answer["ok"] is not bool(answer["findings"])
    assert ran.code == (3 if answer["findings"] else 0)
    return answer


def texts(files: dict[str, bytes]) -> dict[str, list[str]]:
    """Return what was said in every chat that can be read, by its path."""
    said = {}
    for path, content in files.items():
        if path.endswith(".jsonl"):
            try:
                said[path] = [json.loads(line).get("mes") for line in content.split(b"\n")[1:] if line.strip()]
            except (ValueError, AttributeError):
                continue  # a damaged chat
    return said


def test_the_doctor_finds_all_that_is_wrong_and_nothing_else(hospital: tuple[Path, Found], patient: Path) -> None:
    before = read_workspace(patient)

    answer = doctor(patient)

    expected = hospital[1]
    assert expected - found(answer) == set(), "not found"
    assert found(answer) - expected == set(), "found, but not wrong"
    assert answer["fixed"] == []
    assert read_workspace(patient) == before


SEVERAL = """
import json, sys
import forklore
from forklore.disk import spreading
spreading._useful_processes = lambda items: int(sys.argv[2])
opened = forklore.open(sys.argv[1])
print(json.dumps([opened.stories().to_json(), opened.doctor().to_json()]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")
def test_several_processes_find_what_one_finds(patient: Path, tmp_path: Path) -> None:
    folder = patient / "chats" / "Unreadable"
    folder.mkdir()
    (folder / "A folder.jsonl").mkdir()
    (folder / "Nowhere.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "Empty.jsonl").touch()
    (folder / "Bytes.jsonl").write_bytes(b'\xff\xfe{"chat_metadata":{}}\n{\0}\n')
    (folder / "Book.jsonl").write_bytes(b'{"chat_metadata":{"world_info":"A folder"}}\n{"mes":"Hello."}')
    (patient / "worlds" / "A folder.json").mkdir()
    command = [sys.executable, "-c", SEVERAL, str(patient)]

    one, three = (
        subprocess.run(
            [*command, str(count)],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "FORKLORE_CACHE": str(tmp_path / f"cache of {count}")},
        )
        for count in (1, 3)
    )

    assert three.stdout == one.stdout
    codes = {(finding["code"], finding.get("chat")) for finding in json.loads(one.stdout)[1]["findings"]}
    damaged = {("CHAT_DAMAGED", "Unreadable/Empty"), ("CHAT_DAMAGED", "Unreadable/Bytes")}
    assert damaged | {("LOREBOOK_UNREADABLE", "Unreadable/Book")} <= codes


def test_the_doctor_finds_nothing_in_a_workspace_without_chats(tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()

    answer = doctor(tmp_path)

    assert answer == {"ok": True, "findings": [], "fixed": []}
    assert snapshot(tmp_path) == {"chats": None}


@pytest.mark.slow
def test_a_second_fix_has_nothing_to_do(hospital: tuple[Path, Found], patient: Path) -> None:
    said = texts(read_workspace(patient))

    first = doctor(patient, "--fix")
    files = read_workspace(patient)
    second = doctor(patient, "--fix")

    assert first["fixed"] != []
    assert second["fixed"] == []
    assert read_workspace(patient) == files
    assert found(second) == found(first)  # what is left is what a person has to decide
    assert found(first) < hospital[1]  # mending breaks nothing
    assert {path: texts(files).get(path) for path in said} == said  # and no word of any story is lost


@pytest.mark.slow
def test_a_fix_can_be_undone(patient: Path) -> None:
    doctor(patient)
    before, known = read_workspace(patient), {operation["id"] for operation in log(patient)}

    doctor(patient, "--fix")

    fixes = [operation["id"] for operation in log(patient) if operation["id"] not in known]
    assert fixes
    for operation in fixes:  # newest first
        ran = run("--data", patient, "undo", operation)
        assert ran.code == 0, ran.err
    assert read_workspace(patient) == before


def log(root: Path) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = run("--data", root, "log", "--json").json["operations"]
    return operations


@pytest.mark.crash
@pytest.mark.slow
@posix_only("there is no kill -9")
def test_a_fix_that_is_killed_loses_nothing(hospital: tuple[Path, Found], patient: Path, tmp_path: Path) -> None:
    origin = read_workspace(patient)
    peaceful = shutil.copytree(patient, tmp_path / "peaceful")
    left = found(doctor(peaceful, "--fix"))
    mended = read_workspace(peaceful)
    untouched = {path: content for path, content in origin.items() if mended.get(path) == content}
    assert len(untouched) > TIMELINES // 2

    for steps in range(1, KILLS + 1):
        kill_while_fixing(patient, steps)

        now = read_workspace(patient)
        assert {path: now.get(path) for path in untouched} == untouched
        forklore.open(patient).recover()
        answer = doctor(patient)
        assert found(answer) <= hospital[1]  # half mended, and nothing new is wrong

    doctor(patient, "--fix")

    assert found(doctor(patient)) == left
    assert read_workspace(patient).keys() == mended.keys()
    assert texts(read_workspace(patient)) == texts(mended)
    assert doctor(patient, "--fix")["fixed"] == []


def kill_while_fixing(root: Path, steps: int) -> None:
    """Let the doctor mend, and kill it once it has logged so many more operations, or begun the first one."""
    operations, staging = root / ".forklore/operations", root / ".forklore/staging"
    before = len(list(operations.glob("*")))
    command = command_line("--data", root, "doctor", "--fix", "--json")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as fixing:
        while fixing.poll() is None:
            logged = len(list(operations.glob("*"))) - before
            if logged >= steps or (steps == 1 and any(staging.glob("*/journal.json"))):
                break
            time.sleep(0.0005)
        fixing.kill()
