"""The cage holds: what is tested in it may do harm, and this must not reach the machine of whoever runs the tests."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forklore.disk.disk import Disk, write_whole
from tests.hostile import enemies
from tests.hostile.caging import Escaped, caged, lock_in
from tests.hostile.crafting import CAGE, WORKSPACE
from tests.hostile.trees import HAS_LINKS

pytestmark = pytest.mark.skipif(not HAS_LINKS, reason="this system has no symbolic links")


@pytest.fixture
def cage(tmp_path: Path) -> Path:
    """A cage with two ways out of it: a link to the folder beside it, and one to a file there."""
    cage, beside = tmp_path / "cage", tmp_path / "beside"
    cage.mkdir()
    (beside / "folder").mkdir(parents=True)
    (beside / "file").write_bytes(b"Keep me.")
    (cage / "door").symlink_to(beside)
    (cage / "hatch").symlink_to(beside / "file")
    (cage / "own").write_bytes(b"")
    return cage


HARM: dict[str, Callable[[Path], object]] = {
    "write": lambda cage: (cage / "hatch").write_bytes(b"Evil!"),
    "write beside": lambda cage: (cage / "../beside/new").write_bytes(b"Evil!"),
    "write whole": lambda cage: write_whole(cage / "door/file", b"Evil!"),
    "empty": lambda cage: os.close(os.open(cage / "hatch", os.O_RDWR | os.O_TRUNC)),
    "remove": lambda cage: (cage / "door/file").unlink(),
    "remove a folder": lambda cage: (cage / "door/folder").rmdir(),
    "remove a tree": lambda cage: shutil.rmtree(cage / "door/folder", ignore_errors=True),
    "remove a tree through a door": lambda cage: Disk().remove_tree(cage / "door/folder"),
    "make a folder": lambda cage: (cage / "door/new").mkdir(),
    "rename out": lambda cage: (cage / "own").rename(cage / "door/new"),
    "rename in": lambda cage: (cage / "door/file").rename(cage / "new"),
    "rename specially": lambda cage: Disk().rename_new(cage / "door/file", cage / "new"),
    "exchange": lambda cage: Disk().exchange(cage / "own", cage / "door/file"),
    "link": lambda cage: os.link(cage / "door/file", cage / "new"),
    "chmod": lambda cage: (cage / "hatch").resolve().chmod(0o777),
}


@pytest.mark.parametrize("harm", HARM)
def test_nothing_outside_of_the_cage_is_changed(cage: Path, harm: str) -> None:
    with caged(cage), pytest.raises(Escaped):
        HARM[harm](cage)

    assert sorted(path.name for path in (cage / "door").iterdir()) == ["file", "folder"]
    assert (cage / "hatch").read_bytes() == b"Keep me."


def test_everything_in_the_cage_can_be_changed(cage: Path) -> None:
    with caged(cage):
        write_whole(cage / "new", b"Fine.")
        (cage / "folder").mkdir()
        Disk().rename_new(cage / "new", cage / "folder/new")
        shutil.rmtree(cage / "folder")
        (cage / "hatch").unlink()

    assert sorted(path.name for path in cage.iterdir()) == ["door", "own"]


def _do_harm(cage: Path, told: Any) -> None:
    if not lock_in(cage):
        told.send("cannot")
        return
    done = []
    for name, harm in HARM.items():
        try:
            harm(cage)
        except OSError:
            continue
        done.append(name)
    write_whole(cage / "new", b"Fine.")
    told.send(done)


def test_the_kernel_lets_nothing_out_either(cage: Path) -> None:
    context = multiprocessing.get_context("spawn")
    hear, tell = context.Pipe(duplex=False)
    child = context.Process(target=_do_harm, args=(cage, tell))
    child.start()
    assert hear.poll(60)
    done = hear.recv()
    child.join(60)

    if done == "cannot":
        pytest.skip("this system has no Landlock")
    assert {*done} <= {"remove a tree", "remove a tree through a door", "chmod"}  # told as done, but for the last
    assert sorted(path.name for path in (cage / "door").iterdir()) == ["file", "folder"]
    assert (cage / "hatch").read_bytes() == b"Keep me."
    assert (cage / "new").exists()


def test_no_enemy_climbs_as_high_as_the_cage_is_deep() -> None:
    deepest = f"{CAGE}/home/{WORKSPACE}".count("/")
    chance = random.Random(1)
    drawn = [enemies.text(chance, "/home of the case") for _ in range(20_000)]

    assert max(text.replace("\\", "/").count("../") for text in drawn) < deepest - 4
    absolute = {text for text in drawn if text.startswith("/") and not text.startswith("/home of the case/")}
    assert all(text.startswith("/proc/self/cwd/") for text in absolute)
