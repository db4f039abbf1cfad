"""Input that is not as it should be: a clear error with an action, the right exit code, nothing written."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from forklore.disk.workspace import Workspace
from forklore.model.address import ChatAddress
from forklore.testing import stories
from tests.edges.running import MAREN, run, run_process, snapshot
from tests.needed import posix_only

Sample = Callable[[str], Path]

LORE = stories.lorebook([stories.entry(0, "lore-Sea", "Wet.")])
GOOD = stories.chat_bytes({"world_info": "Lore"}, stories.conversation(4))
HEADER, *MESSAGES = GOOD.split(b"\n")
READING = [
    ("stories",),
    ("tree", "Chat"),
    ("show", "Chat"),
    ("check", "Chat"),
    ("check", "Chat", "--at", "1"),
    ("status", "Chat"),
    ("queue", "Chat"),
    ("log",),
    ("checkpoint", "Chat", "--dry-run"),
    ("branch", "Chat", "--at", "1", "--dry-run"),
]


def workspace(root: Path, chat: bytes = GOOD, book: bytes = stories.pretty(LORE)) -> Path:
    return stories.write_workspace(root, {"chats/Mira/Chat.jsonl": chat, "worlds/Lore.json": book})


BAD_CHATS = {
    "empty": b"",
    "only blanks": b"\n \n\n",
    "no header": b"\n".join(MESSAGES),
    "a header that is no JSON": b"\n".join([HEADER[:-3], *MESSAGES]),
    "a header without metadata": b"\n".join([b'{"user_name":"Wren"}', *MESSAGES]),
    "metadata that is no object": b"\n".join([b'{"chat_metadata":[]}', *MESSAGES]),
    "a lorebook name that is no text": b"\n".join([b'{"chat_metadata":{"world_info":{"a":1}}}', *MESSAGES]),
    "a list": b"[1, 2, 3]",
    "text": "Es war einmal … \U0001f56f".encode(),
    "bytes that are no UTF-8": HEADER + b"\n\xff\xfe\x00\x80",
    "a broken line": b"\n".join([HEADER, MESSAGES[0], MESSAGES[1][:20], *MESSAGES[2:]]),
    "a line that is no object": b"\n".join([HEADER, MESSAGES[0], b"42", *MESSAGES[2:]]),
    "a broken last line": b"\n".join([HEADER, *MESSAGES[:-1], MESSAGES[-1][:-5]]),
    "message fields of wrong types": b"\n".join([HEADER, b'{"mes":null,"extra":"x","swipes":5,"swipe_id":"a"}', b"{}"]),
    "recap data of wrong types": stories.chat_bytes(
        {"auto_recap_running_scene_recaps": {"versions": [1, {"version": "x"}, None], "current_version": []}},
        [stories.message("x", extra={"auto_recap_memory": {"scene_break": True, "scene_recap_versions": 3}})],
    ),
    "metadata keys of wrong types": stories.chat_bytes(
        {"main_chat": 7, "forklore": [], "auto_recap_checkpoint_state": 1, "auto_recap": "x", "timedWorldInfo": []},
        stories.conversation(2),
    ),
    "deep nesting": stories.chat_bytes({}, []) + b'\n{"extra":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a parent that is itself": stories.chat_bytes({"main_chat": "Chat"}, stories.conversation(2)),
    "NUL bytes": HEADER + b"\n" + b"\0" * 100,
}
FINE_CHATS = {
    "good": GOOD,
    "CRLF": GOOD.replace(b"\n", b"\r\n"),
    "BOM": b"\xef\xbb\xbf" + GOOD,
    "a line break at the end": GOOD + b"\n",
    "blank lines": GOOD.replace(b"\n", b"\n\n"),
}
BAD_BOOKS = {
    "empty": b"",
    "no JSON": b'{"entries": {',
    "a list": b"[]",
    "a number": b"5",
    "no entries": b"{}",
    "entries that are a list": b'{"entries": []}',
    "entries that are a text": b'{"entries": "many"}',
    "an entry that is no object": b'{"entries": {"0": 5}}',
    "an entry without anything": b'{"entries": {"0": {}}}',
    "no UTF-8": b'{"entries": {"0": {"uid": 0, "comment": "\xff"}}}',
    "a queue that is no JSON": stories.lorebook_bytes([{**stories.queue(), "content": "{"}]),
    "a queue that is no list": stories.lorebook_bytes([{**stories.queue(), "content": '{"queue": 5}'}]),
    "two queues": stories.lorebook_bytes([stories.queue(uid=1), stories.queue(uid=2)]),
    "operations of wrong types": stories.lorebook_bytes(
        [{**stories.queue(), "content": '{"queue": [{"status": []}]}'}]
    ),
    "duplicate UIDs": stories.pretty({"entries": {"0": stories.entry(0, "a"), "1": stories.entry(0, "b")}}),
    "empty slots": b'{"entries": {"0": null}}',
}


def assert_all_commands_are_civil(root: Path) -> None:
    """Every command that only reads ends with a code that means something, and leaves no trace."""
    before = snapshot(root)
    for command in READING:
        words = run("--data", root, *command)
        document = run("--data", root, *command, "--json")

        assert words.code == document.code, command
        assert words.code in {0, 2, 3, 4, 5, 7}, (command, words.err)
        assert "Traceback" not in words.err
        assert isinstance(document.json, dict)
        if words.code:
            assert words.err or command[0] == "check"
    assert snapshot(root) == before


@pytest.mark.parametrize("name", BAD_CHATS)
def test_a_bad_chat_bothers_no_command(tmp_path: Path, name: str) -> None:
    assert_all_commands_are_civil(workspace(tmp_path, chat=BAD_CHATS[name]))


@pytest.mark.parametrize("name", FINE_CHATS)
def test_a_chat_that_is_only_written_differently_is_fine(tmp_path: Path, name: str) -> None:
    root = workspace(tmp_path, chat=FINE_CHATS[name])

    assert_all_commands_are_civil(root)
    assert run("--data", root, "check", "Chat").code == 0
    assert run("--data", root, "checkpoint", "Chat", "--at", "1").code == 0


@pytest.mark.parametrize("name", BAD_BOOKS)
def test_a_bad_lorebook_bothers_no_command(tmp_path: Path, name: str) -> None:
    assert_all_commands_are_civil(workspace(tmp_path, book=BAD_BOOKS[name]))


@pytest.mark.parametrize(
    "name",
    ["empty", "no header", "a header that is no JSON", "a broken last line", "a line that is no object", "NUL bytes"],
)
@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_a_damaged_chat_is_not_forked(tmp_path: Path, name: str, kind: str) -> None:
    root = workspace(tmp_path, chat=BAD_CHATS[name])
    before = stories.read_workspace(root)

    ran = run("--data", root, kind, "Chat", "--json")

    assert ran.code == 3
    assert ran.error["code"] == "CHAT_DAMAGED"
    assert stories.read_workspace(root) == before


@pytest.mark.parametrize("name", ["empty", "no JSON", "a list", "a number", "no entries", "entries that are a text"])
def test_a_lorebook_that_is_none_blocks_a_fork(tmp_path: Path, name: str) -> None:
    root = workspace(tmp_path, book=BAD_BOOKS[name])
    before = stories.read_workspace(root)

    ran = run("--data", root, "branch", "Chat", "--json")

    assert ran.code == 3
    assert ran.error["code"] == "LOREBOOK_UNREADABLE"
    assert stories.read_workspace(root) == before


@pytest.mark.parametrize("name", ["a queue that is no JSON", "a queue that is no list", "two queues"])
def test_a_garbled_queue_blocks_a_fork(tmp_path: Path, name: str) -> None:
    root = workspace(tmp_path, book=BAD_BOOKS[name])

    assert run("--data", root, "checkpoint", "Chat", "--json").error["code"] == "QUEUE_UNREADABLE"
    assert run("--data", root, "queue", "Chat", "--cancel", "op_1").code in {2, 7}


@pytest.mark.parametrize(
    "name, stored",
    [
        ("../../escape", "....escape"),
        ("a/b\\c", "abc"),
        ("Vor dem Turm \U0001f56f\ufe0f", "Vor dem Turm \U0001f56f\ufe0f"),
        ("塔の前", "塔の前"),
        ("half \ud83d emoji", None),
        ("line\nbreak", "linebreak"),
        ("nul\0byte", "nulbyte"),
        ("\x1b]0;title\x07", "]0;title"),
    ],
)
def test_a_strange_name_stays_inside_the_folder(tmp_path: Path, name: str, stored: str | None) -> None:
    root = workspace(tmp_path / "st")

    ran = run("--data", root, "checkpoint", "Chat", "--name", name, "--json")

    assert ran.code == 0 or (stored is None and ran.code == 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["st"]
    if stored is not None:
        assert ran.json["chat"] == f"Mira/{stored}"
        assert (root / "chats" / "Mira" / f"{stored}.jsonl").is_file()
        assert all(path.parent == root / "worlds" for path in (root / "worlds").rglob("*"))


@pytest.mark.parametrize("name", ["CON", "con", "NUL.txt", "COM1", "..", "...", "/", "\0"])
def test_a_name_that_cannot_be_a_file_is_refused(tmp_path: Path, name: str) -> None:
    root = workspace(tmp_path)
    before = stories.read_workspace(root)

    ran = run("--data", root, "checkpoint", "Chat", "--name", name, "--json")

    assert ran.code == 2
    assert ran.error["code"] == "NAME_INVALID"
    assert stories.read_workspace(root) == before


@pytest.mark.parametrize("name", ["x" * 300, "塔" * 300, "\U0001f56f" * 100])
def test_a_name_of_300_characters_is_refused_or_shortened(tmp_path: Path, name: str) -> None:
    root = workspace(tmp_path)

    ran = run("--data", root, "checkpoint", "Chat", "--name", name, "--json")

    assert ran.code == 2 or len(ran.json["chat"].encode()) <= 250
    assert run("--data", root, "stories").code == 0


@pytest.mark.parametrize(
    "chat",
    ["../../etc/passwd", "/etc/passwd", "CON", "x" * 300, "\U0001f56f", "nul\0byte", "", " ", "group:/", "a\ud83d"],
)
def test_a_chat_that_cannot_be_is_not_found(sample: Sample, chat: str) -> None:
    root = sample("hollow_quay_clean")

    for command in ("show", "check", "status", "queue", "tree", "checkpoint", "branch"):
        ran = run("--data", root, command, "--json", "--", chat)

        assert ran.code == 4 or (ran.code in {0, 2} and chat in {"", " "}), (command, ran)


@pytest.mark.parametrize("name", ["Mira/../../x", "CON", "Lore\U0001f56f", "a\0b", "../settings", "x" * 300])
def test_a_chat_may_name_a_strange_lorebook(tmp_path: Path, name: str) -> None:
    assert_all_commands_are_civil(
        workspace(tmp_path, chat=stories.chat_bytes({"world_info": name}, stories.conversation(2)))
    )


def test_a_folder_that_is_not_sillytaverns(tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text("nothing")
    before = snapshot(tmp_path)

    ran = run("--data", tmp_path, "stories", "--json")

    assert ran.code == 4
    assert ran.error["code"] == "WORKSPACE_NOT_FOUND"
    assert "--data" in ran.error["action"]
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("data", ["", "no/such/folder", "chat.txt", "x" * 5000, "\0"])
def test_a_data_folder_that_is_none(tmp_path: Path, data: str) -> None:
    (tmp_path / "chat.txt").write_text("nothing")

    ran = run("--data", tmp_path / data if data == "chat.txt" else data, "stories", "--json")

    assert ran.code in {4, 5}
    assert ran.error["action"]


@pytest.mark.parametrize("command", ["show", "check", "status", "queue", "checkpoint", "branch"])
def test_a_chat_that_vanishes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    root = workspace(tmp_path)
    found = Workspace.resolve

    def resolve_and_remove(self: Workspace, text: str) -> ChatAddress:
        address = found(self, text)
        (root / "chats" / "Mira" / "Chat.jsonl").unlink()
        return address

    monkeypatch.setattr(Workspace, "resolve", resolve_and_remove)

    ran = run("--data", root, command, "Chat", "--json")

    assert ran.code in {4, 7}
    assert ran.error["action"]


def test_a_story_full_of_half_emoji_can_be_shown(tmp_path: Path) -> None:
    half = "half \ud83d"
    extra = stories.scene(half)
    chat = stories.chat_bytes({"world_info": "Lore", "main_chat": half}, [stories.message(half, extra=extra)] * 2)
    root = workspace(tmp_path, chat=chat)

    for command in READING:
        assert run("--data", root, *command).code == 0
        assert run("--data", root, *command, "--json").json
    assert "half \\ud83d" in run_process("--data", root, "show", "Chat").out
    assert "half \\ud83d" in run_process("--data", root, "show", "Chat", "--json").out


@posix_only("file names are text there")
def test_a_file_name_that_is_no_utf8_can_be_shown(tmp_path: Path) -> None:
    root = workspace(tmp_path)
    os.rename(os.fsencode(root / "chats/Mira/Chat.jsonl"), os.fsencode(root / "chats/Mira") + b"/Caf\xe9.jsonl")

    assert run_process("--data", root, "stories").code == 0
    assert json.loads(run_process("--data", root, "stories", "--json").out)["stories"][0]["main"].startswith("Mira/Caf")
    assert run_process("--data", root, "check", "Caf").code in {0, 3}


@pytest.mark.parametrize("command", READING)
def test_commands_that_only_read_create_nothing(sample: Sample, command: tuple[str, ...]) -> None:
    root = sample("hollow_quay_clean")
    before = snapshot(root)

    ran = run("--data", root, command[0], *(MAREN if word == "Chat" else word for word in command[1:]))

    assert ran.code == 0
    assert snapshot(root) == before
