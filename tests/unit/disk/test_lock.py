"""One operation at a time, and whoever is refused is told what the other one does."""

import os
from pathlib import Path

import pytest
from filelock import FileLock

from forklore.disk.lock import CreationInProgress, workspace_lock
from tests.needed import posix_only


def refusal(root: Path, what: str = "branch") -> CreationInProgress:
    with pytest.raises(CreationInProgress) as refused, workspace_lock(root, what=what):
        pass
    return refused.value


@pytest.mark.req(95, 96)
@pytest.mark.parametrize(
    "what, message",
    [
        ("checkpoint", "Checkpoint creation already in progress. Please wait."),
        ("branch", "Branch creation already in progress. Please wait."),
        ("undo", "Another operation is running (undo). Please wait."),
        ("operation", "Another operation is already in progress. Please wait."),
    ],
)
def test_it_says_what_the_holder_does(tmp_path: Path, what: str, message: str) -> None:
    with workspace_lock(tmp_path, what=what):
        refused = refusal(tmp_path)

    assert refused.message == message
    assert refused.action == "Wait a moment, then try again; --wait does that for you."
    assert not (tmp_path / ".forklore").exists()


@pytest.mark.parametrize("told", [None, b"", b"\xff", b"x" * 10_000_000, b"A page\n", b"checkpoint\n"])
def test_of_a_holder_that_does_not_say_so_nothing_is_known(tmp_path: Path, told: bytes | None) -> None:
    folder = tmp_path / ".forklore"
    folder.mkdir()
    if told is not None:
        (folder / "holder").write_bytes(told)

    with FileLock(folder / "lock"):
        refused = refusal(tmp_path)

    assert refused.params == {}
    assert refused.message == "Another operation is already in progress. Please wait."


@posix_only("links and pipes")
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_says_nothing(tmp_path: Path, kind: str) -> None:
    folder, secret = tmp_path / "data" / ".forklore", tmp_path / "secret"
    folder.mkdir(parents=True)
    secret.write_text("checkpoint")
    if kind == "link":
        (folder / "holder").symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(folder / "holder")
    else:
        (folder / "holder").mkdir()

    with FileLock(folder / "lock"):
        assert refusal(folder.parent).params == {}
    with workspace_lock(folder.parent, what="branch"):  # it works all the same, and writes through no link
        pass
    assert secret.read_text() == "checkpoint"


def test_what_a_crash_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".forklore").mkdir()
    (tmp_path / ".forklore" / "holder").write_text("checkpoint")

    with workspace_lock(tmp_path, what="branch"):
        assert refusal(tmp_path).params == {"case": "branch"}

    assert not (tmp_path / ".forklore" / "holder").exists()
