"""Somebody saves a file at the worst moment: nothing of theirs is lost, and the fork is whole or not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forklore.disk.files import ContextChanged
from forklore.errors import NameTaken
from tests.crash.disks import CrowdedDisk, PowerLoss, nothing, power_loss
from tests.crash.scenarios import (
    BOOK,
    CHAT,
    NAME,
    assert_tidy,
    cancel,
    checkpoint,
    log_of,
    open_with,
    read_workspace,
    said,
    save,
    undo_everything,
    write_busy_story,
    write_story,
)
from tests.needed import posix_only

pytestmark = pytest.mark.crash

needs_exchange = posix_only("files cannot be exchanged there")


class Story:
    """A story that somebody goes on with while we are at work."""

    def __init__(self, root: Path, write: Callable[[Path], None] = write_story) -> None:
        write(root)
        self.root = root
        self.chat = root / f"chats/Mira/{NAME}.jsonl"
        self.fork = root / f"chats/Mira/{NAME} - Checkpoint #1.jsonl"
        self.book = root / f"worlds/{BOOK}.json"
        self.clone = root / f"worlds/{BOOK}__CP_Checkpoint_1.json"
        self.before = read_workspace(root)
        self._from = self.chat.read_bytes()
        self._texts: list[str] = []

    def say(self) -> None:
        """Save the chat with one more message, from memory: whatever the file holds is written over."""
        self._texts.append(f"Something new, {len(self._texts)}.")
        save(self.chat, self.as_saved)

    @property
    def as_saved(self) -> bytes:
        """The chat as it was saved last."""
        return said(self._from, *self._texts)

    def learn(self) -> None:
        """Save the lorebook with another top-level member."""
        save(self.book, json.dumps({**json.loads(self.book.read_bytes()), "seen": len(self._texts)}).encode())
        self._texts.append("the book")

    def changed(self) -> dict[str, bytes]:
        """Return what is different from the story as it was."""
        now = read_workspace(self.root)
        assert self.before.keys() <= now.keys()
        return {path: content for path, content in now.items() if self.before.get(path) != content}


@pytest.fixture
def story(scratch: Path) -> Story:
    return Story(scratch / "story")


@pytest.fixture
def disk() -> CrowdedDisk:
    return CrowdedDisk()


# --- before the commit --------------------------------------------------------------------------------------------


@pytest.mark.req(61, 98, 99)
def test_a_parent_saved_before_the_commit_refuses_the_fork_without_a_trace(story: Story, disk: CrowdedDisk) -> None:
    disk.before("rename_new", story.say)

    with pytest.raises(ContextChanged):
        checkpoint(open_with(story.root, disk))

    assert list(story.changed()) == [f"chats/Mira/{NAME}.jsonl"]
    assert story.chat.read_bytes() == story.as_saved
    assert_tidy(story.root)


@pytest.mark.req(61, 99)
def test_a_lorebook_saved_before_the_commit_refuses_the_fork_without_a_trace(story: Story, disk: CrowdedDisk) -> None:
    disk.before("rename_new", story.learn)

    with pytest.raises(ContextChanged):
        checkpoint(open_with(story.root, disk))

    assert list(story.changed()) == [f"worlds/{BOOK}.json"]
    assert "seen" in json.loads(story.book.read_bytes())
    assert_tidy(story.root)


def test_a_name_taken_at_the_last_moment_is_refused_and_stays_with_its_owner(story: Story, disk: CrowdedDisk) -> None:
    disk.before("rename_new", nothing, lambda: story.fork.write_bytes(b"theirs"))

    with pytest.raises(NameTaken):
        checkpoint(open_with(story.root, disk))

    assert story.changed() == {f"chats/Mira/{story.fork.name}": b"theirs"}
    assert_tidy(story.root)


# --- after the commit ---------------------------------------------------------------------------------------------


def assert_forked(story: Story, *, kept: int = 0) -> None:
    """The fork is whole and linked, nothing that was saved is lost, and undo takes out exactly the fork."""
    parent = story.chat.read_bytes()
    lines = parent.split(b"\n")
    header, linked = json.loads(lines[0]), json.loads(lines[9])
    assert header["chat_metadata"]["auto_recap"]["checkpoint_lorebook_map"] == {story.fork.stem: story.clone.stem}
    assert linked["extra"]["bookmark_link"] == story.fork.stem
    assert lines[10:] == story.as_saved.split(b"\n")[10:]
    assert_tidy(story.root, kept=kept)
    assert log_of(story.root)[-1]["pending"] == []
    undo_everything(open_with(story.root, first_id=900))
    assert story.chat.read_bytes() == story.as_saved
    assert not story.fork.exists()
    assert not story.clone.exists()


@pytest.mark.req(61)
def test_a_save_between_the_commit_and_the_link_stays_and_is_linked(story: Story, disk: CrowdedDisk) -> None:
    checkpoint(open_with(story.root, disk.after("rename_new", nothing, story.say)))

    assert_forked(story)


@pytest.mark.req(61)
@pytest.mark.parametrize("saves", [1, 2, 3, 4])
def test_saves_between_our_look_and_our_exchanges_are_given_back_latest_first(
    story: Story, disk: CrowdedDisk, saves: int
) -> None:
    # The first save comes before the exchange that links; each further one before the exchange that gives back.
    checkpoint(open_with(story.root, disk.before("exchange", *[story.say] * saves)))

    assert_forked(story)


@pytest.mark.req(61)
def test_a_save_after_each_exchange_is_the_one_that_stays(story: Story, disk: CrowdedDisk) -> None:
    disk.before("exchange", story.say).after("exchange", story.say, story.say)

    checkpoint(open_with(story.root, disk))

    assert story.chat.read_bytes().split(b"\n")[10:] == story.as_saved.split(b"\n")[10:]
    assert_tidy(story.root)


@needs_exchange
def test_a_chat_that_is_written_all_the_time_is_left_alone_and_the_link_is_pending(
    story: Story, disk: CrowdedDisk
) -> None:
    disk.before("exchange", *[story.say, nothing] * 50)

    made = open_with(story.root, disk).checkpoint(CHAT)

    assert [warning.code for warning in made.warnings if warning.code == "LINK_PENDING"] == ["LINK_PENDING"]
    assert story.chat.read_bytes() == story.as_saved
    assert story.fork.exists()
    assert story.clone.exists()
    assert_tidy(story.root)
    undo_everything(open_with(story.root, first_id=900))
    assert list(story.changed()) == [f"chats/Mira/{NAME}.jsonl"]
    assert story.chat.read_bytes() == story.as_saved


@pytest.mark.req(61)
@pytest.mark.parametrize("later", [False, True], ids=["saved-once", "saved-again-after-the-crash"])
@needs_exchange
def test_a_save_that_an_interrupted_exchange_took_out_is_given_back_at_the_next_start(
    story: Story, disk: CrowdedDisk, later: bool
) -> None:
    disk.before("exchange", story.say).after("exchange", power_loss)

    with pytest.raises(PowerLoss):
        checkpoint(open_with(story.root, disk))
    if later:
        story.say()
    open_with(story.root).recover()

    assert_forked(story, kept=1)


@pytest.mark.req(61)
@needs_exchange
def test_of_two_saves_that_an_interrupted_exchange_has_mixed_up_the_later_one_stays(
    story: Story, disk: CrowdedDisk
) -> None:
    # Ours went in and theirs came out; their next one came out while the first was given back; then the power went.
    disk.before("exchange", story.say, story.say).after("exchange", nothing, power_loss)

    with pytest.raises(PowerLoss):
        checkpoint(open_with(story.root, disk))
    open_with(story.root).recover()

    assert_forked(story, kept=1)


@needs_exchange
def test_a_link_made_anew_just_before_a_crash_is_undone_byte_for_byte(story: Story, disk: CrowdedDisk) -> None:
    # The save has no "extra" in the linked message: the inverse of the staged edit would leave an empty one behind.
    content = story.chat.read_bytes().replace(b'"extra":{}', b'"title":""')
    disk.before("exchange", lambda: save(story.chat, content), nothing).after("exchange", nothing, nothing, power_loss)

    with pytest.raises(PowerLoss):
        checkpoint(open_with(story.root, disk))
    open_with(story.root).recover()
    linked = story.chat.read_bytes()
    undo_everything(open_with(story.root, first_id=900))

    assert story.fork.stem.encode() in linked
    assert story.chat.read_bytes() == content


# --- one file that is edited, one that is trashed -----------------------------------------------------------------


@pytest.mark.parametrize("saves", [1, 2, 3])
@needs_exchange
def test_a_lorebook_saved_while_its_queue_is_cancelled_stays_as_saved(scratch: Path, saves: int) -> None:
    story = Story(scratch / "story", write_busy_story)
    disk = CrowdedDisk().before("exchange", *[story.learn] * saves)

    with pytest.raises(ContextChanged):
        cancel(open_with(story.root, disk))

    assert json.loads(story.book.read_bytes())["seen"] == saves - 1
    assert log_of(story.root) == []
    assert_tidy(story.root)


def test_a_fork_that_goes_on_just_before_it_is_trashed_stays(story: Story, disk: CrowdedDisk) -> None:
    checkpoint(open_with(story.root))
    before, content = read_workspace(story.root), said(story.fork.read_bytes(), "Wait!")
    disk.before("rename_new", lambda: save(story.fork, content))

    with pytest.raises(ContextChanged):
        open_with(story.root, disk, first_id=100).undo()

    assert read_workspace(story.root) == {**before, f"chats/Mira/{story.fork.name}": content}
    assert_tidy(story.root)


def test_of_two_saves_of_a_fork_that_is_being_trashed_the_later_one_stays(story: Story, disk: CrowdedDisk) -> None:
    checkpoint(open_with(story.root))
    content = story.fork.read_bytes()
    disk.before(
        "rename_new",
        lambda: save(story.fork, said(content, "Wait!")),
        lambda: save(story.fork, said(content, "Wait!", "Stop!")),
    )

    with pytest.raises(ContextChanged):
        open_with(story.root, disk, first_id=100).undo()

    assert story.fork.read_bytes() == said(content, "Wait!", "Stop!")
    assert story.clone.exists()
    assert_tidy(story.root, kept=1)


def test_a_save_that_went_to_the_trash_with_the_power_comes_back_at_the_next_start(
    story: Story, disk: CrowdedDisk
) -> None:
    checkpoint(open_with(story.root))
    before, content = read_workspace(story.root), said(story.fork.read_bytes(), "Wait!")
    disk.before("rename_new", lambda: save(story.fork, content)).after("rename_new", power_loss)

    with pytest.raises(PowerLoss):
        open_with(story.root, disk, first_id=100).undo()
    open_with(story.root).recover()

    assert read_workspace(story.root) == {**before, f"chats/Mira/{story.fork.name}": content}
    assert_tidy(story.root)
