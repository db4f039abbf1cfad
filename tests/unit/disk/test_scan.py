"""Looking through all chats: what could not be read for a moment is not remembered as if it were the answer."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forklore.disk.scan import scan_stories
from forklore.disk.system import IS_WINDOWS, read_shared
from forklore.disk.workspace import Workspace
from forklore.testing.stories import chat_bytes, conversation, message, write_workspace

OPENING = "forklore.disk.files.read_shared" if IS_WINDOWS else "os.open"


def places(workspace: Workspace, cache: Path | None) -> dict[str, int | None]:
    """Return where each timeline was forked."""
    return {each.chat: each.at for story in scan_stories(workspace, cache) for each in story.timelines}


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes the opening of a file fail: only the time that is named, or each time."""
    opened: Callable[..., Any] = read_shared if IS_WINDOWS else os.open

    def fail(name: str, only: int | None = None) -> None:
        times = 0

        def bad(path: Any, *arguments: Any) -> Any:
            nonlocal times
            if str(path).endswith(name):
                times += 1
                if only in (None, times):
                    raise OSError(24, "Too many open files")
            return opened(path, *arguments)

        monkeypatch.setattr(OPENING, bad)
        monkeypatch.setattr("forklore.disk.files._MOMENT", 0.0)

    return fail


def test_a_chat_that_could_not_be_opened_is_there_again_the_next_time(
    tmp_path: Path, failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"chats/Anna/{name}.jsonl": chat_bytes({}, conversation(2)) for name in "AB"}
    workspace = Workspace(write_workspace(tmp_path / "w", files))
    failing("B.jsonl")
    assert list(places(workspace, tmp_path / "cache")) == ["Anna/A"]
    monkeypatch.undo()

    assert sorted(places(workspace, tmp_path / "cache")) == ["Anna/A", "Anna/B"]


def test_links_that_could_not_be_looked_for_are_looked_for_the_next_time(
    tmp_path: Path, failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = [message("one"), message("two", extra={"bookmark_link": "Z"})]
    files = {
        "chats/Anna/A.jsonl": chat_bytes({}, linked),
        "chats/Anna/Z.jsonl": chat_bytes({"main_chat": "A"}, linked),
    }
    workspace = Workspace(write_workspace(tmp_path / "w", files))
    failing("A.jsonl", only=2)
    assert places(workspace, tmp_path / "cache") == {"Anna/A": None, "Anna/Z": None}
    monkeypatch.undo()

    assert places(workspace, tmp_path / "cache") == places(workspace, None) == {"Anna/A": None, "Anna/Z": 1}


def test_a_link_that_leads_to_itself_is_no_chat(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "w", {"chats/Anna/A.jsonl": chat_bytes({}, conversation(2))})
    (root / "chats" / "Anna" / "L.jsonl").symlink_to("L.jsonl")

    assert list(places(Workspace(root), tmp_path / "cache")) == ["Anna/A"]


def test_half_an_emoji_in_a_group_is_survived(tmp_path: Path) -> None:
    files = {
        "groups/1.json": json.dumps({"id": "1", "name": "\ud83d", "chats": ["\ud83d", "x"]}).encode(),
        "group chats/x.jsonl": chat_bytes({}, conversation(2)),
    }
    workspace = Workspace(write_workspace(tmp_path / "w", files))

    assert places(workspace, tmp_path / "cache") == places(workspace, tmp_path / "cache") == {"group:1/x": None}
