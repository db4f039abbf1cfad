"""What each rule makes of a value, and what rows make of a chat."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forklore.adapters.engine import cut_entries, cut_messages, cut_metadata, looks_after, settings_steps
from forklore.adapters.fork import Fork
from forklore.adapters.row import ENTRY, GONE, MESSAGE, METADATA, SETTINGS, Adapter, Row, Rule
from forklore.adapters.rules import (
    Clamp,
    CloneBook,
    CopyTo,
    DropBeyond,
    FreshId,
    Keep,
    LeaveOut,
    NullBeyond,
    RePoint,
    Show,
    Unhide,
    WhenGone,
    Write,
)
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import encode
from forklore.formats.lorebook_json import parse_lorebook
from forklore.model.plan import Put
from forklore.testing.cuts import metadata_after, parent, point
from forklore.testing.stories import Json, conversation, entry, lorebook_bytes, message

AT = 2


def fork(metadata: Json | None = None, *messages: Json, at: int | None = AT, **members: Any) -> Fork:
    """Return a fork at message 2 of five, whose lorebook "Lore" has a clone."""
    origin = parent(metadata or {}, messages or conversation(5), [])
    where = point(origin, at, kind=members.pop("kind", "checkpoint"))
    return Fork(where, origin.chat, origin.metadata, **{"books": {"Lore": "Clone"}, **members})


def after(metadata: Json, *rows: Row, **members: Any) -> Json:
    """Return metadata as the rows of one extension leave it."""
    origin = parent(metadata, conversation(5))
    cut = cut_metadata(fork(metadata, **members), [Adapter("Name", "1", rows)])
    return metadata_after(origin, cut)


@pytest.mark.parametrize(
    "rule, before, expected",
    [
        (CloneBook("own"), "Lore", "Clone"),
        (CloneBook("own"), "Other", "Other"),
        (CloneBook("own"), None, None),
        (CloneBook("own"), ["Lore"], ["Lore"]),
        (RePoint(), "Lore", "Clone"),
        (RePoint(), "Tale", "Tale"),
        (RePoint("chat"), "Tale", "Fork"),
        (RePoint("chat"), "Lore", "Lore"),
        (Write({"of": "{chat}", "n": 1, "in": ["{chat}"]}), "old", {"of": "Fork", "n": 1, "in": ["Fork"]}),
        (Keep(), 9, 9),
        (Clamp(), 9, AT),
        (Clamp(), 1, 1),
        (Clamp(), -1, -1),
        (Clamp(), "9", "9"),
        (Clamp(), True, True),
        (NullBeyond(), 3, None),
        (NullBeyond(), AT, AT),
        (NullBeyond(), None, None),
        (LeaveOut(), "now", GONE),
        (Show(), True, GONE),
        (Show(), False, False),
        (DropBeyond(), 3, GONE),
        (DropBeyond(), AT, AT),
        (DropBeyond(), "3", "3"),
        (WhenGone({}), 5, 5),
        (CopyTo(), 5, 5),
    ],
)
def test_a_rule_makes_of_a_value(rule: Rule, before: Any, expected: Any) -> None:
    assert rule(before, fork()) == expected


@pytest.mark.parametrize("kept, expected", [((1, 0), 1), ((), GONE), (("text",), GONE), ((7,), 5)])
def test_a_pointer_goes_back_to_the_last_entry_that_stays(kept: tuple[Any, ...], expected: Any) -> None:
    assert Clamp(to="kept:end")(5, fork(kept={"end": kept})) == expected


def test_an_id_is_fresh_and_the_same_whenever_it_is_asked_for() -> None:
    rule = FreshId("own_{uuid}")

    assert rule("old", fork()) == rule(None, fork())
    assert str(rule("old", fork())).startswith("own_")
    assert rule("old", fork()) != FreshId("other_{uuid}")("old", fork())


def test_ids_are_those_of_messages_that_the_fork_has() -> None:
    said = [message(f'"id": "{number}x"', id=f"m{number}", nested={"id": 5}) for number in range(5)]

    assert fork({}, *said).ids("id") == {"m0", "m1", "m2"}


class TestMetadata:
    def test_every_item_that_goes_goes_and_the_others_change_where_they_are(self) -> None:
        items = [{"end": end, "book": "Lore"} for end in (3, 1, 4, 4, 2)]
        rows = (Row(METADATA, "a[].end", past=DropBeyond()), Row(METADATA, "a[].book", always=RePoint()))

        left = after({"a": items}, *rows)

        assert left == {"a": [{"end": 1, "book": "Clone"}, {"end": 2, "book": "Clone"}]}

    def test_two_rows_may_drop_the_same_item(self) -> None:
        rows = tuple(Row(METADATA, f"a[].{name}", past=DropBeyond()) for name in ("end", "start"))

        left = after({"a": [{"start": 3, "end": 4}, {"start": 0, "end": 1}, {"start": 1, "end": 3}]}, *rows)

        assert left == {"a": [{"start": 0, "end": 1}]}

    def test_a_member_of_an_object_goes_as_a_whole(self) -> None:
        row = Row(METADATA, "a{}.end", past=DropBeyond())

        assert after({"a": {"x": {"end": 9, "n": 1}, "y": {"end": 0}}}, row) == {"a": {"y": {"end": 0}}}

    @pytest.mark.parametrize(
        "kind, metadata, expected",
        [
            ("branch", {"a": {}}, {"a": {"copied": "Fork"}}),
            ("branch", {"a": {"copied": "Tale"}}, {"a": {"copied": "Fork"}}),
            ("checkpoint", {"a": {}}, {"a": {}}),
            ("checkpoint", {"a": {"copied": "Tale"}}, {"a": {"copied": "Fork"}}),
            ("branch", {}, {}),
            ("branch", {"a": "text"}, {"a": "text"}),
        ],
    )
    def test_what_is_missing_is_written_where_the_extension_is_at_work(
        self, kind: str, metadata: Json, expected: Json
    ) -> None:
        row = Row(METADATA, "a.copied", always=Write("{chat}", makes_in="branch"))

        assert after(metadata, row, kind=kind) == expected

    def test_what_no_rule_cuts_is_named_in_the_past_alone(self) -> None:
        adapters = [Adapter("Name", "1", (Row(METADATA, "a"), Row(METADATA, "b", past=LeaveOut())))]
        metadata = {"a": 1, "b": 2}

        past, head = cut_metadata(fork(metadata), adapters), cut_metadata(fork(metadata, at=None), adapters)

        assert (past.carried, past.left_out) == (("a",), ("b",))
        assert (head.carried, head.left_out, head.edits) == ((), (), ())

    @pytest.mark.parametrize(
        "path, key, known",
        [("a", "a", True), ("a[]", "a", True), ("a.b", "a", False), ("a[].b", "a", True), ("a_*", "a_b", True)],
    )
    def test_a_key_is_looked_after_when_a_row_speaks_of_all_of_it(self, path: str, key: str, known: bool) -> None:
        assert looks_after(key, [Adapter("Name", "1", (Row(METADATA, path),))]) is known


class TestEntries:
    ADAPTER = Adapter(
        "Name",
        "1",
        (
            Row(ENTRY, "end", when="ours", past=DropBeyond(then=Unhide("start", "end"))),
            Row(ENTRY, "by", past=WhenGone({"disable": False})),
            Row(ENTRY, "chat", always=RePoint("chat")),
        ),
        in_entries=b'"end"',
    )

    def cut(self, *entries: Json, at: int | None = AT) -> tuple[Json, Any]:
        book = parse_lorebook("Lore", lorebook_bytes(entries))
        made = cut_entries(book, fork(at=at), [self.ADAPTER])
        text = apply_edits(book.data.decode(), made.edits).text
        return dict(parse_lorebook("Lore", text.encode()).entries), made

    def test_what_covers_later_messages_goes_and_tells_what_it_covered(self) -> None:
        left, made = self.cut(
            entry(1, ours=True, start=0, end=1),
            entry(2, ours=True, start=2, end=4),
            entry(3, end=4),
        )

        assert set(left) == {"1", "3"}
        assert (made.gone, made.unhidden, made.kept["end"]) == ((2,), ((2, 4),), (1,))

    def test_what_a_later_entry_had_put_aside_is_there_again(self) -> None:
        later = entry(2, ours=True, start=0, end=4)

        left, _ = self.cut(later, entry(1, by="2", disable=True), entry(3, by="9", disable=True))

        assert (left["1"]["disable"], "by" in left["1"]) == (False, False)
        assert (left["3"]["disable"], left["3"]["by"]) == (True, "9")

    def test_at_the_head_only_names_change(self) -> None:
        known = entry(1, ours=True, start=0, end=4, chat="Tale")

        left, made = self.cut(known, at=None)

        assert left == {"1": {**known, "chat": "Fork"}}
        assert made.gone == ()

    def test_a_book_without_the_sign_is_not_even_looked_through(self) -> None:
        assert self.cut(entry(1, chat="Tale"))[1].edits == ()


class TestMessages:
    ADAPTER = Adapter(
        "Name",
        "1",
        (
            Row(MESSAGE, "extra.note.book", always=RePoint()),
            Row(MESSAGE, "extra.note.parts[].end", past=DropBeyond()),
            Row(MESSAGE, "extra.note.hidden", past=Show()),
        ),
        in_messages=b'"note"',
    )

    def test_only_messages_of_the_fork_change_and_swipes_as_well(self) -> None:
        extra = {"note": {"book": "Lore", "parts": [{"end": 4}, {"end": 3}, {"end": 0}], "hidden": True}}
        said = [message("Hello.", extra=extra, swipe_info=[{"extra": extra}]) for _ in range(5)]

        made = cut_messages(fork({}, *said), [self.ADAPTER])

        assert made.edits.keys() == made.shown == {0, 1, 2}
        left = json.loads(apply_edits(encode(said[0]), made.edits[0]).text)
        assert left["extra"] == left["swipe_info"][0]["extra"] == {"note": {"book": "Clone", "parts": [{"end": 0}]}}

    def test_a_name_changes_only_while_it_stands_there(self) -> None:
        said = [message("Hello.", extra={"note": {"book": "Lore"}}), *conversation(4)]

        (edit,) = cut_messages(fork({}, *said), [self.ADAPTER]).edits[0]

        assert edit == Put(("extra", "note", "book"), '"Clone"', only_if='"Lore"')


def test_settings_are_copied_for_every_name_and_told_which_entries_are_gone() -> None:
    rows = (
        Row(SETTINGS, "one.trees[{lorebook}]", always=CopyTo({"name": "{clone}"}, "uids")),
        Row(SETTINGS, "two[{chat}]", always=CopyTo()),
        Row(SETTINGS, "three[{persona}]", always=CopyTo()),
    )

    steps = settings_steps(
        [Adapter("Name", "1", rows)], {"lorebook": {"Lore": "Clone"}, "chat": {"Tale": "Fork"}}, {"Clone": [5]}
    )

    assert steps == [
        {
            "path": ["one", "trees"],
            "old": "Lore",
            "new": "Clone",
            "put": {"name": "Clone"},
            "lists": "uids",
            "uids": [5],
        },
        {"path": ["two"], "old": "Tale", "new": "Fork", "put": {}, "lists": "", "uids": []},
    ]
