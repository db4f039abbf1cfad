"""Whatever names a story has, what is written for a person holds no control character, and no line a name has made."""

import sys
import tempfile
import unicodedata
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from forklore.printable import printable
from forklore.testing import stories
from tests.edges.running import Ran, run
from tests.needed import posix_only

FORGED = "FORGED"
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x1c"]
OTHERS = ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\u202e", "\u2066", "\x7f", "\t", "塔", "'", "\\n"]
if sys.platform == "linux":
    OTHERS.append("\udcff")  # a byte that is no UTF-8; other systems have no such names

pytestmark = posix_only("Windows has no such names")

evil = st.lists(st.sampled_from([*BREAKS, *OTHERS]), min_size=1, max_size=3).map(
    lambda signs: "Plain" + FORGED.join(["", *signs, ""])
)
some = settings(max_examples=max(5, (settings.default.max_examples if settings.default else 100) // 8))


def workspace(root: Path, name: str) -> Path:
    """Write a workspace in which everything is called *name*, and much of it is not in order."""
    book = stories.lorebook(
        [
            stories.entry(0, name, name),
            stories.registry(1, "character", [stories.registry_line(0, name, aliases=[name])]),
            stories.queue([stories.operation(0, kind=name, status="completed", metadata={"entry_comment": name})]),
        ]
    )
    messages = [
        stories.message("Once", name=name),
        stories.message("upon", extra=stories.scene(name)),
        stories.message("a time", extra={"bookmark_link": f"{name} gone"}),
    ]
    metadata = {"world_info": name, **stories.running_recap(name, [stories.recap_version(0, 1, name)], 0)}
    files = stories.solo_files(name, metadata, messages, folder=name, books={name: book})
    fork = {"world_info": name, "main_chat": name}
    files[f"chats/{name}/{name} fork.jsonl"] = stories.chat_bytes(fork, messages)
    files[f"chats/{name}/{name} lost.jsonl"] = stories.chat_bytes({"world_info": f"{name} lost"}, messages)
    files[f"chats/{name}/{name} broken.jsonl"] = b'{"chat_metadata": ' + stories.line({"name": name})
    files[f"worlds/{name} broken.json"] = b"{" + stories.line({"name": name})
    files[f"worlds/{name}__CP_unused.json"] = stories.pretty(book)
    files |= stories.group_files(f"{name} group", metadata, messages, group_id=name.replace("\udcff", ""))
    return stories.write_workspace(root, files)


def does_something(sign: str) -> bool:
    """Whether a character is a control, ends a line, changes the direction of writing or is half of one."""
    turns = unicodedata.bidirectional(sign) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return turns or unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"}


def assert_harmless(ran: Ran) -> None:
    for text in (ran.out, ran.err):
        assert [sign for sign in text if sign != "\n" and does_something(sign)] == []
        assert [line for line in text.split("\n") if line.lstrip().startswith(FORGED)] == []


@some
@given(evil)
def test_no_command_lets_a_name_write_more_than_itself(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = workspace(Path(folder), name)
        chat = f"{name}/{name}"
        changing = [
            ("checkpoint", chat, "--name", name),
            ("checkpoint", chat, "--name", name, "--dry-run"),
            ("delete", chat),  # is refused: it has forks
            ("delete", f"{chat} lost"),
            ("isolate", "--all", "--dry-run"),
            ("isolate", f"{chat} fork"),
            ("settings", "--share", name),
            ("cleanup", "--apply"),
        ]
        looking = [
            *((each, chat) for each in ("tree", "show", "check", "verify", "status", "queue", "contamination")),
            *(
                (each, f"{chat} {which}")
                for each in ("show", "check", "verify")
                for which in ("lost", "broken", "fork")
            ),
            *((each,) for each in ("stories", "doctor", "log", "trash", "cleanup", "settings", "tree")),
            ("repair", f"{chat} lost", "LOREBOOK_MISSING"),
        ]
        mistaken = [
            ("show", "Plain"),
            ("show", f"{name} nowhere"),
            ("repair", chat, name),
            ("restore", "Plain"),
            ("undo", name),
            ("--user", name, "stories"),
            ("--policy", name, "stories"),
            (name,),
        ]
        told = []
        for command in [
            *looking,
            *changing,
            *looking,
            *mistaken,
            ("undo",),
            ("demo", f"{folder}/{name}/x", "--no-serve"),
        ]:
            ran = run("--data", root, *command)
            assert ran.code != 1, ran.err
            assert_harmless(ran)
            told.append(ran.out + ran.err)

        assert any(printable(name) in text for text in told)


@some
@given(evil)
def test_a_chat_is_found_by_its_name_as_it_was_shown(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        messages = [stories.message("Once")]
        files = stories.solo_files(name, {}, messages, folder=name) | stories.solo_files("Other", {}, messages)
        root = stories.write_workspace(Path(folder), files)
        shown = run("--data", root, "stories").out.partition("  1 timeline")[0]

        assert run("--data", root, "show", shown).code == 0


@some
@given(evil)
def test_a_shell_is_offered_only_names_that_are_one_line(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = stories.solo_files(name, {}, [stories.message("Once")], folder=name)
        root = stories.write_workspace(Path(folder), files)
        for shell in ("bash", "zsh", "fish"):
            where = {"COMP_WORDS": f"forklore --data {root} show ", "COMP_CWORD": "" if shell == "fish" else "4"}
            ran = run(env={"_FORKLORE_COMPLETE": f"{shell}_complete", **where})

            assert_harmless(ran)
            assert bool(ran.out.strip()) is not any(map(does_something, name))
