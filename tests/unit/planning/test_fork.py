import hashlib
import json
from typing import Any

import pytest

from forklore.checks.requirements import ForkAttempt, Policy, check
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import to_text
from forklore.formats.lorebook_json import parse_lorebook
from forklore.gathered.timeline import TimelineState
from forklore.model.plan import HEADER, Bytes, CreateFile, DigestOf, EditFile, Fingerprint, Piece, Plan, Range
from forklore.planning.draft import draft_fork
from forklore.planning.fork import ForkFiles, plan_fork
from forklore.planning.swipe import NoSuchSwipe
from forklore.testing.cuts import parent, point, timeline
from forklore.testing.stories import (
    Json,
    chat_bytes,
    conversation,
    entry,
    line,
    lorebook_bytes,
    message,
    recap_version,
    running_recap,
    scene,
    swiped,
)

FILES = ForkFiles(
    address="Mira/Fork",
    chat_name="Fork",
    clone_name="Lore__CP_Fork",
    parent="chats/Mira/Tale.jsonl",
    chat="chats/Mira/Fork.jsonl",
    clones={"Lore": ("worlds/Lore.json", "worlds/Lore__CP_Fork.json")},
    group=None,
    read=(("chats/Mira/Tale.jsonl", Fingerprint(1, 2, 3)),),
)


class Planned:
    """A plan, and the files it would make."""

    def __init__(
        self,
        origin: TimelineState,
        at: int | None = None,
        *,
        kind: str = "checkpoint",
        swipe: int | None = None,
        show_last_scene: bool = False,
        files: ForkFiles = FILES,
    ) -> None:
        self.origin = origin
        where = point(origin, at, kind=kind, other_swipe=swipe is not None)
        if origin.book is None:
            files = files._replace(clones={}, clone_name=None)
        draft = draft_fork(origin, where, swipe=swipe, show_last_scene=show_last_scene)
        asked = ForkAttempt(origin, kind, where.at, draft.cuts)
        self.plan: Plan = plan_fork(draft, check(asked, Policy()), files)
        self.sources = {FILES.parent: origin.chat.read(0, origin.chat.lines.size)}
        if origin.book is not None:
            self.sources["worlds/Lore.json"] = origin.book.data

    def content(self, path: str) -> bytes:
        (created,) = [change for change in self.plan.changes if isinstance(change, CreateFile) and change.path == path]
        return self.joined(created.pieces)

    def joined(self, pieces: tuple[Piece, ...]) -> bytes:
        return b"".join(self.bytes_of(piece) for piece in pieces)

    def bytes_of(self, piece: Piece) -> bytes:
        if isinstance(piece, Bytes):
            return piece.data
        if isinstance(piece, Range):
            return self.sources[piece.path][piece.start : piece.end]
        assert isinstance(piece, DigestOf)
        return hashlib.sha256(self.joined(piece.pieces)).hexdigest().encode()

    @property
    def chat(self) -> bytes:
        return self.content(FILES.chat)

    @property
    def metadata(self) -> Json:
        metadata: Json = json.loads(self.chat.split(b"\n")[0])["chat_metadata"]
        return metadata

    def edited(self, path: str) -> bytes:
        """Return a line by line edited file as it would be after the plan."""
        (change,) = [change for change in self.plan.changes if isinstance(change, EditFile) and change.path == path]
        lines = self.sources[path].split(b"\n")
        for edit in change.edits:
            assert edit.line is not None
            number = edit.line + 1
            lines[number] = apply_edits(to_text(lines[number]), [edit.edit]).text.encode()
        return b"\n".join(lines)


def tale(*messages: Json, entries: list[Json] | None = None, **metadata: Any) -> TimelineState:
    return parent(metadata, messages or conversation(4), [entry(0, "a")] if entries is None else entries)


class TestOrder:
    @pytest.mark.req(45, 71)
    def test_the_clone_comes_before_the_chat_that_names_it_and_the_link_last(self) -> None:
        planned = Planned(tale())

        assert planned.plan.to_json() == {
            "plan": [
                {"action": "create", "path": "worlds/Lore__CP_Fork.json"},
                {"action": "create", "path": "chats/Mira/Fork.jsonl"},
                {"action": "edit", "path": "chats/Mira/Tale.jsonl"},
            ]
        }
        assert planned.plan.commit == 1
        assert planned.plan.unchanged == FILES.read

    @pytest.mark.req(87)
    def test_a_group_lists_the_chat_right_after_it_exists(self) -> None:
        planned = Planned(tale(), files=FILES._replace(group="groups/17.json"))

        assert [change.path for change in planned.plan.changes] == [
            "worlds/Lore__CP_Fork.json",
            "chats/Mira/Fork.jsonl",
            "groups/17.json",
            "chats/Mira/Tale.jsonl",
        ]

    @pytest.mark.req(54)
    def test_without_a_book_the_chat_is_all_there_is_to_make(self) -> None:
        planned = Planned(parent({}, conversation(2)))

        assert [change.path for change in planned.plan.changes] == ["chats/Mira/Fork.jsonl", "chats/Mira/Tale.jsonl"]
        assert planned.plan.commit == 0
        assert "auto_recap" not in json.loads(planned.edited(FILES.parent).split(b"\n")[0])["chat_metadata"]

    def test_big_bodies_are_ranges_of_existing_files(self) -> None:
        planned = Planned(tale())

        clone, chat, _ = planned.plan.changes
        assert isinstance(clone, CreateFile)
        assert isinstance(chat, CreateFile)
        assert clone.pieces == (Range("worlds/Lore.json", 0, len(planned.sources["worlds/Lore.json"])),)
        assert [type(piece) for piece in chat.pieces if isinstance(piece, Range)] != []


class TestTheChat:
    @pytest.mark.req(74, 75)
    @pytest.mark.parametrize("at", [0, 2, 3])
    def test_holds_the_messages_up_to_the_point(self, at: int) -> None:
        origin = tale()

        messages = Planned(origin, at).chat.split(b"\n")[1:]

        assert messages == [origin.chat.line_bytes(number) for number in range(at + 1)]

    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n "])
    @pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n\n"])
    def test_keeps_how_the_file_begins_and_ends(self, start: bytes, end: bytes) -> None:
        data = start + chat_bytes({"a": 1}, conversation(3)).replace(b"\n", b"\r\n") + end
        origin = timeline(Chat.from_bytes(data))

        made = Planned(origin).chat

        header = origin.chat.span(HEADER)
        rest = data[header[1] :]
        assert made.startswith(data[: header[0]])
        assert made.endswith(rest)

    def test_keeps_every_byte_of_the_header_that_needs_no_change(self) -> None:
        header = b'{ "odd":1E5, "chat_metadata":{ "x":1.0,"x":-0, "integrity" : "old" }, "user_name":"\\ud83d" }'
        origin = timeline(Chat.from_bytes(header + b"\n" + line(message("Hello."))))

        made = Planned(origin).chat.split(b"\n")[0]

        assert made.startswith(b'{ "odd":1E5, "chat_metadata":{ "x":1.0,"x":-0, "integrity" : "fresh", "main_chat"')
        assert made.endswith(b', "user_name":"\\ud83d" }')

    def test_keeps_running_versions_as_they_are_written(self) -> None:
        versions = b'[{"version":0,"new_scene_index":1,"odd":1E5 },{"version":1,"new_scene_index":9}]'
        stored = b'{"chat_id":"Tale","current_version":1,"versions":' + versions + b"}"
        header = b'{"chat_metadata":{"auto_recap_running_scene_recaps":' + stored + b"}}"
        messages = b"\n".join(line(each) for each in conversation(12))
        origin = timeline(Chat.from_bytes(header + b"\n" + messages))

        made = Planned(origin, 5).chat.split(b"\n")[0]

        assert b'"versions":[{"version":0,"new_scene_index":1,"odd":1E5 }]' in made

    def test_is_readable_by_javascript_whatever_numbers_it_holds(self) -> None:
        huge = b'{"chat_id":"Tale","current_version":0,"versions":[{"version":0,"new_scene_index":0,"x":1e400}]}'
        header = b'{"chat_metadata":{"auto_recap_running_scene_recaps":' + huge + b"}}"
        origin = timeline(Chat.from_bytes(header + b"\n" + line(message("Hello."))))

        assert b"Infinity" not in Planned(origin).chat

    def test_shows_the_chosen_swipe_in_its_last_message_alone(self) -> None:
        origin = tale(*conversation(2), swiped("One.", "Two."), message("Later."))

        made = Planned(origin, 2, kind="branch", swipe=1)

        lines = made.chat.split(b"\n")[1:]
        assert lines[:2] == [origin.chat.line_bytes(0), origin.chat.line_bytes(1)]
        assert json.loads(lines[2])["mes"] == "Two."
        assert origin.chat.message(2)["mes"] == "One."

    def test_refuses_a_swipe_that_is_not_there_before_anything_is_planned(self) -> None:
        origin = tale()

        with pytest.raises(NoSuchSwipe):
            draft_fork(origin, point(origin, other_swipe=True), swipe=5, show_last_scene=False)

    def test_shows_the_messages_of_its_last_scene_again(self) -> None:
        messages = [message(f"Turn {n}.", is_system=True, extra=scene() if n == 1 else {}) for n in range(5)]

        made = Planned(tale(*messages), 3, show_last_scene=True)

        assert [json.loads(text)["is_system"] for text in made.chat.split(b"\n")[1:]] == [True, True, False, False]

    def test_is_not_drafted_from_a_scene_that_cannot_be_read(self) -> None:
        broken = b'{"extra":{"auto_recap_memory":{"scene_break":true}}, oops'
        data = chat_bytes({}, []) + b"\n" + broken + b"\n" + line(message("Hidden.", is_system=True))
        origin = timeline(Chat.from_bytes(data))

        with pytest.raises(ChatDamaged):
            draft_fork(origin, point(origin), swipe=None, show_last_scene=True)


class TestTheRecord:
    def record(self, planned: Planned) -> Json:
        record: Json = planned.metadata["auto_recap_checkpoint_state"]
        return record

    @pytest.mark.req(3, 63, 64, 65, 66, 67, 68, 69, 70, 157)
    def test_has_every_field_of_both_designs_and_tells_the_truth(self) -> None:
        recaps = running_recap("Tale", [recap_version(3, 1, "Then.")], 3)
        origin = tale(*conversation(1), message("Turn 1.", extra=scene("The storm", recap="It rained.")), **recaps)

        planned = Planned(origin)

        digests = self.record(planned).pop("digests")
        assert self.record(planned) | {"digests": digests} == {
            "version": 2,
            "kind": "checkpoint",
            "chat_id": "Fork",
            "timestamp": 1_762_200_000_000,
            "message_id": 1,
            "extension_version": "0.0.0",
            "queue_was_empty": True,
            "cloned_lorebook_name": "Lore__CP_Fork",
            "original_lorebook_name": "Lore",
            "lorebook_source": "live",
            "lorebooks": [{"name": "Lore__CP_Fork", "original": "Lore", "role": "chat", "source": "live"}],
            "has_scene_break": True,
            "has_scene_recap": True,
            "scene_break_name": "The storm",
            "scene_recap": "It rained.",
            "has_running_recap": True,
            "running_recap_version": 3,
            "running_recap_content": "Then.",
            "running_recap_scene_count": 4,
            "running_recap_versions": [recap_version(3, 1, "Then.")],
            "combined_recap_content": None,
            "combined_recap_message_count": None,
            "combined_recap_timestamp": None,
            "warnings": [],
            "carried_from_present": [],
            "left_out": [],
            "digests": digests,
        }

    @pytest.mark.req(64, 70)
    def test_flags_and_warnings_say_what_was_missing(self) -> None:
        record = self.record(Planned(tale(**running_recap("Tale", [], 0)), 1))

        assert (record["has_scene_break"], record["has_scene_recap"], record["has_running_recap"]) == (False,) * 3
        assert {"NO_SCENE_BREAK", "NO_RUNNING_RECAP", "LOREBOOK_FROM_PRESENT"} <= set(record["warnings"])

    def test_digests_are_those_of_messages_and_clone(self) -> None:
        planned = Planned(tale(), 1)

        digests = self.record(planned)["digests"]
        messages = planned.chat.partition(b"\n")[2]
        assert digests == {
            "messages": hashlib.sha256(messages).hexdigest(),
            "lorebook": hashlib.sha256(planned.content("worlds/Lore__CP_Fork.json")).hexdigest(),
        }
        assert planned.metadata["forklore"]["digests"] == digests

    @pytest.mark.req(72)
    def test_the_parents_own_record_is_replaced_in_the_fork_alone(self) -> None:
        origin = tale(auto_recap_checkpoint_state={"chat_id": "Tale"}, forklore={"chat": "Tale", "timeline": "old"})

        planned = Planned(origin)

        assert self.record(planned)["chat_id"] == "Fork"
        assert planned.metadata["forklore"]["chat"] == "Fork"
        header = json.loads(planned.edited(FILES.parent).split(b"\n")[0])["chat_metadata"]
        assert header["auto_recap_checkpoint_state"] == {"chat_id": "Tale"}
        assert header["forklore"] == {"chat": "Tale", "timeline": "old"}


class TestTheParent:
    @pytest.mark.req(80)
    def test_a_checkpoint_is_linked_and_replaces_an_earlier_link(self) -> None:
        planned = Planned(tale(message("Hello.", extra={"bookmark_link": "Old", "a": 1})))

        header, last = planned.edited(FILES.parent).split(b"\n")
        assert json.loads(last)["extra"] == {"bookmark_link": "Fork", "a": 1}
        assert json.loads(header)["chat_metadata"]["auto_recap"] == {
            "checkpoint_lorebook_map": {"Fork": "Lore__CP_Fork"}
        }

    @pytest.mark.req(81)
    def test_a_branch_is_added_to_the_others(self) -> None:
        planned = Planned(tale(message("Hello.", extra={"branches": ["Old"]})), kind="branch")

        last = planned.edited(FILES.parent).split(b"\n")[1]
        assert json.loads(last)["extra"] == {"branches": ["Old", "Fork"]}

    @pytest.mark.parametrize(
        "space", [None, "text", ["a"], {"checkpoint_lorebook_map": "text"}, {"checkpoint_lorebook_map": None}]
    )
    def test_a_map_that_has_no_place_is_done_without(self, space: Any) -> None:
        planned = Planned(tale(auto_recap=space))

        header = planned.edited(FILES.parent).split(b"\n")[0]
        assert header == planned.sources[FILES.parent].split(b"\n")[0]

    @pytest.mark.parametrize("metadata", [{}, {"auto_recap": {}}, {"auto_recap": {"checkpoint_lorebook_map": {}}}])
    def test_a_map_that_is_not_there_yet_is_made(self, metadata: Json) -> None:
        planned = Planned(tale(**metadata))

        header = json.loads(planned.edited(FILES.parent).split(b"\n")[0])["chat_metadata"]
        assert header["auto_recap"]["checkpoint_lorebook_map"] == {"Fork": "Lore__CP_Fork"}


class TestTheClone:
    @pytest.mark.req(40, 41)
    def test_has_the_bytes_of_the_book_but_for_its_title(self) -> None:
        origin = tale()
        data = b"\xef\xbb\xbf" + lorebook_bytes([entry(0, "a")], name="Lore", odd=[1]) + b"\n"
        origin = timeline(origin.chat, parse_lorebook("Lore", data))

        planned = Planned(origin)

        assert planned.content("worlds/Lore__CP_Fork.json") == data.replace(
            b'"name": "Lore"', b'"name": "Lore__CP_Fork"'
        )
