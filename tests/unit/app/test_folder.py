"""What is told of the folder itself, and what is done about it when the user asks."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.disk.disk import Disk
from forklore.disk.lock import workspace_lock
from forklore.errors import BadRequest, ForkloreError, FormatNewer
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, recap_story
from forklore.testing.stories import read_workspace, write_workspace
from tests.crash.disks import Fault, PlainDisk, PowerLoss, faulty
from tests.needed import posix_only

NAME, BOOK = "Tale", "Lore"
MAIN = f"Mira/{NAME}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "data", recap_story(NAME, BOOK))


def opened(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


def findings(root: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for located in opened(root).doctor().findings:
        found.setdefault(located.finding.code, []).append(located.where)
    return found


def die(root: Path, act: Callable[[Forklore], object], step: str, nth: int = 0) -> Path:
    """Let an operation die right after the *nth* step of a name; return the folder that is left."""
    trial = root.with_name("counting")
    shutil.copytree(root, trial)
    counting = faulty(HastyDisk)
    act(forklore.open(trial, disk=counting))
    shutil.rmtree(trial)
    at = [number for number, name in enumerate(counting.steps) if name == step][nth]
    with pytest.raises(PowerLoss):
        act(forklore.open(root, disk=faulty(HastyDisk, Fault("dies", done="all"), at)))
    (folder,) = (root / ".forklore/staging").iterdir()
    return folder


def make_foreign(folder: Path) -> None:
    """Take the signature off a journal."""
    journal = json.loads((folder / "journal.json").read_bytes())
    del journal["mac"]
    (folder / "journal.json").write_text(json.dumps(journal))


def everything(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


READERS: dict[str, Callable[[Forklore], object]] = {
    "stories": lambda each: each.stories(),
    "tree": lambda each: each.tree(),
    "show": lambda each: each.show(MAIN),
    "check": lambda each: each.check(MAIN),
    "verify": lambda each: each.verify(MAIN),
    "status": lambda each: each.status(MAIN),
    "doctor": lambda each: each.doctor(),
    "cleanup": lambda each: each.cleanup(),
    "trash": lambda each: each.trash(),
    "log": lambda each: each.log(),
    "queue": lambda each: each.queue(MAIN),
    "settings": lambda each: each.settings(),
    "plan": lambda each: each.plan("checkpoint", MAIN),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_whoever_only_reads_recovers_nothing_and_takes_no_lock(
    root: Path, reader: Callable[[Forklore], object]
) -> None:
    die(root, lambda each: each.checkpoint(MAIN), "rename_new")
    before = everything(root)

    with workspace_lock(root, what="test"):
        reader(opened(root))

    assert everything(root) == before


def test_a_clone_of_an_unfinished_operation_is_not_said_to_be_unused(root: Path) -> None:
    die(root, lambda each: each.checkpoint(MAIN), "rename_new")
    assert (root / f"worlds/{BOOK}__CP_Checkpoint_1.json").exists()

    assert findings(root).keys() == {"OPERATION_LEFTOVER"}
    assert opened(root).cleanup().books == ()


def test_what_an_unfinished_operation_trashed_is_not_listed(root: Path) -> None:
    opened(root).checkpoint(MAIN)
    die(root, lambda each: each.undo(), "rename_new")
    assert any((root / ".forklore/trash").rglob("*.jsonl"))

    assert opened(root).trash().items == ()


def test_the_next_operation_finishes_what_is_ours(root: Path) -> None:
    die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)

    made = opened(root).branch(MAIN)

    assert [operation.kind for operation in opened(root).log().operations] == ["branch", "checkpoint"]
    assert made.chat != f"{MAIN} - Checkpoint #1"
    assert "OPERATION_LEFTOVER" not in findings(root)


def test_what_is_not_ours_is_told_and_the_rest_goes_on_working(root: Path) -> None:
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)
    make_foreign(folder)
    left = everything(folder)

    opened(root).branch(MAIN)
    opened(root).doctor(fix=True)
    opened(root).undo()

    assert findings(root)["OPERATION_FOREIGN"] == [f".forklore/staging/{folder.name}"]
    assert everything(folder) == left


def test_a_signature_of_another_operation_or_of_another_text_is_none(root: Path) -> None:
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)
    journal = json.loads((folder / "journal.json").read_bytes())

    for altered in ({**journal, "chat": "Mira/Another"}, {**journal, "id": "another"}, {**journal, "mac": "0" * 64}):
        (folder / "journal.json").write_text(json.dumps(altered))
        assert "OPERATION_FOREIGN" in findings(root)


def test_a_foreign_operation_that_was_published_is_finished_on_request(root: Path) -> None:
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)
    make_foreign(folder)

    done = opened(root).repair(folder.name, "OPERATION_FOREIGN", repair="finish")

    assert done.operation == folder.name
    assert not folder.exists()
    assert [operation.id for operation in opened(root).log().operations] == [folder.name]
    assert opened(root).doctor().ok


def test_a_foreign_operation_that_was_not_published_is_taken_back_into_the_trash(root: Path) -> None:
    before = read_workspace(root)
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new")
    make_foreign(folder)

    done = opened(root).repair(f".forklore/staging/{folder.name}", "OPERATION_FOREIGN", repair="finish")

    assert done.operation is None
    assert read_workspace(root) == before
    assert (root / f".forklore/trash/{folder.name}/{BOOK}__CP_Checkpoint_1.json").exists()
    assert (root / f".forklore/trash/{folder.name}-discarded/journal.json").exists()


def test_a_foreign_operation_is_discarded_without_touching_a_file_of_the_story(root: Path) -> None:
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)
    make_foreign(folder)
    before, staged = read_workspace(root), everything(folder)

    opened(root).repair(folder.name, "OPERATION_FOREIGN", repair="discard")

    assert read_workspace(root) == before
    assert everything(root / f".forklore/trash/{folder.name}-discarded") == staged
    assert not folder.exists()


ALTERATIONS: dict[str, dict[str, Any]] = {
    "PATH_OUTSIDE": {"path": "../../diary.json"},
    "OPERATION_FOREIGN": {"content": [["much", "x"]]},
}


@pytest.mark.parametrize("code", ALTERATIONS)
def test_a_foreign_operation_is_finished_only_after_all_checks(root: Path, code: str) -> None:
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)
    make_foreign(folder)
    journal = json.loads((folder / "journal.json").read_bytes())
    journal["changes"][0] |= ALTERATIONS[code]
    (folder / "journal.json").write_text(json.dumps(journal))
    before = everything(root)

    (located,) = [each for each in opened(root).doctor().findings if each.path == f".forklore/staging/{folder.name}"]
    with pytest.raises(ForkloreError):
        opened(root).repair(folder.name, "OPERATION_FOREIGN", repair="finish")

    assert (located.finding.code, located.finding.repairs) == (code, ("discard",))
    assert everything(root).keys() - before.keys() <= {".forklore/lock"}


def test_a_repair_that_is_not_offered_is_refused(root: Path) -> None:
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)
    make_foreign(folder)

    offered = opened(root).repair(folder.name, "OPERATION_FOREIGN")
    with pytest.raises(BadRequest):
        opened(root).repair(folder.name, "OPERATION_FOREIGN", repair="allow")

    assert [each.name for each in offered.offered] == ["finish", "discard"]


def late(path: Path) -> None:
    """Let a file look as if it was written long after everything else."""
    os.utime(path, (4_000_000_000, 4_000_000_000))


@pytest.mark.parametrize("system", [HastyDisk, PlainDisk])
@pytest.mark.parametrize("is_foreign", [True, False])
@pytest.mark.parametrize("step", ["rename_new", "exchange"])
def test_a_staged_file_that_was_swapped_takes_no_chat_away(
    root: Path, step: str, is_foreign: bool, system: type[Disk]
) -> None:
    chat = root / f"chats/{MAIN}.jsonl"
    folder = die(root, lambda each: each.checkpoint(MAIN), step, nth=1 if step == "rename_new" else 0)
    said = [json.loads(line)["mes"] for line in chat.read_bytes().splitlines()[1:]]
    journal = json.loads((folder / "journal.json").read_bytes())
    (edit,) = [change for change in journal["changes"] if change["do"] == "edit"]
    (root / edit["staged"]).write_bytes(b'{"chat_metadata":{}}\n{"mes":"evil"}')
    late(root / edit["staged"])
    if is_foreign:
        make_foreign(folder)
        forklore.open(root, disk=system()).repair(folder.name, "OPERATION_FOREIGN", repair="finish")
    else:
        forklore.open(root, disk=system()).recover()

    kept = [chat, *(path for path in (root / ".forklore/trash").rglob("*") if path.is_file())]
    texts = [path.read_bytes() for path in kept]
    assert any(all(json.dumps(each).encode() in text for each in said) for text in texts)


def test_a_crafted_journal_removes_no_trashed_chat_and_no_chat(root: Path) -> None:
    opened(root).checkpoint(MAIN)
    opened(root).undo()
    (item,) = [each for each in opened(root).trash().items if each.item.endswith(".jsonl")]
    folder = root / ".forklore/staging/evil"
    folder.mkdir(parents=True)
    chat = root / f"chats/{MAIN}.jsonl"
    content = [[chat.stat().st_size, hashlib.sha256(chat.read_bytes()).hexdigest()]]
    path = f"chats/{MAIN}.jsonl"
    before = everything(root)
    for changes in (
        [{"do": "restore", "path": path, "item": item.item, "content": content}],
        [{"do": "trash", "path": path, "item": "evil/x", "content": content}],
        [{"do": "create", "path": path, "content": content, "staged": ".forklore/staging/evil/0", "mine": [1, 2, 3]}],
    ):
        folder.mkdir(exist_ok=True)
        journal = {"format": 1, "id": "evil", "kind": "undo", "chat": MAIN, "when": "", "undoes": None, "notes": {}}
        (folder / "journal.json").write_text(json.dumps({**journal, "commit": 0, "changes": changes}))
        with suppress(ForkloreError):
            opened(root).repair("evil", "OPERATION_FOREIGN", repair="finish")

        contents = [*everything(root).values()]
        assert all(any(value == each for each in contents) for key, value in before.items() if key.endswith(".jsonl"))


@pytest.mark.parametrize(
    "plant",
    [
        lambda folder: (folder / "elsewhere.json").write_text('{"folders": ["chats/Nope"]}'),
        lambda folder: (folder / "journal.json").mkdir(),
        lambda folder: os.mkfifo(folder / "journal.json"),
        lambda folder: os.truncate(_made(folder / "journal.json"), 1 << 30),
    ],
)
@posix_only("there are no such files")
def test_what_a_stranger_left_keeps_nobody_from_working(root: Path, plant: Callable[[Path], object]) -> None:
    folder = root / ".forklore/staging/evil"
    folder.mkdir(parents=True)
    (root / ".forklore/trash/evil-discarded").mkdir(parents=True)
    plant(folder)

    opened(root).checkpoint(MAIN)
    if "OPERATION_FOREIGN" in findings(root):
        opened(root).repair("evil", "OPERATION_FOREIGN", repair="discard")

    assert "OPERATION_FOREIGN" not in findings(root)


def _made(path: Path) -> Path:
    path.touch()
    return path


def test_undos_that_undo_each_other_make_nobody_wait(root: Path) -> None:
    opened(root).checkpoint(MAIN)
    undone = opened(root).undo()
    first = root / f".forklore/operations/{undone.undone}.json"
    stored = json.loads(first.read_bytes())
    first.write_text(json.dumps({**stored, "undoes": undone.operation}))

    with suppress(ForkloreError):
        opened(root).undo(undone.operation)


def test_an_entry_that_claims_what_another_operation_trashed_is_not_believed(root: Path) -> None:
    opened(root).checkpoint(MAIN)
    undone = opened(root).undo()
    path = root / f".forklore/operations/{undone.operation}.json"
    stored = json.loads(path.read_bytes())
    path.with_name("00.json").write_text(json.dumps({**stored, "id": "00", "when": "1990-01-01T00:00:00.000Z"}))

    assert {item.operation for item in opened(root).trash().items} == {undone.operation}
    assert opened(root).empty_trash(3000).items == ()


# --- newer formats --------------------------------------------------------------------------------------------------


def test_a_journal_of_a_newer_forklore_is_told_and_left_alone(root: Path) -> None:
    folder = die(root, lambda each: each.checkpoint(MAIN), "rename_new", nth=1)
    (folder / "journal.json").write_text('{"format": 99, "how": "unknown"}')
    left = everything(folder)

    opened(root).branch(MAIN)

    assert findings(root)["FORMAT_NEWER"] == [f".forklore/staging/{folder.name}"]
    assert everything(folder) == left


def test_an_operation_of_a_newer_forklore_is_told_and_the_others_can_be_undone(root: Path) -> None:
    opened(root).checkpoint(MAIN)
    newer = root / ".forklore/operations/20990101-000000-000000-beef.json"
    newer.write_text('{"format": 99, "id": "20990101-000000-000000-beef", "kind": "dream"}')

    shown = opened(root).log()
    opened(root).undo()

    assert [(each.finding.code, each.path) for each in shown.findings] == [
        ("FORMAT_NEWER", ".forklore/operations/20990101-000000-000000-beef.json")
    ]
    assert newer.read_text().startswith('{"format": 99')


def test_an_operation_that_cannot_be_read_is_told_by_the_log_and_by_the_doctor(root: Path) -> None:
    opened(root).checkpoint(MAIN)
    (root / ".forklore/operations/broken.json").write_text('{"format": 1,')

    (told,) = opened(root).log().findings

    assert told.to_json()["path"] == ".forklore/operations/broken.json"
    assert findings(root)["OPERATION_UNREADABLE"] == [".forklore/operations/broken.json"]


def test_settings_of_a_newer_forklore_stop_forks_and_nothing_else(root: Path) -> None:
    opened(root).checkpoint(MAIN)
    settings = root / ".forklore/settings.json"
    settings.write_text('{"format": 99, "policy": "dreamy"}')

    with pytest.raises(FormatNewer):
        opened(root).branch(MAIN)
    with pytest.raises(FormatNewer):
        opened(root).change_settings(policy="strict")
    opened(root).undo()

    assert findings(root)["FORMAT_NEWER"] == [".forklore/settings.json"]
    assert settings.read_text() == '{"format": 99, "policy": "dreamy"}'


def test_a_record_of_a_newer_forklore_is_not_believed_and_not_replaced(root: Path) -> None:
    fork = opened(root).checkpoint(MAIN).chat
    path = root / f"chats/{fork}.jsonl"
    header, _, rest = path.read_bytes().partition(b"\n")
    metadata = json.loads(header)
    metadata["chat_metadata"]["forklore"] = {"format": 99, "chat": fork.partition("/")[2], "timeline": {"id": 1}}
    path.write_bytes(stories.line(metadata) + b"\n" + rest)
    before = path.read_bytes()

    verified = opened(root).verify(fork)
    with pytest.raises(FormatNewer):
        opened(root).isolate(fork)

    assert [finding.code for finding in verified.findings] == ["FORMAT_NEWER"]
    assert not verified.ok
    assert path.read_bytes() == before


# --- links ----------------------------------------------------------------------------------------------------------

needs_links = posix_only("links need a privilege there")


@needs_links
def test_a_linked_folder_is_told_with_how_to_allow_it_and_works_then(root: Path, tmp_path: Path) -> None:
    (root / "worlds").rename(tmp_path / "books")
    (root / "worlds").symlink_to(tmp_path / "books")
    with pytest.raises(ForkloreError) as refused:
        opened(root).checkpoint(MAIN)
    assert refused.value.code == "LINK_OUTSIDE"
    assert findings(root)["LINK_OUTSIDE"] == ["worlds", MAIN]

    opened(root).repair("worlds", "LINK_OUTSIDE", repair="allow")

    assert opened(root).checkpoint(MAIN).lorebook == f"{BOOK}__CP_Checkpoint_1"
    assert (tmp_path / f"books/{BOOK}__CP_Checkpoint_1.json").exists()
    assert opened(root).doctor().ok


@needs_links
def test_a_linked_folder_of_chats_is_passed_over_until_it_is_allowed(root: Path, tmp_path: Path) -> None:
    (root / "chats/Mira").rename(tmp_path / "Mira")
    (root / "chats/Mira").symlink_to(tmp_path / "Mira")
    assert opened(root).stories().stories == ()
    assert findings(root)["LINK_OUTSIDE"] == ["chats/Mira"]
    with pytest.raises(ForkloreError, match="is a link"):
        opened(root).show(MAIN)

    opened(root).repair("chats/Mira", "LINK_OUTSIDE", repair="allow")

    assert [story.main for story in opened(root).stories().stories] == [MAIN]


@needs_links
def test_a_chat_that_is_a_link_is_neither_listed_nor_read_and_no_book_is_said_to_be_free(
    root: Path, tmp_path: Path
) -> None:
    fork = opened(root).checkpoint(MAIN).chat
    (root / f"chats/{fork}.jsonl").rename(tmp_path / "fork.jsonl")
    (root / f"chats/{fork}.jsonl").symlink_to(tmp_path / "fork.jsonl")

    assert [timeline.chat for timeline in opened(root).tree().timelines] == [MAIN]
    with pytest.raises(ForkloreError) as refused:
        opened(root).show(fork)

    assert refused.value.code == "LINK_OUTSIDE"
    assert opened(root).cleanup().books == ()
