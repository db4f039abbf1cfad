import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.formats import lorebook_json
from forklore.formats.lorebook_json import (
    EntryOutline,
    Lorebook,
    LorebookUnreadable,
    parse_lorebook,
    read_lorebook,
    retitled,
)
from forklore.testing.stories import Json, entry, lorebook_bytes, pretty, queue, registry

LONG = 1 << 20


def outline(book: Lorebook) -> list[tuple[Any, ...]]:
    return [(each.key, each.uid, each.comment, each.content) for each in book.outline]


class TestOutline:
    @pytest.mark.req(37, 43)
    def test_tells_every_entry_but_the_content_only_of_internal_ones(self) -> None:
        data = lorebook_bytes([entry(3, "character-Mira", "a cook"), registry(0, "character"), queue(uid=9)])

        book = parse_lorebook("Book", data)

        assert outline(book) == [
            ("3", 3, "character-Mira", None),
            ("0", 0, "_registry_character", "[Registry: character]"),
            ("9", 9, "__operation_queue", queue()["content"]),
        ]
        assert book.outline.by_uid == {3: "character-Mira", 0: "_registry_character", 9: "__operation_queue"}
        assert [each.uid for each in book.outline.queue_entries] == [9]
        assert [each.uid for each in book.outline.registry_entries] == [0]

    def test_entries_are_found_by_uid_and_comment_without_the_queue(self) -> None:
        unnamed = {**entry(5, "", "a rumour"), "comment": "(unnamed)"}
        book = parse_lorebook("Book", lorebook_bytes([entry(3, "Mira", "a cook"), unnamed, queue(uid=9)]))

        assert {key: place for key, (place, _) in book.live_entries.items()} == {(3, "Mira"): "3", (5, ""): "5"}
        assert book.live_entries[3, "Mira"][1]["content"] == "a cook"

    @pytest.mark.req(43)
    def test_empty_slots_and_odd_values_are_of_no_interest(self) -> None:
        entries: Json = {"0": None, "1": "text", "2": {"uid": "2", "comment": None}, "3": {"uid": True}, "x": {}}

        book = parse_lorebook("Book", pretty({"entries": entries}))

        assert list(book.outline) == [EntryOutline(key, None, "", None) for key in ("2", "3", "x")]
        assert book.entries == entries

    @pytest.mark.parametrize(
        "data, code",
        [
            (b"", "not_json"),
            (b'{"entries":{}', "not_json"),
            (b"[]", "not_json"),
            (b"{}", "no_entries"),
            (b'{"entries":[]}', "no_entries"),
            (b'{"entries":null}', "no_entries"),
            (b'{"entries":{}} and more', "not_json"),
        ],
    )
    @pytest.mark.req(44)
    def test_what_is_no_book_is_unreadable(self, data: bytes, code: str) -> None:
        with pytest.raises(LorebookUnreadable) as refused:
            parse_lorebook("Book", data)

        assert refused.value.fact["code"] == code


BOOKS = {
    "usual": [entry(0, "a", "b"), registry(1, "item"), queue()],
    "half emoji": [entry(0, "\ud83d", "b"), entry(1, "_x", "\ude00")],
    "big numbers": [entry(123456789012345678901234567890, "a", order=10**40, depth=1.0)],
    "whole number as a fraction": [entry(0, "a") | {"uid": 1.0}],
    "truth as a number": [entry(0, "a") | {"uid": True}],
    "text as a number": [entry(0, "a") | {"uid": "0"}],
    "null comment": [entry(0, "a") | {"comment": None, "content": None}],
    "number as a comment": [entry(0, "a") | {"comment": 5}],
    "internal without text": [entry(0, "_x") | {"content": None}, entry(1, "_y") | {"content": ["z"]}],
    "without anything": [{"uid": 7}],
}


class TestBigBooks:
    """A book of a megabyte and more is read by the faster reader, where there is one."""

    @pytest.mark.parametrize("name", BOOKS)
    @pytest.mark.parametrize("title", [None, "Title", 5])
    def test_big_and_small_books_are_read_alike(self, name: str, title: Any) -> None:
        small = lorebook_bytes(BOOKS[name], name=title)
        big = lorebook_bytes(BOOKS[name], name=title, padding="x" * LONG)

        assert parse_lorebook("Book", big).outline == parse_lorebook("Book", small).outline
        assert parse_lorebook("Book", big).title == parse_lorebook("Book", small).title

    @pytest.mark.parametrize("name", BOOKS)
    def test_without_the_faster_reader_nothing_changes(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        big = lorebook_bytes(BOOKS[name], padding="x" * LONG)
        with_it = parse_lorebook("Book", big)
        monkeypatch.setitem(sys.modules, "msgspec", None)

        assert parse_lorebook("Book", big) == with_it

    @pytest.mark.parametrize(
        "slot", [b"null", b'"text"', b"5", b"[]", b'{"uid":0,"uid":2,"comment":"a","comment":"_b"}']
    )
    def test_odd_slots_are_read_alike(self, slot: bytes) -> None:
        small = b'{"entries":{"0":' + slot + b',"0":' + slot + b"}}"
        big = small[:-1] + b',"padding":"' + b"x" * LONG + b'"}'

        assert parse_lorebook("Book", big).outline == parse_lorebook("Book", small).outline

    @pytest.mark.parametrize(
        "broken",
        [
            b'"\\q"',
            b'"\n"',
            b"01",
            b"tru",
            b"[1,]",
            b"{a:1}",
            b"NaN",
            b'"unfinished',
            b"[" * 100_000 + b"]" * 100_000,
        ],
    )
    def test_what_is_broken_is_unreadable_however_big(self, broken: bytes) -> None:
        small = b'{"entries":{"0":{"uid":0,"extensions":' + broken + b"}}}"
        big = small[:-1] + b',"padding":"' + b"x" * LONG + b'"}'

        for data in (small, big):
            with pytest.raises(LorebookUnreadable):
                parse_lorebook("Book", data)


def read_in_chunks(data: bytes, size: int) -> tuple[Lorebook, list[str]]:
    """Return a book that is read in chunks of *size*, and a word for each time that it was read as a whole."""
    whole: list[str] = []

    def read() -> bytes:
        whole.append("read")
        return data

    def chunks() -> list[bytes]:
        return [data[at : at + size] for at in range(0, len(data), size)]

    return read_lorebook("Book", len(data), read=read, chunks=chunks), whole


def same_or_unreadable(data: bytes, size: int) -> None:
    try:
        expected = parse_lorebook("Book", data)
    except LorebookUnreadable as error:
        with pytest.raises(LorebookUnreadable, match=re.escape(str(error))):
            read_in_chunks(data, size)
    else:
        book = read_in_chunks(data, size)[0]
        assert (book, book.data) == (expected, data)


class TestInChunks:
    """A huge book that is laid out as SillyTavern does it is outlined while it is read."""

    @pytest.fixture(autouse=True)
    def every_book_is_huge(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lorebook_json, "_HUGE", 0)

    def test_a_book_that_is_not_huge_is_read_as_a_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lorebook_json, "_HUGE", 1 << 30)

        assert read_in_chunks(lorebook_bytes([entry(0, "a")]), 4096)[1] == ["read"]

    def test_it_is_not_read_as_a_whole_until_somebody_wants_its_bytes(self) -> None:
        prose = 'He said "so",\n        },\n        "and went.\n    }\n}' + "x" * 5000
        entries = [entry(uid, f"character-{uid}", prose) for uid in range(300)]
        data = lorebook_bytes([*entries, registry(301, "character"), queue()])

        book, whole = read_in_chunks(data, 64 << 10)

        assert book == parse_lorebook("Book", data)
        assert whole == []
        assert book.data == data
        assert whole == ["read"]

    @pytest.mark.parametrize("name", BOOKS)
    @pytest.mark.parametrize("size", [7, 4096, 300_000])
    def test_whatever_its_entries_are_it_is_read_alike(self, name: str, size: int) -> None:
        same_or_unreadable(lorebook_bytes([*BOOKS[name], *[entry(u, "a", "x" * 9000) for u in range(50, 200)]]), size)

    def test_an_entry_larger_than_most_books_is_read_alike(self) -> None:
        same_or_unreadable(lorebook_bytes([entry(0, "a", "x" * (3 << 20)), entry(1, "b")]), 256 << 10)

    @pytest.mark.parametrize(
        "first, last", [({"uid": 0}, None), (None, {"uid": 0}), (queue(), None), ({"uid": 0},) * 2]
    )
    def test_a_key_that_stands_twice_is_read_alike(self, first: Any, last: Any) -> None:
        members = [("9", first), ("1", entry(1, "a", "x" * 500)), ("2", entry(2, "b", "y" * 500)), ("9", last)]
        entries = b",\n".join(
            b'        "' + key.encode() + b'": ' + pretty(slot).replace(b"\n", b"\n        ") for key, slot in members
        )

        for size in (100, 700, 5000):
            same_or_unreadable(b'{\n    "entries": {\n' + entries + b"\n    }\n}", size)

    @given(
        st.lists(
            st.sampled_from(
                [
                    b'{\n    "entries": {\n        "0": {"uid": 0',
                    b'"1": {\n            "uid": 1',
                    b'"entries": {"7": {"uid": 7}}',
                    b'\n        },\n        "',
                    b"\n        }",
                    b"\n    }\n}",
                    b',\n        "',
                    b'2": {"uid": 2, "comment": "_registry_item", "content": "[x]"}',
                    b'2": null',
                    b'"name": "Title"',
                    b"{",
                    b"}",
                    b",",
                    b" ",
                ]
            ),
            max_size=9,
        ),
        st.integers(1, 80),
    )
    def test_what_only_looks_as_usual_is_read_alike(self, parts: list[bytes], size: int) -> None:
        for data in (b"".join(parts), b'{\n    "entries": {\n        "0": {' + b"".join(parts) + b"\n    }\n}"):
            same_or_unreadable(data, size)


class TestTitle:
    @pytest.mark.req(41)
    def test_the_title_becomes_the_clones_name_and_nothing_else_changes(self) -> None:
        data = b'{ "name" : "Old", "entries":{ "0":{"uid":0,"order":1E2} }, "extensions":{"a":1} }'

        clone = retitled(parse_lorebook("Old", data), 'New "one"')

        assert clone == data.replace(b'"Old"', b'"New \\"one\\""')

    @pytest.mark.parametrize("title", [b"", b'"name":null,', b'"name":5,'])
    def test_a_book_without_a_title_stays_as_it_is(self, title: bytes) -> None:
        data = b"{" + title + b'"entries":{}}'

        assert retitled(parse_lorebook("Old", data), "New") == data

    def test_half_an_emoji_survives_in_a_retitled_book(self) -> None:
        data = b'{"name":"x","entries":{"0":{"uid":0,"content":"\\ud83d"}}}'

        clone = retitled(parse_lorebook("Old", data), "half \ud83d")

        assert json.loads(clone) == {"name": "half \ud83d", "entries": {"0": {"uid": 0, "content": "\ud83d"}}}
        assert b'"content":"\\ud83d"' in clone
