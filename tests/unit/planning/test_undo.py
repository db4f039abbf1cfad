from collections.abc import Collection
from typing import Any

import pytest

from forklore.formats.chat_jsonl import Chat
from forklore.model.plan import HEADER, Append, Drop, EditFile, LineEdit, Plan, Put, RestoreFile, Take, TrashFile
from forklore.planning.undo import (
    UndoRefused,
    inverse_edits,
    inverse_link_edits,
    is_as_left,
    plan_undo,
    still_fits,
    taken_back,
)
from forklore.testing.stories import Json, chat_bytes, message, swiped

LINK = ("extra", "bookmark_link")
CREATED: list[Json] = [
    {"do": "create", "path": "worlds/B.json", "content": [[5, "aa"]]},
    {"do": "create", "path": "chats/M/F.jsonl", "content": [[7, "bb"], [1, "cc"]]},
    {"do": "edit", "path": "chats/M/P.jsonl", "role": "link", "inverse": [LineEdit(0, Drop(LINK, '"F"')).to_json()]},
]
TRASHED: list[Json] = [
    {"do": "trash", "path": "chats/M/F.jsonl", "item": "1/0-F", "content": [[7, "bb"]]},
    {"do": "trash", "path": "worlds/B.json", "item": "1/1-B", "content": [[5, "aa"]]},
]


def plan(changes: list[Json], missing: Collection[str] = ()) -> Plan:
    return plan_undo(
        "op",
        "M/F",
        changes,
        exists=lambda path: path not in missing,
        edits_of=inverse_edits,
        notes={"fork": "F"},
    )


class TestPlan:
    def test_the_chat_goes_before_its_book_and_the_link_last(self) -> None:
        made = plan(CREATED)

        assert made.changes == (
            TrashFile("chats/M/F.jsonl", ((7, "bb"), (1, "cc"))),
            TrashFile("worlds/B.json", ((5, "aa"),)),
            EditFile("chats/M/P.jsonl", (LineEdit(0, Drop(LINK, '"F"')),), role="link"),
        )
        assert (made.kind, made.commit, made.undoes, made.notes) == ("undo", 0, "op", {"fork": "F"})

    def test_the_book_comes_back_before_its_chat(self) -> None:
        made = plan(TRASHED)

        assert made.changes == (
            RestoreFile("worlds/B.json", "1/1-B", ((5, "aa"),)),
            RestoreFile("chats/M/F.jsonl", "1/0-F", ((7, "bb"),)),
        )
        assert made.commit == 1

    def test_what_somebody_removed_is_not_removed_again(self) -> None:
        made = plan(CREATED, {"worlds/B.json", "chats/M/P.jsonl"})

        assert [change.path for change in made.changes] == ["chats/M/F.jsonl"]

    def test_nothing_left_is_nothing_to_undo(self) -> None:
        with pytest.raises(UndoRefused, match="nothing left") as refused:
            plan(CREATED, {"worlds/B.json", "chats/M/F.jsonl", "chats/M/P.jsonl"})
        assert refused.value.params == {"case": "nothing_left"}


def chat(*messages: Any) -> Chat:
    return Chat.from_bytes(chat_bytes({}, messages))


def link_edits(
    inverse: LineEdit, story: Chat, *, history: dict[str, list[LineEdit]] | None = None, there: tuple[str, ...] = ()
) -> tuple[LineEdit, ...]:
    return inverse_link_edits(
        {"inverse": [inverse.to_json()]},
        story,
        "F",
        history={"F": [inverse], **(history or {})},
        sent={},
        still_there=there.__contains__,
    )


class TestLinks:
    def test_an_earlier_link_of_another_program_comes_back(self) -> None:
        inverse = LineEdit(0, Put(LINK, '"Theirs"', only_if='"F"'))

        assert link_edits(inverse, chat(message("a"))) == (inverse,)

    @pytest.mark.parametrize("there", [True, False])
    def test_an_earlier_checkpoint_of_ours_is_linked_while_it_is_there(self, there: bool) -> None:
        inverse = LineEdit(0, Put(LINK, '"A"', only_if='"F"'))
        history = {"A": [LineEdit(0, Put(LINK, '"Theirs"', only_if='"A"'))]}

        (made,) = link_edits(inverse, chat(message("a")), history=history, there=("A",) if there else ())

        assert made.edit == Put(LINK, '"A"' if there else '"Theirs"', only_if='"F"')

    def test_a_chain_of_undone_checkpoints_is_followed_to_its_end(self) -> None:
        inverse = LineEdit(0, Put(LINK, '"B"', only_if='"F"'))
        history = {
            "B": [LineEdit(0, Put(LINK, '"A"', only_if='"B"'))],
            "A": [LineEdit(0, Drop(LINK, only_if='"A"', prune=1))],
        }

        (made,) = link_edits(inverse, chat(message("a")), history=history)

        assert made.edit == Drop(LINK, only_if='"F"', prune=1)

    def test_a_chain_that_bites_its_tail_ends_without_a_link(self) -> None:
        inverse = LineEdit(0, Put(LINK, '"A"', only_if='"F"'))
        history = {"A": [LineEdit(0, Put(LINK, '"F"', only_if='"A"'))]}

        (made,) = link_edits(inverse, chat(message("a")), history=history)

        assert made.edit == Drop(LINK, only_if='"F"')

    def test_an_object_that_an_undone_fork_made_goes_with_the_last_thing_in_it(self) -> None:
        branches = ("extra", "branches")
        inverse = LineEdit(0, Take(branches, '"F"'))
        history = {"A": [LineEdit(0, Take(branches, '"A"', prune=2))]}

        (made, *_) = link_edits(inverse, chat(message("a")), history=history)

        assert made.edit == Take(branches, '"F"', prune=2)

    def test_an_object_of_another_line_is_none_of_its_business(self) -> None:
        inverse = LineEdit(HEADER, Drop(("chat_metadata", "auto_recap", "map", "F")))
        history = {"A": [LineEdit(0, Drop(("chat_metadata", "auto_recap", "map", "A"), prune=2))]}

        (made,) = link_edits(inverse, chat(message("a")), history=history)

        assert made.edit == inverse.edit

    def test_a_message_that_is_gone_is_not_edited(self) -> None:
        assert link_edits(LineEdit(7, Drop(LINK, only_if='"F"')), chat(message("a"))) == ()

    def test_moved_links_are_taken_out_where_they_are(self) -> None:
        swipes = swiped("One.", "Two.", extras=[{"bookmark_link": "F"}, {"branches": ["F"]}])

        made = link_edits(LineEdit(5, Append(("x",), "1")), chat(message("a"), swipes))

        assert [(edit.line, edit.edit) for edit in made] == [
            (1, Drop(LINK, only_if='"F"')),
            (1, Take(("extra", "branches"), '"F"')),
            (1, Drop(("swipe_info", 0, *LINK), only_if='"F"')),
            (1, Take(("swipe_info", 0, "extra", "branches"), '"F"')),
            (1, Drop(("swipe_info", 1, *LINK), only_if='"F"')),
            (1, Take(("swipe_info", 1, "extra", "branches"), '"F"')),
        ]


class TestTakingBack:
    def test_every_line_is_taken_back_wherever_it_stands(self) -> None:
        before = chat_bytes({}, [message("a", extra={}), message("b", extra={})])
        after = chat_bytes(
            {"long": "x" * 50}, [message("a", extra={"bookmark_link": "F"}), message("b", extra={"bookmark_link": "F"})]
        )
        inverse = [LineEdit(line, Drop(LINK)) for line in (0, 1)]

        assert taken_back(after, [LineEdit(HEADER, Drop(("chat_metadata", "long"))), *inverse]) == before


class TestFitting:
    STORY = chat(message("a", send_date="then", extra={"bookmark_link": "Theirs"}), message("b"))

    @pytest.mark.parametrize(
        "inverse, fits",
        [
            (LineEdit(0, Drop(LINK, '"F"')), True),
            (LineEdit(HEADER, Drop(("chat_metadata", "x"))), True),
            (LineEdit(7, Drop(LINK, '"F"')), False),  # the message is gone
            (LineEdit(None, Drop(LINK, '"F"')), False),
            (LineEdit(0, Put(LINK, '"A"')), False),  # something else has taken its place
            (LineEdit(1, Put(LINK, '"A"')), True),
            (LineEdit(0, Put(LINK, '"A"', only_if='"F"')), True),
        ],
    )
    def test_a_link_is_given_back_to_a_message_that_has_room_for_it(self, inverse: LineEdit, fits: bool) -> None:
        assert still_fits(inverse, self.STORY, {}) is fits

    @pytest.mark.parametrize("sent, fits", [({"0": "then"}, True), ({"0": "later"}, False), ({"1": "later"}, True)])
    def test_another_message_in_its_place_gets_none(self, sent: dict[str, str], fits: bool) -> None:
        assert still_fits(LineEdit(0, Drop(LINK, '"F"')), self.STORY, sent) is fits

    def test_a_message_that_cannot_be_read_gets_none(self) -> None:
        damaged = Chat.from_bytes(chat_bytes({}, []) + b"\n{garbled")

        assert still_fits(LineEdit(0, Put(LINK, '"A"')), damaged, {}) is False
        assert still_fits(LineEdit(0, Drop(LINK)), damaged, {"0": "then"}) is False


class TestIsolated:
    BOOK = ("chat_metadata", "world_info")

    @pytest.mark.parametrize(
        "edit, is_so",
        [
            (LineEdit(HEADER, Put(BOOK, '"Lore"', only_if='"Own"')), True),
            (LineEdit(HEADER, Put(BOOK, '"Lore"', only_if='"Other"')), False),
            (LineEdit(HEADER, Drop(BOOK, only_if='"Own"')), True),
            (LineEdit(HEADER, Put(BOOK, '"Lore"')), False),
            (LineEdit(HEADER, Put(("chat_metadata", "integrity"), '"a"')), True),
            (LineEdit(HEADER, Put(("chat_metadata", "integrity"), '"a"', only_if='"b"')), False),
            (LineEdit(HEADER, Put(("chat_metadata", "main_chat"), '"a"', only_if='"b"')), True),
            (LineEdit(0, Put(BOOK, '"Lore"', only_if='"Other"')), True),
            (LineEdit(HEADER, Take(BOOK, '"x"')), False),
        ],
    )
    def test_it_is_as_it_was_left_while_what_makes_it_isolated_is_the_same(self, edit: LineEdit, is_so: bool) -> None:
        assert is_as_left([edit], '{"chat_metadata": {"world_info": "Own"}}') is is_so
