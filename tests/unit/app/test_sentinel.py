"""A mark is planted in every channel after a message, and must be in no file of a fork at that message."""

import json
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.fork import ForkMade
from forklore.app.forklore import Forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import Json, read_workspace, write_workspace

AT = 5
MARKS = {
    "message text": "mark-one",
    "extra": "mark-two",
    "swipe": "mark-three",
    "scene snapshot": "mark-four",
    "running version": "mark-five",
    "running version without an end": "mark-six",
    "combined recap": "mark-seven",
    "pending operation": "mark-eight",
    "registry cache": "mark-nine",
    "timed effect": "mark-ten",
    "timed effect of a later entry": "mark-eleven",
    "later entry": "mark-twelve",
    "changed entry": "mark-thirteen",
    "registry line": "mark-fourteen",
    "queue": "mark-fifteen",
    "current operation": "mark-sixteen",
    "checkpoint map": "mark-seventeen",
    "earlier record": "mark-eighteen",
    "identity": "mark-nineteen",
    "integrity": "mark-twenty",
    "main chat": "mark-twenty-one",
}


def marked_story(root: Path) -> Forklore:
    """Return a story that was well until message 5 and has the marks in everything that came later."""
    write_workspace(root, recap_story("Tale", "Lore"))
    tale = OpenChat(root, "Mira/Tale")
    tale.say(*(f"Turn {number}." for number in range(1, AT)))
    tale.end_scene("The first scene", taken=1)
    tale.say(f"Turn {AT}.")

    tale.say(f"Later {MARKS['message text']}")
    tale.messages[-1]["extra"]["note"] = MARKS["extra"]
    tale.messages.append(stories.swiped("Later.", MARKS["swipe"]))
    uid = tale.learn(f"character-{MARKS['registry line']}", MARKS["later entry"])
    tale.entries["2"]["content"] = MARKS["changed entry"]
    tale.entries[str(uid)]["content"] += MARKS["scene snapshot"]
    tale.end_scene(f"A later scene, {MARKS['running version']}", taken=2)
    undated: Json = {"version": 9, "content": MARKS["running version without an end"]}
    tale.metadata["auto_recap_running_scene_recaps"]["versions"].append(undated)
    tale.metadata["auto_lorebooks"]["registry"]["index"][str(uid)]["synopsis"] = MARKS["registry cache"]
    effect = {"hash": 1, "start": 7, "end": 20, "protected": False}
    tale.metadata |= {
        "auto_recap": {
            "combined_recap": {"content": MARKS["combined recap"], "message_count": 8, "timestamp": 1},
            "checkpoint_lorebook_map": {MARKS["checkpoint map"]: "Book"},
        },
        "autoLorebooks": {"pendingOps": {"entry_1": {"stage": MARKS["pending operation"]}}},
        "timedWorldInfo": {
            "sticky": {"Lore.2": {**effect, "note": MARKS["timed effect"]}},
            "cooldown": {f"Lore.{uid}": {**effect, "start": 1, "note": MARKS["timed effect of a later entry"]}},
        },
        "lastInContextMessageId": 7,
        "auto_recap_checkpoint_state": {"chat_id": MARKS["earlier record"]},
        "forklore": {"chat": "Tale", "timeline": "t", "note": MARKS["identity"]},
        "integrity": MARKS["integrity"],
        "main_chat": MARKS["main chat"],
        "variables": {"weather": "later"},
    }
    leftover = stories.operation(1, "cancelled", params={"entryName": MARKS["queue"]})
    tale.set_queue(leftover)
    tale.write()
    book = OpenChat(root, "Mira/Tale")
    queue_key = str(stories.QUEUE_UID)
    content = json.loads(book.entries[queue_key]["content"]) | {"current_operation_id": MARKS["current operation"]}
    book.entries[queue_key]["content"] = json.dumps(content)
    book.write()
    return forklore.open(root, disk=HastyDisk())


def files_of(root: Path, made: ForkMade) -> str:
    """Return everything a fork consists of, as text."""
    chat = root / "chats" / f"{made.chat}.jsonl"
    book = root / "worlds" / f"{made.lorebook}.json"
    return (chat.read_bytes() + book.read_bytes()).decode()


def metadata_of(root: Path, chat: str) -> Json:
    return OpenChat(root, chat).metadata


@pytest.mark.req(1, 3, 5, 134, 135, 163)
@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_no_mark_is_in_any_file_of_a_fork(kind: str, tmp_path: Path) -> None:
    workspace = marked_story(tmp_path)
    planted = "".join(content.decode() for content in read_workspace(tmp_path).values())
    assert [where for where, mark in MARKS.items() if mark not in planted] == []

    made = getattr(workspace, kind)("Mira/Tale", at=AT)

    texts = files_of(tmp_path, made)
    assert [where for where, mark in MARKS.items() if mark in texts] == []
    assert "lastInContextMessageId" not in metadata_of(tmp_path, made.chat)


@pytest.mark.req(70)
def test_what_was_left_out_and_what_is_carried_is_told(tmp_path: Path) -> None:
    made = marked_story(tmp_path).checkpoint("Mira/Tale", at=AT)

    assert made.left_out == ("autoLorebooks", "auto_recap", "lastInContextMessageId", "timedWorldInfo")
    assert made.carried_from_present == ("variables",)
    before, after = metadata_of(tmp_path, "Mira/Tale"), metadata_of(tmp_path, made.chat)
    for key in made.carried_from_present:
        assert after[key] == before[key]
    for key in made.left_out:
        assert after.get(key) != before[key]
    assert "COMBINED_RECAP_LEFT_OUT" in [finding.code for finding in made.warnings]


@pytest.mark.req(70, 163)
def test_without_a_snapshot_the_book_alone_is_of_the_present_and_says_so(tmp_path: Path) -> None:
    made = marked_story(tmp_path).checkpoint("Mira/Tale", at=AT - 2)

    texts = files_of(tmp_path, made)
    of_the_book = {"later entry", "scene snapshot", "changed entry", "registry line", "timed effect of a later entry"}
    assert {where for where, mark in MARKS.items() if mark in texts} == of_the_book
    assert made.lorebook_source == "present"
    assert "LOREBOOK_FROM_PRESENT" in [finding.code for finding in made.warnings]


def test_another_swipe_knows_nothing_that_was_made_from_the_shown_one(tmp_path: Path) -> None:
    write_workspace(tmp_path, recap_story("Tale", "Lore"))
    tale = OpenChat(tmp_path, "Mira/Tale")
    tale.say("Turn 1.")
    tale.end_scene("The first scene", taken=1)
    tale.messages.append(stories.swiped("Shown.", "Hidden."))
    tale.learn("character-Rose", "planted-entry")
    tale.end_scene("planted-version", taken=2)
    tale.write()

    made = forklore.open(tmp_path).branch("Mira/Tale", swipe=1)

    fork = OpenChat(tmp_path, made.chat)
    assert fork.messages[-1]["mes"] == "Hidden."
    assert fork.messages[-1]["extra"] == {}
    assert "planted" not in json.dumps(fork.metadata)
    assert "planted" not in json.dumps(fork.book)
    assert made.lorebook_source == "scene-snapshot"


def neutral(value: Any, made: ForkMade) -> Any:
    """Return *value* without the names that two forks of one moment cannot share."""
    text = json.dumps(value)
    for own, common in ((str(made.lorebook), "BOOK"), (made.chat.partition("/")[2], "FORK")):
        text = text.replace(json.dumps(own)[1:-1], common)
    return json.loads(text)


@pytest.mark.req(1, 3, 4, 135, 159)
@pytest.mark.parametrize("later_scenes", [1, 3])
def test_a_fork_made_later_is_the_fork_that_would_have_been_made_then(later_scenes: int, tmp_path: Path) -> None:
    workspace = forklore.open(write_workspace(tmp_path, recap_story("Tale", "Lore")), disk=HastyDisk())
    tale = OpenChat(tmp_path, "Mira/Tale")
    tale.say("Turn 1.")
    tale.learn("character-Rose", "a gardener")
    tale.end_scene("First", taken=1)
    tale.metadata["timedWorldInfo"] = {"sticky": {"Lore.2": {"hash": 5, "start": 1, "end": 9, "protected": False}}}
    tale.write()
    then = workspace.checkpoint("Mira/Tale", name="Then")
    for number in range(later_scenes):
        tale = OpenChat(tmp_path, "Mira/Tale")
        tale.say("Later.", "And later.")
        tale.learn(f"character-Late {number}", "somebody new")
        tale.entries["2"]["content"] += " and older"
        tale.end_scene(f"Later {number}", taken=2 + number)
        tale.write()

    later = workspace.checkpoint("Mira/Tale", at=then.at, name="Later made")

    first, second = OpenChat(tmp_path, then.chat), OpenChat(tmp_path, later.chat)
    for message in (*first.messages, *second.messages):
        message["extra"].pop("bookmark_link", None)
    assert first.messages == second.messages
    own = ("integrity", "forklore", "auto_recap_checkpoint_state")
    assert neutral(
        {k: v for k, v in first.metadata.items() if k not in own and k != "timedWorldInfo"}, then
    ) == neutral({k: v for k, v in second.metadata.items() if k not in own and k != "timedWorldInfo"}, later)
    for made, fork in ((then, first), (later, second)):
        assert list(fork.metadata["timedWorldInfo"]["sticky"]) == [f"{made.lorebook}.2"]
        for each in fork.entries.values():
            each.pop("tags", None)
    assert first.book == second.book
