"""What opening a workspace does with leftovers, whatever has happened to them since."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from forklore.disk.lock import workspace_lock
from forklore.disk.transaction import folder as operation_folder
from forklore.errors import ForkloreError
from forklore.model.fact import fact
from forklore.testing.sillytavern import HastyDisk
from tests.crash.deaths import AFTER, deaths_of
from tests.crash.disks import STRIDE, Fault, PowerLoss, faulty
from tests.crash.scenarios import (
    BOOK,
    CHAT,
    NAME,
    SCENARIOS,
    Model,
    assert_tidy,
    checkpoint,
    log_of,
    model_of,
    open_with,
    read_workspace,
    said,
    save,
    undo_everything,
)
from tests.needed import posix_only

pytestmark = pytest.mark.crash

FORK = f"{NAME} - Checkpoint #1"
CLONE = f"{BOOK}__CP_Checkpoint_1"


class StubbornDisk(HastyDisk):
    """A disk that does not let go of a staging folder, as a folder that some program has open on Windows."""

    def remove(self, path: Path) -> None:
        """Remove it, unless it is a journal."""
        if path.name != "journal.json":
            super().remove(path)

    def remove_tree(self, path: Path) -> None:
        """Do nothing."""


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return model_of(SCENARIOS[0], tmp_path)


@pytest.fixture
def root(model: Model, tmp_path: Path) -> Path:
    return model.trial(tmp_path / "trial")


def die(root: Path, step: str, *, nth: int = 0, done: str = "all") -> None:
    """Let a checkpoint die at the *nth* step of a name."""
    counting = faulty()
    trial = root.with_name("counting")
    trial.parent.mkdir(exist_ok=True)
    model_of(SCENARIOS[0], trial).act(trial / "ready", counting)
    at = [number for number, name in enumerate(counting.steps) if name == step][nth]
    with pytest.raises(PowerLoss):
        checkpoint(open_with(root, faulty(HastyDisk, Fault("dies", done=done), at), first_id=100))


# --- leftovers of every kind --------------------------------------------------------------------------------------


def test_staged_files_without_a_journal_are_removed(model: Model, root: Path) -> None:
    die(root, "remove")  # the first small file is the journal

    assert open_with(root).recover() == []
    assert not model.assert_all_or_nothing(root, "died before the journal")


def test_a_journal_that_is_garbled_is_left_alone_until_it_is_discarded(model: Model, root: Path) -> None:
    die(root, "rename_new", done="nothing")
    (folder,) = (root / ".forklore/staging").iterdir()
    (folder / "journal.json").write_bytes(b'{"format": 1, "chan')
    staged = (folder / "1").read_bytes()

    assert open_with(root).recover() == []
    checkpoint(open_with(root, first_id=200))
    undo_everything(open_with(root, first_id=300))
    assert (folder / "1").read_bytes() == staged
    open_with(root).repair(folder.name, "OPERATION_FOREIGN", repair="discard")

    assert (root / f".forklore/trash/{folder.name}-discarded/1").read_bytes() == staged
    assert read_workspace(root) == model.before
    assert not any((root / ".forklore/staging").iterdir())


def test_a_journal_that_cannot_be_read_now_is_not_taken_for_a_missing_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(root, "rename_new")
    (folder,) = (root / ".forklore/staging").iterdir()
    before = read_workspace(root)

    def fail(path: Path) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    with monkeypatch.context() as broken:
        broken.setattr(operation_folder, "read_small", fail)
        with pytest.raises(ForkloreError, match="neither finished nor taken back"):
            checkpoint(open_with(root, first_id=200))

    assert read_workspace(root) == before
    assert (folder / "journal.json").exists()


def test_what_is_no_folder_in_the_staging_folder_is_no_leftover(root: Path) -> None:
    checkpoint(open_with(root))
    (root / ".forklore/staging/.DS_Store").write_bytes(b"Bud1")

    assert open_with(root).recover() == []
    checkpoint(open_with(root, first_id=200))


def test_an_operation_that_is_in_the_log_is_not_finished_a_second_time(model: Model, root: Path) -> None:
    checkpoint(open_with(root, StubbornDisk(), first_id=100))
    (folder,) = (root / ".forklore/staging").iterdir()
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    open_with(root, StubbornDisk(), first_id=200).undo()
    for path, content in kept.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

    assert open_with(root).recover() == []
    assert read_workspace(root) == model.origin
    assert [operation["kind"] for operation in log_of(root)] == ["checkpoint", "undo"]
    assert_tidy(root)


def test_several_interrupted_operations_are_all_seen_to(model: Model, root: Path) -> None:
    checkpoint(open_with(root, StubbornDisk(), first_id=100))
    for path in (root / ".forklore/operations").iterdir():
        path.unlink()
    (root / ".forklore/staging/00000050").mkdir()

    open_with(root).recover()

    assert model.assert_all_or_nothing(root, "recovered")


# --- the lock -----------------------------------------------------------------------------------------------------


@pytest.mark.req(95)
def test_leftovers_of_somebody_who_is_still_at_work_are_left_alone(model: Model, root: Path) -> None:
    die(root, "rename_new")
    before = {*root.rglob("*")}

    with workspace_lock(root, what="checkpoint"):
        assert open_with(root).recover() == []
        locked = {root / ".forklore/lock", root / ".forklore/holder"}
        assert {*root.rglob("*")} - locked == before - locked

    assert len(open_with(root).recover()) == 1
    assert not model.assert_all_or_nothing(root, "recovered")


def test_looking_for_leftovers_writes_nothing(tmp_path: Path) -> None:
    SCENARIOS[0].write(tmp_path)

    open_with(tmp_path).recover()

    assert not (tmp_path / ".forklore").exists()


# --- the story went on before the recovery ------------------------------------------------------------------------


def test_a_parent_that_went_on_after_the_crash_gets_its_link_and_keeps_its_messages(root: Path) -> None:
    die(root, "rename_new", nth=1)  # the chat is published, nothing points to it yet
    parent = root / f"chats/Mira/{NAME}.jsonl"
    gone_on = said(parent.read_bytes(), "Meanwhile.", "In another town.")
    save(parent, gone_on)

    open_with(root).recover()
    linked = parent.read_bytes()
    undo_everything(open_with(root, first_id=900))

    assert linked.count(FORK.encode()) == 2  # the link and the map
    assert linked.endswith(gone_on.rpartition(b"\n")[2])
    assert parent.read_bytes() == gone_on


def test_a_parent_that_was_saved_without_the_link_after_the_crash_gets_it_again(model: Model, root: Path) -> None:
    parent = root / f"chats/Mira/{NAME}.jsonl"
    as_the_page_has_it = parent.read_bytes()
    die(root, "exchange")
    save(parent, as_the_page_has_it)

    open_with(root).recover()

    assert model.assert_all_or_nothing(root, "recovered")
    model.assert_usable(root)


def test_a_fork_that_was_renamed_after_the_crash_keeps_its_lorebook(root: Path) -> None:
    die(root, "rename_new", nth=1)
    fork, clone = root / f"chats/Mira/{FORK}.jsonl", root / f"worlds/{CLONE}.json"
    fork.rename(fork.with_name("My fork.jsonl"))

    (told,) = open_with(root).recover()

    assert told == fact("recovered", case="dropped", kind="checkpoint", chat=f"Mira/{FORK}")
    assert clone.exists()
    assert_tidy(root)


def test_a_clone_that_was_edited_after_the_crash_is_not_taken_away(root: Path) -> None:
    die(root, "rename_new", nth=0)
    clone = root / f"worlds/{CLONE}.json"
    edited = json.dumps({**json.loads(clone.read_bytes()), "mine": True}).encode()
    save(clone, edited)

    open_with(root).recover()

    assert clone.read_bytes() == edited
    assert_tidy(root)


def test_an_undo_that_was_interrupted_does_not_take_a_chat_that_was_written_anew(tmp_path: Path) -> None:
    (undo,) = (scenario for scenario in SCENARIOS if scenario.name == "undo")
    model, root = model_of(undo, tmp_path), tmp_path / "trial"
    counting = faulty()
    model.act(model.trial(root), counting)
    commit = counting.steps.index("rename_new")
    with pytest.raises(PowerLoss):
        model.act(model.trial(root), faulty(HastyDisk, Fault("dies", done="all"), commit))
    fork = root / f"chats/Mira/{FORK}.jsonl"
    save(fork, b"written from the memory of a page")

    open_with(root).recover()

    assert fork.read_bytes() == b"written from the memory of a page"
    assert_tidy(root)
    assert log_of(root) == model.log_after


# --- what is kept of a file besides its bytes ---------------------------------------------------------------------


@pytest.mark.req(142)
@pytest.mark.parametrize("settings", [b'{"world_info": ["%s"]}' % CLONE.encode(), b"{"])
def test_a_lorebook_that_is_used_after_an_interrupted_deletion_stays(settings: bytes, tmp_path: Path) -> None:
    deletion = next(each for each in SCENARIOS if each.name == "delete")
    model, root = model_of(deletion, tmp_path), tmp_path / "trial"
    book, interrupted = root / f"worlds/{CLONE}.json", 0

    for _ in deaths_of(model, root, HastyDisk, AFTER):
        was_there = book.exists()
        interrupted += was_there and not (root / f"chats/Mira/{FORK}.jsonl").exists()
        (root / "settings.json").write_bytes(settings)
        open_with(root).recover()

        assert book.exists() == was_there
        (root / "settings.json").unlink()
        undo_everything(open_with(root, first_id=1000))
        assert read_workspace(root) == model.origin

    assert interrupted or STRIDE > 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_fork_made_by_another_user_belongs_to_the_owner_of_the_story(root: Path) -> None:
    parent = root / f"chats/Mira/{NAME}.jsonl"
    parent.chmod(0o660)
    os.chown(parent, 4711, 4712)

    checkpoint(open_with(root))

    for path in (parent, root / f"chats/Mira/{FORK}.jsonl"):
        stat = path.stat()
        assert (stat.st_uid, stat.st_gid, stat.st_mode & 0o777) == (4711, 4712, 0o660)


@posix_only("links need a privilege there")
def test_a_chat_that_is_a_link_in_its_own_folder_stays_a_link(model: Model, root: Path) -> None:
    parent = root / f"chats/Mira/{NAME}.jsonl"
    (root / "chats/Elsewhere").mkdir()
    real = parent.rename(root / "chats/Elsewhere/real.jsonl")
    parent.symlink_to("../Elsewhere/real.jsonl")

    checkpoint(open_with(root, first_id=100))

    assert parent.is_symlink()
    assert real.read_bytes() == model.after[f"chats/Mira/{NAME}.jsonl"]
    undo_everything(open_with(root, first_id=900))
    assert real.read_bytes() == model.before[f"chats/Mira/{NAME}.jsonl"]
    assert parent.is_symlink()


@posix_only("links need a privilege there")
def test_a_fork_whose_file_became_a_link_is_not_undone_and_what_it_points_to_stays(root: Path, tmp_path: Path) -> None:
    checkpoint(open_with(root, first_id=100))
    fork, real = root / f"chats/Mira/{FORK}.jsonl", tmp_path / "elsewhere.jsonl"
    content = fork.read_bytes()
    fork.rename(real)
    fork.symlink_to(real)

    with pytest.raises(ForkloreError) as refused:
        open_with(root, first_id=900).undo()

    assert refused.value.code == "LINK_OUTSIDE"
    assert fork.is_symlink()
    assert real.read_bytes() == content


@pytest.mark.parametrize("name", ["長" * 78, "x" * 235])
def test_the_longest_name_can_be_forked_to_undone_and_redone(root: Path, model: Model, name: str) -> None:
    forklore = open_with(root)
    forklore.checkpoint(CHAT, name=name)
    forked = read_workspace(root)

    undone = forklore.undo()
    assert read_workspace(root) == model.origin
    forklore.undo(undone.operation)

    assert read_workspace(root) == forked
    assert_tidy(root)


def test_an_undo_whose_trash_was_emptied_cannot_be_undone_and_changes_nothing(model: Model, root: Path) -> None:
    forklore = open_with(root)
    forklore.checkpoint(CHAT)
    undone = forklore.undo()
    for path in (root / ".forklore/trash").rglob("*.jsonl"):
        path.unlink()

    with pytest.raises(ForkloreError, match="no longer in the trash"):
        forklore.undo(undone.operation)

    assert read_workspace(root) == model.origin
    assert not list((root / ".forklore/staging").iterdir())
