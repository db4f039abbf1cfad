"""Each command, for a person and for a program."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forklore.testing import stories
from tests.edges.running import MAREN, run, snapshot

Sample = Callable[[str], Path]


@pytest.fixture
def quay(sample: Sample) -> Path:
    """A copy of a story whose queue is idle."""
    return sample("hollow_quay_clean")


@pytest.fixture
def busy(sample: Sample) -> Path:
    """A copy of a story whose queue is busy."""
    return sample("salvage_rights_queue_busy")


@pytest.fixture
def legacy(sample: Sample) -> Path:
    """A copy of a story that SillyTavern alone has forked."""
    return sample("hollow_quay_legacy_shared")


# --- looking ------------------------------------------------------------------------------------------------------


def test_stories_has_one_line_a_story_and_marks_shared_lorebooks(legacy: Path) -> None:
    ran = run("--data", legacy, "stories")

    assert ran.code == 0
    assert f"{MAREN}  3 timelines, 69 messages, 3 with a shared lorebook\n" in ran.out
    assert ran.err == ""


def test_stories_as_json(legacy: Path) -> None:
    (story,) = run("--data", legacy, "stories", "--json").json["stories"]

    assert story["main"] == MAREN
    assert [timeline["isolated"] for timeline in story["timelines"]] == [False, False, False]
    keys = {"chat", "kind", "parent", "at", "messages", "lorebook", "isolated", "record"}
    assert all(set(timeline) == keys for timeline in story["timelines"])


def test_stories_of_an_empty_workspace(tmp_path: Path) -> None:
    stories.write_workspace(tmp_path, {})

    assert run("--data", tmp_path, "stories").out == "There are no chats yet.\n"
    assert run("--data", tmp_path, "stories", "--json").json == {"stories": []}


def test_tree_draws_every_timeline_with_what_it_is(legacy: Path) -> None:
    made = run("--data", legacy, "checkpoint", MAREN, "--name", "Mine", "--json").json

    drawn = run("--data", legacy, "tree", MAREN).out.splitlines()

    assert drawn[0] == f"{MAREN}  main, 69 messages"
    assert drawn[1].startswith('│   lorebook "z-AutoLB-Maren Tolliver')
    assert drawn[1].endswith("shares its lorebook")
    assert drawn[2] == "├── Branch #42 - 2025-11-02@21h05m23s  branch @42, 43 messages"
    assert drawn[3].endswith("shares its lorebook, made without Forklore")
    assert drawn[4] == "├── Mine  checkpoint @68, 69 messages"
    assert drawn[5] == f'│       lorebook "{made["lorebook"]}" isolated, recorded'
    assert drawn[6].startswith("└── The key in hand")


def test_tree_of_forks_of_forks_keeps_its_lines(quay: Path) -> None:
    run("--data", quay, "checkpoint", MAREN, "--name", "One")
    run("--data", quay, "checkpoint", "One", "--name", "Two")
    run("--data", quay, "checkpoint", MAREN, "--name", "Zwei")

    names = run("--data", quay, "tree", "Two").out.splitlines()[::2]

    assert [line.partition("  checkpoint")[0] for line in names[1:]] == ["├── One", "│   └── Two", "└── Zwei"]


def test_tree_as_json_is_one_story(legacy: Path) -> None:
    assert set(run("--data", legacy, "tree", "--json").json) == {"main", "timelines"}


def test_tree_without_a_chat_asks_which_of_several_stories(tmp_path: Path) -> None:
    files = stories.solo_files("One", {}, stories.conversation(2)) | stories.solo_files("Two", {}, [])
    stories.write_workspace(tmp_path, files)

    ran = run("--data", tmp_path, "tree")

    assert ran.code == 2
    assert "Mira/One" in ran.err
    assert "Mira/Two" in ran.err


def test_show_tells_recap_versions_and_which_scene_breaks_are_ready(quay: Path) -> None:
    shown = run("--data", quay, "show", "Maren")

    assert "version 5  6 scenes, up to message 64 (current)" in shown.out
    assert "   31  " in shown.out
    assert shown.out.count("✓ ready") == 6
    assert "NO_SCENE_RECAP" in shown.out  # the last one is only a bookmark


def test_show_as_json(quay: Path) -> None:
    shown = run("--data", quay, "--json", "show", "Maren").json

    assert shown["running_recap"]["current_version"] == 5
    assert [scene["message"] for scene in shown["scene_breaks"]] == [10, 21, 31, 42, 53, 64, 68]
    assert shown["children"] == []


@pytest.mark.req(29, 30)
def test_check_as_json_has_the_shape_of_the_validation_result(quay: Path) -> None:
    ran = run("--data", quay, "check", "Maren", "--at", "42", "--json")

    assert ran.code == 0
    assert set(ran.json) == {"chat", "at", "valid", "errors", "warnings", "notes", "state"}
    assert ran.json["errors"] == []
    assert ran.json["state"] == {
        "queueEmpty": True,
        "hasSceneBreak": True,
        "hasSceneRecap": True,
        "hasRunningRecap": True,
        "messageIndex": 42,
    }
    fields = {"code", "params", "severity", "message", "action", "details", "repairs"}
    assert ran.json["notes"]
    assert all(set(finding) == fields for finding in (*ran.json["warnings"], *ran.json["notes"]))


def test_check_tells_a_person_that_a_fork_can_be_made(quay: Path) -> None:
    ran = run("--data", quay, "check", "Maren", "--at", "42")

    assert ran.code == 0
    assert ran.out.startswith("✓ Ready for a fork at message 42.\n\nNote: Every message of the fork is hidden")
    assert "→ Add --show-last-scene" in ran.out


@pytest.mark.req(12, 14, 15, 16, 31)
def test_check_prints_its_report_also_when_it_is_blocked(busy: Path) -> None:
    words, document = run("--data", busy, "check", "Ilse"), run("--data", busy, "check", "Ilse", "--json")

    assert words.code == document.code == 3
    assert "Cannot create checkpoint: 4 operations in queue. Please wait for queue to finish." in words.out
    assert "(3 pending, 1 in progress)" in words.out
    assert 'lorebook_entry_lookup (entity: "character-Halcyon")' in words.out
    assert "→ Wait for all operations to complete" in words.out
    assert [error["code"] for error in document.json["errors"]] == ["QUEUE_NOT_EMPTY"]
    assert document.json["valid"] is False


@pytest.mark.req(10, 11)
@pytest.mark.parametrize("number", ["69", "-1", "99999999999999999999999"])
def test_check_at_a_message_that_is_not_there_is_blocked(quay: Path, number: str) -> None:
    ran = run("--data", quay, "check", "Maren", "--at", number, "--json")

    assert ran.code == 3
    assert [error["code"] for error in ran.json["errors"]] == ["MESSAGE_NOT_FOUND"]
    assert "Message not found" in ran.json["errors"][0]["message"]


@pytest.mark.req(19, 21, 23, 28)
def test_check_reports_every_problem_at_once(tmp_path: Path) -> None:
    metadata = {"world_info": "Lore", **stories.running_recap("Chat", [], 0)}
    book = stories.lorebook([stories.queue([stories.operation()])])
    root = stories.write_workspace(
        tmp_path, stories.solo_files("Chat", metadata, stories.conversation(3), books={"Lore": book})
    )

    found = run("--data", root, "--policy", "strict", "check", "Chat", "--json").json["errors"]

    actions = {error["code"]: error["action"] for error in found}
    assert actions == {
        "QUEUE_NOT_EMPTY": "Wait for all operations to complete",
        "NO_SCENE_BREAK": "Mark this message as a scene break",
        "NO_SCENE_RECAP": "Generate scene recap",
        "NO_RUNNING_RECAP": "Generate running scene recap",
    }
    details = {error["code"]: error["details"] for error in found}
    assert "clapperboard button" in details["NO_SCENE_BREAK"]
    assert "Open scene break panel" in details["NO_SCENE_RECAP"]


@pytest.mark.req(20, 22, 24)
@pytest.mark.parametrize(
    "scene, codes",
    [
        ({}, set()),
        ({"scene_break_visible": False}, {"NO_SCENE_BREAK"}),
        ({"scene_break_visible": None}, set()),
        ({"recap": " \n\t"}, {"NO_SCENE_RECAP"}),
    ],
)
def test_check_of_one_scene_break(tmp_path: Path, scene: dict[str, Any], codes: set[str]) -> None:
    last = stories.message("The end.", extra=stories.scene(**scene))
    metadata = stories.running_recap("Chat", [stories.recap_version(0, 1)], 0)
    root = stories.write_workspace(tmp_path, stories.solo_files("Chat", metadata, [*stories.conversation(1), last]))

    ran = run("--data", root, "--policy", "strict", "check", "Chat", "--json")

    assert {error["code"] for error in ran.json["errors"]} == codes


# --- forking ------------------------------------------------------------------------------------------------------


@pytest.mark.req(145)
def test_a_checkpoint_tells_its_four_steps_on_standard_error(quay: Path) -> None:
    ran = run("--data", quay, "checkpoint", "Maren", "--at", "42", "--name", "Before the tower")

    steps = [line for line in ran.err.splitlines() if line.startswith("[")]
    assert steps == [
        "[1/4] Validating requirements...",
        "[2/4] Cloning lorebook...",
        "[3/4] Recording checkpoint state...",
        "[4/4] Creating checkpoint...",
    ]
    assert "  ✓ Operation queue is empty\n  ✓ Message is a scene break\n" in ran.err
    assert "  ✓ Running recap version: 3 (4 scenes)\n" in ran.err
    assert '  ✓ Checkpoint created: "Before the tower"\n' in ran.err


@pytest.mark.req(146)
def test_a_checkpoint_says_what_was_made_and_how_to_take_it_back(quay: Path) -> None:
    ran = run("--data", quay, "checkpoint", "Maren", "--at", "42", "--name", "Before the tower")

    operation = run("--data", quay, "log", "--json").json["operations"][0]["id"]
    assert ran.code == 0
    assert ran.out.startswith("✓ Checkpoint created: Maren Tolliver/Before the tower\n")
    assert "  running recap  version 3 (4 scenes)\n" in ran.out
    assert '__CP_Before_the_tower"\n' in ran.out
    assert "32 entries, as it was at the latest scene snapshot up to that message\n" in ran.out
    assert "  from today     author's note, chat id, mark that the chat was edited, variables\n" in ran.out
    assert "  left out       mark where the context begins\n" in ran.out
    shows = 'forklore repair "Maren Tolliver/Before the tower" HISTORY_HIDDEN --with show-last-scene'
    assert f"  → Show the last scene again if the model should see its words\n    {shows}\n" in ran.out
    assert f"  take it back   forklore undo {operation}\n" in ran.out


def test_a_fork_as_json_has_the_shape_of_the_contract(quay: Path) -> None:
    ran = run("checkpoint", "Maren", "--at", "42", "--data", quay, "--json")

    assert ran.err == ""
    assert list(ran.json) == [
        "kind",
        "chat",
        "parent",
        "at",
        "messages",
        "lorebook",
        "original_lorebook",
        "entries",
        "lorebook_source",
        "lorebooks",
        "settings",
        "warnings",
        "notes",
        "carried_from_present",
        "left_out",
        "operation",
        "left",
    ]
    assert ran.json["chat"] == f"{MAREN} - Checkpoint #1"


def test_a_branch_from_another_swipe(tmp_path: Path) -> None:
    messages = [stories.message("Hello."), stories.swiped("One.", "Two.")]
    root = stories.write_workspace(tmp_path, stories.solo_files("Chat", {}, messages))

    made = run("--data", root, "branch", "Chat", "--swipe", "1", "--json").json

    last = (root / "chats" / f"{made['chat']}.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["mes"] == "Two."


def test_a_branch_without_a_lorebook_says_so(tmp_path: Path) -> None:
    root = stories.write_workspace(tmp_path, stories.solo_files("Chat", {}, stories.conversation(2)))

    ran = run("--data", root, "branch", "Chat")

    assert ran.code == 0
    assert "lorebook       none: the parent has none" in ran.out
    assert "[3/4] Recording branch state..." in ran.err


@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_a_dry_run_shows_the_plan_and_changes_nothing(quay: Path, kind: str) -> None:
    before = snapshot(quay)

    words = run("--data", quay, kind, "Maren", "--at", "42", "--dry-run")
    document = run("--data", quay, kind, "Maren", "--at", "42", "--dry-run", "--json")

    assert [row["action"] for row in document.json["plan"]] == ["create", "create", "edit"]
    assert all(f"  {row['action']:<7} {row['path']}\n" in words.out for row in document.json["plan"])
    assert snapshot(quay) == before


@pytest.mark.req(12, 14, 15, 28, 31, 32, 33)
@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_a_refused_fork_lists_every_requirement_and_makes_nothing(busy: Path, kind: str) -> None:
    before = snapshot(busy)

    ran = run("--data", busy, "--policy", "strict", kind, "Ilse")

    assert ran.code == 3
    assert ran.out == ""
    title = f"━━━\nCannot Create {kind.capitalize()}\n━━━"
    assert title in ran.err
    assert "The following requirements must be met:\n\n1. " in ran.err
    assert f"Cannot create {kind}: 4 operations in queue. Please wait for queue to finish." in ran.err
    assert "   → Wait for all operations to complete\n\n2. Message is not a scene break" in ran.err
    assert ran.err.count(f"Cannot create {kind}") == 1
    assert (
        "\n\n   → Mark this message as a scene break\n"
        "     1. Click the clapperboard button (🎬) of message 63\n"
        "     2. Wait until its recap is there\n"
        "     3. Try again\n\n3. Scene has no recap NO_SCENE_RECAP\n"
    ) in ran.err
    after = {path: content for path, content in snapshot(busy).items() if not path.startswith(".forklore")}
    assert after == before


def test_a_refused_fork_as_json_names_its_only_reason(busy: Path) -> None:
    ran = run("--data", busy, "checkpoint", "Ilse", "--json")

    assert ran.code == 3
    assert ran.error["code"] == "QUEUE_NOT_EMPTY"
    assert ran.error["kind"] == "blocked"
    assert ran.error["findings"][0]["code"] == "QUEUE_NOT_EMPTY"


def test_a_fork_refused_for_several_reasons_has_a_code_of_its_own(busy: Path) -> None:
    ran = run("--data", busy, "--policy", "strict", "checkpoint", "Ilse", "--json")

    assert ran.error["code"] == "FORK_BLOCKED"
    codes = [finding["code"] for finding in ran.error["findings"] if finding["severity"] == "error"]
    assert codes == ["QUEUE_NOT_EMPTY", "NO_SCENE_BREAK", "NO_SCENE_RECAP", "SCENE_NOT_IN_RUNNING_RECAP"]


@pytest.mark.req(106)
@pytest.mark.parametrize(
    "kind, options, reason",
    [
        ("checkpoint", ["--name", "CON"], "“CON” cannot be the name of a chat."),
        ("branch", ["--swipe", "7"], "The message has no swipe 7: it has only 1."),
    ],
)
def test_another_failure_says_what_was_to_be_made(quay: Path, kind: str, options: list[str], reason: str) -> None:
    ran = run("--data", quay, kind, "Maren", *options)

    assert ran.code == 2
    assert f"Failed to create {kind}: {reason}\n→ " in ran.err


# --- status -------------------------------------------------------------------------------------------------------


@pytest.mark.req(128)
def test_status_of_a_fork_is_the_diagnostic_object_and_a_verdict(quay: Path) -> None:
    run("--data", quay, "checkpoint", "Maren", "--at", "42", "--name", "Before the tower")

    words = run("--data", quay, "status", "Before the tower")
    document = run("--data", quay, "status", "Before the tower", "--json")

    assert list(document.json) == [
        "is_checkpoint",
        "main_chat",
        "current_chat",
        "checkpoint_state",
        "current_lorebook",
        "lorebook_match",
        "running_recap_current_version",
        "running_recap_version_match",
        "lorebook_missing",
    ]
    assert document.json["checkpoint_state"]["message_id"] == 42
    assert words.out.endswith("✓ Checkpoint state valid. All checks passed.\n")
    run("--data", quay, "branch", "Before the tower")
    for command in ("status", "verify"):
        of_branch = run("--data", quay, command, "Before the tower - Branch #1").out
        assert "✓" in of_branch
        assert "Branch state valid. All checks passed.\n" in of_branch
    assert '"current_chat": "Before the tower"' in words.out
    assert max(len(line) for line in words.out.splitlines()) < 160  # recaps are pages long


@pytest.mark.req(111)
def test_status_of_a_legacy_fork_says_that_it_may_share_data(legacy: Path) -> None:
    ran = run("--data", legacy, "status", "The key in hand")

    assert ran.code == 0
    assert "created before full isolation support" in ran.out
    assert "may share data" in ran.out


def test_status_of_a_main_chat(quay: Path) -> None:
    assert "This is a main chat" in run("--data", quay, "status", "Maren").out


def test_status_of_a_fork_that_has_another_lorebook_now(quay: Path) -> None:
    made = run("--data", quay, "checkpoint", "Maren", "--name", "Mine", "--json").json
    path = quay / "chats" / f"{made['chat']}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"world_info":"', b'"world_info":"Not '))

    assert (
        "The chat uses a different lorebook from the one it was made with." in run("--data", quay, "status", "Mine").out
    )


# --- queue, log, undo ---------------------------------------------------------------------------------------------


def test_queue_lists_what_is_to_be_done(busy: Path) -> None:
    words, document = run("--data", busy, "queue", "Ilse"), run("--data", busy, "queue", "Ilse", "--json")

    assert words.out.startswith("4 operations to do:\n")
    assert 'in_progress  lorebook_entry_lookup (entity: "location-Tamber\'s Reach")' in words.out
    assert document.json["idle"] is False
    assert set(document.json) == {"chat", "lorebook", "idle", "operations", "operation"}


def test_queue_of_an_idle_story(quay: Path) -> None:
    assert run("--data", quay, "queue", "Maren").out == "The queue is idle.\n"


@pytest.mark.parametrize("form", ["repeated", "greedy"])
def test_queue_cancels_operations_and_undo_puts_them_back(busy: Path, form: str) -> None:
    book = next((busy / "worlds").iterdir())
    before = book.read_bytes()
    ids = [operation["id"] for operation in run("--data", busy, "queue", "Ilse", "--json").json["operations"]]
    options = [word for one in ids for word in ("--cancel", one)] if form == "repeated" else ["--cancel", *ids]

    ran = run("--data", busy, "queue", "Ilse", *options, "--json")

    assert ran.code == 0
    assert ran.json["idle"] is True
    assert run("--data", busy, "check", "Ilse").code == 0
    assert run("--data", busy, "undo", ran.json["operation"]).code == 0
    assert book.read_bytes() == before


def test_queue_takes_no_ids_without_cancel(busy: Path) -> None:
    ran = run("--data", busy, "queue", "Ilse", "op_1")

    assert ran.code == 2
    assert "unexpected" in ran.err


def test_log_lists_the_newest_operation_first(quay: Path) -> None:
    run("--data", quay, "checkpoint", MAREN, "--name", "One")
    run("--data", quay, "branch", MAREN)
    run("--data", quay, "undo")

    words, document = run("--data", quay, "log"), run("--data", quay, "log", "--json")

    rows = document.json["operations"]
    assert [row["kind"] for row in rows] == ["undo", "branch", "checkpoint"]
    assert [row["undoes"] for row in rows] == [rows[1]["id"], None, None]
    assert [row["number"] for row in rows] == [3, 2, 1]
    assert [row["follows"] for row in rows] == [rows[1]["id"], rows[2]["id"], None]
    names = {"id", "number", "follows", "request", "kind", "chat", "when", "undone", "undoes"}
    assert all(set(row) == names for row in rows)
    assert [row["undone"] for row in rows] == [False, True, False]
    assert words.out.splitlines()[0].endswith(f"of {rows[1]['id']}")
    assert words.out.splitlines()[1].endswith("Branch #1  undone")


def test_log_of_a_workspace_in_which_nothing_was_done(quay: Path) -> None:
    assert run("--data", quay, "log").out == "Nothing has been done here yet.\n"
    assert run("--data", quay, "log", "--json").json == {"operations": [], "findings": [], "next_undo": None}


def test_undo_takes_the_latest_operation_back(quay: Path) -> None:
    before = stories.read_workspace(quay)
    run("--data", quay, "checkpoint", "Maren", "--at", "42", "--name", "Before the tower")

    ran = run("--data", quay, "undo")

    assert ran.code == 0
    assert ran.out.startswith("✓ Undone: checkpoint Maren Tolliver/Before the tower\n")
    assert stories.read_workspace(quay) == before


def test_undo_as_json_names_both_operations(quay: Path) -> None:
    made = run("--data", quay, "checkpoint", "Maren", "--json").json

    undone = run("--data", quay, "undo", made["operation"], "--json").json

    assert undone["undone"] == made["operation"]
    assert undone["operation"] == run("--data", quay, "log", "--json").json["operations"][0]["id"]


# --- completion, version, help ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    words, document = run("completion", shell), run("completion", shell, "--json")

    assert f"_FORKLORE_COMPLETE={shell}_complete" in words.out
    assert document.json == {"shell": shell, "script": words.out.removesuffix("\n")}


def test_the_shell_is_offered_commands_and_chats(quay: Path) -> None:
    def offered(words: str) -> list[str]:
        count = len(words.split(" ")) - 1
        env = {"_FORKLORE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
        return sorted(run(env=env).out.split("\n"))

    assert offered("forklore che") == ["", "plain,check", "plain,checkpoint"]
    assert offered(f"forklore --data {quay.as_posix()} show Mar") == ["", f"plain,{shlex.quote(MAREN)}"]
    assert offered("forklore --data nowhere show Mar") == ["", ""]


def test_version() -> None:
    assert run("--version").out.startswith("forklore ")
    assert set(run("--version", "--json").json) == {"version"}


def test_help_names_every_command_and_is_json_if_asked() -> None:
    words, document = run("--help"), run("--json", "--help")

    assert words == run()
    assert words.code == 0
    assert "checkpoint" in words.out
    assert "undo" in words.out
    assert "checkpoint" in document.json["help"]
