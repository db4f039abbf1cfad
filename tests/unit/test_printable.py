"""Text that nobody may trust."""

import io
import logging
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.disk.workspace import ChatAmbiguous
from forklore.log.records import OneLine, traceback_lines
from forklore.model.finding import Finding, Severity
from forklore.printable import printable, shell_word

NAME = "Mira\nForged\r\x1b[2J\x85\u2028\u202e\ud83d"
SHOWN = "Mira\\nForged\\r\\x1b[2J\\x85\\u2028\\u202e\\ud83d"


def test_control_characters_become_escapes_that_can_be_read() -> None:
    assert printable(NAME) == SHOWN


@pytest.mark.parametrize("text", ["", "Zeile", "строка 塔\u3000", "\U0001f469\u200d\U0001f680\ufe0f", "שלום \\n"])
def test_every_script_is_left_alone(text: str) -> None:
    assert printable(text) == text


@given(st.text())
def test_what_is_printable_is_one_line_stays_as_it_is_and_can_be_encoded(text: str) -> None:
    shown = printable(text)

    assert shown.splitlines() in ([shown], [])
    assert printable(shown) == shown
    assert shown.encode().decode() == shown


def test_the_message_of_an_error_is_one_line_and_each_choice_another() -> None:
    error = ChatAmbiguous(text=NAME, count=22, choices=[NAME] * 22)

    assert SHOWN in error.lines[0]
    assert error.lines[1:] == (*[f"  {SHOWN}"] * 20, "  … and 2 more")
    assert error.message == str(error) == "\n".join(error.lines)


def test_each_text_of_a_finding_is_one_line() -> None:
    finding = Finding("LOREBOOK_MISMATCH", Severity.ERROR, {"expected": NAME, "current": NAME})

    assert finding.details == f"Expected: “{SHOWN}”, current: “{SHOWN}”."
    assert finding.to_json()["params"] == {"expected": NAME, "current": NAME}


# --- the log ------------------------------------------------------------------------------------------------------


def logged(*arguments: object, error: BaseException | None = None) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(OneLine("%(name)s: %(message)s"))
    handler.handle(logging.LogRecord("log", logging.INFO, "", 0, "fork of %s", arguments, _info(error)))
    return stream.getvalue()


def _info(error: BaseException | None) -> tuple[type[BaseException], BaseException, None] | None:
    return None if error is None else (type(error), error, None)


def raised() -> Exception:
    """Return an error with a cause, each of which has a name in its message."""
    try:
        looked_up()
    except ValueError as error:
        return error
    raise AssertionError


def looked_up() -> None:
    names: dict[str, str] = {}
    try:
        names[NAME]
    except KeyError as error:
        raise ValueError(NAME) from error


def test_a_record_is_one_line() -> None:
    assert logged(NAME) == f"log: fork of {SHOWN}\n"


def test_a_traceback_keeps_its_lines_but_not_those_of_a_message() -> None:
    lines = logged(NAME, error=raised()).split("\n")

    assert lines[:2] == [f"log: fork of {SHOWN}", "Traceback (most recent call last):"]
    assert f"ValueError: {SHOWN}" in lines
    assert "The above exception was the direct cause of the following exception:" in lines
    assert sum(line.startswith("  File ") for line in lines) == 3
    assert not [line for line in lines if line.startswith("Forged")]
    assert all(printable(line) == line for line in lines)


def test_a_group_of_errors_is_told_as_well() -> None:
    lines = list(traceback_lines(ExceptionGroup(NAME, [raised(), raised()])))

    assert not [line for line in lines if line.lstrip(" |").startswith("Forged")]
    assert all(printable(line) == line for line in lines)
    assert sum('File "' in line for line in lines) == 6


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    "name", ["worlds", "group chats", "$(touch x)", 'a\'b "c" `id`', "x; rm y", "!!", "a\\b", "a\nb"]
)
def test_a_name_in_a_command_to_copy_is_one_word_and_nothing_else(name: str, tmp_path: Path) -> None:
    command = f"printf %s {shell_word(name)}"

    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert ran.stdout == printable(name)
    assert not any(tmp_path.iterdir())
