"""Global options before and after the command, the forms of --wait, and where the data folder comes from."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from forklore.cli.options import settle_wait
from forklore.testing import stories
from forklore.testing.sillytavern import OpenChat
from tests.edges.running import ILSE, command_line, run, run_process

Sample = Callable[[str], Path]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with one small chat of ST-Auto-Recap."""
    metadata = stories.running_recap("Chat", [], 0)
    return stories.write_workspace(tmp_path / "st", stories.solo_files("Chat", metadata, stories.conversation(2)))


# --- global options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["before", "after", "between"])
def test_global_options_stand_before_or_after_the_command(root: Path, place: str) -> None:
    options = ["--data", str(root), "--policy", "strict", "--json"]
    lines = {
        "before": [*options, "check", "Chat", "--at", "1"],
        "after": ["check", "Chat", "--at", "1", *options],
        "between": ["--json", "check", "--data", str(root), "Chat", "--policy", "strict", "--at", "1"],
    }

    ran = run(*lines[place])

    assert ran.code == 3
    assert [error["code"] for error in ran.json["errors"]] == ["NO_SCENE_BREAK", "NO_SCENE_RECAP", "NO_RUNNING_RECAP"]


def test_the_option_after_the_command_wins(root: Path) -> None:
    assert (
        run("--policy", "strict", "--data", "nowhere", "check", "Chat", "--policy", "standard", "--data", root).code
        == 0
    )


@pytest.mark.parametrize("given", ["user folder", "data folder", "SillyTavern folder"])
def test_data_may_be_any_of_three_folders(tmp_path: Path, given: str) -> None:
    user = tmp_path / "SillyTavern" / "data" / "default-user"
    stories.write_workspace(user, stories.solo_files("Chat", {}, stories.conversation(1)))
    folder = {"user folder": user, "data folder": user.parent, "SillyTavern folder": user.parent.parent}[given]

    assert run("--data", folder, "stories", "--json").json["stories"][0]["main"] == "Mira/Chat"


def test_user_chooses_among_several(tmp_path: Path) -> None:
    for user in ("ada", "bob"):
        files = stories.solo_files(f"Chat of {user}", {}, stories.conversation(1))
        stories.write_workspace(tmp_path / "data" / user, files)

    unsaid = run("--data", tmp_path, "stories", "--json")
    said = run("stories", "--data", tmp_path, "--user", "bob", "--json")

    assert unsaid.code == 2
    assert unsaid.error["code"] == "USER_NEEDED"
    assert said.json["stories"][0]["main"] == "Mira/Chat of bob"


def test_the_environment_names_the_folder(root: Path) -> None:
    ran = run("stories", env={"FORKLORE_DATA": str(root)})

    assert "Mira/Chat" in ran.out
    assert ran.err == ""


def test_the_option_wins_over_the_environment(root: Path) -> None:
    assert run("--data", root, "stories", env={"FORKLORE_DATA": "nowhere"}).code == 0


def test_a_folder_that_was_searched_for_is_shown(tmp_path: Path) -> None:
    stories.write_workspace(tmp_path / "data" / "default-user", stories.solo_files("Chat", {}, stories.conversation(1)))

    ran = run_process("stories", cwd=tmp_path, env={"HOME": str(tmp_path)})

    assert "Mira/Chat" in ran.out
    assert ran.err.rstrip() == f"Using {(tmp_path / 'data' / 'default-user').resolve()} (to use another: --data DIR)"


# --- waiting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, settled",
    [
        (["Chat", "--wait"], ["Chat", "--wait=inf"]),
        (["--wait", "Chat"], ["--wait=inf", "Chat"]),
        (["--wait", "60", "Chat"], ["--wait", "60", "Chat"]),
        (["--wait=60", "Chat"], ["--wait=60", "Chat"]),
        (["Chat", "--wait", "0.5"], ["Chat", "--wait", "0.5"]),
        (["Chat", "--wait", "--at", "3"], ["Chat", "--wait=inf", "--at", "3"]),
        (["Chat", "--wait", "-1"], ["Chat", "--wait", "-1"]),
        (["--", "--wait"], ["--", "--wait"]),
    ],
)
def test_a_bare_wait_takes_no_chat_along(given: list[str], settled: list[str]) -> None:
    assert settle_wait(given) == settled


@pytest.mark.parametrize(
    "options", [["--wait", "Chat"], ["Chat", "--wait"], ["--wait", "5", "Chat"], ["Chat", "--wait=5"]]
)
def test_every_form_of_wait_makes_the_fork(root: Path, options: list[str]) -> None:
    ran = run("--data", root, "checkpoint", *options, "--json")

    assert ran.code == 0
    assert ran.json["parent"] == "Mira/Chat"


def test_a_wait_that_runs_out_is_blocked(sample: Sample) -> None:
    ran = run("--data", sample("salvage_rights_queue_busy"), "checkpoint", "Ilse", "--wait", "0.1")

    assert ran.code == 3
    assert ran.err.count("[1/4] Validating requirements...") == 1  # told once, however often it was tried
    assert "Cannot Create Checkpoint" in ran.err


@pytest.mark.req(18)
@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_wait_makes_the_fork_once_the_queue_is_idle(sample: Sample, kind: str) -> None:
    root = sample("salvage_rights_queue_busy")
    waiting = subprocess.Popen(
        command_line("--data", root, kind, "--wait", "Ilse"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert waiting.stderr is not None
    assert "Cannot create" in waiting.stderr.readline()  # it has looked, and waits

    chat = OpenChat(root, ILSE)
    chat.set_queue()
    chat.write()
    out, _ = waiting.communicate(timeout=60)

    assert waiting.returncode == 0
    assert f"{kind.capitalize()} created: {ILSE}" in out
