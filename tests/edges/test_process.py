"""The command line as a process of its own: pipes, signals, encodings."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from forklore.testing import stories
from tests.edges.running import ILSE, MAREN, command_line, run_process, snapshot
from tests.needed import posix_only

Sample = Callable[[str], Path]
needs_posix = posix_only("signals and pipes differ there")


def test_the_module_is_the_command(sample: Sample) -> None:
    ran = run_process("--data", sample("hollow_quay_clean"), "stories")

    assert ran.code == 0
    assert ran.out.startswith(MAREN)


def test_results_go_to_standard_output_and_progress_to_standard_error(sample: Sample) -> None:
    ran = run_process("--data", sample("hollow_quay_clean"), "checkpoint", "Maren", "--at", "42")

    assert "[1/4]" in ran.err
    assert "[1/4]" not in ran.out
    assert ran.out.startswith("✓ Checkpoint created: ")
    assert "\x1b" not in ran.out + ran.err


@pytest.mark.req(150)
def test_the_log_tells_what_was_done_and_refused_where_it_is_asked_for(sample: Sample) -> None:
    clean, busy = sample("hollow_quay_clean"), sample("salvage_rights_queue_busy")

    done = run_process("--data", clean, "checkpoint", "Maren", env={"FORKLORE_LOG": "1"})
    refused = run_process("--data", busy, "branch", "Ilse", env={"FORKLORE_LOG": "1"})
    silent = run_process("--data", clean, "checkpoint", "Maren")

    assert f"forklore.checkpoint: checkpoint of {MAREN}" in done.err
    assert f"forklore.checkpoint: branch of {ILSE} is refused: QUEUE_NOT_EMPTY" in refused.err
    assert "forklore.checkpoint" not in silent.err + done.out


@posix_only("Windows has no such names")
def test_the_log_lets_no_name_write_lines(tmp_path: Path) -> None:
    name = "Mira\nForged\x1b[2J\u202e"
    files = stories.solo_files(name, {}, [stories.message("Once"), stories.message("upon")], folder=name)
    root = stories.write_workspace(tmp_path, files)

    ran = run_process("--data", root, "branch", f"{name}/{name}", env={"FORKLORE_LOG": "1"})

    assert ran.code == 0, ran.err
    assert "forklore.checkpoint: branch of Mira\\nForged\\x1b[2J\\u202e/" in ran.err
    for text in (ran.out, ran.err):
        assert "\nForged" not in text
        assert [sign for sign in text if sign != "\n" and not sign.isprintable()] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_is_offered_a_name_that_it_cannot_mistake_for_a_command(tmp_path: Path) -> None:
    name = "Mira; touch $(pwned) `it's` *"
    root = stories.write_workspace(tmp_path / "data", stories.solo_files(name, {}, [stories.message("Once")]))
    script = run_process("completion", "bash").out
    program = tmp_path / "forklore"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forklore "$@"\n')
    program.chmod(0o755)
    asking = (
        f'{script}\nCOMP_WORDS=(forklore --data "{root}" show Mir) COMP_CWORD=4\n'
        f'_forklore_completion "{program}" Mir show; eval "printf %s ${{COMPREPLY[0]}}"'
    )

    offered = subprocess.run(["bash", "-c", asking], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert offered.stdout == f"Mira/{name}", offered.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_narrow_terminal_gets_text_and_json_is_utf8_all_the_same(sample: Sample, encoding: str) -> None:
    root = sample("hollow_quay_clean")
    env = {"PYTHONIOENCODING": encoding}

    words = run_process("--data", root, "checkpoint", "Maren", "--name", "塔の前", env=env)
    tree = run_process("--data", root, "tree", env=env)
    document = run_process("--data", root, "tree", "--json", env=env)

    assert words.code == tree.code == 0
    assert words.out.startswith("ok Checkpoint created: Maren Tolliver/???")
    assert "`-- ???  checkpoint @68" in tree.out
    assert document.json["timelines"][1]["chat"] == "Maren Tolliver/塔の前"


@needs_posix
def test_a_reader_who_has_gone_is_no_error(sample: Sample) -> None:
    root = sample("hollow_quay_clean")
    reading, writing = os.pipe()
    os.close(reading)

    ran = subprocess.run(
        command_line("--data", root, "show", "Maren"), stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writing)

    assert ran.returncode == 0
    assert ran.stderr == b""


@needs_posix
def test_a_fork_is_made_although_nobody_listens_to_its_progress(sample: Sample) -> None:
    root = sample("hollow_quay_clean")
    reading, writing = os.pipe()
    os.close(reading)

    ran = subprocess.run(
        command_line("--data", root, "checkpoint", "Maren"), stdout=writing, stderr=writing, timeout=60, check=False
    )
    os.close(writing)

    assert ran.returncode == 0
    assert (root / "chats" / f"{MAREN} - Checkpoint #1.jsonl").is_file()


@needs_posix
def test_standard_output_may_be_closed(sample: Sample) -> None:
    line = command_line("--data", sample("hollow_quay_clean"), "stories")

    ran = subprocess.run(["/bin/sh", "-c", '"$@" >&- 2>&-', "sh", *line], timeout=60, check=False)

    assert ran.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_an_output_that_cannot_be_written_is_an_error_without_a_traceback(sample: Sample) -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            command_line("--data", sample("hollow_quay_clean"), "stories"),
            env=buffered,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert ran.returncode == 5
    assert ran.stderr.count(b"No space left on device") == 1
    assert b"Traceback" not in ran.stderr


@needs_posix
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_interrupt_ends_a_wait_with_130_and_makes_nothing(sample: Sample, options: list[str]) -> None:
    root = sample("salvage_rights_queue_busy")
    before = snapshot(root)
    waiting = subprocess.Popen(
        command_line("--data", root, "checkpoint", "--wait", "Ilse", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # whoever runs us may ignore it
    )
    while waiting.poll() is None and not sleeps(waiting.pid):
        try:
            waiting.wait(0.01)
        except subprocess.TimeoutExpired:
            continue

    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=30)

    assert waiting.returncode == 130
    assert b"Traceback" not in err
    if options:
        assert json.loads(out)["error"]["code"] == "INTERRUPTED"
    assert snapshot(root) == before


def sleeps(process: int) -> bool:
    """Whether the process is asleep until a time of its own choosing, which is how a wait waits."""
    channel = Path(f"/proc/{process}/wchan")
    if not channel.exists():
        pytest.skip("this system does not tell what a process waits for")
    return "nanosleep" in channel.read_text(encoding="ascii")


NOT_FOR_A_CHECK = {
    *("asyncio", "filelock", "locale", "platformdirs", "rich", "rich_click"),
    *("forklore.app.dry_run", "forklore.attribution", "forklore.model.javascript", "forklore.planning.fork"),
}


def test_a_check_loads_nothing_that_it_does_not_need(sample: Sample) -> None:
    program = (
        "import sys\n"
        "from forklore.cli.main import program\n"
        "try:\n    program.main(sys.argv[1:])\n"
        "except SystemExit as end:\n    code = end.code\n"
        f"heavy = {NOT_FOR_A_CHECK} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "sys.exit(code)"
    )
    line = [sys.executable, "-c", program, "--data", str(sample("hollow_quay_clean")), "check", "Maren"]

    ran = subprocess.run(line, capture_output=True, timeout=60, check=False)

    assert ran.returncode == 0, ran.stderr.decode()
