"""What a person sees: harmless text, colours only where they belong, progress that does not shout."""

import io
import sys
from pathlib import Path

import pytest

from forklore.cli import terminal
from forklore.cli.progress import Steps
from forklore.model.fact import fact
from forklore.testing import stories
from tests.edges.running import run
from tests.needed import posix_only

VALIDATING = fact("step", case="validate")
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\r\x00"


class Stream(io.StringIO):
    """Standard output or error as a test wants it."""

    encoding = "utf-8"

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


# --- text nobody may trust ----------------------------------------------------------------------------------------


def test_no_control_character_reaches_a_person() -> None:
    shown = terminal.for_person(EVIL)

    assert shown == "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202egnp.exe\\r\\x00"


def test_every_script_is_left_alone() -> None:
    text = "Zeile строка 塔 \U0001f56f\ufe0f שלום\u3000"

    assert terminal.for_person(text) == text


@posix_only("there are no such names")
@pytest.mark.parametrize("command", ["stories", "tree", "show", "check", "status", "queue", "checkpoint", "log"])
def test_a_story_cannot_talk_to_the_terminal(tmp_path: Path, command: str) -> None:
    names = {"folder": "M\x1b[31mira", "chat": "Ch\x9b2Jat", "book": "Lo\x1bre", "entry": EVIL}
    operation = stories.operation(kind=EVIL, id=EVIL, status="completed", metadata={"entry_comment": EVIL})
    book = stories.lorebook(
        [stories.entry(0, f"_registry_{EVIL}", "- UID=7 | name: " + EVIL), stories.queue([operation])]
    )
    messages = [stories.message("a"), stories.message("b", extra=stories.scene(EVIL))]
    metadata = {"world_info": names["book"], **stories.running_recap(EVIL, [stories.recap_version(0, 1, EVIL)], 0)}
    files = stories.solo_files(names["chat"], metadata, messages, folder=names["folder"], books={names["book"]: book})
    root = stories.write_workspace(tmp_path, files)
    run("--data", root, "checkpoint", "Ch", "--name", EVIL)

    chat = () if command in {"stories", "log"} else (f"{names['folder']}/{names['chat']}",)
    ran = run("--data", root, command, *chat)
    document = run("--data", root, command, *chat, "--json")

    assert ran.code == 0
    for text in (ran.out, ran.err, document.out):
        assert not [character for character in text if character != "\n" and not character.isprintable()]


def test_an_error_cannot_talk_to_the_terminal_either(tmp_path: Path) -> None:
    ran = run("--data", stories.write_workspace(tmp_path, {}), "show", EVIL)

    assert ran.code == 4
    assert "\x1b" not in ran.err


# --- colours and encodings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "is_terminal, environment, coloured",
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colours_stand_only_where_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, environment: dict[str, str], coloured: bool
) -> None:
    stream = Stream(terminal=is_terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    terminal.write(f"{terminal.GOOD}fine{terminal.PLAIN}")

    assert stream.getvalue() == ("\x1b[32mfine\x1b[0m\n" if coloured else "fine\n")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "latin-1"])
def test_a_narrow_encoding_gets_plainer_signs(encoding: str) -> None:
    shown = terminal.for_person("├── ✓ ready → go…", encoding=encoding)

    assert shown == "|-- ok ready -> go..."


def test_json_escapes_what_a_stream_or_terminal_cannot_take() -> None:
    assert terminal.as_json({"a": "\ud83d \x9b 塔"}) == '{\n  "a": "\\ud83d \\u009b 塔"\n}'


# --- progress -----------------------------------------------------------------------------------------------------


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


def hear(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> Stream:
    stream = Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("NO_COLOR", "1")
    return stream


def test_quick_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stream = hear(monkeypatch, terminal=True)
    steps = Steps(clock=clock)

    clock.now = 5.0  # starting up is no work
    steps.advance(1, 4)
    clock.now = 5.4
    steps.advance(2, 4)
    clock.now = 6.0
    steps.advance(4, 4)  # done: there is nothing to wait for

    assert stream.getvalue() == ""


def test_work_that_takes_longer_than_half_a_second_shows_a_bar(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stream = hear(monkeypatch, terminal=True)
    steps = Steps(clock=clock)

    steps.advance(0, 2)
    clock.now = 0.6
    steps.advance(1, 2)
    clock.now = 0.61
    steps.advance(3, 4)  # too soon to draw again
    clock.now = 0.8
    steps.advance(4, 4)
    steps.close()

    assert stream.getvalue().count("%") == 2
    assert "━━━━━━━━━━━━━━━···············  50%" in stream.getvalue()
    assert stream.getvalue().endswith("100%\r" + " " * 38 + "\r")


def test_a_bar_that_nobody_watches_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stream = hear(monkeypatch, terminal=False)
    steps = Steps(clock=clock)

    for number in range(100):
        clock.now = number / 10
        steps.advance(number, 100)
    steps.close()

    assert 2 <= len(stream.getvalue().splitlines()) <= 6
    assert "\r" not in stream.getvalue()


def test_what_is_tried_again_is_told_once(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stream = hear(monkeypatch, terminal=False)
    steps = Steps(clock=clock)

    for _ in range(3):
        steps.step(1, VALIDATING)
        steps.note(fact("queue_is_not_empty"), good=False)
    steps.step(1, VALIDATING)
    steps.note(fact("queue_is_empty"), good=True)

    assert stream.getvalue() == (
        "[1/4] Validating requirements...\n  ✗ Operation queue is not empty\n  ✓ Operation queue is empty\n"
    )


def test_progress_that_is_to_be_quiet_says_nothing(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    stream = hear(monkeypatch, terminal=True)
    steps = Steps(quiet=True, clock=clock)

    steps.step(1, VALIDATING)
    steps.note(fact("queue_is_empty"), good=True)
    clock.now = 5.0
    steps.advance(1, 2)
    steps.close()

    assert stream.getvalue() == ""


def test_work_goes_on_when_nobody_can_hear_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    class Gone(Stream):
        def write(self, text: str) -> int:
            tried.append(text)
            raise OSError(5, "Input/output error")

    for stream in (Gone(terminal=True), None):
        monkeypatch.setattr(sys, "stderr", stream)
        Steps().step(1, VALIDATING)

    assert tried
