"""Files on a real Windows: held open by another process, below long paths, by other spellings of their names."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.disk import files
from forklore.disk.disk import Disk
from forklore.disk.files import OpenFile
from forklore.disk.system import long_path, usual_path
from forklore.errors import FileInUse
from forklore.testing.sillytavern import HastyDisk
from tests.crash.scenarios import CHAT, NAME, assert_tidy, read_workspace, write_story
from tests.needed import windows_only

pytestmark = pytest.mark.crash

HOLD = "import sys; file = open(sys.argv[1], 'rb'); print('held', flush=True); sys.stdin.readline()"
HOLD_ALONE = """
import ctypes, sys
create = ctypes.WinDLL("kernel32").CreateFileW
create.restype = ctypes.c_void_p
handle = create(ctypes.c_wchar_p(sys.argv[1]), 0x80000000, 0, None, 3, 0x80, None)
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held(path: Path, how: str = HOLD, seconds: float | None = None) -> Iterator[None]:
    """Have another process hold a file open, for so many *seconds* or for as long as the block lasts."""
    with subprocess.Popen(
        [sys.executable, "-c", how, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"held"
        let_go = threading.Timer(seconds or 0, process.stdin.close)
        if seconds is not None:
            let_go.start()
        try:
            yield
        finally:
            let_go.cancel() if seconds is None else let_go.join()
            if not process.stdin.closed:
                process.stdin.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A story."""
    write_story(tmp_path / "user")
    return tmp_path / "user"


@pytest.fixture
def story(root: Path) -> Forklore:
    """The same, opened."""
    return forklore.open(root, disk=HastyDisk())


def test_a_file_that_we_have_read_can_be_replaced_and_removed(tmp_path: Path) -> None:
    path, aside = tmp_path / "chat.jsonl", tmp_path / "aside"
    path.write_bytes(b"old")
    aside.write_bytes(b"new")

    with OpenFile(path) as file:
        aside.replace(path)
        path.unlink()

        assert file.read() == b"old"


@windows_only("elsewhere an open file is in nobody's way")
def test_a_fork_that_another_program_has_open_is_not_undone_and_nothing_changes(story: Forklore, root: Path) -> None:
    made = story.checkpoint(CHAT)
    before = read_workspace(root)

    with held(root / "chats" / f"{made.chat}.jsonl"), pytest.raises(FileInUse, match="open in another program"):
        story.undo()

    assert read_workspace(root) == before
    assert_tidy(root)
    story.undo()


@windows_only("elsewhere an open file is in nobody's way")
def test_a_fork_that_is_let_go_of_in_time_is_undone(story: Forklore, root: Path) -> None:
    before = read_workspace(root)
    made = story.checkpoint(CHAT)

    with held(root / "chats" / f"{made.chat}.jsonl", seconds=0.5):
        story.undo()

    assert read_workspace(root) == before


@windows_only("elsewhere an open file is in nobody's way")
def test_a_parent_that_another_program_has_open_gets_its_link_later(story: Forklore, root: Path) -> None:
    with held(root / f"chats/Mira/{NAME}.jsonl"):
        made = story.checkpoint(CHAT)

    assert [warning.code for warning in made.warnings if warning.code == "LINK_PENDING"]
    assert_tidy(root)
    story.doctor(fix=True)
    assert story.verify(made.chat).ok


@windows_only("nobody can keep others from reading elsewhere")
@pytest.mark.parametrize("act", ["checkpoint", "verify", "check"])
def test_a_chat_that_nobody_else_may_read_is_in_use(story: Forklore, root: Path, act: str) -> None:
    before = read_workspace(root)

    with held(root / f"chats/Mira/{NAME}.jsonl", HOLD_ALONE), pytest.raises(FileInUse):
        getattr(story, act)(CHAT)

    assert read_workspace(root) == before


@windows_only("nobody can keep others from reading elsewhere")
def test_doctor_tells_of_a_chat_that_nobody_else_may_read(
    story: Forklore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.stories()
    monkeypatch.setattr(files, "_MOMENT", 0.0)  # that was a while ago

    with held(root / f"chats/Mira/{NAME}.jsonl", HOLD_ALONE):
        found = story.doctor()

    assert "FILE_IN_USE" in {each.finding.code for each in found.findings}


@windows_only("elsewhere an open file is in nobody's way")
def test_who_waits_for_a_file_gives_up_after_two_and_a_half_seconds(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with held(tmp_path / "file"):
        begun = time.monotonic()
        with pytest.raises(PermissionError):
            Disk().remove(tmp_path / "file")

    assert 2 < time.monotonic() - begun < 8


def test_everything_works_below_a_path_that_is_longer_than_260_characters(tmp_path: Path) -> None:
    root = long_path(tmp_path) / ("deep " * 8 + "end") / ("deeper " * 8 + "end")
    write_story(root)
    name = "A long name " * 12 + "end"
    story = forklore.open(usual_path(root), disk=HastyDisk())
    before = read_workspace(root)

    made = story.checkpoint(CHAT, name=name)
    branched = story.branch(made.chat)

    assert len(str(root / f"chats/{branched.chat}.jsonl")) > 300
    assert story.verify(made.chat).ok
    assert len(story.stories().stories[0].timelines) == 3
    assert story.doctor().ok
    story.delete(branched.chat, yes=True)
    for _ in range(3):
        story.undo()
    assert read_workspace(root) == before


@windows_only("elsewhere a chat has one name")
@pytest.mark.parametrize("typed", [CHAT.lower(), CHAT.upper()])
def test_a_chat_is_called_as_it_is_spelled_on_the_disk(story: Forklore, root: Path, typed: str) -> None:
    made = story.checkpoint(typed)

    assert made.parent == CHAT
    assert made.chat.startswith(f"Mira/{NAME}")
    assert story.verify(made.chat).ok
