"""Long work that is cancelled: it stops where nothing is left behind."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.app.progress import Cancelled, Silent
from forklore.disk.lock import workspace_lock
from forklore.errors import Kind
from forklore.model.fact import Fact, fact
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import chat_bytes, conversation, read_workspace, write_workspace

ILSE = "Ilse Brandt/Ilse Brandt - 2025-11-09@20h41m55s"
MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"

Sample = Callable[[str], Path]


class Impatient(Silent):
    """Lets the work go on for a number of times."""

    def __init__(self, patience: int = 0) -> None:
        self.patience = patience
        self.asked = 0
        self.told: list[Fact] = []

    def note(self, fact: Fact, *, good: bool | None = None) -> None:
        self.told.append(fact)

    def go_on(self) -> None:
        self.asked += 1
        if self.asked > self.patience:
            raise Cancelled


def open_at(root: Path) -> Forklore:
    return forklore.open(root, disk=HastyDisk())


def test_what_was_cancelled_says_that_nothing_was_changed() -> None:
    error = Cancelled()

    assert (error.code, error.kind, error.action) == ("CANCELLED", Kind.CONFLICT, "Nothing was changed.")


@pytest.mark.req(18, 99)
@pytest.mark.parametrize("patience", [0, 2])
def test_a_fork_that_waits_for_a_busy_queue_is_cancelled_and_leaves_no_trace(sample: Sample, patience: int) -> None:
    root = sample("salvage_rights_queue_busy")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    impatient = Impatient(patience)

    with pytest.raises(Cancelled):
        open_at(root).listening(impatient).checkpoint(ILSE, wait=600)

    assert impatient.asked == patience + 1
    assert impatient.told == [fact("waiting_for_queue", kind="checkpoint", count=4)]
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


@pytest.mark.req(97, 99)
def test_a_fork_that_waits_for_the_workspace_is_cancelled(sample: Sample) -> None:
    root = sample("hollow_quay_clean")
    before = read_workspace(root)
    impatient = Impatient(1)

    with workspace_lock(root, what="checkpoint"), pytest.raises(Cancelled):
        open_at(root).listening(impatient).branch(MAREN, wait=600)

    assert impatient.asked == 2
    assert read_workspace(root) == before
    assert open_at(root).branch(MAREN).kind == "branch", "the lock is free again"


def test_a_fork_that_waits_for_the_workspace_is_made_when_nobody_cancels_it(sample: Sample) -> None:
    root = sample("hollow_quay_clean")
    patient = Impatient(10**6)
    made: list[str] = []

    def make() -> None:
        made.append(open_at(root).listening(patient).branch(MAREN, wait=600).chat)

    with workspace_lock(root, what="checkpoint"):
        thread = threading.Thread(target=make)
        thread.start()
        while patient.asked == 0:
            thread.join(0.01)
    thread.join()

    assert made == [f"{MAREN} - Branch #1"]


@pytest.mark.req(99)
@pytest.mark.parametrize("size", [10, 300_000], ids=["small", "staged ahead"])
def test_a_fork_is_cancelled_before_it_counts_and_leaves_no_trace(tmp_path: Path, size: int) -> None:
    said = [stories.message("x" * size) for _ in range(10)]
    root = write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": chat_bytes({}, said)})
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    impatient = Impatient()

    with pytest.raises(Cancelled):
        open_at(root).listening(impatient).branch("Mira/Tale")

    assert impatient.asked == 1
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_every_other_operation_is_cancelled_before_it_counts(sample: Sample) -> None:
    root = sample("hollow_quay_legacy_shared")
    before = read_workspace(root)

    operations: list[Callable[[Forklore], object]] = [
        lambda workspace: workspace.isolate("Branch #42", share=True),
        lambda workspace: workspace.delete("Branch #42"),
        lambda workspace: workspace.change_settings(policy="strict"),
    ]
    for operation in operations:
        workspace = open_at(root)
        workspace.stories()  # so that no chat has to be read, where it would stop too
        with pytest.raises(Cancelled):
            operation(workspace.listening(Impatient()))

    assert read_workspace(root) == before
    assert open_at(root).log().operations == ()


def test_looking_through_all_chats_is_cancelled(tmp_path: Path) -> None:
    files = {f"chats/Mira/Tale {number}.jsonl": chat_bytes({}, conversation(2)) for number in range(9)}
    impatient = Impatient(4)

    with pytest.raises(Cancelled):
        open_at(write_workspace(tmp_path, files)).listening(impatient).stories()

    assert impatient.asked == 5
    assert len(open_at(tmp_path).stories().stories) == 9


class TestDoctor:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        """Return a workspace with three chats that map forks which are not there."""
        metadata = {"auto_recap": {"checkpoint_lorebook_map": {"gone": "gone"}}}
        files = {f"chats/Mira/Tale {number}.jsonl": chat_bytes(metadata, conversation(2)) for number in range(3)}
        return write_workspace(tmp_path, files)

    def test_it_stops_between_two_timelines(self, root: Path) -> None:
        open_at(root).stories()  # what they say is known
        impatient = Impatient(1)

        with pytest.raises(Cancelled):
            open_at(root).listening(impatient).doctor()

        assert impatient.asked == 2
        assert not (root / ".forklore").exists()

    def test_it_stops_between_two_repairs_and_says_that_the_first_stays(self, root: Path) -> None:
        workspace = open_at(root)
        assert [located.finding.code for located in workspace.doctor().findings] == ["MAP_STALE"] * 3
        said = ""
        patience = 0
        while not workspace.log().operations:  # until it is stopped so late that something is mended
            with pytest.raises(Cancelled) as cancelled:
                workspace.listening(Impatient(patience)).doctor(fix=True)
            before, said = said, cancelled.value.action
            patience += 1

        assert before == "Nothing was changed."
        assert said.startswith("What was mended until then stays")
        assert len(workspace.log().operations) == 1
        assert len(workspace.doctor().findings) == 2
        assert len(workspace.doctor(fix=True).fixed) == 2
