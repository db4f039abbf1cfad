"""Windows of a chat, and where a fork may be made."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.app.check import GroupMissing
from forklore.app.forklore import Forklore
from forklore.app.views import looking
from forklore.errors import BadRequest
from forklore.formats.chat_jsonl import Chat
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import chat_bytes, conversation, message, write_workspace

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
ILSE = "Ilse Brandt/Ilse Brandt - 2025-11-09@20h41m55s"
SAMPLES = (
    "hollow_quay_clean",
    "hollow_quay_legacy_shared",
    "salvage_rights_clean",
    "salvage_rights_queue_busy",
    "sillytavern-1.19.0",
)
MERELY_WARNING = (
    "HISTORY_HIDDEN",
    "CHECKPOINT_REPLACED",
    "LOREBOOK_ALSO_ACTIVE",
    "LOREBOOK_FROM_PRESENT",
    "REGISTRY_BROKEN",
    "NO_LOREBOOK",
)

Opened = Callable[[str], Forklore]
Sample = Callable[[str], Path]


def open_at(root: Path, policy: str | None = None) -> Forklore:
    return forklore.open(root, policy=policy, disk=HastyDisk())


def chats_of(workspace: Forklore) -> Iterator[tuple[str, int]]:
    for story in workspace.stories().stories:
        yield from ((timeline.chat, timeline.messages) for timeline in story.timelines)


def blocking(workspace: Forklore, chat: str, at: int) -> list[str]:
    try:
        return [finding.code for finding in workspace.check(chat, at=at).errors]
    except GroupMissing:
        return ["GROUP_MISSING"]


def shown_codes(workspace: Forklore, chat: str, total: int) -> list[list[str]]:
    codes = []
    for start in range(0, total, 200):
        shown = workspace.view.messages(chat, start=start, count=200).to_json()
        codes += [each["fork"]["codes"] for each in shown["messages"]]
    return codes


@pytest.mark.req(12, 19, 21, 23, 25, 26, 28, 148)
class TestReadiness:
    @pytest.mark.parametrize("policy", ["standard", "strict"])
    @pytest.mark.parametrize("name", SAMPLES)
    def test_every_message_of_every_sample_has_the_codes_of_check(self, sample: Sample, name: str, policy: str) -> None:
        workspace = open_at(sample(name), policy)

        for chat, total in chats_of(workspace):
            expected = [blocking(workspace, chat, number) for number in range(total)]
            assert shown_codes(workspace, chat, total) == expected
            where = workspace.view.where(chat, list(range(min(total, 200)))).to_json()["messages"]
            assert [each["codes"] for each in where] == expected[:200]
            assert all(each["ready"] == (not each["codes"]) for each in where)

    @pytest.mark.parametrize("name", SAMPLES)
    def test_also_when_a_setting_makes_every_row_block(self, sample: Sample, name: str) -> None:
        workspace = open_at(sample(name), "strict")
        workspace.change_settings(requirements=dict.fromkeys(MERELY_WARNING, "block"))

        for chat, total in chats_of(workspace):
            expected = [blocking(workspace, chat, number) for number in range(total)]
            assert shown_codes(workspace, chat, total) == expected

    def test_a_busy_queue_blocks_everywhere(self, opened: Opened) -> None:
        where = opened("salvage_rights_queue_busy").view.where(ILSE, [0, 3]).to_json()

        assert where == {
            "chat": ILSE,
            "messages": [
                {"number": 0, "ready": False, "codes": ["QUEUE_NOT_EMPTY"]},
                {"number": 3, "ready": False, "codes": ["QUEUE_NOT_EMPTY"]},
            ],
        }

    def test_the_queue_is_read_anew_when_the_book_changed(self, opened: Opened) -> None:
        workspace = opened("salvage_rights_queue_busy")
        before = workspace.view.where(ILSE, [3]).codes
        operations = [operation.operation_id for operation in workspace.queue(ILSE).operations]

        workspace.queue(ILSE, cancel=operations)

        assert (before, workspace.view.where(ILSE, [3]).codes) == (((3, ("QUEUE_NOT_EMPTY",)),), ((3, ()),))

    def test_a_message_that_is_not_there_is_told(self, opened: Opened) -> None:
        shown = opened("hollow_quay_clean").view.where(MAREN, [69, -1, 5, 69])

        missing = ("MESSAGE_NOT_FOUND",)
        assert shown.codes == ((69, missing), (-1, missing), (5, ()), (69, missing))

    @pytest.mark.parametrize("at", [[], list(range(201))])
    def test_too_few_or_too_many_cannot_be_asked_for(self, opened: Opened, at: list[int]) -> None:
        with pytest.raises(BadRequest):
            opened("hollow_quay_clean").view.where(MAREN, at)

    def test_a_group_chat_that_no_group_lists_can_be_looked_at(self, tmp_path: Path) -> None:
        write_workspace(tmp_path, {"group chats/lonely.jsonl": chat_bytes({}, conversation(2))})

        assert open_at(tmp_path).view.where("lonely", [1]).codes == ((1, ("GROUP_MISSING",)),)

    @pytest.mark.parametrize("policy", ["standard", "strict"])
    def test_a_book_that_is_missing_or_broken_blocks(self, sample: Sample, policy: str) -> None:
        root = sample("hollow_quay_clean")
        (book,) = (root / "worlds").iterdir()
        book.write_bytes(b"{")
        broken = open_at(root, policy)
        assert shown_codes(broken, MAREN, 69) == [blocking(broken, MAREN, number) for number in range(69)]

        book.unlink()
        missing = open_at(root, policy)
        assert shown_codes(missing, MAREN, 69) == [blocking(missing, MAREN, number) for number in range(69)]


class TestMessages:
    @pytest.fixture
    def tale(self, tmp_path: Path) -> Forklore:
        said: list[Any] = conversation(12)
        said[3] = stories.swiped("first", "second", "third", shown=1)
        said[4] = message("unseen", is_system=True, send_date=1762111859000)
        said[5] = message("the end of it", extra=stories.scene("The gate"))
        said[6]["extra"] = {"bookmark_link": "Kept", "branches": ["Tale - Branch #1", "gone"]}
        files = {
            "chats/Mira/Tale.jsonl": chat_bytes(stories.running_recap("Tale", [stories.recap_version(0, 5)], 0), said),
            "chats/Mira/Kept.jsonl": chat_bytes({"main_chat": "Tale"}, said[:7]),
            "chats/Mira/Tale - Branch #1.jsonl": chat_bytes({"main_chat": "Tale"}, said[:7]),
        }
        return open_at(write_workspace(tmp_path, files))

    def test_a_message_is_shown_as_it_is(self, tale: Forklore) -> None:
        shown = tale.view.messages("Mira/Tale", start=3, count=4).to_json()

        assert (shown["chat"], shown["total"], shown["start"]) == ("Mira/Tale", 12, 3)
        third, hidden, scene, forked = shown["messages"]
        assert third == {
            "number": 3,
            "name": "Mira",
            "is_user": False,
            "hidden": False,
            "text": "second",
            "sent": "2026-11-15T18:36:01.000Z",
            "swipes": 3,
            "swipe": 1,
            "scene": None,
            "fork": {"ready": True, "codes": []},
            "links": [],
            "damaged": False,
        }
        assert (hidden["hidden"], hidden["sent"], hidden["swipes"], hidden["swipe"]) == (True, 1762111859000, 1, 0)
        assert scene["scene"] == {"name": "The gate", "ready": True, "codes": []}
        assert forked["links"] == [
            {"kind": "checkpoint", "chat": "Mira/Kept"},
            {"kind": "branch", "chat": "Mira/Tale - Branch #1"},
        ], "a link that leads nowhere is left out"

    def test_windows_join_to_the_whole(self, tale: Forklore) -> None:
        whole = tale.view.messages("Mira/Tale", count=200).messages

        parts = [tale.view.messages("Mira/Tale", start=start, count=5).messages for start in (0, 5, 10)]

        assert [len(part) for part in parts] == [5, 5, 2]
        assert sum(parts, ()) == whole

    @pytest.mark.parametrize("start, count", [(-1, 5), (13, 5), (0, 0), (0, -3), (0, 201)])
    def test_a_window_that_makes_no_sense_is_refused(self, tale: Forklore, start: int, count: int) -> None:
        with pytest.raises(BadRequest):
            tale.view.messages("Mira/Tale", start=start, count=count)

    def test_after_the_last_message_there_is_nothing(self, tale: Forklore) -> None:
        assert tale.view.messages("Mira/Tale", start=12).messages == ()

    def test_only_the_lines_asked_for_are_parsed(self, tale: Forklore, monkeypatch: pytest.MonkeyPatch) -> None:
        parsed: list[int] = []
        parse = Chat.message

        def noted(chat: Chat, number: int) -> dict[str, Any]:
            parsed.append(number)
            return parse(chat, number)

        monkeypatch.setattr(Chat, "message", noted)

        tale.view.messages("Mira/Tale", start=7, count=3)

        assert sorted(parsed) == [7, 8, 9]

    def test_a_line_that_is_no_json_does_not_hide_the_others(self, tmp_path: Path) -> None:
        lines = chat_bytes({}, conversation(4)).split(b"\n")
        lines[2] = b'{"mes": "half'
        workspace = open_at(write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": b"\n".join(lines)}))

        shown = workspace.view.messages("Mira/Tale").to_json()["messages"]

        assert [each["damaged"] for each in shown] == [False, True, False, False]
        assert [each["fork"]["codes"] for each in shown] == [blocking(workspace, "Mira/Tale", at) for at in range(4)]
        assert (shown[1]["text"], shown[1]["hidden"], shown[1]["scene"]) == ("", True, None)
        json.dumps(shown)

    @pytest.mark.parametrize("header", [b'{"chat_metadata": 7}', b"{broken", b"no json at all"])
    def test_a_chat_without_a_header_can_be_looked_at(self, tmp_path: Path, header: bytes) -> None:
        data = b"\n".join([header, *chat_bytes({}, conversation(3)).split(b"\n")[1:]])
        workspace = open_at(write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": data}))

        shown = workspace.view.messages("Mira/Tale")

        assert [each.text for each in shown.messages] == ["Turn 0.", "Turn 1.", "Turn 2."]
        assert {each.codes for each in shown.messages} == {("CHAT_DAMAGED",)}

    def test_an_empty_file_has_no_messages(self, tmp_path: Path) -> None:
        workspace = open_at(write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": b""}))

        assert workspace.view.messages("Mira/Tale").to_json()["messages"] == []

    def test_values_of_another_type_are_shown_as_nothing(self, tmp_path: Path) -> None:
        odd: stories.Json = {
            "name": 7,
            "mes": None,
            "is_system": "yes",
            "swipes": "no",
            "swipe_id": 4,
            "send_date": True,
            "extra": [],
        }
        workspace = open_at(write_workspace(tmp_path, {"chats/Mira/Tale.jsonl": chat_bytes({}, [odd])}))

        (shown,) = workspace.view.messages("Mira/Tale").messages

        assert (shown.name, shown.text, shown.hidden, shown.sent) == ("", "", False, None)
        assert (shown.swipes, shown.swipe, shown.damaged) == (1, 0, False)

    def test_a_chat_that_was_written_is_shown_as_it_is_now(self, tale: Forklore) -> None:
        assert tale.view.messages("Mira/Tale").total == 12
        path = tale.root / "chats/Mira/Tale.jsonl"

        path.write_bytes(path.read_bytes() + b"\n" + stories.line(message("one more")))

        assert tale.view.messages("Mira/Tale", start=12).messages[0].text == "one more"

    def test_only_a_few_files_are_remembered(self, tmp_path: Path) -> None:
        names = [f"Tale {number}" for number in range(12)]
        files = {f"chats/Mira/{name}.jsonl": chat_bytes({}, conversation(2)) for name in names}
        workspace = open_at(write_workspace(tmp_path, files))

        for name in names:
            assert workspace.view.messages(f"Mira/{name}").total == 2

        assert len(looking._CHATS._held) == 8
