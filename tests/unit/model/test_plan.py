import json

import pytest

from forklore.model.plan import (
    HEADER,
    Append,
    Bytes,
    CreateFile,
    Drop,
    Edit,
    EditFile,
    Fingerprint,
    LineEdit,
    Plan,
    Put,
    RestoreFile,
    Take,
    TrashFile,
)


@pytest.mark.parametrize("line", [None, HEADER, 0, 7])
@pytest.mark.parametrize(
    "edit",
    [
        Put(("a", 0, "b"), '"x"'),
        Put(("a",), "null", only_if='"x"'),
        Drop(("a",)),
        Drop(("a", "b"), only_if="1", prune=2),
        Append(("a",), '"x"'),
        Take(("a",), '"x"', prune=1),
    ],
)
def test_an_edit_comes_back_from_the_journal(line: int | None, edit: Edit) -> None:
    written = json.loads(json.dumps(LineEdit(line, edit).to_json()))

    assert LineEdit.from_json(written) == LineEdit(line, edit)


def test_a_fingerprint_comes_back_from_the_journal() -> None:
    print_ = Fingerprint(1, 2, 3)

    assert Fingerprint.from_json(json.loads(json.dumps(print_.to_json()))) == print_


def test_a_plan_shows_what_it_does_to_which_file() -> None:
    changes = (
        CreateFile("worlds/B.json", (Bytes(b"{}"),)),
        EditFile("chats/A.jsonl", ()),
        TrashFile("x", ()),
        RestoreFile("y", "item", ()),
    )

    assert Plan("checkpoint", "Mira/A", changes, commit=0).to_json() == {
        "plan": [
            {"action": "create", "path": "worlds/B.json"},
            {"action": "edit", "path": "chats/A.jsonl"},
            {"action": "trash", "path": "x"},
            {"action": "restore", "path": "y"},
        ]
    }
