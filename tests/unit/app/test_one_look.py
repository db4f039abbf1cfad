"""A use case looks through the workspace once, and reads the log once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.disk import gather_index, scan
from forklore.disk.operation_log import OperationLog
from forklore.formats import chat_jsonl
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat
from forklore.testing.stories import write_workspace

MAIN = "Mira/Tale"


@pytest.fixture
def workspace(tmp_path: Path) -> Forklore:
    """Return a story with two forks, of which one was renamed, and one that cannot be found any more."""
    book = stories.lorebook([stories.entry(1, "a", "b")])
    files = stories.solo_files(
        "Tale", {"world_info": "Lore", "integrity": "a"}, stories.conversation(5), books={"Lore": book}
    )
    opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
    for name in ("One", "Two"):
        opened.checkpoint(MAIN, name=name)
    (tmp_path / "chats/Mira/Two.jsonl").rename(tmp_path / "chats/Mira/Renamed.jsonl")
    OpenChat(tmp_path, MAIN).write()
    return opened


@pytest.mark.parametrize(
    "act",
    [
        lambda workspace: workspace.verify(MAIN),
        lambda workspace: workspace.delete("Mira/One"),
        lambda workspace: workspace.undo(workspace.log().operations[1].id),
        lambda workspace: workspace.doctor(),
        lambda workspace: workspace.doctor(fix=True),
        lambda workspace: workspace.isolate_all(),
        lambda workspace: workspace.cleanup(),
        lambda workspace: workspace.view.overview(),
    ],
    ids=["verify", "delete", "undo", "doctor", "doctor --fix", "isolate --all", "cleanup", "overview"],
)
def test_it_looks_once(act: Callable[[Forklore], object], workspace: Forklore, monkeypatch: pytest.MonkeyPatch) -> None:
    known = workspace.log()
    monkeypatch.setattr(Forklore, "log", lambda _self: known)
    looked: Counter[str] = Counter()
    look, read = scan.scan_chats, OperationLog.entries

    def scanned(*arguments: Any, **options: Any) -> Any:
        looked["scan"] += 1
        return look(*arguments, **options)

    def log_read(log: OperationLog) -> Any:
        looked["log"] += 1
        return read(log)

    monkeypatch.setattr(gather_index, "scan_chats", scanned)
    monkeypatch.setattr(OperationLog, "entries", log_read)

    act(workspace)

    assert looked["scan"] == 1
    assert looked["log"] <= 1


def test_a_fork_counts_the_lines_of_its_chat_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recaps: dict[str, Any] = {
        "auto_recap_running_scene_recaps": {"chat_id": "Tale", "current_version": None, "versions": []}
    }
    files = stories.solo_files("Tale", {"integrity": "a", **recaps}, stories.conversation(5))
    opened = forklore.open(write_workspace(tmp_path, files), disk=HastyDisk())
    parent, count = (tmp_path / "chats/Mira/Tale.jsonl").read_bytes(), chat_jsonl.index_of
    counted: list[bytes] = []

    def counting(data: bytes) -> chat_jsonl.LineIndex:
        counted.append(data)
        return count(data)

    monkeypatch.setattr(chat_jsonl, "index_of", counting)

    opened.checkpoint(MAIN)

    assert counted.count(parent) == 1
