"""What the recaps say at a message."""

from collections.abc import Callable
from pathlib import Path

import pytest

import forklore
from forklore.app.check import ForkRequest
from forklore.app.dry_run import planned_fork
from forklore.app.forklore import Forklore
from forklore.disk.workspace import ChatUnreadable
from forklore.errors import BadRequest
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import chat_bytes, conversation, recap_version, running_recap, write_workspace

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"

Opened = Callable[[str], Forklore]


@pytest.fixture
def tale(tmp_path: Path) -> Forklore:
    said = conversation(10)
    said[3]["extra"] = stories.scene("The gate", recap="They met.")
    said[5]["extra"] = stories.scene("Hidden", scene_break_visible=False)
    said[7]["extra"] = stories.scene("", recap="")
    metadata = {
        **running_recap("Tale", [recap_version(0, 3, "up to the gate"), recap_version(4, 7, "up to the end")], 4),
        "auto_recap": {"combined_recap": {"content": "all of it", "message_count": 6}},
    }
    root = write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": chat_bytes(metadata, said)})
    return forklore.open(root, disk=HastyDisk())


@pytest.mark.req(134, 135)
def test_only_what_lies_before_the_message_is_told(tale: Forklore) -> None:
    shown = [tale.view.recap("Mira/Tale", at).to_json() for at in range(10)]

    gate = {"version": 0, "scenes": 1, "text": "up to the gate"}
    assert [each["running"] for each in shown[:8]] == [None, None, None, gate, gate, gate, gate, shown[7]["running"]]
    assert shown[7]["running"] == {"version": 4, "scenes": 5, "text": "up to the end"}
    assert [each["combined"] for each in shown] == [None] * 5 + ["all of it"] * 5
    scene = {"message": 3, "name": "The gate", "text": "They met."}
    assert [each["scene"] for each in shown[2:8]] == [None, scene, scene, scene, scene, shown[9]["scene"]]
    assert shown[9]["scene"] == {"message": 7, "name": "", "text": ""}
    assert (shown[4]["chat"], shown[4]["at"]) == ("Mira/Tale", 4)


def test_it_is_what_a_fork_there_would_have(opened: Opened) -> None:
    workspace = opened("hollow_quay_clean")

    for at in range(69):
        shown = workspace.view.recap(MAREN, at)
        request = ForkRequest("checkpoint", workspace._workspace.resolve(MAREN), at)
        with planned_fork(request, workspace._context) as (_, draft, _, _):
            record = {**draft.cuts["running_recap"].record, **draft.cuts["combined_recap"].record}
        running = shown.running or {"version": None, "text": None, "scenes": 0}
        assert running["version"] == record["running_recap_version"]
        assert running["text"] == record["running_recap_content"]
        assert running["scenes"] == record["running_recap_scene_count"]
        assert shown.combined == record["combined_recap_content"]


@pytest.mark.parametrize("at", [-1, 10])
def test_a_message_that_is_not_there_is_refused(tale: Forklore, at: int) -> None:
    with pytest.raises(BadRequest):
        tale.view.recap("Mira/Tale", at)


def test_a_scene_is_found_far_back(tmp_path: Path) -> None:
    said = conversation(40)
    said[1]["extra"] = stories.scene("Long ago")
    for each in said[2:]:
        each["mes"] = "x" * 100_000
    root = write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": chat_bytes({}, said)})

    shown = forklore.open(root).view.recap("Mira/Tale", 39)

    assert shown.scene is not None
    assert shown.scene["name"] == "Long ago"


def test_a_scene_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    said = conversation(4)
    said[1]["extra"] = stories.scene("Whole")
    data = (
        chat_bytes({}, said)
        + b'\n{"mes":"x","extra":{"auto_recap_memory":{"scene_break":true\n'
        + stories.line(said[0])
    )
    root = write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": data})

    assert (forklore.open(root).view.recap("Mira/Tale", 5).scene or {})["name"] == "Whole"


def test_without_a_header_there_is_nothing_to_tell(tmp_path: Path) -> None:
    root = write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": b'{"mes":"x"}\n{"mes":"y"}'})

    with pytest.raises(ChatUnreadable):
        forklore.open(root).view.recap("Mira/Tale", 0)
