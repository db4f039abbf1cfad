"""What became of a request for a fork."""

from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import write_workspace

SOLO, GROUP = "Mira/Tale", "group:17/Tale"
REQUEST = "request-0001"


def tale(root: Path, chat: str = SOLO) -> Forklore:
    """Return a story, opened by the request that will ask for a fork."""
    books = {"Lore": stories.lorebook([stories.entry(0, "Mira", "a cook")])}
    files = stories.solo_files if chat == SOLO else stories.group_files
    write_workspace(root, files("Tale", {"world_info": "Lore"}, stories.conversation(6), books=books))
    return forklore.open(root, disk=HastyDisk(), request=REQUEST)


@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
@pytest.mark.parametrize("chat", [SOLO, GROUP])
@pytest.mark.parametrize("leave_parent", [False, True])
def test_it_is_what_its_maker_was_answered(tmp_path: Path, chat: str, kind: str, *, leave_parent: bool) -> None:
    workspace = tale(tmp_path, chat)
    made = getattr(workspace, kind)(chat, at=3, leave_parent=leave_parent).to_json()

    found = workspace.view.made(REQUEST).to_json()

    assert (found["request"], found["outcome"]) == (REQUEST, "made")
    assert found["fork"] == {key: made[key] for key in found["fork"]}
    assert bool(found["fork"]["left"]) == leave_parent


def test_a_request_that_has_made_no_fork(tmp_path: Path) -> None:
    workspace = tale(tmp_path)
    workspace.change_settings(policy="strict")
    forklore.open(tmp_path, disk=HastyDisk(), request="request-0002").branch(SOLO, at=1)

    found = workspace.view.made(REQUEST).to_json()

    assert found == {"request": REQUEST, "outcome": "nothing", "fork": None}


def test_a_fork_that_is_gone_again(tmp_path: Path) -> None:
    workspace = tale(tmp_path)
    made = workspace.branch(SOLO)
    undone = forklore.open(tmp_path, disk=HastyDisk(), request="request-0002").undo(made.operation)
    assert workspace.view.made(REQUEST).outcome == "gone"

    workspace.undo(undone.operation)
    assert workspace.view.made(REQUEST).outcome == "made"

    (tmp_path / f"chats/{made.chat}.jsonl").unlink()
    assert workspace.view.made(REQUEST).outcome == "gone"
