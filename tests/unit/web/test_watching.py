"""Changes on the disk are told as chats and lorebooks, also where the disk does not tell of them."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from forklore.app.open import user_state
from forklore.disk.places import Places
from forklore.web.service import Service
from forklore.web.watching import Watching, tells_nothing
from tests.needed import posix_only

WINE = "Wine tells of changes only when somebody asks again"
HOW = pytest.mark.parametrize("poll", [pytest.param(False, marks=posix_only(WINE)), True])
MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
//box/stories /mnt/box cifs rw 0 0
sshfs#me /mnt/with\\040blank fuse.sshfs rw 0 0
drvfs /mnt/c 9p rw 0 0
/dev/sdb1 /mnt/box/local ext4 rw 0 0
"""


@posix_only("no list of mounts")
@pytest.mark.parametrize(
    "place,silent",
    [
        ("/home/me/data", False),
        ("/mnt/box/data/default-user", True),
        ("/mnt/boxer", False),
        ("/mnt/box/local/data", False),
        ("/mnt/with blank/data", True),
        ("/mnt/c/SillyTavern", True),
    ],
)
def test_disks_that_tell_nothing_are_known(tmp_path: Path, place: str, silent: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)

    assert tells_nothing(Path(place), tmp_path / "mounts") is silent


def test_without_a_list_of_disks_they_are_trusted(tmp_path: Path) -> None:
    assert not tells_nothing(tmp_path, tmp_path / "nothing")


def workspace(root: Path) -> Path:
    for folder in ("chats/Maren", "group chats", "groups", "worlds"):
        (root / folder).mkdir(parents=True)
    (root / "groups/7.json").write_text(json.dumps({"id": "7", "chats": ["All of us"], "members": []}))
    return root


def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


async def heard_after(root: Path, *written: str, poll: bool) -> dict[str, object]:
    """Return what is told after files were written while somebody listens."""
    service = Service()
    watching = Watching(service, poll=poll)
    stream = service.events.listen(root, ("hello", {}))
    await anext(stream)
    await asyncio.wait_for(asyncio.to_thread(_until, lambda: bool(watching._observers)), 30)
    for place in written:
        (root / place).write_text("{}")
    told = await asyncio.wait_for(anext(stream), 30)
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    name, data = told.strip().split("\n")
    assert name == "event: changed"
    answer: dict[str, object] = json.loads(data.removeprefix("data: "))
    return answer


@HOW
def test_what_changed_is_told_by_its_name(tmp_path: Path, poll: bool) -> None:
    root = workspace(tmp_path)

    told = asyncio.run(
        heard_after(
            root, "chats/Maren/A.jsonl", "chats/B.jsonl", "group chats/All of us.jsonl", "worlds/Lore.json", poll=poll
        )
    )

    assert told == {"chats": ["./B", "Maren/A", "group:7/All of us"], "books": ["Lore"], "everything": False}


@posix_only("links need a privilege there")
@HOW
def test_a_linked_folder_is_watched_once_it_is_allowed(tmp_path: Path, poll: bool) -> None:
    root = workspace(tmp_path / "data")
    elsewhere = tmp_path / "elsewhere"
    (root / "worlds").rename(elsewhere)
    (root / "worlds").symlink_to(elsewhere)

    before = asyncio.run(heard_after(root, "worlds/Lore.json", "chats/B.jsonl", poll=poll))
    Places(root, user_state).allow("worlds")
    after = asyncio.run(heard_after(root, "worlds/More.json", "chats/C.jsonl", poll=poll))

    assert (before["chats"], before["books"]) == (["./B"], [])
    assert (after["chats"], after["books"]) == (["./C"], ["More"])


@posix_only("links need a privilege there")
def test_looking_walks_into_no_link(tmp_path: Path) -> None:
    root = workspace(tmp_path / "data")
    (tmp_path / "elsewhere").mkdir()
    (root / "chats/out").symlink_to(tmp_path / "elsewhere")
    (root / "chats/circle").symlink_to(root / "chats")

    told = asyncio.run(heard_after(root, "chats/out/A.jsonl", "chats/B.jsonl", poll=True))

    assert told == {"chats": ["./B"], "books": [], "everything": False}


@HOW
def test_a_file_in_a_folder_below_is_no_lorebook(tmp_path: Path, poll: bool) -> None:
    root = workspace(tmp_path)
    (root / "worlds/deep").mkdir()

    told = asyncio.run(heard_after(root, "worlds/deep/Lore.json", "worlds/Lore.json", poll=poll))

    assert told == {"chats": [], "books": ["Lore"], "everything": False}


@posix_only(WINE)
def test_many_changes_are_told_as_one(tmp_path: Path) -> None:
    root = workspace(tmp_path)

    told = asyncio.run(heard_after(root, *(f"worlds/{number}.json" for number in range(60)), poll=False))

    assert told == {"chats": [], "books": [], "everything": True}


def test_nothing_is_watched_when_nobody_listens(tmp_path: Path) -> None:
    root = workspace(tmp_path)

    async def scene() -> tuple[int, int]:
        service = Service()
        watching = Watching(service)
        stream = service.events.listen(root, ("hello", {}))
        await anext(stream)
        await asyncio.wait_for(asyncio.to_thread(_until, lambda: bool(watching._observers)), 30)
        during = len(watching._observers)
        await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
        return during, len(watching._observers)

    assert asyncio.run(scene()) == (1, 0)
