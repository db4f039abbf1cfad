"""What is otherwise in the settings is changed, and nothing else of their file."""

from forklore.model.plan import Append, Bytes, CreateFile, Drop, EditFile, LineEdit, Plan, Put, Take
from forklore.planning.settings import plan_settings

PLACE = ".forklore/settings.json"


def test_only_what_is_otherwise_is_edited() -> None:
    stored = {
        "policy": "standard",
        "names": {"branch": "B", "checkpoint": "C"},
        "requirements": {"NO_LOREBOOK": "warn", "QUEUE_NOT_EMPTY": "block"},
        "shared_books": ["Lore", "Old"],
        "odd": 1,
    }
    wanted = {
        "policy": "strict",
        "names": {"checkpoint": "C {n}"},
        "requirements": {"NO_LOREBOOK": "ignore", "QUEUE_NOT_EMPTY": "block"},
        "shared_books": ["Lore", "Neü"],
    }

    edits = (
        Put(("policy",), '"strict"'),
        Put(("names", "checkpoint"), '"C {n}"'),
        Drop(("names", "branch")),
        Put(("requirements", "NO_LOREBOOK"), '"ignore"'),
        Append(("shared_books",), '"Neü"'),
        Take(("shared_books",), '"Old"'),
    )
    step = EditFile(PLACE, tuple(LineEdit(None, edit) for edit in edits), role="settings")
    assert plan_settings(stored, wanted, is_new=False) == Plan("settings", "", (step,), commit=0)


def test_a_new_file_says_only_what_was_decided_and_who_decided_it() -> None:
    wanted = {"policy": "strict", "names": {}, "shared_books": ["Lore"]}

    text = b'{\n  "format": 1,\n  "policy": "strict",\n  "shared_books": [\n    "Lore"\n  ]\n}\n'
    step = CreateFile(PLACE, (Bytes(text),))
    made = plan_settings({}, wanted, is_new=True, kind="share", chat="Mira/Tale")
    assert made == Plan("share", "Mira/Tale", (step,), commit=0)
