"""The settings of a workspace: shown, changed, undone."""

import json
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.check import ForkBlocked
from forklore.app.forklore import Forklore
from forklore.checks.requirements import REQUIREMENTS
from forklore.checks.settings import SettingsInvalid
from forklore.errors import BadRequest
from forklore.model.fact import Fact, fact
from forklore.planning.undo import UndoRefused
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import chat_bytes, conversation, lorebook_bytes, write_workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "chats/Mira/Tale.jsonl": chat_bytes({"world_info": "Lore", "auto_recap": {"x": 1}}, conversation(4)),
        "worlds/Lore.json": lorebook_bytes([]),
        "worlds/Other.json": lorebook_bytes([]),
    }
    return write_workspace(tmp_path, files)


def open_at(root: Path, policy: str | None = None) -> Forklore:
    return forklore.open(root, policy=policy, disk=HastyDisk())


def stored(root: Path) -> Any:
    return json.loads((root / ".forklore/settings.json").read_bytes())


def test_without_a_file_everything_is_as_usual(root: Path) -> None:
    shown = open_at(root).settings().to_json()

    assert [row["code"] for row in shown["rows"]] == [row.code for row in REQUIREMENTS]
    assert shown["rows"][0] == {"code": "MESSAGE_NOT_FOUND", "standard": "block", "strict": "block", "fixed": True}
    assert {"code": "NO_SCENE_BREAK", "standard": "warn", "strict": "block", "fixed": False} in shown["rows"]
    del shown["rows"]
    assert shown == {
        "policy": "standard",
        "names": {"checkpoint": "{parent} - Checkpoint #{n}", "branch": "{parent} - Branch #{n}"},
        "requirements": {},
        "shared_books": [],
        "books": ["Lore", "Other"],
        "operation": None,
    }


def test_what_is_changed_is_written_and_nothing_else(root: Path) -> None:
    workspace = open_at(root)

    shown = workspace.change_settings(
        policy="strict",
        names={"branch": "{parent} ~ {n}"},
        requirements={"NO_SCENE_BREAK": "warn"},
        shared_books=["Lore"],
    )

    assert stored(root) == {
        "format": 1,
        "policy": "strict",
        "names": {"branch": "{parent} ~ {n}"},
        "requirements": {"NO_SCENE_BREAK": "warn"},
        "shared_books": ["Lore"],
    }
    assert shown == open_at(root).settings().__class__(
        "strict",
        {"checkpoint": "{parent} - Checkpoint #{n}", "branch": "{parent} ~ {n}"},
        {"NO_SCENE_BREAK": "warn"},
        ("Lore",),
        ("Lore", "Other"),
        workspace.log().operations[0].id,
    )


def test_what_is_not_given_stays_and_none_is_the_usual_again(root: Path) -> None:
    workspace = open_at(root)
    workspace.change_settings(names={"branch": "B", "checkpoint": "C"}, requirements={"NO_LOREBOOK": "ignore"})

    workspace.change_settings(names={"branch": None}, requirements={"NO_LOREBOOK": None, "HISTORY_HIDDEN": "block"})

    assert stored(root) == {"format": 1, "names": {"checkpoint": "C"}, "requirements": {"HISTORY_HIDDEN": "block"}}


@pytest.mark.parametrize(
    "template, reason",
    [
        ("{parent} - {date}", fact("placeholder_unknown", placeholder="{date}")),
        ("{parent} - {N}", fact("placeholder_unknown", placeholder="{N}")),
        ("{}", fact("placeholder_unknown", placeholder="{}")),
        ("Saves/{n}", fact("character_forbidden", character="/")),
        ("{parent}\\{n}", fact("character_forbidden", character="\\")),
        ("{parent}: {n}", fact("character_forbidden", character=":")),
    ],
)
@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_a_name_template_that_cannot_be_filled_in_or_be_a_file_is_refused(
    kind: str, template: str, reason: Fact, root: Path
) -> None:
    with pytest.raises(BadRequest) as refused:
        open_at(root).change_settings(names={kind: template})

    assert refused.value.params == {"case": "name_template", "reason": reason}
    assert "{parent}" in refused.value.action
    assert not (root / ".forklore/settings.json").exists()


def test_a_name_template_without_a_number_gets_one_so_that_names_differ(root: Path) -> None:
    open_at(root).change_settings(names={"checkpoint": "{parent} {saved"})
    workspace = open_at(root)
    (chat,) = (story.main for story in workspace.stories().stories)

    made = [workspace.checkpoint(chat).chat for _ in range(2)]

    assert made == [f"{chat} {{saved #1", f"{chat} {{saved #2"]


def test_a_name_template_that_was_stored_before_hinders_no_other_change(root: Path) -> None:
    path = root / ".forklore/settings.json"
    path.parent.mkdir()
    path.write_text('{"names":{"branch":"{parent}/{n}"}}', encoding="utf-8")

    open_at(root).change_settings(policy="strict", names={"checkpoint": "C {n}"})

    assert stored(root)["names"] == {"branch": "{parent}/{n}", "checkpoint": "C {n}"}


def test_unknown_keys_and_the_layout_of_the_file_survive(root: Path) -> None:
    path = root / ".forklore/settings.json"
    path.parent.mkdir()
    text = '{"mine" : [1,  2],\n   "shared_books":["Lore" ],"big":123456789012345678901234567890 }\n'
    path.write_text(text, encoding="utf-8")
    workspace = open_at(root)

    done = workspace.change_settings(policy="strict", shared_books=["Other", "Lore"])
    written = path.read_text(encoding="utf-8")
    workspace.undo(done.operation)

    assert written.startswith('{"mine" : [1,  2],\n')
    assert json.loads(written) == {**json.loads(text), "shared_books": ["Lore", "Other"], "policy": "strict"}
    assert path.read_text(encoding="utf-8") == text


def test_every_change_can_be_undone_one_after_the_other(root: Path) -> None:
    workspace = open_at(root)
    changes: list[dict[str, Any]] = [
        {"policy": "strict"},
        {"shared_books": ["Lore"]},
        {"requirements": {"NO_LOREBOOK": "block"}, "names": {"branch": "B"}},
        {"shared_books": [], "names": {"branch": None}},
    ]
    before = []
    path = root / ".forklore/settings.json"
    for change in changes:
        before.append(path.read_bytes() if path.exists() else None)
        workspace.change_settings(**change)

    for expected in reversed(before):
        workspace.undo()
        assert (path.read_bytes() if path.exists() else None) == expected


def test_a_change_that_is_not_the_latest_is_undone_alone(root: Path) -> None:
    workspace = open_at(root)
    workspace.change_settings(policy="standard")
    share = workspace.change_settings(shared_books=["Lore"])
    workspace.change_settings(policy="strict")

    workspace.undo(share.operation)

    assert stored(root) == {"format": 1, "policy": "strict"}


def test_the_change_that_made_the_file_is_undone_only_while_nothing_else_was_written_there(root: Path) -> None:
    workspace = open_at(root)
    first = workspace.change_settings(policy="strict")
    workspace.change_settings(shared_books=["Lore"])

    with pytest.raises(UndoRefused):
        workspace.undo(first.operation)


def test_what_is_so_already_is_no_operation(root: Path) -> None:
    workspace = open_at(root)
    workspace.change_settings(policy="strict", shared_books=["Lore"])

    again = workspace.change_settings(policy="strict", shared_books=["Lore"], names={"branch": None})

    assert again.operation is None
    assert len(workspace.log().operations) == 1


def test_the_same_object_heeds_the_change_and_its_undoing(root: Path) -> None:
    workspace = open_at(root)
    workspace.change_settings(policy="strict", names={"branch": "{parent} B{n}"})

    with pytest.raises(ForkBlocked):
        workspace.branch("Tale")
    workspace.undo()

    assert workspace.branch("Tale").chat == "Mira/Tale - Branch #1"


def test_a_policy_asked_for_on_opening_wins_over_the_new_default(root: Path) -> None:
    workspace = open_at(root, "standard")

    workspace.change_settings(policy="strict", requirements={"NO_LOREBOOK": "block"})

    assert workspace.check("Tale").valid
    assert not open_at(root).check("Tale").valid


@pytest.mark.parametrize(
    "change",
    [
        {"policy": "lenient"},
        {"policy": 7},
        {"names": {"fork": "x"}},
        {"names": {"branch": 7}},
        {"names": "x"},
        {"requirements": {"NOPE": "warn"}},
        {"requirements": {"NO_LOREBOOK": "maybe"}},
        {"requirements": {"NO_LOREBOOK": ["warn"]}},
        {"requirements": {"CHAT_DAMAGED": "warn"}},
        {"requirements": []},
        {"shared_books": "Lore"},
        {"shared_books": [7]},
        {"shared_books": ["There is none"]},
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(root: Path, change: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        open_at(root).change_settings(**change)

    assert not (root / ".forklore").exists()


@pytest.mark.parametrize("code", ["QUEUE_NOT_EMPTY", "QUEUE_UNREADABLE", "CHAT_DAMAGED"])
def test_what_protects_data_is_not_lowered_but_may_be_tidied_up(root: Path, code: str) -> None:
    (root / ".forklore").mkdir()
    (root / ".forklore/settings.json").write_text(json.dumps({"requirements": {code: "ignore"}}))
    workspace = open_at(root)

    with pytest.raises(BadRequest) as refused:
        workspace.change_settings(requirements={code: "warn"})
    workspace.change_settings(policy="strict")
    assert [each.finding.code for each in workspace.doctor().findings] == ["SETTING_IGNORED"]
    workspace.change_settings(requirements={code: None})

    reason = {"code": "SETTINGS_INVALID", "params": {"case": "fixed", "requirement": code}}
    assert refused.value.params == {"case": "settings", "reason": reason}
    assert refused.value.message == f"{code} always blocks: it protects your data."
    assert workspace.doctor().findings == ()


def test_a_file_that_became_nonsense_is_told_as_such(root: Path) -> None:
    workspace = open_at(root)
    (root / ".forklore").mkdir()
    (root / ".forklore/settings.json").write_bytes(b'{"policy": "lenient"}')

    with pytest.raises(SettingsInvalid):
        workspace.settings()
    with pytest.raises(SettingsInvalid):
        workspace.change_settings(policy="strict")
