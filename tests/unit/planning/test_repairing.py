"""Each repair by itself: exactly what it edits, and when there is nothing that it could do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from forklore.channels.lorebook import BookCut, empty_book
from forklore.log.operations import Operation
from forklore.model.plan import (
    HEADER,
    Append,
    Bytes,
    CreateFile,
    Drop,
    Edit,
    EditFile,
    LineEdit,
    Put,
    RestoreFile,
)
from forklore.planning.repairing import RepairCase, plan_repair
from forklore.testing.stories import (
    FIRST_MOMENT,
    Json,
    chat_bytes,
    conversation,
    entry,
    lorebook_bytes,
    message,
    operation,
    queue,
    recap_version,
    registry,
    registry_line,
    running_recap,
    scene,
    snapshot,
)
from tests.unit.checks.workspaces import World

TALE, FORK = "chats/Mira/Tale.jsonl", "chats/Mira/Fork.jsonl"
RUNNING, STATE = "auto_recap_running_scene_recaps", "auto_recap_checkpoint_state"
MAP = ("auto_recap", "checkpoint_lorebook_map")
IDENTITY: Json = {"format": 1, "chat": "Fork", "kind": "checkpoint", "parent": "Tale", "message": 3, "timeline": "6f0d"}
RECORD: Json = {"chat_id": "Fork", "message_id": 3, "cloned_lorebook_name": "Own", "original_lorebook_name": "Lore"}
FORKED: Json = {"main_chat": "Tale", "world_info": "Own", STATE: RECORD, "forklore": IDENTITY}
LEGACY: Json = {"main_chat": "Tale", "world_info": "Own"}
"""The metadata of a fork that SillyTavern made."""


def put(*path: str | int, value: Any) -> Put:
    """Return the edit of one member of the metadata."""
    return Put(("chat_metadata", *path), written(value))


def written(value: Any) -> str:
    """Return JSON as it is written into a chat."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def edited(path: str, *edits: Edit, line: int = HEADER) -> EditFile:
    """Return the edits of one line of a chat."""
    return EditFile(path, tuple(LineEdit(line, edit) for edit in edits), role="repair")


def case(
    forked: Mapping[str, Any],
    code: str = "",
    *,
    said: Iterable[Json] = conversation(4),
    main: Json | None = None,
    tale: Iterable[Json] = conversation(6),
    books: Mapping[str, Iterable[Json]] | None = None,
    name: str = "Fork",
    children: Mapping[str, Json] | None = None,
    orphan: bool = False,
    members: Mapping[str, Any] | None = None,
    parents_book: BookCut | None = None,
    **around: Any,
) -> RepairCase:
    """Return a finding in a fork of "Tale", with the metadata *forked*; an *orphan* has no parent."""
    chats = {f"Mira/{name}": chat_bytes(dict(forked), said)}
    if not orphan:
        chats["Mira/Tale"] = chat_bytes({"world_info": "Lore"} if main is None else main, tale)
    for child, metadata in (children or {}).items():
        chats[f"Mira/{child}"] = chat_bytes(metadata, conversation(2))
    written = {"Lore": [entry(1, "item-Lamp")], "Own": [entry(1, "item-Lamp")]} if books is None else books
    world = World(chats, {book: lorebook_bytes(entries) for book, entries in written.items()}, around)
    return RepairCase(
        code,
        world.timeline(f"Mira/{name}", **(members or {})),
        world.index,
        FIRST_MOMENT,
        parent=None if orphan else world.timeline("Mira/Tale"),
        children=tuple(world.timeline(f"Mira/{child}") for child in children or {}),
        parents_book=parents_book,
    )


def without_book(**changes: Any) -> Json:
    """Return the metadata of a fork that names no lorebook."""
    return {key: value for key, value in {**FORKED, **changes}.items() if key != "world_info"}


class TestMissingBook:
    def test_it_comes_back_from_the_trash(self) -> None:
        gone = {"do": "trash", "path": "worlds/Own.json", "item": "1/0-Own", "content": [[5, "aa"], [1, "bb"]]}
        done = Operation("1", "delete", "Mira/Fork", "", (gone,))

        made = plan_repair("from-trash", case(FORKED, books={}, operations=(done,), trash=frozenset({"1/0-Own"})))

        assert made == (RestoreFile("worlds/Own.json", "1/0-Own", ((5, "aa"), (1, "bb"))),)

    @pytest.mark.parametrize("repair", ["from-trash", "from-snapshot", "from-parent", "empty", "cancel-operations"])
    def test_a_chat_without_a_lorebook_gets_none(self, repair: str) -> None:
        said = [message("The end.", extra=scene(entries=snapshot([entry(1, "item-Lamp")], "Own")))]
        whole = BookCut(source="snapshot", data=b"{}")

        assert plan_repair(repair, case(without_book(), said=said, parents_book=whole)) == ()

    def test_it_is_made_of_the_last_snapshot_under_its_own_name(self) -> None:
        said = [message("The end.", extra=scene(entries=snapshot([entry(1, "item-Lamp", "It glows.")], "Elsewhere")))]

        (made,) = plan_repair("from-snapshot", case(FORKED, said=said, books={}))

        assert isinstance(made, CreateFile)
        (content,) = made.pieces
        assert isinstance(content, Bytes)
        entries = json.loads(content.data)["entries"].values()
        assert made.path == "worlds/Own.json"
        assert {each["content"] for each in entries} >= {"It glows."}
        assert "Elsewhere" not in content.data.decode()

    def test_without_a_snapshot_there_is_nothing_to_make_it_of(self) -> None:
        assert plan_repair("from-snapshot", case(FORKED, books={})) == ()

    def test_it_is_made_of_the_parents_book(self) -> None:
        cut = BookCut(source="snapshot", data=b"{}")

        assert plan_repair("from-parent", case(FORKED, books={}, parents_book=cut)) == (
            CreateFile("worlds/Own.json", (Bytes(b"{}"),)),
        )

    def test_that_it_is_the_parents_present_one_is_recorded(self) -> None:
        cut = BookCut(source="present", data=b"{}")

        assert plan_repair("from-parent", case(FORKED, books={}, parents_book=cut)) == (
            CreateFile("worlds/Own.json", (Bytes(b"{}"),)),
            edited(FORK, put(STATE, "lorebook_source", value="present")),
        )
        assert plan_repair("from-parent", case(LEGACY, books={}, parents_book=cut)) == (
            CreateFile("worlds/Own.json", (Bytes(b"{}"),)),
        )

    @pytest.mark.parametrize("cut", [None, BookCut(source="none", data=None)])
    def test_a_parent_without_a_book_has_none_to_give(self, cut: BookCut | None) -> None:
        assert plan_repair("from-parent", case(FORKED, books={}, parents_book=cut)) == ()

    def test_an_empty_one_is_made_now(self) -> None:
        assert plan_repair("empty", case(FORKED, books={})) == (
            CreateFile("worlds/Own.json", (Bytes(empty_book(FIRST_MOMENT)),)),
        )

    def test_the_chat_goes_on_without_one(self) -> None:
        detached = Drop(("chat_metadata", "world_info"))

        assert plan_repair("detach", case(FORKED, books={})) == (
            edited(FORK, detached, put(STATE, "cloned_lorebook_name", value=None)),
        )
        assert plan_repair("detach", case(LEGACY, books={})) == (edited(FORK, detached),)


class TestWrongBook:
    def test_the_recorded_one_is_attached_again(self) -> None:
        wrong = {**FORKED, "world_info": "Lore"}

        assert plan_repair("reattach", case(wrong)) == (edited(FORK, put("world_info", value="Own")),)
        assert plan_repair("reattach", case({**LEGACY, "world_info": "Lore"})) == ()

    def test_that_it_came_from_the_present_is_accepted(self) -> None:
        assert plan_repair("accept", case(FORKED, "LOREBOOK_FROM_PRESENT")) == (
            edited(FORK, put(STATE, "lorebook_accepted", value=True)),
        )

    def test_another_one_is_accepted_in_the_record_and_in_the_parents_map(self) -> None:
        main = {"world_info": "Lore", "auto_recap": {"checkpoint_lorebook_map": {"Fork": "Own", "Own": "Own"}}}
        other = {**FORKED, "world_info": "Other"}

        assert plan_repair("accept", case(other, "LOREBOOK_MISMATCH", main=main)) == (
            edited(FORK, put(STATE, "cloned_lorebook_name", value="Other")),
            edited(TALE, put(*MAP, "Fork", value="Other")),
        )

    @pytest.mark.parametrize("mapped", [{}, {"Fork": "Other"}, {"Sibling": "Own"}])
    def test_a_map_that_does_not_name_another_one_stays_as_it_is(self, mapped: Json) -> None:
        main = {"world_info": "Lore", "auto_recap": {"checkpoint_lorebook_map": mapped}}

        made = plan_repair("accept", case({**FORKED, "world_info": "Other"}, "LOREBOOK_MISMATCH", main=main))

        assert [change.path for change in made] == [FORK]

    def test_without_a_parent_there_is_no_map(self) -> None:
        made = plan_repair("accept", case({**FORKED, "world_info": "Other"}, "LOREBOOK_MISMATCH", orphan=True))

        assert [change.path for change in made] == [FORK]


VERSIONS = [recap_version(1, 1), recap_version(2, 3)]


def recapped(versions: Iterable[Json], current: int | None, **recorded: Any) -> Json:
    """Return the metadata of a fork with a running recap, and with what was recorded of it."""
    running = {RUNNING: {"chat_id": "Fork", "current_version": current, "versions": list(versions)}}
    return {**FORKED, **running, STATE: {**RECORD, **recorded}}


class TestRunningRecap:
    @pytest.mark.parametrize("recorded", [{}, {"running_recap_version": 1}, {"running_recap_version": None}])
    def test_the_latest_version_is_the_current_one(self, recorded: Json) -> None:
        assert plan_repair("use-latest", case(recapped(reversed(VERSIONS), 7, **recorded))) == (
            edited(FORK, put(RUNNING, "current_version", value=2)),
        )

    def test_a_recorded_version_that_is_gone_is_forgotten(self) -> None:
        assert plan_repair("use-latest", case(recapped(VERSIONS, 7, running_recap_version=5))) == (
            edited(FORK, put(RUNNING, "current_version", value=2), put(STATE, "running_recap_version", value=2)),
        )

    def test_without_a_record_the_latest_one_is_taken_as_well(self) -> None:
        metadata = {**LEGACY, **running_recap("Fork", VERSIONS, 7)}

        assert plan_repair("use-latest", case(metadata)) == (edited(FORK, put(RUNNING, "current_version", value=2)),)

    def test_of_no_version_none_is_the_latest(self) -> None:
        assert plan_repair("use-latest", case(recapped([], None))) == ()

    def test_a_recorded_version_is_put_back_whole(self) -> None:
        metadata = recapped(
            VERSIONS[:1],
            1,
            running_recap_version=2,
            running_recap_versions=["damaged", {"version": 1, "content": "first"}, VERSIONS[1]],
        )

        assert plan_repair("put-back", case(metadata)) == (
            edited(FORK, Append(("chat_metadata", RUNNING, "versions"), written(VERSIONS[1]))),
        )

    @pytest.mark.parametrize("versions", [None, "damaged", [], [VERSIONS[0]]])
    def test_else_it_is_made_of_what_was_recorded(self, versions: object) -> None:
        recorded = {
            "running_recap_version": 2,
            "running_recap_versions": versions,
            "running_recap_content": "So far.",
            "running_recap_scene_count": 4,
        }
        whole = {"version": 2, "content": "So far.", "scene_count": 4, "new_scene_index": 3}

        (made,) = plan_repair("put-back", case(recapped([recap_version(3, 3)], 3, **recorded), said=conversation(6)))

        assert isinstance(made, EditFile)
        (edit,) = made.edits
        assert edit.line == HEADER
        assert isinstance(edit.edit, Append)
        assert (edit.edit.path, json.loads(edit.edit.text)) == (("chat_metadata", RUNNING, "versions"), whole)

    def test_it_becomes_the_current_one_where_there_is_none(self) -> None:
        metadata = recapped([], None, running_recap_version=2, running_recap_versions=VERSIONS)

        assert plan_repair("put-back", case(metadata, said=conversation(6))) == (
            edited(
                FORK,
                Append(("chat_metadata", RUNNING, "versions"), written(VERSIONS[1])),
                put(RUNNING, "current_version", value=2),
            ),
        )

    def test_it_becomes_the_current_one_in_a_fork_that_nobody_touched(self) -> None:
        metadata = recapped(VERSIONS[:1], 1, running_recap_version=2, running_recap_content="So far.")

        (made,) = plan_repair("put-back", case(metadata))
        (gone_on,) = plan_repair("put-back", case(metadata, said=conversation(6)))

        assert isinstance(made, EditFile)
        assert isinstance(gone_on, EditFile)
        assert made.edits[1:] == (LineEdit(HEADER, put(RUNNING, "current_version", value=2)),)
        assert gone_on.edits[1:] == ()

    def test_a_recap_that_is_gone_altogether_is_made_anew(self) -> None:
        metadata = {**FORKED, STATE: {**RECORD, "running_recap_version": 2, "running_recap_versions": VERSIONS}}
        whole = {"chat_id": "Fork", "current_version": 2, "versions": [VERSIONS[1]]}

        assert plan_repair("put-back", case(metadata)) == (edited(FORK, put(RUNNING, value=whole)),)

    def test_the_recorded_version_is_the_current_one_again(self) -> None:
        assert plan_repair("set-back", case(recapped(VERSIONS, 1, running_recap_version=2))) == (
            edited(FORK, put(RUNNING, "current_version", value=2)),
        )

    def test_a_recap_of_another_chat_is_taken_over(self) -> None:
        assert plan_repair("take-over", case({**FORKED, **running_recap("Another", VERSIONS, 2)})) == (
            edited(FORK, put(RUNNING, "chat_id", value="Fork")),
        )


class TestInsideTheBook:
    def test_operations_on_messages_that_are_not_there_are_cancelled(self) -> None:
        waiting = [operation(1, params={"messageIndex": 2}), operation(2, params={"messageIndex": 99})]
        books = {"Own": [queue(waiting)]}

        (made,) = plan_repair("cancel-operations", case(FORKED, books=books))

        assert isinstance(made, EditFile)
        assert made.path == "worlds/Own.json"
        (edit,) = made.edits
        assert isinstance(edit.edit, Put)
        left = json.loads(json.loads(edit.edit.text))["queue"]
        assert [each["status"] for each in left] == ["pending", "cancelled"]

    @pytest.mark.parametrize("books", [{}, {"Own": []}, {"Own": [queue([operation(1)])]}])
    def test_where_none_is_stale_nothing_is_cancelled(self, books: dict[str, list[Json]]) -> None:
        assert plan_repair("cancel-operations", case(FORKED, books=books)) == ()

    def test_lines_of_entries_that_are_gone_go(self) -> None:
        lines = [registry_line(1, "Mira"), registry_line(7, "Nobody")]
        books = {"Own": [entry(1, "character-Mira", "She waits."), registry(2, "character", lines)]}

        (made,) = plan_repair("rebuild-lines", case(FORKED, books=books))

        assert isinstance(made, EditFile)
        assert (made.path, made.role) == ("worlds/Own.json", "repair")
        (edit,) = made.edits
        assert edit.line is None
        assert isinstance(edit.edit, Put)
        assert edit.edit.path == ("entries", "2", "content")
        assert "Mira" in edit.edit.text
        assert "Nobody" not in edit.edit.text

    @pytest.mark.parametrize("metadata", [FORKED, without_book()])
    def test_a_book_that_is_not_there_has_no_lines(self, metadata: Json) -> None:
        assert plan_repair("rebuild-lines", case(metadata, books={})) == ()

    def test_lines_that_are_right_stay(self) -> None:
        books = {
            "Own": [
                entry(1, "character-Mira", "She waits."),
                registry(2, "character", [registry_line(1, "character-Mira")]),
            ]
        }

        assert plan_repair("rebuild-lines", case(FORKED, books=books)) == ()


class TestMessages:
    def test_only_the_messages_of_the_last_scene_are_shown(self) -> None:
        said = [
            message("First.", is_system=True),
            message("It ends.", is_system=True, extra=scene("One")),
            message("Then.", is_system=True),
            message("It ends too.", is_system=True, extra=scene("Two")),
        ]

        (made,) = plan_repair("show-last-scene", case(FORKED, said=said))

        shown = Put(("is_system",), "false")
        assert made == EditFile(FORK, (LineEdit(2, shown), LineEdit(3, shown)), role="repair")

    def test_where_nothing_is_hidden_nothing_is_shown(self) -> None:
        assert plan_repair("show-last-scene", case(FORKED)) == ()

    def test_links_that_lead_nowhere_are_taken_out(self) -> None:
        said = [*conversation(4), message("Gone.", extra={"bookmark_link": "Nowhere"})]

        (made,) = plan_repair("remove-link", case(FORKED, said=said))

        assert isinstance(made, EditFile)
        assert (made.path, made.role) == (FORK, "repair")
        assert LineEdit(4, Drop(("extra", "bookmark_link"), '"Nowhere"')) in made.edits
        assert {edit.line for edit in made.edits} == {4}
        assert plan_repair("remove-link", case(FORKED)) == ()

    def test_entries_of_chats_that_are_gone_are_taken_out_of_the_map(self) -> None:
        metadata = {**FORKED, "auto_recap": {"checkpoint_lorebook_map": {"Tale": "Lore", "Nowhere": "X"}}}

        assert plan_repair("remove-entry", case(metadata)) == (edited(FORK, Drop(("chat_metadata", *MAP, "Nowhere"))),)
        assert plan_repair("remove-entry", case(FORKED)) == ()


class TestRelink:
    @pytest.mark.parametrize(
        "kind, link",
        [
            ("checkpoint", Put(("extra", "bookmark_link"), '"Fork"')),
            ("branch", Append(("extra", "branches"), '"Fork"')),
        ],
    )
    def test_the_parent_points_to_it_again(self, kind: str, link: Edit) -> None:
        metadata = {**FORKED, "forklore": {**IDENTITY, "kind": kind}}

        assert plan_repair("relink", case(metadata)) == (
            EditFile(TALE, (LineEdit(3, link), LineEdit(HEADER, put(*MAP, "Fork", value="Own"))), role="repair"),
        )

    def test_one_without_a_lorebook_is_not_in_the_map(self) -> None:
        assert plan_repair("relink", case(without_book())) == (
            edited(TALE, Put(("extra", "bookmark_link"), '"Fork"'), line=3),
        )

    def test_where_nobody_knows_the_message_nothing_points_to_it(self) -> None:
        assert plan_repair("relink", case(FORKED, orphan=True)) == ()
        assert plan_repair("relink", case(FORKED, tale=conversation(3))) == ()
        assert plan_repair("relink", case(LEGACY)) == ()


class TestParent:
    def test_a_fork_becomes_a_main_chat(self) -> None:
        parted = Drop(("chat_metadata", "main_chat"))

        assert plan_repair("make-main", case(FORKED, orphan=True)) == (
            edited(FORK, parted, put("forklore", "parent", value=None)),
        )
        assert plan_repair("make-main", case(LEGACY, orphan=True)) == (edited(FORK, parted),)

    def test_a_parent_that_was_renamed_is_followed(self) -> None:
        renamed = {"world_info": "Lore", "forklore": {"format": 1, "chat": "Old tale", "timeline": "1a2b"}}
        own = {**IDENTITY, "parent": "Old tale", "parent_timeline": "1a2b"}
        metadata = {**FORKED, "main_chat": "Old tale", "forklore": own}

        assert plan_repair("follow-rename", case(metadata, "PARENT_MISSING", main=renamed)) == (
            edited(FORK, put("main_chat", value="Tale"), put("forklore", "parent", value="Tale")),
        )

    def test_a_fork_that_sillytavern_made_of_it_follows_without_an_identity(self) -> None:
        renamed = {"world_info": "Lore", "forklore": {"format": 1, "chat": "Old tale", "timeline": "1a2b"}}
        metadata = {**LEGACY, "main_chat": "Old tale", "forklore": renamed["forklore"]}

        assert plan_repair("follow-rename", case(metadata, "PARENT_MISSING", main=renamed)) == (
            edited(FORK, put("main_chat", value="Tale")),
        )

    def test_a_parent_that_nobody_finds_is_not_followed(self) -> None:
        assert plan_repair("follow-rename", case({**FORKED, "main_chat": "Old tale"}, "PARENT_MISSING")) == ()


class TestRenamedBook:
    @pytest.fixture
    def main(self) -> Json:
        return {"world_info": "Lore", "auto_recap": {"checkpoint_lorebook_map": {"Fork": "Own"}}}

    def test_it_is_followed_in_the_chat_its_record_and_its_parents_map(self, main: Json) -> None:
        books: dict[str, list[Json]] = {"Lore": [], "New": []}

        assert plan_repair(
            "follow-rename", case(FORKED, "LOREBOOK_MISSING", main=main, books=books, told_book="New")
        ) == (
            edited(TALE, put(*MAP, "Fork", value="New")),
            edited(FORK, put("world_info", value="New"), put(STATE, "cloned_lorebook_name", value="New")),
        )

    def test_and_in_what_another_extension_remembers_of_it(self) -> None:
        metadata = {**LEGACY, "auto_lorebooks": {"lorebookName": "Own", "more": 1}}

        assert plan_repair("follow-rename", case(metadata, "LOREBOOK_MISSING", books={"New": []}, told_book="New")) == (
            edited(FORK, put("world_info", value="New"), put("auto_lorebooks", "lorebookName", value="New")),
        )

    @pytest.mark.parametrize("remembered", [None, "Own", {"lorebookName": "Another"}, {}])
    def test_which_stays_where_it_is_about_another_one(self, remembered: object) -> None:
        metadata = {**LEGACY, "auto_lorebooks": remembered}

        assert plan_repair("follow-rename", case(metadata, "LOREBOOK_MISSING", books={"New": []}, told_book="New")) == (
            edited(FORK, put("world_info", value="New")),
        )

    def test_a_book_that_nobody_finds_is_not_followed(self, main: Json) -> None:
        assert plan_repair("follow-rename", case(FORKED, "LOREBOOK_MISSING", main=main, books={})) == ()


class TestRenamedChat:
    def test_it_tells_itself(self) -> None:
        metadata = {**FORKED, **running_recap("Fork", VERSIONS, 2)}

        assert plan_repair("follow-rename", case(metadata, "CHAT_RENAMED", name="Twig", orphan=True)) == (
            edited(
                "chats/Mira/Twig.jsonl",
                put("forklore", "chat", value="Twig"),
                put(STATE, "chat_id", value="Twig"),
                put(RUNNING, "chat_id", value="Twig"),
            ),
        )

    def test_a_recap_of_another_chat_keeps_its_name(self) -> None:
        metadata = {**FORKED, **running_recap("Another", VERSIONS, 2)}

        (made,) = plan_repair("follow-rename", case(metadata, "CHAT_RENAMED", name="Twig", orphan=True))

        assert made == edited(
            "chats/Mira/Twig.jsonl", put("forklore", "chat", value="Twig"), put(STATE, "chat_id", value="Twig")
        )

    def test_only_a_finding_of_its_new_name_follows_it(self) -> None:
        assert plan_repair("follow-rename", case(FORKED, "LOREBOOK_MISSING", name="Twig")) == ()
        assert plan_repair("follow-rename", case(FORKED, "CHAT_RENAMED")) == ()

    def test_its_children_hear_of_it(self) -> None:
        own: Json = {"main_chat": "Fork", "forklore": {"format": 1, "chat": "Leaf", "parent": "Fork"}}
        children = {"Leaf": own, "Copy": {"main_chat": "Fork"}}

        made = plan_repair("follow-rename", case(FORKED, "CHAT_RENAMED", name="Twig", children=children, orphan=True))

        assert made[:2] == (
            edited("chats/Mira/Leaf.jsonl", put("main_chat", value="Twig"), put("forklore", "parent", value="Twig")),
            edited("chats/Mira/Copy.jsonl", put("main_chat", value="Twig")),
        )

    def test_its_parent_hears_of_it_in_links_swipes_and_map(self) -> None:
        new = '"Twig"'
        tale = [
            message("No link.", extra={"bookmark_link": "Sibling", "branches": ["Sibling"]}),
            message(
                "Both.",
                extra={"bookmark_link": "Fork", "branches": ["Sibling", "Fork"]},
                swipe_info=["damaged", {"extra": "damaged"}, {"extra": {"bookmark_link": "Fork"}}, {"extra": {}}],
            ),
            message("In a swipe.", extra={}, swipe_info=[{"extra": {"branches": ["Fork"]}}]),
            message("Damaged.", extra={"branches": "Fork"}, swipe_info={"0": {"extra": {"bookmark_link": "Fork"}}}),
        ]
        main = {"world_info": "Lore", "auto_recap": {"checkpoint_lorebook_map": {"Sibling": "X", "Fork": "Own"}}}

        (told, _own) = plan_repair("follow-rename", case(FORKED, "CHAT_RENAMED", name="Twig", tale=tale, main=main))

        assert told == EditFile(
            TALE,
            (
                LineEdit(1, Put(("extra", "bookmark_link"), new)),
                LineEdit(1, Put(("extra", "branches", 1), new)),
                LineEdit(1, Put(("swipe_info", 2, "extra", "bookmark_link"), new)),
                LineEdit(2, Put(("swipe_info", 0, "extra", "branches", 0), new)),
                LineEdit(HEADER, Drop(("chat_metadata", *MAP, "Fork"))),
                LineEdit(HEADER, put(*MAP, "Twig", value="Own")),
            ),
            role="repair",
        )

    def test_a_parent_that_never_named_it_stays_as_it_is(self) -> None:
        made = plan_repair("follow-rename", case(FORKED, "CHAT_RENAMED", name="Twig"))

        assert [change.path for change in made] == ["chats/Mira/Twig.jsonl"]
