"""A folder that a stranger prepared: nothing in it is trusted, and the rest of it goes on working."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.edges.running import Ran, run
from tests.hostile.conftest import Hostile, findings
from tests.hostile.crafting import (
    BAIT,
    BOOK,
    BRANCH,
    BUSY,
    CHAT,
    CHECKPOINT,
    GROUP_CHAT,
    SECRET,
    UP,
    WORKSPACE,
    Template,
    operation_file,
    operations_of,
    read_json,
    write_json,
)
from tests.hostile.fuzzing import alarm
from tests.hostile.trees import HAS_LINKS, LOCKS, Folder, Link, Node, Pipe, Tree
from tests.service.serving import Rest

pytestmark = pytest.mark.skipif(not HAS_LINKS, reason="this system has no symbolic links")

AUTOSTART = ".config/autostart/evil.desktop"
READING = (
    ("stories",),
    ("tree", CHAT),
    ("show", CHAT),
    ("check", CHAT),
    ("verify", CHAT),
    ("status", CHAT),
    ("log",),
    ("trash",),
    ("doctor",),
    ("cleanup",),
    ("settings",),
    ("queue", BUSY),
    ("extension", "status"),
    ("checkpoint", CHAT, "--dry-run"),
    ("isolate", "--all", "--dry-run"),
)
"""Every command that only reads."""
reading = pytest.mark.parametrize("words", READING, ids=" ".join)

WAYS_OUT = {
    "absolute": "/HOME/diary.json",
    "up": f"{UP}diary.json",
    "up from a folder of ours": f"worlds/../{UP}diary.json",
    "up in the middle, and back": f"worlds/../../{WORKSPACE.rpartition('/')[2]}/worlds/x.json",
    "up and nowhere": f"chats/Mira/../../../{'../' * 12}x.json",
    "backslashes": f"worlds\\..\\{UP}x.json".replace("/", "\\"),
    "drive": "C:\\Users\\x.json",
    "drive without a root": "C:x.json",
    "share": "\\\\server\\share\\x.json",
    "device": "worlds/CON.json",
    "device with another end": "chats/NUL/x.jsonl",
    "NUL": "worlds/a\0.json",
    "through a link to a folder": "worlds/door/diary.json",
    "another user": "../other-user/worlds/Her lore.json",
    "keys": "secrets.json",
    "settings of SillyTavern": "settings.json",
    "card": "characters/Mira.png",
}
"""Paths that nothing may speak of: out of the workspace, or out of the folders we work in."""
ways_out = pytest.mark.parametrize("way", WAYS_OUT.values(), ids=WAYS_OUT.keys())


def _door(hostile: Hostile) -> dict[str, Node]:
    return {"worlds/door": Link(str(hostile.home))}


def _way(hostile: Hostile, way: str) -> str:
    return way.replace("/HOME", str(hostile.home))


def _content(path: str) -> list[list[object]]:
    """Return what a journal or an operation says about the content of a file outside."""
    data = BAIT[path]
    assert isinstance(data, bytes)
    return [[len(data), hashlib.sha256(data).hexdigest()]]


def _journal(template: Template, alter: Callable[[Any], object]) -> dict[str, Node | None]:
    """Return the journal of a template after somebody has altered it."""
    journal = deepcopy(read_json(template.tree, template.journal))
    alter(journal)
    return {template.journal: write_json(journal)}


def _operation(hostile: Hostile, kind: str, alter: Callable[[Any], object]) -> dict[str, Node | None]:
    """Return the first operation of a kind after somebody has altered it."""
    path = operation_file(hostile.templates.history.tree, kind)
    operation = deepcopy(read_json(hostile.templates.history.tree, path))
    alter(operation)
    return {path: write_json(operation)}


def _id(operation: dict[str, Node | None]) -> str:
    """Return the id of the operation in the only file."""
    (path,) = (path for path in operation if path.startswith(".forklore/operations/"))
    return path.rpartition("/")[2].removesuffix(".json")


# --- unfinished operations ----------------------------------------------------------------------------------------


def _autostart(hostile: Hostile) -> tuple[Template, dict[str, Node | None]]:
    """Return a journal that, when it is finished, puts a file where the system starts it."""
    template = hostile.templates.dying("checkpoint", is_committed=True)
    change = {"do": "create", "path": f"{UP}{AUTOSTART}", "staged": f"{template.staging}/evil", "content": [[5, ""]]}
    more = _journal(template, lambda journal: journal["changes"].append(change))
    return template, {**more, f"{template.staging}/evil": b"Evil!"}


@reading
def test_who_only_reads_writes_no_autostart_file(hostile: Hostile, words: tuple[str, ...]) -> None:
    hostile.lay(*_autostart(hostile))

    ran = hostile.run(*words)

    assert ran.code in (0, 3)
    hostile.assert_nothing_leaked(ran)


@reading
@pytest.mark.parametrize("own", [True, False], ids=["own", "foreign"])
@pytest.mark.parametrize("act", ["checkpoint", "delete"])
def test_who_only_reads_recovers_nothing_and_takes_no_lock(
    hostile: Hostile, words: tuple[str, ...], own: bool, act: str
) -> None:
    hostile.lay(hostile.templates.dying(act, is_committed=True), {".forklore/lock": None}, own=own)

    hostile.run(*words)

    assert hostile.inside_changes() == []


@pytest.mark.parametrize(
    "words", [("checkpoint", CHAT, "--name", "After"), ("doctor", "--fix"), ("undo",)], ids=" ".join
)
def test_the_next_operation_finishes_no_journal_of_a_stranger(hostile: Hostile, words: tuple[str, ...]) -> None:
    template, more = _autostart(hostile)
    hostile.lay(template, more)

    ran = hostile.run(*words)

    assert ran.code in (0, 3)  # the rest of the folder goes on working
    assert hostile.tree()[template.journal] == more[template.journal]
    hostile.assert_nothing_leaked(ran)


def test_a_diary_is_not_moved_away_by_an_operation_that_died(hostile: Hostile) -> None:
    def alter(journal: Any) -> None:
        journal["changes"][0] |= {"path": f"{UP}diary.txt", "content": _content("diary.txt")}

    for act, is_committed in (("delete", True), ("delete", False), ("checkpoint", False)):
        template = hostile.templates.dying(act, is_committed=is_committed)
        hostile.lay(template, _journal(template, alter))

        ran = [hostile.run(*words) for words in (("stories",), ("doctor", "--fix"), ("checkpoint", BRANCH))]

        hostile.assert_nothing_leaked(*ran)


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "uncommitted"])
@pytest.mark.parametrize("act", ["checkpoint", "group-checkpoint", "undo", "delete", "restore"])
def test_doctor_tells_a_foreign_operation_and_leaves_it_alone(hostile: Hostile, act: str, is_committed: bool) -> None:
    template = hostile.templates.dying(act, is_committed=is_committed)
    hostile.lay(template)
    staged = {path: node for path, node in template.tree.items() if path.startswith(template.staging)}

    for words in (("doctor",), ("doctor", "--fix")):
        ran = hostile.run(*words)

        (told,) = findings(ran, "OPERATION_FOREIGN")
        assert ran.code == 3
        assert told["path"] == template.staging
        assert told["severity"] == "error"
        assert {"finish", "discard"} <= {*told["repairs"]}
        assert staged.items() <= hostile.tree().items()


@pytest.mark.parametrize("named", ["path", "id"])
def test_a_foreign_operation_is_finished_on_request(hostile: Hostile, named: str) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=True)
    hostile.lay(template)
    where = template.staging if named == "path" else template.operation

    ran = hostile.run("repair", where, "OPERATION_FOREIGN", "--with", "finish")

    assert ran.code == 0, ran.out
    assert template.journal not in hostile.tree()
    assert b'"bookmark_link":"Dying"' in (hostile.root / f"chats/{CHAT}.jsonl").read_bytes()
    assert findings(hostile.run("doctor"), "OPERATION_FOREIGN") == []
    hostile.assert_nothing_leaked(ran)


@pytest.mark.parametrize("act", ["checkpoint", "group-checkpoint", "undo", "delete", "restore"])
def test_a_foreign_operation_is_discarded_on_request(hostile: Hostile, act: str) -> None:
    template = hostile.templates.dying(act, is_committed=False)
    hostile.lay(template)

    ran = hostile.run("repair", template.operation, "OPERATION_FOREIGN", "--with", "discard")

    assert ran.code == 0, ran.out
    history, now = hostile.templates.history.tree, hostile.tree()
    ours = (".forklore/staging", ".forklore/lock", ".forklore/holder", ".forklore/trash", ".forklore/operations")
    for path in {*history, *now}:
        if not path.startswith(ours):
            assert now.get(path) == history.get(path), path
    assert {path: history[path] for path in operations_of(history)}.items() <= now.items()
    assert template.journal not in now
    hostile.assert_nothing_leaked(ran)


@pytest.mark.parametrize("act", ["checkpoint", "undo", "delete", "restore"])
def test_discarding_a_foreign_operation_that_counts_loses_no_story(hostile: Hostile, act: str) -> None:
    template = hostile.templates.dying(act, is_committed=True)
    hostile.lay(template)

    ran = hostile.run("repair", template.staging, "OPERATION_FOREIGN", "--with", "discard")

    assert ran.code == 0, ran.out
    assert template.journal not in hostile.tree()
    left = {*_contents(hostile.tree())}
    assert [
        path for path, node in hostile.templates.history.tree.items() if path.startswith(STORIES) and node not in left
    ] == []
    assert hostile.run("doctor").code in (0, 3)
    hostile.assert_nothing_leaked(ran)


STORIES = ("chats/Mira/Kept", "chats/Mira/Deleted", "chats/Bob/", "worlds/", "group chats/")
"""The files that the operation does not edit."""


def _contents(tree: Tree) -> Iterator[Node]:
    yield from (node for node in tree.values() if isinstance(node, bytes | Folder))


@ways_out
@pytest.mark.parametrize(
    "act, member", [("checkpoint", "path"), ("checkpoint", "staged"), ("delete", "item"), ("delete", "path")]
)
def test_a_journal_that_leads_out_is_not_finished(hostile: Hostile, act: str, member: str, way: str) -> None:
    if member == "item" and way in ("secrets.json", "settings.json", "characters/Mira.png", "worlds/door/diary.json"):
        pytest.skip("below the trash that is a name like any other")
    template = hostile.templates.dying(act, is_committed=True)

    def alter(journal: Any) -> None:
        journal["changes"][-1 if member == "path" else 0][member] = _way(hostile, way)

    hostile.lay(template, {**_door(hostile), **_journal(template, alter)})

    ran = hostile.run("repair", template.staging, "OPERATION_FOREIGN", "--with", "finish")

    hostile.assert_refused(ran, "PATH_OUTSIDE")


@ways_out
def test_a_journal_that_leads_out_is_discarded_inside_or_not_at_all(hostile: Hostile, way: str) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=False)

    def alter(journal: Any) -> None:
        journal["changes"][0] |= {"path": _way(hostile, way), "content": _content("diary.json")}

    hostile.lay(template, {**_door(hostile), **_journal(template, alter)})

    ran = hostile.run("repair", template.staging, "OPERATION_FOREIGN", "--with", "discard")

    if ran.code == 0:
        changed = {
            path for path in {*hostile.laid, *hostile.tree()} if hostile.laid.get(path) != hostile.tree().get(path)
        }
        assert all(template.operation in path or path in LOCKS for path in changed)
        hostile.assert_nothing_leaked(ran)
    else:
        hostile.assert_refused(ran, "PATH_OUTSIDE")


@pytest.mark.parametrize("way", ["", ".", "worlds", "chats/Mira", ".forklore", ".forklore/operations", "worlds/"])
@pytest.mark.parametrize("member", ["path", "staged"])
def test_a_journal_about_a_whole_folder_is_not_finished(hostile: Hostile, member: str, way: str) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=False)
    hostile.lay(template, _journal(template, lambda journal: journal["changes"][0].update({member: way})))

    ran = hostile.run("repair", template.staging, "OPERATION_FOREIGN", "--with", "finish")

    assert ran.code in (3, 5, 7)
    hostile.assert_unchanged()
    hostile.assert_nothing_leaked(ran)


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "uncommitted"])
def test_an_operation_of_our_own_is_still_finished_or_taken_back(hostile: Hostile, is_committed: bool) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=is_committed)
    hostile.lay(template, own=True)

    ran = hostile.run("checkpoint", GROUP_CHAT, "--name", "After")

    assert ran.code == 0
    assert template.journal not in hostile.tree()
    assert ("chats/Mira/Dying.jsonl" in hostile.tree()) == is_committed


KNOWN = {"format", "id", "kind", "chat", "when", "undoes", "commit", "notes", "changes", "number", "follows", "request"}


def test_a_journal_of_our_own_without_its_mac_is_foreign(hostile: Hostile) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=True)
    macs = set(read_json(template.tree, template.journal)) - KNOWN

    def strip(journal: Any) -> None:
        for name in macs:
            del journal[name]

    hostile.lay(template, _journal(template, strip), own=True)

    assert macs
    assert hostile.run("checkpoint", GROUP_CHAT).code == 0
    assert template.journal in hostile.tree()
    assert [told["path"] for told in findings(hostile.run("doctor"), "OPERATION_FOREIGN")] == [template.staging]


def _points_elsewhere(journal: Any) -> None:
    journal["changes"][0]["path"] = "worlds/Another.json"


def _edits_more(journal: Any) -> None:
    journal["changes"][-1]["edits"][0]["text"] = '"Another"'


def _says_more(journal: Any) -> None:
    journal["notes"]["fork"] = "Another"


def _commits_earlier(journal: Any) -> None:
    journal["commit"] = 0


@pytest.mark.parametrize("alter", [_points_elsewhere, _edits_more, _says_more, _commits_earlier])
def test_a_journal_of_our_own_that_was_altered_is_foreign(hostile: Hostile, alter: Callable[[Any], None]) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=True)
    more = _journal(template, alter)
    hostile.lay(template, more, own=True)

    hostile.run("checkpoint", GROUP_CHAT)

    assert hostile.tree()[template.journal] == more[template.journal]
    assert [told["path"] for told in findings(hostile.run("doctor"), "OPERATION_FOREIGN")] == [template.staging]


def test_a_journal_of_our_own_in_the_folder_of_another_operation_is_foreign(hostile: Hostile) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=True)
    again = ".forklore/staging/20260101-000000-000000-aaaa"
    hostile.lay(template, {f"{again}/journal.json": template.tree[template.journal]}, own=True)

    hostile.run("checkpoint", GROUP_CHAT)

    assert f"{again}/journal.json" in hostile.tree()
    assert again in [told["path"] for told in findings(hostile.run("doctor"), "OPERATION_FOREIGN")]


@pytest.mark.parametrize(
    "words",
    [
        ("stories",),
        ("checkpoint", CHAT),
        ("doctor", "--fix"),
        ("repair", "evil", "OPERATION_FOREIGN", "--with", "discard"),
    ],
)
@pytest.mark.parametrize("with_journal", [True, False])
def test_a_note_of_files_elsewhere_deletes_nothing_outside(
    hostile: Hostile, words: tuple[str, ...], with_journal: bool
) -> None:
    hostile.lay_outside({"Documents/.forklore-evil-0.tmp": b"Keep me."})
    template = hostile.templates.dying("checkpoint", is_committed=False)
    more: dict[str, Node | None] = {".forklore/staging/evil/elsewhere.json": write_json([f"{UP}Documents", "worlds"])}
    if with_journal:
        more[".forklore/staging/evil/journal.json"] = template.tree[template.journal]
    hostile.lay(None, more)

    ran = hostile.run(*words)

    assert (hostile.home / "Documents/.forklore-evil-0.tmp").exists()
    hostile.assert_nothing_leaked(ran)


# --- links where our own files should be --------------------------------------------------------------------------


CHANGING = (
    ("checkpoint", CHAT, "--name", "After"),
    ("undo",),
    ("delete", CHECKPOINT, "--yes"),
    ("doctor", "--fix"),
    ("settings", "--default-policy", "strict"),
    ("trash", "--empty", "--older-than", "0", "--yes"),
    ("cleanup", "--apply"),
    ("extension", "install"),
    ("extension", "uninstall"),
)
OUR_PLACES = {
    ".forklore": "Documents",
    ".forklore/staging": "Documents",
    ".forklore/trash": "Trash",
    ".forklore/operations": "Operations",
    ".forklore/lock": "diary.txt",
    ".forklore/holder": "diary.txt",
    ".forklore/settings.json": "diary.json",
    "extensions": "Documents",
    "extensions/forklore": "Addons",
    "extensions/forklore/installed.json": "Addons/installed.json",
}


@pytest.mark.parametrize("words", [*READING, *CHANGING], ids=" ".join)
@pytest.mark.parametrize("place", OUR_PLACES)
def test_a_link_where_our_files_should_be_leads_nowhere(hostile: Hostile, place: str, words: tuple[str, ...]) -> None:
    hostile.lay(None, {place: Link(str(hostile.home / OUR_PLACES[place]))})

    ran = hostile.run(*words)

    hostile.assert_nothing_leaked(ran)
    assert ran.code in (0, 3) or ran.error["code"] in ("LINK_OUTSIDE", "EXTENSION_FOREIGN", "OPERATION_NOT_FOUND")


def test_a_lock_that_is_a_link_does_not_empty_what_it_leads_to(hostile: Hostile) -> None:
    for target in ("diary.txt", "Documents/new.txt"):
        hostile.lay(None, {".forklore/lock": Link(str(hostile.home / target))})

        ran = hostile.run("checkpoint", CHAT)

        hostile.assert_nothing_leaked(ran)


def test_settings_behind_a_link_are_not_heeded(hostile: Hostile) -> None:
    hostile.lay(None, {".forklore/settings.json": Link(str(hostile.home / "diary.json"))})

    ran = hostile.run("settings")

    assert ran.code == 7 or ran.json["policy"] == "standard"
    hostile.assert_nothing_leaked(ran)


@pytest.mark.parametrize("words", [("doctor", "--fix"), ("checkpoint", CHAT), ("stories",)], ids=" ".join)
def test_a_journal_or_a_staged_file_behind_a_link_is_not_followed(hostile: Hostile, words: tuple[str, ...]) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=False)
    for name, target in (("journal.json", "diary.json"), ("1", "Stories/whispered.jsonl"), ("temporary", "diary.txt")):
        hostile.lay(template, {f"{template.staging}/{name}": Link(str(hostile.home / target))}, own=True)

        ran = hostile.run(*words)

        assert not any(path.is_symlink() for path in (hostile.root / "chats").rglob("*"))
        hostile.assert_nothing_leaked(ran)


@pytest.mark.parametrize("repair", ["finish", "discard"])
def test_a_staged_file_behind_a_link_is_not_published_on_request(hostile: Hostile, repair: str) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=False)
    for name in ("0", "1", "2"):
        hostile.lay(template, {f"{template.staging}/{name}": Link(str(hostile.home / "Stories/whispered.jsonl"))})

        ran = hostile.run("repair", template.staging, "OPERATION_FOREIGN", "--with", repair)

        assert ran.code in (0, 7)
        assert not any(path.is_symlink() for path in (hostile.root / "chats").rglob("*"))
        hostile.assert_nothing_leaked(ran)


# --- the log and the trash ----------------------------------------------------------------------------------------


@ways_out
def test_undo_of_an_operation_that_edits_outside_is_refused(hostile: Hostile, way: str) -> None:
    inverse = {"line": None, "do": "put", "path": ["note"], "text": '"Evil!"'}

    def alter(operation: Any) -> None:
        operation["changes"] = [
            {"do": "edit", "path": _way(hostile, way), "role": "settings", "edits": [], "inverse": [inverse]}
        ]

    altered = _operation(hostile, "settings", alter)
    hostile.lay(None, {**_door(hostile), **altered})

    ran = hostile.run("undo", _id(altered))

    hostile.assert_refused(ran, "PATH_OUTSIDE")


@ways_out
def test_undo_of_an_operation_that_made_something_outside_is_refused(hostile: Hostile, way: str) -> None:
    def alter(operation: Any) -> None:
        operation["changes"][0] |= {"path": _way(hostile, way), "content": _content("diary.json")}

    altered = _operation(hostile, "branch", alter)
    hostile.lay(None, {**_door(hostile), **altered})

    ran = hostile.run("undo", _id(altered))

    hostile.assert_refused(ran, "PATH_OUTSIDE")


@ways_out
def test_undo_of_a_deletion_puts_nothing_back_outside(hostile: Hostile, way: str) -> None:
    altered = _operation(hostile, "delete", lambda operation: operation["changes"][0].update(path=_way(hostile, way)))
    hostile.lay(None, {**_door(hostile), **altered})

    ran = hostile.run("undo", _id(altered))

    hostile.assert_refused(ran, "PATH_OUTSIDE")


@pytest.mark.parametrize(
    "way", [f"../../{UP}diary.txt", "/HOME/diary.txt", "../settings.json", "OWN/diary.txt", "../../secrets.json"]
)
def test_undo_of_a_deletion_takes_nothing_from_outside_the_trash(hostile: Hostile, way: str) -> None:
    def alter(operation: Any) -> None:
        item = _way(hostile, way).replace("OWN", operation["id"])
        operation["changes"][0] |= {"item": item, "content": _content("diary.txt")}

    altered = _operation(hostile, "delete", alter)
    own = f".forklore/trash/{_id(altered)}"
    gone: dict[str, Node | None] = {path: None for path in hostile.templates.history.tree if path.startswith(f"{own}/")}
    hostile.lay(None, {**gone, own: Link(str(hostile.home)), **altered})

    ran = hostile.run("undo", _id(altered))

    hostile.assert_refused(ran, "PATH_OUTSIDE")


@ways_out
def test_restoring_puts_nothing_outside(hostile: Hostile, way: str) -> None:
    altered = _operation(hostile, "delete", lambda operation: operation["changes"][0].update(path=_way(hostile, way)))
    hostile.lay(None, {**_door(hostile), **altered})

    ran = hostile.run("restore", f"{_id(altered)}/0-Deleted.jsonl")

    hostile.assert_refused(ran, "PATH_OUTSIDE")


def test_restoring_an_autostart_file_is_refused(hostile: Hostile) -> None:
    altered = _operation(hostile, "delete", lambda operation: operation["changes"][0].update(path=f"{UP}{AUTOSTART}"))
    hostile.lay(None, altered)

    ran = hostile.run("restore", f"{_id(altered)}/0-Deleted.jsonl")

    hostile.assert_refused(ran, "PATH_OUTSIDE")


def test_restoring_brings_back_no_link_to_a_file_outside(hostile: Hostile) -> None:
    def alter(operation: Any) -> None:
        operation["changes"][0]["content"] = _content("Stories/whispered.jsonl")

    altered = _operation(hostile, "delete", alter)
    item = f"{_id(altered)}/0-Deleted.jsonl"
    hostile.lay(None, {**altered, f".forklore/trash/{item}": Link(str(hostile.home / "Stories/whispered.jsonl"))})

    ran = hostile.run("restore", item)

    assert ran.code in (4, 5, 7)
    hostile.assert_unchanged()
    hostile.assert_nothing_leaked(ran)


def test_emptying_the_trash_deletes_nothing_behind_a_link(hostile: Hostile) -> None:
    links = {".forklore/trash/one": "Documents", ".forklore/trash/two.jsonl": "diary.txt"}
    hostile.lay(None, {place: Link(str(hostile.home / target)) for place, target in links.items()})

    ran = [hostile.run("trash"), hostile.run("trash", "--empty", "--older-than", "0", "--yes")]

    hostile.assert_nothing_leaked(*ran)


def _link_edit(operation: Any) -> None:
    operation["notes"]["left"] = [
        {"do": "edit", "path": f"{UP}Stories/whispered.jsonl", "role": "link", "edits": []}
        | {"inverse": [{"line": -1, "do": "put", "path": ["chat_metadata", "x"], "text": "1"}]}
    ]


def test_what_an_operation_left_to_the_page_leads_nowhere_either(hostile: Hostile) -> None:
    altered = _operation(hostile, "branch", _link_edit)
    hostile.lay(None, altered)

    ran = hostile.run("undo", _id(altered))

    hostile.assert_refused(ran, "PATH_OUTSIDE")


# --- links to chats, lorebooks and folders ------------------------------------------------------------------------


LINKED = "Mira/Linked"
WHISPERED = "Stories/whispered.jsonl"


def _link_to_chat(hostile: Hostile) -> dict[str, Node]:
    return {"chats/Mira/Linked.jsonl": Link(str(hostile.home / WHISPERED))}


def _relative_link(_hostile: Hostile) -> dict[str, Node]:
    return {"chats/Mira/Linked.jsonl": Link(f"../../{UP}{WHISPERED}")}


def _chain_of_links(hostile: Hostile) -> dict[str, Node]:
    return {
        "chats/Mira/Linked.jsonl": Link("hop.jsonl"),
        "chats/Mira/hop.jsonl": Link("../Bob/hop.jsonl"),
        "chats/Bob/hop.jsonl": Link(str(hostile.home / WHISPERED)),
    }


def _link_to_another_user(_hostile: Hostile) -> dict[str, Node]:
    return {"chats/Mira/Linked.jsonl": Link("../../../other-user/chats/Ann/Hers.jsonl")}


links_out = pytest.mark.parametrize("link", [_link_to_chat, _relative_link, _chain_of_links, _link_to_another_user])
Arrange = Callable[[Hostile], dict[str, Node]]


@links_out
@pytest.mark.parametrize(
    "words",
    [
        ("show", LINKED),
        ("status", LINKED),
        ("checkpoint", LINKED),
        ("branch", LINKED),
        ("queue", LINKED),
        ("isolate", LINKED),
    ],
    ids=lambda words: words[0],
)
def test_a_chat_that_is_a_link_to_a_file_outside_is_not_read(
    hostile: Hostile, link: Arrange, words: tuple[str, ...]
) -> None:
    hostile.lay(None, link(hostile))

    ran = hostile.run(*words)

    hostile.assert_refused(ran, "LINK_OUTSIDE")


@links_out
@pytest.mark.parametrize(
    "words", [("stories",), ("tree", CHAT), ("verify", LINKED), ("check", LINKED), ("doctor",), ("cleanup",)]
)
def test_nothing_tells_what_stands_in_a_chat_outside(hostile: Hostile, link: Arrange, words: tuple[str, ...]) -> None:
    hostile.lay(None, link(hostile))

    ran = hostile.run(*words)

    assert ran.code in (0, 3, 7)
    assert hostile.inside_changes() == []
    hostile.assert_nothing_leaked(ran)


@links_out
def test_doctor_tells_a_chat_that_is_a_link_to_a_file_outside(hostile: Hostile, link: Arrange) -> None:
    hostile.lay(None, link(hostile))

    told = findings(hostile.run("doctor"), "LINK_OUTSIDE")

    assert LINKED in [
        (finding.get("chat") or finding["path"]).replace("chats/", "").removesuffix(".jsonl") for finding in told
    ]
    assert {finding["severity"] for finding in told} == {"error"}


def test_a_chat_that_is_a_link_to_a_file_outside_is_not_served(hostile: Hostile) -> None:
    hostile.lay(None, _link_to_chat(hostile))
    service = Rest(hostile.root)
    try:
        answers = [
            service.get("/messages", chat=LINKED),
            service.get("/recap", chat=LINKED, at=0),
            service.get("/show", chat=LINKED),
            service.get("/preview", kind="checkpoint", chat=LINKED),
            service.get("/overview"),
            service.get("/layout", chat=CHAT),
        ]
    finally:
        service.close()

    assert answers[0].json()["code"] == "LINK_OUTSIDE"
    assert all(SECRET not in answer.text and answer.status_code != 500 for answer in answers)
    hostile.assert_nothing_leaked()


def test_a_lorebook_that_is_a_link_to_a_file_outside_is_not_cloned(hostile: Hostile) -> None:
    for target in (str(hostile.home / "Books/other.json"), f"../{UP}Books/other.json"):
        for words in (("checkpoint", CHAT), ("branch", CHAT), ("branch", CHAT, "--at", "1")):
            hostile.lay(None, {f"worlds/{BOOK}.json": Link(target)})

            ran = hostile.run(*words)

            hostile.assert_told(ran, "LINK_OUTSIDE")


@pytest.mark.parametrize("words", [("check", CHAT), ("verify", CHAT), ("doctor",)], ids=" ".join)
def test_a_lorebook_that_is_a_link_to_a_file_outside_is_told(hostile: Hostile, words: tuple[str, ...]) -> None:
    hostile.lay(None, {f"worlds/{BOOK}.json": Link(str(hostile.home / "Books/other.json"))})

    ran = hostile.run(*words)

    hostile.assert_told(ran, "LINK_OUTSIDE")


def test_a_lorebook_that_is_a_link_to_a_file_outside_is_not_served(hostile: Hostile) -> None:
    hostile.lay(None, {f"worlds/{BOOK}.json": Link(str(hostile.home / "Books/other.json"))})
    service = Rest(hostile.root)
    try:
        paths = ("/messages", "/recap", "/show", "/contamination", "/queue", "/preview")
        answers = [service.get(path, chat=CHAT, **({"kind": "branch"} if path == "/preview" else {})) for path in paths]
    finally:
        service.close()

    assert all(SECRET not in answer.text for answer in answers)
    hostile.assert_nothing_leaked()


@pytest.mark.parametrize(
    "place", ["chats/Mira/Linked.jsonl", f"worlds/{BOOK}.json", "groups/99.json", ".forklore/settings.json"]
)
def test_a_link_to_the_keys_in_the_same_folder_tells_no_key(hostile: Hostile, place: str) -> None:
    words = (("stories",), ("show", LINKED), ("doctor",), ("settings",), ("checkpoint", CHAT), ("branch", LINKED))
    ran = []
    for each in words:
        hostile.lay(None, {place: Link("/".join([*[".."] * place.count("/"), "secrets.json"]))})
        ran.append(hostile.run(*each))

        hostile.assert_nothing_leaked(*ran)


@pytest.mark.parametrize("target", ["Tale.jsonl", "../Mira/Tale.jsonl", "second.jsonl", "/ROOT/chats/Mira/Tale.jsonl"])
def test_a_link_to_another_chat_of_the_workspace_is_fine(hostile: Hostile, target: str) -> None:
    link = Link(target.replace("/ROOT", str(hostile.root)))
    hostile.lay(None, {"chats/Mira/Alias.jsonl": link, "chats/Mira/second.jsonl": Link("Tale.jsonl")})

    ran = [hostile.run("show", "Mira/Alias"), hostile.run("checkpoint", "Mira/Alias", "--name", "Through a link")]

    assert [each.code for each in ran] == [0, 0], ran[-1].out
    assert findings(hostile.run("doctor"), "LINK_OUTSIDE") == []
    assert (hostile.root / "chats/Mira/Alias.jsonl").is_symlink()


def test_a_link_to_another_lorebook_of_the_workspace_is_fine(hostile: Hostile) -> None:
    book = hostile.templates.history.tree[f"worlds/{BOOK}.json"]
    hostile.lay(None, {f"worlds/{BOOK}.json": Link("Real.json"), "worlds/Real.json": book})

    ran = hostile.run("checkpoint", CHAT, "--name", "Through a link")

    assert ran.code == 0, ran.out
    assert not (hostile.root / f"worlds/{ran.json['lorebook']}.json").is_symlink()


@pytest.mark.parametrize("above", ["the workspace", "a folder above it"])
def test_a_workspace_behind_a_link_works(hostile: Hostile, above: str) -> None:
    place = hostile.home / "shortcut"
    place.symlink_to(hostile.root if above == "the workspace" else hostile.root.parent)
    hostile.lay(hostile.templates.dying("checkpoint", is_committed=True), own=True)
    data = place if above == "the workspace" else place / hostile.root.name
    words = (
        ("stories",),
        ("checkpoint", CHAT, "--name", "After"),
        ("undo",),
        ("delete", CHECKPOINT),
        ("undo",),
        ("log",),
    )

    codes = [run("--data", data, "--json", *each).code for each in words]

    assert codes == [0] * len(words)
    assert not any(path.startswith(".forklore/staging/") for path in hostile.tree())  # it is our own on either way
    assert hostile.outside_changes() == []


# --- linked folders -----------------------------------------------------------------------------------------------


def _move(hostile: Hostile, folder: str, *places: str) -> None:
    """Move a folder of the workspace out of it, to the first of the *places*; the others get a copy."""
    for place in places:
        shutil.copytree(hostile.root / folder, hostile.home / place)
    hostile.lay(None, {folder: Link(str(hostile.home / places[0]))})


ALLOW = ("LINK_OUTSIDE", "--with", "allow")


@pytest.mark.parametrize("folder", ["worlds", "chats", "chats/Mira", "group chats", "groups"])
def test_a_linked_folder_is_followed_once_it_is_allowed(hostile: Hostile, folder: str) -> None:
    chat = GROUP_CHAT if folder.startswith("group") else CHAT
    _move(hostile, folder, "Elsewhere")
    refused = hostile.run("checkpoint", chat, "--name", "First")
    assert refused.code in (3, 4, 7)  # a chat in a folder that is not looked into may as well not be there
    assert hostile.outside_changes() == []

    allowed = hostile.run("repair", folder, *ALLOW)
    made = hostile.run("checkpoint", chat, "--name", "First")

    assert (allowed.code, made.code) == (0, 0), made.out
    assert all("Elsewhere" in change for change in hostile.outside_changes())
    assert hostile.run("undo").code == 0
    assert findings(hostile.run("doctor"), "LINK_OUTSIDE") == []


def test_a_linked_folder_that_is_not_allowed_is_told_with_its_repair(hostile: Hostile) -> None:
    _move(hostile, "worlds", "Elsewhere")
    ran = hostile.run("doctor")

    (told,) = [each for each in findings(ran, "LINK_OUTSIDE") if each.get("path") == "worlds"]
    assert "allow" in told["repairs"]
    hostile.assert_told(hostile.run("checkpoint", CHAT), "LINK_OUTSIDE")


def test_the_answer_about_a_linked_folder_lies_in_the_state_folder(hostile: Hostile) -> None:
    _move(hostile, "worlds", "Elsewhere")
    hostile.run("repair", "worlds", *ALLOW)

    hostile.assert_unchanged()
    assert any(path.is_file() for path in hostile.world.state.rglob("*"))
    for kept in hostile.world.state.iterdir():
        shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
    hostile.assert_told(hostile.run("checkpoint", CHAT), "LINK_OUTSIDE")


def test_a_link_that_leads_elsewhere_by_now_must_be_allowed_anew(hostile: Hostile) -> None:
    _move(hostile, "worlds", "Elsewhere", "Nowhere")
    assert hostile.run("repair", "worlds", *ALLOW).code == 0
    (hostile.root / "worlds").unlink()
    (hostile.root / "worlds").symlink_to(hostile.home / "Nowhere")

    refused = hostile.run("checkpoint", CHAT)

    assert refused.code in (3, 7)
    assert "LINK_OUTSIDE" in refused.out
    assert hostile.outside_changes() == []
    assert hostile.run("repair", "worlds", *ALLOW).code == 0
    assert hostile.run("checkpoint", CHAT).code == 0


def test_a_link_to_a_link_must_be_allowed_anew_when_the_second_one_leads_elsewhere(hostile: Hostile) -> None:
    _move(hostile, "worlds", "Elsewhere", "Nowhere")
    hop = hostile.home / "hop"
    hop.symlink_to("Elsewhere")
    (hostile.root / "worlds").unlink()
    (hostile.root / "worlds").symlink_to(hop)
    assert hostile.run("repair", "worlds", *ALLOW).code == 0
    hop.unlink()
    hop.symlink_to("Nowhere")

    refused = hostile.run("checkpoint", CHAT)

    assert refused.code in (3, 7)
    assert "LINK_OUTSIDE" in refused.out


@pytest.mark.parametrize("named", [LINKED, "chats/Mira/Linked.jsonl"])
def test_a_link_to_a_file_cannot_be_allowed(hostile: Hostile, named: str) -> None:
    hostile.lay(None, _link_to_chat(hostile))

    ran = hostile.run("repair", named, *ALLOW)

    assert ran.code in (2, 4, 7)
    assert hostile.run("show", LINKED).error["code"] == "LINK_OUTSIDE"
    hostile.assert_nothing_leaked(ran)


def test_a_link_in_an_allowed_folder_leads_no_further(hostile: Hostile) -> None:
    _move(hostile, "worlds", "Elsewhere")
    (hostile.home / f"Elsewhere/{BOOK}.json").unlink()
    (hostile.home / f"Elsewhere/{BOOK}.json").symlink_to("../Books/other.json")
    assert hostile.run("repair", "worlds", *ALLOW).code == 0

    ran = hostile.run("checkpoint", CHAT)

    assert ran.code in (3, 7)
    assert "LINK_OUTSIDE" in ran.out
    assert SECRET not in ran.out


def test_a_folder_of_chats_behind_a_link_is_not_listed_until_it_is_allowed(hostile: Hostile) -> None:
    hostile.lay(None, {"chats/Linked": Link(str(hostile.home / "Stories"))})

    before = hostile.run("stories")

    assert before.code == 0
    assert "whispered" not in before.out
    hostile.assert_nothing_leaked(before)
    assert hostile.run("repair", "chats/Linked", *ALLOW).code == 0
    assert "Linked/whispered" in hostile.run("stories").out


# --- formats ------------------------------------------------------------------------------------------------------


newer = pytest.mark.parametrize("number", [2, 999, 10**30])
AFTERWARDS = (("checkpoint", GROUP_CHAT, "--name", "After"), ("doctor", "--fix"), ("cleanup", "--apply"), ("log",))


@newer
@pytest.mark.parametrize("own", [True, False], ids=["own", "foreign"])
def test_a_newer_journal_is_left_byte_for_byte_alone(hostile: Hostile, number: int, own: bool) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=True)
    hostile.lay(template, _journal(template, lambda journal: journal.update(format=number)), own=own)
    before = {path: node for path, node in hostile.tree().items() if path.startswith(template.staging)}

    codes = [hostile.run(*words).code for words in AFTERWARDS]
    told = hostile.run("doctor")
    refused = [
        hostile.run("repair", template.staging, "OPERATION_FOREIGN", "--with", how) for how in ("finish", "discard")
    ]

    assert before.items() <= hostile.tree().items()
    assert {*codes} <= {0, 3}
    assert template.staging in [
        each["path"] for code in ("FORMAT_NEWER", "OPERATION_FOREIGN") for each in findings(told, code)
    ]
    assert {each.code for each in refused} <= {2, 4, 7}
    hostile.assert_nothing_leaked()


@newer
def test_a_newer_operation_is_told_and_left_byte_for_byte_alone(hostile: Hostile, number: int) -> None:
    altered = _operation(hostile, "branch", lambda operation: operation.update(format=number, changes="new"))
    (path,) = altered
    hostile.lay(None, altered)

    codes = [hostile.run(*words).code for words in AFTERWARDS]
    log, doctor = hostile.run("log"), hostile.run("doctor")
    refused = hostile.run("undo", _id(altered))

    assert hostile.tree()[path] == altered[path]
    assert {*codes} <= {0, 3}
    assert len(findings(log, "FORMAT_NEWER")) == len(findings(doctor, "FORMAT_NEWER")) == 1
    assert findings(doctor, "FORMAT_NEWER")[0]["path"] == path
    assert len(log.json["operations"]) >= 7
    assert (refused.code, refused.error["code"]) in ((7, "FORMAT_NEWER"), (4, "OPERATION_NOT_FOUND"))


@newer
def test_newer_settings_are_told_and_left_byte_for_byte_alone(hostile: Hostile, number: int) -> None:
    settings = write_json({"format": number, "policy": {"new": "shape"}})
    hostile.lay(None, {".forklore/settings.json": settings})

    ran = [hostile.run("settings"), hostile.run("settings", "--default-policy", "strict")]
    hostile.run("isolate", CHAT, "--share")
    hostile.run("doctor", "--fix")

    assert [(each.code, each.error["code"]) for each in ran] == [(7, "FORMAT_NEWER")] * 2
    assert hostile.tree()[".forklore/settings.json"] == settings


@newer
def test_a_newer_identity_is_told_and_left_byte_for_byte_alone(hostile: Hostile, number: int) -> None:
    path = f"chats/{CHECKPOINT}.jsonl"
    line, _, rest = _data(hostile, path).partition(b"\n")
    header = json.loads(line)
    header["chat_metadata"]["forklore"]["format"] = number
    chat = json.dumps(header).encode() + b"\n" + rest
    hostile.lay(None, {path: chat})

    verified, doctor = hostile.run("verify", CHECKPOINT), hostile.run("doctor", "--fix")

    assert hostile.tree()[path] == chat
    assert verified.code in (3, 7)
    assert "FORMAT_NEWER" in verified.out
    assert CHECKPOINT in [each.get("chat") for each in findings(doctor, "FORMAT_NEWER")]


def _data(hostile: Hostile, path: str) -> bytes:
    data = hostile.templates.history.tree[path]
    assert isinstance(data, bytes)
    return data


@pytest.mark.parametrize("number", [0, -1, "1", None, True, 1.5, [1], {}], ids=repr)
def test_a_number_that_is_no_format_breaks_nothing(hostile: Hostile, number: object) -> None:
    template = hostile.templates.dying("checkpoint", is_committed=True)
    more = {
        **_journal(template, lambda journal: journal.update(format=number)),
        **_operation(hostile, "branch", lambda operation: operation.update(format=number)),
    }
    hostile.lay(template, more, own=True)

    ran = [hostile.run(*words) for words in (*AFTERWARDS, ("doctor",), ("stories",), ("trash",))]

    assert [each.code for each in ran if each.code not in (0, 3)] == []
    hostile.assert_nothing_leaked(*ran)


def _whole(data: bytes) -> Node:
    return data[: len(data) // 2]


BROKEN: dict[str, Callable[[bytes], Node]] = {
    "cut": _whole,
    "empty": lambda _data: b"",
    "a list": lambda _data: b"[]",
    "binary": lambda data: bytes(reversed(data)),
    "bottomless": lambda _data: b"[" * 50_000,
    "a number too long": lambda _data: b'{"format": 1, "id": ' + b"9" * 5_000 + b"}",
    "a folder": lambda _data: Folder(),
    "a pipe": lambda _data: Pipe(),
    "changes of another type": lambda _data: (
        b'{"format":1,"id":"x","kind":"branch","chat":"a/b","when":"","changes":[1]}'
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_operation_that_cannot_be_read_is_told_by_log_and_doctor(hostile: Hostile, how: str) -> None:
    path = operation_file(hostile.templates.history.tree, "branch")
    data = hostile.templates.history.tree[path]
    assert isinstance(data, bytes)
    hostile.lay(None, {path: BROKEN[how](data)})

    with alarm(10):
        log, doctor, undone = hostile.run("log"), hostile.run("doctor"), hostile.run("undo")

    assert log.code in (0, 3)
    assert len(log.json["operations"]) == 7
    (told,) = log.json["findings"]
    assert told["code"] == "OPERATION_UNREADABLE"
    assert [each["path"] for each in findings(doctor, "OPERATION_UNREADABLE")] == [path]
    assert undone.code == 0  # the rest goes on working


# --- keys that lie in the folder ----------------------------------------------------------------------------------


def test_a_token_that_lies_in_the_folder_opens_nothing(hostile: Hostile) -> None:
    token = "a stranger's token"
    stored = {"hash": hashlib.sha256(token.encode()).hexdigest(), "origin": "http://127.0.0.1:8000", "made": "2026"}
    hostile.lay(None, {".forklore/access.json": write_json({"tokens": [stored]})})
    service = Rest(hostile.root)
    try:
        headers = {"cookie": "", "authorization": f"Bearer {token}"}
        answers = [
            service.ask("GET", "/stories", headers=headers | {"origin": origin})
            for origin in ("http://127.0.0.1:8000", "http://127.0.0.1:7788", "")
        ]
    finally:
        service.close()

    assert {answer.status_code for answer in answers} <= {401, 403}
    assert hostile.run("extension", "status").json["paired"] is False


def test_no_token_is_written_into_the_folder(hostile: Hostile) -> None:
    assert hostile.run("extension", "install").code == 0
    code = json.loads((hostile.root / "extensions/forklore/pairing.json").read_bytes())["code"]
    service = Rest(hostile.root)
    try:
        origin = {"origin": "http://127.0.0.1:8000", "cookie": ""}
        paired = service.ask("POST", "/pair", json={"code": code}, headers=origin)
    finally:
        service.close()

    token = paired.json()["token"]
    digest = hashlib.sha256(token.encode()).hexdigest().encode()
    assert not any(
        token.encode() in node or digest in node for node in hostile.tree().values() if isinstance(node, bytes)
    )


# --- what makes others wait ---------------------------------------------------------------------------------------


PIPES = (
    "chats/Mira/Tale.jsonl",
    f"worlds/{BOOK}.json",
    "groups/17.json",
    "settings.json",
    "characters/Mira.png",
    ".forklore/settings.json",
    ".forklore/lock",
    ".forklore/holder",
    ".forklore/access.json",
    "extensions/forklore/installed.json",
    "extensions/forklore/pairing.json",
    "extensions/forklore/manifest.json",
)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
@pytest.mark.parametrize("place", PIPES)
def test_a_pipe_where_a_file_should_be_makes_nobody_wait(hostile: Hostile, place: str) -> None:
    ran: list[Ran] = []
    words = (
        ("stories",),
        ("verify", CHAT),
        ("checkpoint", CHAT),
        ("doctor",),
        ("extension", "status"),
        ("extension", "install"),
    )
    for each in (*words, ("cleanup",), ("settings",)):
        hostile.lay(None, {place: Pipe()})
        with alarm(10):
            ran.append(hostile.run(*each))

    assert {each.code for each in ran} <= {0, 2, 3, 4, 5, 7}
