"""Operations undone and done again in any order: whole at each moment, byte for byte at the end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forklore.errors import ForkloreError
from tests.crash.disks import seeds
from tests.crash.scenarios import CHAT, NAME, assert_tidy, open_with, read_workspace, undo_everything, write_story
from tests.crash.structure import assert_whole

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("seed", seeds(12))
def test_whatever_is_undone_in_whatever_order_leaves_no_byte_behind(seed: int, scratch: Path) -> None:
    write_story(scratch)
    before, opened, chance = read_workspace(scratch), open_with(scratch), random.Random(seed)

    for _ in range(12):
        shown = opened.log()
        undoable = [each.id for each in shown.operations if each.id not in shown.undone]
        try:
            match chance.randrange(5):
                case 0 | 1:
                    opened.checkpoint(CHAT, at=chance.choice([None, 2, 4]))
                case 2:
                    opened.branch(CHAT)
                case _ if undoable:
                    opened.undo(chance.choice(undoable))
        except ForkloreError as error:
            assert error.code in {"UNDO_REFUSED", "NAME_TAKEN"}  # noqa: PT017  # refusals are fine, nothing else is
        assert_whole(scratch)
        assert_tidy(scratch)
    undo_everything(opened)

    assert read_workspace(scratch) == before


@pytest.mark.req(101, 138)
@pytest.mark.parametrize("seed", seeds(24))
def test_whatever_is_deleted_and_put_back_in_whatever_order_comes_back_to_the_last_byte(
    seed: int, scratch: Path
) -> None:
    write_story(scratch)
    before, opened, chance = read_workspace(scratch), open_with(scratch), random.Random(seed)

    for number in range(16):
        shown = opened.log()
        undoable = [each.id for each in shown.operations if each.id not in shown.undone]
        forks = [path.stem for path in (scratch / "chats/Mira").glob("*.jsonl") if path.stem != NAME]
        items = [item.item for item in opened.trash().items]
        try:
            match chance.randrange(8):
                case 0 | 1:  # each with a name of its own: of two with one name only one can be there
                    opened.checkpoint(CHAT, at=chance.choice([None, 2, 4]), name=f"Anchor {number}")
                case 2 if not any(each.kind == "branch" for each in shown.operations):
                    opened.branch(CHAT)
                case 3 | 4 if forks:
                    opened.delete(f"Mira/{chance.choice(sorted(forks))}")
                case 5 if items:
                    opened.restore(chance.choice(items))
                case _ if undoable:
                    opened.undo(chance.choice(undoable))
        except ForkloreError as error:
            assert error.code in {"UNDO_REFUSED", "NAME_TAKEN"}  # noqa: PT017  # refusals are fine, nothing else is
        assert_tidy(scratch)
    undo_everything(opened)

    assert read_workspace(scratch) == before


@pytest.mark.req(101)
def test_a_fork_that_cannot_come_back_because_its_names_are_taken_takes_nothing_from_their_owner(
    scratch: Path,
) -> None:
    write_story(scratch)
    opened = open_with(scratch)
    opened.checkpoint(CHAT)
    undone = opened.undo()
    opened.checkpoint(CHAT)  # of the same name, with a lorebook of the same name and even of the same content
    before = read_workspace(scratch)

    with pytest.raises(ForkloreError, match="later, with the checkpoint") as refused:
        opened.undo(undone.operation)
    assert refused.value.code == "UNDO_REFUSED"

    assert read_workspace(scratch) == before
    assert_tidy(scratch)
