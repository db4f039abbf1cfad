"""Whatever is in a path: what is written for a system, read back as that system reads it, is the command again."""

from __future__ import annotations

import plistlib
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from forklore.autostart.launchd import plist
from forklore.autostart.start import PathUnwritable, Start
from forklore.autostart.systemd import unit
from forklore.autostart.termux import script
from forklore.autostart.windows import task

# Any byte but NUL, as Python has the names of files on Linux; a surrogate is a byte that is no text.
ANY = st.binary(max_size=30).map(lambda raw: raw.replace(b"\0", b"\1").decode("utf-8", "surrogateescape"))
TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from(" '\"\\$%&<>;`~#="),
    max_size=30,
)
NAMES = st.from_regex(r"[A-Z_]{1,8}", fullmatch=True)


def starts(words: st.SearchStrategy[str], values: st.SearchStrategy[str] = TEXT) -> st.SearchStrategy[Start]:
    programs = words.map(lambda word: f"/opt/{word}x")
    environments = st.dictionaries(NAMES, values, max_size=3).map(lambda found: tuple(found.items()))
    return st.builds(lambda program, rest, told: Start((program, *rest), told), programs, st.lists(words), environments)


# --- systemd ------------------------------------------------------------------------------------------------------


def systemd_words(line: str) -> list[str]:
    """Take a line apart as systemd does: words in quotes, escapes in them, and then %% for a percent sign."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"(?: |$)', line)
    assert " ".join(f'"{word}"' for word in words) == line
    return [_unescaped(word).replace("%%", "%") for word in words]


def _unescaped(word: str) -> str:
    assert not re.search(r"(?<!%)(%%)*%(?!%)", word), "systemd would fill something in"
    raw = re.sub(
        rb'\\(x[0-9a-f]{2}|["\\])',
        lambda found: bytes.fromhex(found[1][1:].decode()) if len(found[1]) > 1 else found[1],
        word.encode(),
    )
    return raw.decode("utf-8", "surrogateescape")


def lines_of(content: bytes, key: str) -> list[str]:
    return [line.removeprefix(f"{key}=") for line in content.decode().split("\n") if line.startswith(f"{key}=")]


@given(starts(ANY))
@example(Start(("/opt/it's", "$HOME", "100%", "a\nb", "\\")))
def test_a_unit_read_back_is_the_command(start: Start) -> None:
    content = unit(start)

    (line,) = lines_of(content, "ExecStart")
    words = systemd_words(line)
    assert all(word.count("$") % 2 == 0 for word in words)
    words = [word.replace("$$", "$") for word in words]
    if words[:1] == ["/bin/sh"]:
        words = words[3:]
    assert tuple(words) == start.command
    told = [word for line in lines_of(content, "Environment") for word in systemd_words(line)]
    assert told == [f"{name}={value}" for name, value in start.environment]


@given(starts(ANY))
def test_no_path_writes_a_line_of_its_own_into_a_unit(start: Start) -> None:
    plain = unit(Start(("/opt/x",), start.environment)).decode().split("\n")

    assert len(unit(start).decode().split("\n")) == len(plain)


# --- launchd ------------------------------------------------------------------------------------------------------


@given(starts(TEXT))
def test_a_property_list_read_back_is_the_command(start: Start) -> None:
    read = plistlib.loads(plist(start))

    assert tuple(read["ProgramArguments"]) == start.command
    assert read["EnvironmentVariables"] == dict(start.environment)
    assert read["RunAtLoad"] is True


# --- Windows ------------------------------------------------------------------------------------------------------


def windows_words(line: str) -> list[str]:
    """Take a command line apart as programs on Windows do."""
    words: list[str] = []
    word, place, quoted = "", 0, False
    while place < len(line):
        slashes = len(line[place:]) - len(line[place:].lstrip("\\"))
        place += slashes
        if line[place : place + 1] == '"':
            word += "\\" * (slashes // 2)
            if slashes % 2:
                word += '"'
            else:
                quoted = not quoted
            place += 1
        elif line[place : place + 1] == " " and not quoted:
            words.append(word + "\\" * slashes)
            word, place = "", place + 1
        else:
            word += "\\" * slashes + line[place : place + 1]
            place += 1
    return [*words, word] if line else []


@given(starts(TEXT), TEXT)
@example(Start(("C:\\P y\\pythonw.exe", "--data=C:\\a b\\", 'q"', "\\\\")), "PC\\Zoë & <co>")
def test_a_task_read_back_is_the_command(start: Start, user: str) -> None:
    assume(not any(re.search(r"%\w[^%\s]*%|\$\(", word) for word in start.command))
    root = ET.fromstring(task(start, user))  # what we have just written ourselves

    space = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    assert root.findtext(".//t:Command", namespaces=space) == start.command[0]
    arguments = root.findtext(".//t:Arguments", namespaces=space) or ""
    assert windows_words(arguments) == list(start.command[1:])
    assert [found.text or "" for found in root.iterfind(".//t:UserId", space)] == [user, user]


@pytest.mark.parametrize("word", ["C:\\%TEMP%\\x", "C:\\$(Arg0)", "C:\\a\nb", "C:\\\udc80"])
def test_what_the_task_scheduler_would_change_is_refused(word: str) -> None:
    with pytest.raises(PathUnwritable):
        task(Start(("C:\\pythonw.exe", word)), "PC\\user")


@pytest.mark.parametrize("word", ["/a\nb", "/\udcff", "/a\x1b"])
def test_what_a_property_list_cannot_hold_is_refused(word: str) -> None:
    with pytest.raises(PathUnwritable):
        plist(Start(("/usr/bin/python3", word)))


# --- Termux -------------------------------------------------------------------------------------------------------


@given(starts(ANY, ANY))
def test_a_script_read_back_is_the_command(start: Start) -> None:
    text = script(start, "/bin/sh").decode("utf-8", "surrogateescape")

    words = shlex.split(text.split("\n", 2)[2])
    told = [f"{name}={value}" for name, value in start.environment]
    assert words == [*(word for each in told for word in ("export", each)), "exec", *start.command]


@given(st.lists(ANY), ANY)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_real_shell_starts_the_command_as_it_is(tmp_path: Path, words: list[str], value: str) -> None:
    shell = shutil.which("sh")
    if shell is None:
        pytest.skip("there is no shell")
    show = 'printf "%s\\0" "$TOLD" "$@"'
    file = tmp_path / "forklore"
    file.write_bytes(script(Start((shell, "-c", show, "sh", *words), (("TOLD", value),)), shell))

    ran = subprocess.run([shell, file], capture_output=True, check=True)
    assert ran.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1] == [value, *words]
