"""What is taken for a change, an operation or a note, and what is not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from forklore.errors import PathOutside, ReadOnly
from forklore.log.changes import Unreadable, change_of, journalled_change_of, not_written, notes_of
from forklore.log.operations import Operation
from forklore.model.fact import fact
from forklore.texts import words

ID = "20260506-070809-000001-beef"
DIGEST = "0123456789abcdef" * 4
EDIT = {"line": 3, "do": "put", "path": ["extra", "bookmark_link"], "text": '"Fork"'}
CREATE = {
    "do": "create",
    "path": "worlds/Lore.json",
    "content": [[7, DIGEST]],
    "staged": f".forklore/staging/{ID}/0",
    "mine": [7, 1, 2],
}
TRASH = {"do": "trash", "path": "worlds/Lore.json", "content": [[7, DIGEST]], "item": f"{ID}/0-Lore.json"}
LINK = {
    "do": "edit",
    "path": "chats/Mira/Tale.jsonl",
    "role": "link",
    "edits": [EDIT],
    "inverse": [{"line": 3, "do": "drop", "path": ["extra", "bookmark_link"], "only_if": '"Fork"', "prune": 1}],
    "staged": f"chats/Mira/.forklore-{ID}-2.tmp",
    "content": [[3, ""], [7, DIGEST]],
    "expected": [3, 1, 2],
    "mine": [10, 1, 2],
}
OPERATION = {
    "format": 1,
    "id": ID,
    "number": 7,
    "follows": "6-0badcafe",
    "request": "a-request-of-somebody",
    "kind": "checkpoint",
    "chat": "Mira/Fork",
    "when": "2026-05-06T07:08:09.000Z",
    "undoes": None,
    "pending": [],
    "notes": {"fork": "Fork", "message": 3},
    "changes": [{key: CREATE[key] for key in ("do", "path", "content")}],
}


@pytest.mark.parametrize("change", [CREATE, TRASH, LINK])
def test_a_change_that_we_wrote_is_read_as_it_was_written(change: dict[str, Any]) -> None:
    assert journalled_change_of(copy.deepcopy(change), ID) == change


def test_an_operation_that_we_wrote_is_read_as_it_was_written() -> None:
    assert Operation.from_json(copy.deepcopy(OPERATION)).to_json() == OPERATION


@pytest.mark.parametrize(
    "pending, told",
    [
        (not_written("link", "No space left"), "The link in the parent chat could not be written: No space left"),
        (not_written("group entry", None), "The entry in the group could not be written"),
        (
            not_written("link", ReadOnly("folder", folder="data", reason="No").fact),
            "The link in the parent chat could not be written: The folder “data” cannot be written (No).",
        ),
        (not_written("of a stranger", "\n"), "A change could not be written: \\n"),
    ],
)
def test_what_is_pending_is_read_as_it_was_written(pending: dict[str, Any], told: str) -> None:
    operation = Operation.from_json({**OPERATION, "pending": [pending]})

    assert operation.pending == (pending,)
    assert operation.to_json()["pending"] == [pending]
    assert words(pending) == told


def test_what_was_pending_as_a_sentence_is_understood() -> None:
    operation = Operation.from_json({**OPERATION, "pending": ["link: No space left", "group entry: It is gone."]})

    assert operation.pending == (not_written("link", "No space left"), not_written("group entry", "It is gone."))


@pytest.mark.parametrize(
    "reason",
    [
        7,
        {"code": "of_a_newer_forklore", "params": {}},
        {"code": "OF_A_STRANGER", "params": {}},
        {"code": "registry_line", "params": []},
        {"code": "lines_unreadable", "params": {"lines": 5, "more": {}}},
        {"code": 7, "params": {}},
        {"code": "stored"},
    ],
)
def test_a_reason_that_nobody_can_word_is_left_out(reason: Any) -> None:
    operation = Operation.from_json({**OPERATION, "pending": [fact("not_written", what="link", reason=reason)]})

    assert operation.pending == (not_written("link", None),)


ALTERED: tuple[tuple[dict[str, Any], str, Any], ...] = (
    (CREATE, "do", "remove"),
    (CREATE, "do", None),
    (CREATE, "content", [[7, ""]]),  # it would be any file of that length
    (CREATE, "content", [[-1, DIGEST]]),
    (CREATE, "content", [[True, DIGEST]]),
    (CREATE, "content", [[7, DIGEST, 1]]),
    (CREATE, "content", {}),
    (CREATE, "mine", [1, 2]),
    (CREATE, "mine", ["a", "b", "c"]),
    (TRASH, "beside", f"worlds/.forklore-{ID}-0.tmp"),  # nothing would be left of the file
    (TRASH, "item", "another/0-Lore.json"),  # it would take the place of what lies there
    (LINK, "edits", [{**EDIT, "line": -2}]),
    (LINK, "edits", [{**EDIT, "line": "3"}]),
    (LINK, "edits", [{**EDIT, "path": []}]),
    (LINK, "edits", [{**EDIT, "path": [None]}]),
    (LINK, "edits", [{**EDIT, "text": "no JSON"}]),
    (LINK, "edits", [{**EDIT, "text": "{\n}"}]),  # it would make two lines of one
    (LINK, "edits", [{**EDIT, "do": "exec"}]),
    (LINK, "edits", [{**EDIT, "slot": [1, ",", "", '"a":1}, "b":', [], 0]}]),
    (LINK, "edits", [{**EDIT, "slot": [1, "}", "", '"a":', [], 0]}]),
    (LINK, "inverse", [{**EDIT, "prune": 10**9}]),
    (LINK, "inverse", None),
    (LINK, "expected", None),
    (LINK, "role", 7),
)


@pytest.mark.parametrize("change, key, value", ALTERED)
def test_a_change_that_is_not_whole_is_not_taken_for_one(change: dict[str, Any], key: str, value: object) -> None:
    with pytest.raises(Unreadable):
        journalled_change_of({**change, key: value}, ID)


@pytest.mark.parametrize(
    "change, key, value",
    [
        (CREATE, "path", "../../.config/autostart/x.json"),
        (CREATE, "staged", ".forklore/staging/another/0"),
        (CREATE, "staged", "/etc/passwd"),
        (TRASH, "item", "../../diary.txt"),
        ({**TRASH, "beside": "worlds/.forklore-another-0.tmp"}, "path", "worlds/Lore.json"),
        (LINK, "staged", "../diary.txt"),
    ],
)
def test_a_path_that_leads_out_is_told_as_such(change: dict[str, Any], key: str, value: object) -> None:
    with pytest.raises(PathOutside):
        journalled_change_of({**change, key: value}, ID)


OPTIONAL = ("format", "number", "follows", "request", "undoes", "pending", "notes")


@pytest.mark.parametrize("key", [key for key in OPERATION if key not in OPTIONAL])
def test_an_operation_without_a_part_is_none(key: str) -> None:
    with pytest.raises(Unreadable):
        Operation.from_json({name: value for name, value in OPERATION.items() if name != key})


def test_an_operation_whose_id_is_a_path_is_a_strangers() -> None:
    with pytest.raises(PathOutside):
        Operation.from_json({**OPERATION, "id": "../x"})


@pytest.mark.parametrize(
    "notes", [[], {"fork": 7}, {"children": "Mira/A"}, {"left": [7]}, {"sent": []}, {"isolated": None}]
)
def test_notes_of_another_kind_are_none(notes: object) -> None:
    with pytest.raises(Unreadable):
        notes_of(notes)


def test_what_was_left_to_the_page_leads_nowhere_else() -> None:
    with pytest.raises(PathOutside):
        notes_of({"left": [{"do": "edit", "path": "../diary.jsonl", "inverse": []}]})


def test_a_note_that_is_not_known_is_left_out() -> None:
    assert notes_of({"fork": "Fork", "a newer one": [1, 2]}) == {"fork": "Fork"}


def test_keys_that_are_not_known_are_left_out_of_a_change() -> None:
    assert change_of({**TRASH, "run": "rm -rf"}) == TRASH
