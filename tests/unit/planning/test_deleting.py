"""Plans of removals: what goes in which order, and what is left alone."""

from dataclasses import replace

import pytest

from forklore.formats.chat_jsonl import Chat
from forklore.formats.group_json import Group
from forklore.gathered.workspace import MapEntry
from forklore.model.plan import (
    HEADER,
    Drop,
    EditFile,
    Fingerprint,
    LineEdit,
    Plan,
    Put,
    RestoreFile,
    Take,
    TrashFile,
)
from forklore.model.timeline import ChatFacts
from forklore.planning.deleting import (
    Deletion,
    group_entry_removal,
    link_removals,
    plan_cleanup,
    plan_delete,
    plan_restore,
)
from forklore.testing import stories
from forklore.testing.indexes import workspace_index

CHAT, BOOK = TrashFile("chats/M/A.jsonl", ((1, "x"),)), TrashFile("worlds/A.json", ((1, "x"),))


@pytest.mark.req(143)
def test_the_chat_goes_first_and_commits() -> None:
    group, parent = EditFile("groups/1.json", ()), EditFile("chats/M/P.jsonl", ())

    read = (("chats/M/A.jsonl", Fingerprint(1, 2, 3)),)

    plan = plan_delete("M/A", Deletion(CHAT, (BOOK,), group, parent, children=("M/C",)), read)

    notes = {"fork": "A", "children": ["M/C"]}
    assert plan == Plan("delete", "M/A", (CHAT, BOOK, group, parent), commit=0, unchanged=read, notes=notes)


def test_a_book_that_stays_is_noted() -> None:
    assert plan_delete("M/A", Deletion(CHAT, kept_book="worlds/A.json")).notes["needs"] == "worlds/A.json"


def test_a_group_whose_only_chat_goes_keeps_its_name() -> None:
    removal = group_entry_removal("groups/1.json", Group("1", "", ("A",), ()), "A")

    assert removal.edits == (LineEdit(None, Take(("chats",), '"A"')),)
    removal = group_entry_removal("groups/1.json", Group("1", "", ("A", "B", "C"), ()), "A")
    assert removal.edits[1] == LineEdit(None, Put(("chat_id",), '"C"', only_if='"A"'))


def test_lines_that_cannot_be_read_are_left_alone() -> None:
    lines = [b"no header", stories.line(stories.message("Hi", extra={"bookmark_link": "A:"})), b"{garbled"]
    links = [LineEdit(1, Drop(("extra", "bookmark_link"))), LineEdit(7, Drop(("extra", "bookmark_link")))]

    edits = link_removals(Chat.from_bytes(b"\n".join(lines)), "A", links)

    assert {edit.line for edit in edits} == {0}


def test_the_map_entry_goes_too() -> None:
    edits = link_removals(Chat.from_bytes(stories.chat_bytes({}, [])), "A", ())

    path = ("chat_metadata", "auto_recap", "checkpoint_lorebook_map", "A")
    assert edits == (LineEdit(HEADER, Drop(path)),)


def facts(folder: str, name: str, *mapped: tuple[str, str]) -> ChatFacts:
    return ChatFacts(folder, name, 1, None, None, None, None, None, (), mapped=mapped)


@pytest.mark.req(140, 144)
def test_only_entries_of_vanished_chats_are_stale() -> None:
    chats = [facts("M", "P", ("A", "a"), ("B", "b"), ("C/D", "c")), facts("group:1", "G", ("A", "a"), ("H", "h"))]
    index = replace(workspace_index(chats), present=frozenset([("M", "A"), ("M", "CD"), ("group:", "H")]))

    assert index.stale_map_entries == (MapEntry("M/P", "B", "b"), MapEntry("group:1/G", "A", "a"))


def test_cleaning_up_commits_with_the_last_book() -> None:
    entry = MapEntry("M/P", "A", "a")

    assert plan_cleanup([BOOK, BOOK], {"chats/M/P.jsonl": [entry]}).commit == 1
    assert plan_cleanup([], {"chats/M/P.jsonl": [entry]}).commit == 0


def test_cleaning_up_takes_out_an_entry_that_is_still_the_same() -> None:
    read = (("chats/M/P.jsonl", Fingerprint(1, 2, 3)),)

    plan = plan_cleanup([BOOK], {"chats/M/P.jsonl": [MapEntry("M/P", "A", "a")]}, read)

    path = ("chat_metadata", "auto_recap", "checkpoint_lorebook_map", "A")
    edit = EditFile("chats/M/P.jsonl", (LineEdit(HEADER, Drop(path, only_if='"a"')),), role="map")
    assert plan == Plan("cleanup", "", (BOOK, edit), commit=0, unchanged=read)


def test_a_book_comes_back_before_its_chat() -> None:
    chat, book = (RestoreFile(each.path, "item", each.content) for each in (CHAT, BOOK))

    plan = plan_restore("M/A", [chat, book], [], ["M/C"])

    assert plan == Plan("restore", "M/A", (book, chat), commit=1, notes={"fork": "A", "children": ["M/C"]})


def test_a_book_that_comes_back_alone_is_no_fork() -> None:
    book, parent = RestoreFile(BOOK.path, "item", BOOK.content), EditFile("chats/M/P.jsonl", ())

    assert plan_restore("", [book], [parent], []) == Plan("restore", "", (book, parent), commit=0)
