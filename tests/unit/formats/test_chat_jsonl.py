import itertools

import pytest

from forklore.channels.survey import Survey
from forklore.formats.chat_jsonl import Chat, ChatDamaged, index_lines
from forklore.model.plan import HEADER
from forklore.testing.stories import chat_bytes, conversation, line, message

HEADER_LINE = b'{"chat_metadata":{"a":1},"user_name":"unused"}'


def chat(*lines: bytes, header: bytes = HEADER_LINE) -> Chat:
    return Chat.from_bytes(b"\n".join([header, *lines]))


class TestIndex:
    @pytest.mark.parametrize(
        "data, lines",
        [
            (b"", []),
            (b"\n\n", []),
            (b"{1}", [b"{1}"]),
            (b"{1}\n{2}", [b"{1}", b"{2}"]),
            (b"{1}\n{2}\n", [b"{1}", b"{2}"]),
            (b"{1}\r\n{2}\r\n", [b"{1}\r", b"{2}\r"]),
            (b"\n{1}\n \t\r\n{2}", [b"{1}", b"{2}"]),
            (b"\xef\xbb\xbf{1}\n  {2}", [b"\xef\xbb\xbf{1}", b"  {2}"]),
        ],
    )
    def test_blank_lines_do_not_count(self, data: bytes, lines: list[bytes]) -> None:
        index = index_lines([data])

        assert [data[start:end] for start, end in zip(index.starts, index.ends, strict=True)] == lines
        assert index.size == len(data)
        assert index.odd_lines == ()

    @pytest.mark.parametrize(
        "data, odd",
        [
            (b"{1}\nnot a message\n{2}", (1,)),
            (b"[]\n{1}\n42", (0, 2)),
            (b"{1}\n\xef\xbb\xbf{2}", (1,)),
            (b"{1}\n" + b" " * 3000 + b"x", (1,)),
        ],
    )
    def test_a_line_that_does_not_begin_like_an_object_is_odd(self, data: bytes, odd: tuple[int, ...]) -> None:
        assert index_lines([data]).odd_lines == odd

    def test_every_chunking_gives_the_same_index(self) -> None:
        data = b"\xef\xbb\xbf{1}\r\n\n  {2}\nodd\n\t\n{3}\n\n"
        whole = index_lines([data])

        for cuts in itertools.combinations(range(len(data) + 1), 2):
            chunks = [data[: cuts[0]], data[cuts[0] : cuts[1]], data[cuts[1] :]]
            assert index_lines(chunks) == whole
        assert index_lines(data[at : at + 1] for at in range(len(data))) == whole


class TestLines:
    def test_messages_are_numbered_from_nought(self) -> None:
        story = Chat.from_bytes(chat_bytes({"a": 1}, conversation(3)))

        assert story.metadata == {"a": 1}
        assert story.message_count == 3
        assert story.last == 2
        assert [story.message(number)["mes"] for number in range(3)] == ["Turn 0.", "Turn 1.", "Turn 2."]
        assert [story.has(number) for number in (-1, 0, 2, 3)] == [False, True, True, False]

    def test_a_line_comes_as_it_is_written(self) -> None:
        story = chat(b'{ "mes" : 1E5 }\r')

        assert story.line_bytes(0) == b'{ "mes" : 1E5 }\r'
        assert story.line_bytes(HEADER) == HEADER_LINE
        assert story.message(0) == {"mes": 100000.0}

    def test_a_chat_of_a_header_alone_has_no_last_message(self) -> None:
        assert chat().message_count == 0
        assert chat().last is None
        assert Chat.from_bytes(b"").last is None

    @pytest.mark.parametrize(
        "header, code",
        [
            (b"", "chat_empty"),
            (b"{", "header_not_json"),
            (b"[1]", "header_not_json"),
            (b'{"mes":"Hello"}', "header_missing"),
            (b'{"chat_metadata":[]}', "header_missing"),
        ],
    )
    def test_a_first_line_that_is_no_header_is_damage(self, header: bytes, code: str) -> None:
        with pytest.raises(ChatDamaged) as damaged:
            _ = Chat.from_bytes(header).metadata

        assert damaged.value.fact["code"] == code

    @pytest.mark.parametrize("broken", [b'{"mes":"', b"[]", b'{"mes":NaN}'])
    def test_a_broken_message_is_damage_that_says_where(self, broken: bytes) -> None:
        story = chat(line(message("Fine.")), broken)

        with pytest.raises(ChatDamaged, match="Message 1 is not valid JSON") as damaged:
            story.message(1)
        assert damaged.value.fact["code"] == "message_not_json"
        assert damaged.value.fact["params"]["message"] == 1


class TestSearching:
    def test_finds_each_message_once_and_in_order(self) -> None:
        story = chat(b'{"x":"needle needle"}', b'{"x":""}', b'{"needle":1}', b'{"needle":2}')

        assert list(story.messages_with(b"needle", upto=3)) == [0, 2, 3]
        assert list(story.messages_with(b"needle", upto=2)) == [0, 2]
        assert list(story.messages_with(b"needle", upto=-1)) == []

    def test_does_not_look_into_the_header(self) -> None:
        assert list(chat(b'{"x":1}').messages_with(b"chat_metadata", upto=0)) == []

    def test_a_needle_of_one_byte_is_found(self) -> None:
        assert list(chat(b"{1}", b"{2}").messages_with(b"2", upto=1)) == [1]


class TestHidden:
    @pytest.mark.parametrize(
        "text, hidden",
        [
            (b'{"is_system":true}', True),
            (b'{"is_system": true}', True),
            (b'{ "is_system"\t:  true }', True),
            (b'{"is_system":false}', False),
            (b"{}", False),
            (b'{"is_system":"true"}', False),
            (b'{"mes":"\\"is_system\\":true","is_system":false}', False),
            (b'{"extra":{"is_system":true}}', False),
            (b'{"is_system":true,"is_system":false}', False),
            (b'{"is_system":true', True),
        ],
    )
    def test_what_the_model_does_not_see_is_hidden(self, text: bytes, hidden: bool) -> None:
        assert chat(text).is_hidden(0) is hidden

    @pytest.mark.parametrize("torn", [b'{"is_system":false,"mes":"cut o', b'{"is_system":true,"mes":"cut o'])
    def test_a_line_that_cannot_be_read_shows_nothing(self, torn: bytes) -> None:
        assert not Survey(chat(b'{"is_system":true}', torn)).shows_something(upto=1)
        assert Survey(chat(b'{"is_system":false}', torn)).shows_something(upto=1)


@pytest.mark.parametrize("size, first", [(0, 3), (3, 3), (4, 2), (8, 1), (10_000, 0)])
def test_the_last_messages_are_found_by_their_size(size: int, first: int) -> None:
    assert chat(b"{1}", b"{2}", b"{3}", b"{4}").first_of_last(size) == first


def test_a_chat_without_messages_has_no_last_ones() -> None:
    assert chat().first_of_last(100) == 0
