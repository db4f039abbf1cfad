"""Any file, in any chunks: lines are found where they are."""

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from forklore.formats.chat_facts import HeaderFacts, count_messages, read_header
from forklore.formats.chat_jsonl import Chat, index_lines
from forklore.model.plan import HEADER
from forklore.testing.strategies import WildStory, headers, wild_stories

pieces = st.sampled_from([b"\n", b"\r", b" ", b"\t", b"{", b"}", b"x", b'"', b"\xef\xbb\xbf", b"{}", b"\0", b"\xff"])
files = st.lists(pieces, max_size=40).map(b"".join)
all_of_them = settings.default.max_examples if settings.default is not None else 100
some = settings(max_examples=all_of_them * 4 // 10)
cuts = st.lists(st.integers(0, 60), max_size=6)


def simply(data: bytes) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the spans of the lines and the odd ones, in the simplest way."""
    spans: list[tuple[int, int]] = []
    odd: list[int] = []
    at = 0
    for text in data.split(b"\n"):
        begins = text.lstrip(b" \t\r")
        if begins:
            if not begins.startswith((b"{", b"\xef\xbb\xbf{") if not spans else b"{"):
                odd.append(len(spans))
            spans.append((at, at + len(text)))
        at += len(text) + 1
    return spans, odd


@given(files, cuts)
def test_every_chunking_finds_the_lines(data: bytes, at: list[int]) -> None:
    places = sorted({0, len(data), *(place for place in at if place < len(data))})
    chunks = [data[start:end] for start, end in pairwise(places)]

    index = index_lines(chunks)

    spans, odd = simply(data)
    assert list(zip(index.starts, index.ends, strict=True)) == spans
    assert list(index.odd_lines) == odd
    assert index.size == len(data)
    assert Chat.from_bytes(data).lines == index


needles_in_files = st.sampled_from([b"x", b"{}", b'"', b"xx", b"}{", b"\xef\xbb\xbf{"])


@given(files, st.lists(needles_in_files, min_size=1, max_size=2, unique=True), st.data())
def test_searching_finds_the_messages_that_contain_a_needle(
    data: bytes, needles: list[bytes], draw: st.DataObject
) -> None:
    size = draw.draw(st.integers(1, 9), "bytes in a piece")
    foreseen = draw.draw(st.sets(st.sampled_from(needles)), "looked for while the lines are counted")

    def chunks(start: int, end: int) -> Iterator[bytes]:
        return (data[at : min(end, at + size)] for at in range(start, end, size))

    chat = Chat(lambda sought: index_lines(chunks(0, len(data)), sought), Chat.from_bytes(data).read, chunks)
    chat = chat.seeking(*foreseen)
    since, upto = draw.draw(st.integers(0, 3)), draw.draw(st.integers(-1, max(-1, chat.message_count - 1)))

    found = list(chat.messages_with(*needles, since=since, upto=upto))

    lines = {number: chat.line_bytes(number) for number in range(since, upto + 1)}
    assert found == [number for number, text in lines.items() if any(needle in text for needle in needles)]


@some
@given(wild_stories())
def test_a_story_is_its_lines_and_what_is_between_them(story: WildStory) -> None:
    chat = Chat.from_bytes(story.chat)

    joined, at = b"", 0
    for line in range(HEADER, chat.message_count):
        start, end = chat.span(line)
        assert not story.chat[at:start].strip()
        joined += story.chat[at:start] + chat.line_bytes(line)
        at = end
    assert joined + story.chat[at:] == story.chat


@some
@given(files | wild_stories().map(lambda story: story.chat))
def test_messages_are_counted_alike_quickly_and_slowly(data: bytes) -> None:
    assert count_messages(data) == Chat.from_bytes(data).message_count


@given(headers("Book") | headers(None))
def test_long_and_short_headers_say_the_same(header: str) -> None:
    short = header.encode()
    long = short.rstrip()[:-1] + b',"padding":"' + b"x" * 5000 + b'"}'

    assert read_header(long, "Tale") == read_header(short, "Tale") != HeaderFacts(damaged=True)
