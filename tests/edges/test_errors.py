"""Every way to fail: the right exit code, one shape, one document, no traceback, nothing written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from filelock import FileLock

from forklore.app.forklore import Forklore
from forklore.cli.words import error_lines
from forklore.disk.lock import workspace_lock
from forklore.errors import DiskFailed
from forklore.model.fact import fact
from forklore.testing import stories
from tests.edges.running import Ran, run, snapshot

Files = dict[str, bytes]


def story(**metadata: object) -> Files:
    """Return a small story with a lorebook."""
    book = stories.lorebook([stories.entry(0, "lore-Sea", "Wet.")])
    return stories.solo_files("Chat", {"world_info": "Lore", **metadata}, stories.conversation(3), books={"Lore": book})


@dataclass(frozen=True)
class Case:
    """A command that fails."""

    arguments: tuple[str, ...]
    code: str
    exit_code: int
    files: Files = field(default_factory=story)

    def __str__(self) -> str:
        return f"{self.code} {' '.join(self.arguments)}"


CASES = [
    Case((), "BAD_REQUEST", 2),
    Case(("nonsense",), "BAD_REQUEST", 2),
    Case(("stories", "--nonsense"), "BAD_REQUEST", 2),
    Case(("--nonsense", "stories"), "BAD_REQUEST", 2),
    Case(("stories", "extra"), "BAD_REQUEST", 2),
    Case(("check",), "BAD_REQUEST", 2),
    Case(("check", "Chat", "--at", "two"), "BAD_REQUEST", 2),
    Case(("check", "Chat", "--at"), "BAD_REQUEST", 2),
    Case(("checkpoint", "Chat", "--wait=soon"), "BAD_REQUEST", 2),
    Case(("checkpoint", "Chat", "--wait=-1"), "BAD_REQUEST", 2),
    Case(("checkpoint", "Chat", "--wait=nan"), "BAD_REQUEST", 2),
    Case(("branch", "Chat", "--name", "Mine"), "BAD_REQUEST", 2),
    Case(("branch", "Chat", "--swipe", "x"), "BAD_REQUEST", 2),
    Case(("--policy", "lenient", "stories"), "BAD_REQUEST", 2),
    Case(("completion", "tcsh"), "BAD_REQUEST", 2),
    Case(("queue", "Chat", "--cancel", "op_1"), "BAD_REQUEST", 2),
    Case(("branch", "Chat", "--swipe", "3"), "SWIPE_NOT_FOUND", 2),
    Case(("checkpoint", "Chat", "--name", "CON"), "NAME_INVALID", 2),
    Case(("tree",), "CHAT_AMBIGUOUS", 2, story() | stories.solo_files("Other", {}, [])),
    Case(("show", "h"), "CHAT_AMBIGUOUS", 2, story() | stories.solo_files("Other", {}, [])),
    Case(("stories",), "SETTINGS_INVALID", 2, story() | {".forklore/settings.json": b'{"policy": "lax"}'}),
    Case(("checkpoint", "Chat", "--at", "3"), "MESSAGE_NOT_FOUND", 3),
    Case(("branch", "Chat"), "LOREBOOK_MISSING", 3, story(world_info="Gone")),
    Case(("check", "Nobody"), "CHAT_NOT_FOUND", 4),
    Case(("--user", "nobody", "stories"), "WORKSPACE_NOT_FOUND", 4),
    Case(("undo",), "OPERATION_NOT_FOUND", 4),
    Case(("undo", "nothing"), "OPERATION_NOT_FOUND", 4),
    Case(("delete", "Nobody"), "CHAT_NOT_FOUND", 4),
    Case(("delete", "Chat"), "CHAT_HAS_FORKS", 3, story() | stories.solo_files("Fork", {"main_chat": "Chat"}, [])),
    Case(("trash", "--empty"), "BAD_REQUEST", 2),
    Case(("trash", "--empty", "--older-than", "-1", "--yes"), "BAD_REQUEST", 2),
    Case(("trash", "--empty", "--older-than", "1"), "CONFIRMATION_NEEDED", 3),
    Case(("restore", "nothing"), "ITEM_NOT_FOUND", 4),
    Case(("checkpoint", "Chat", "--name", "CHAT"), "NAME_TAKEN", 5),
    Case(("show", "Chat"), "CHAT_DAMAGED", 7, {"chats/Mira/Chat.jsonl": b"not a chat\n"}),
    Case(("status", "Chat"), "CHAT_DAMAGED", 7, {"chats/Mira/Chat.jsonl": b""}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_error_is_one_document_with_its_exit_code_and_writes_nothing(tmp_path: Path, case: Case) -> None:
    root = stories.write_workspace(tmp_path / "workspace", case.files)
    before = snapshot(root)

    document = run("--data", root, "--json", *case.arguments)
    words = run("--data", root, *case.arguments)

    assert document.code == words.code == case.exit_code
    assert document.error["code"] == case.code
    assert document.error["message"]
    assert document.error["action"]
    assert document.err == ""
    assert words.out == ""
    assert words.err
    assert "Traceback" not in words.err
    assert snapshot(root) == before


def test_every_kind_of_error_has_its_number() -> None:
    kinds = {2: "invalid", 3: "blocked", 4: "not_found", 5: "conflict", 7: "damaged"}

    assert {case.exit_code for case in CASES} == set(kinds)


@pytest.mark.req(95)
def test_a_busy_workspace_is_exit_6(tmp_path: Path) -> None:
    root = stories.write_workspace(tmp_path, story())
    with workspace_lock(root, what="checkpoint"):
        document = run("--data", root, "checkpoint", "Chat", "--json")
        words = run("--data", root, "branch", "Chat")

    assert document.code == words.code == 6
    assert document.error["code"] == "CREATION_IN_PROGRESS"
    assert document.error["kind"] == "busy"
    assert document.error["params"] == {"case": "checkpoint"}
    assert "Checkpoint creation already in progress. Please wait." in document.error["message"]
    assert "Failed to create branch: Checkpoint creation already in progress. Please wait." in words.err


def test_a_workspace_that_another_program_holds_is_busy(tmp_path: Path) -> None:
    root = stories.write_workspace(tmp_path, story())
    (root / ".forklore").mkdir()
    with FileLock(root / ".forklore" / "lock"):
        ran = run("--data", root, "branch", "Chat")

    assert ran.code == 6
    assert "Failed to create branch: Another operation is already in progress. Please wait." in ran.err


def test_a_fork_that_has_gone_on_is_not_undone(tmp_path: Path) -> None:
    root = stories.write_workspace(tmp_path, story())
    made = run("--data", root, "branch", "Chat", "--json").json
    path = root / "chats" / f"{made['chat']}.jsonl"
    path.write_bytes(path.read_bytes() + b"\n" + stories.line(stories.message("On we go.")))

    ran = run("--data", root, "undo", "--json")

    assert ran.code == 5
    assert ran.error["code"] == "UNDO_REFUSED"
    assert path.exists()


def test_an_ambiguous_chat_lists_the_candidates(tmp_path: Path) -> None:
    root = stories.write_workspace(tmp_path, stories.solo_files("One", {}, []) | stories.solo_files("Two", {}, []))

    ran = run("--data", root, "show", "Mira")

    assert ran.err == "“Mira” fits 2 chats:\n  Mira/One\n  Mira/Two\n→ Give more of the name, or the whole address.\n"


def test_a_file_name_given_as_a_chat_gets_a_hint(tmp_path: Path) -> None:
    root = stories.write_workspace(tmp_path, story())

    for name in ("Chat.jsonl", "chats/Mira/Chat.jsonl"):
        words, document = run("--data", root, "show", name), run("--data", root, "show", name, "--json")
        assert document.error["params"] == {"case": "file", "chat": name}
        assert words.err == f"There is no chat “{name}”.\n→ Give the chat's name without .jsonl, or as folder/name.\n"


@pytest.mark.parametrize("making", ["checkpoint", "branch"])
def test_what_failed_is_said_once(making: str) -> None:
    failed = DiskFailed("applying", failed=fact("failed", kind=making), reason="No space left on device")

    said, *_ = error_lines(failed, making=making)

    assert said.count("Failed to create") == 1


# --- what should not happen ---------------------------------------------------------------------------------------


def failing(error: BaseException) -> Callable[[Forklore], None]:
    def fail(_forklore: Forklore) -> None:
        raise error

    return fail


def run_failing(monkeypatch: pytest.MonkeyPatch, root: Path, error: BaseException, *options: str) -> Ran:
    monkeypatch.setattr(Forklore, "stories", failing(error))
    return run("--data", stories.write_workspace(root, story()), "stories", *options)


def test_a_bug_shows_a_traceback_and_asks_for_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run_failing(monkeypatch, tmp_path, KeyError("surprise"))

    assert ran.code == 1
    assert ran.out == ""
    assert ran.err.startswith("Traceback")
    assert "\nThis is a bug in Forklore (KeyError: 'surprise').\n→ Please report it" in ran.err


def test_a_bug_lets_no_name_write_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object) -> None:
        raise KeyError("Mira", "\nForged") from ValueError("Mira\nForged\x1b[2J")

    monkeypatch.setattr("forklore.app.forklore.Forklore.stories", broken)

    ran = run("--data", stories.write_workspace(tmp_path, {}), "stories")

    assert ran.code == 1
    assert "ValueError: Mira\\nForged\\x1b[2J\n" in ran.err
    assert "\nForged" not in ran.err


def test_a_bug_is_one_document_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run_failing(monkeypatch, tmp_path, KeyError("surprise"), "--json")

    assert ran.code == 1
    assert ran.error["code"] == "BUG"
    assert ran.error["params"] == {"error": "KeyError", "reason": "'surprise'"}
    assert "surprise" in ran.error["message"]


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied", "/x/y"), FileNotFoundError(2, "Gone", "/x/y")]
)
def test_a_file_that_cannot_be_read_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    words = run_failing(monkeypatch, tmp_path, error)
    document = run_failing(monkeypatch, tmp_path, error, "--json")

    assert words.code == document.code == 5
    assert words.err.startswith(f"“/x/y” cannot be used ({error.strerror}).\n→ ")
    assert document.error["code"] == "FILE_UNREADABLE"
    assert document.error["params"] == {"file": "/x/y", "reason": error.strerror}


def test_an_interrupt_is_exit_130_without_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = run_failing(monkeypatch, tmp_path, KeyboardInterrupt())
    document = run_failing(monkeypatch, tmp_path, KeyboardInterrupt(), "--json")

    assert words.code == document.code == 130
    assert "Traceback" not in words.err
    assert words.err.strip().startswith("Stopped.")
    assert document.error["code"] == "INTERRUPTED"


def test_a_name_that_is_no_option_is_not_taken_for_one(tmp_path: Path) -> None:
    ran = run("--data", stories.write_workspace(tmp_path, story()), "show", "--", "--json")

    assert ran.code == 4
    assert ran.err.startswith("There is no chat “--json”.")
