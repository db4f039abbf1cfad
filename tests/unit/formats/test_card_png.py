import base64
import io
import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forklore.formats import card_png
from forklore.formats.card_png import CardUnreadable, card_lorebook

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CARD = {"name": "Mira", "data": {"extensions": {"world": "Mira Löre 界"}}}


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return SIGNATURE + header + pixels + b"".join(chunks) + chunk(b"IEND")


def text(keyword: bytes, value: bytes) -> bytes:
    return chunk(b"tEXt", keyword + b"\0" + value)


def card_chunk(keyword: bytes, card: Any) -> bytes:
    return text(keyword, base64.b64encode(json.dumps(card, ensure_ascii=False).encode()))


def read_card(png: bytes) -> Any:
    return card_png.read_card(io.BytesIO(png))


class TestReadCard:
    @pytest.mark.parametrize("keyword", [b"chara", b"ccv3", b"Chara"])
    def test_reads_either_chunk(self, keyword: bytes) -> None:
        assert read_card(png(card_chunk(keyword, CARD))) == CARD

    def test_the_newer_format_wins_wherever_it_stands(self) -> None:
        old, new = card_chunk(b"chara", {"v": 2}), card_chunk(b"ccv3", {"v": 3})

        assert read_card(png(old, new)) == {"v": 3}
        assert read_card(png(new, old)) == {"v": 3}

    def test_the_first_of_two_equal_chunks_wins(self) -> None:
        assert read_card(png(card_chunk(b"chara", {"v": 1}), card_chunk(b"chara", {"v": 2}))) == {"v": 1}

    def test_an_image_without_a_card_has_none(self) -> None:
        assert read_card(png()) is None
        assert read_card(png(text(b"Comment", b"chara"), chunk(b"tEXt", b"chara"))) is None

    def test_what_follows_the_end_of_the_image_is_not_read(self) -> None:
        assert read_card(png() + card_chunk(b"chara", CARD)) is None

    def test_a_wrong_checksum_does_not_matter(self) -> None:
        whole = card_chunk(b"chara", CARD)

        assert read_card(png(whole[:-4] + b"\0\0\0\0")) == CARD

    @pytest.mark.parametrize("data", [b"", b"\x89PNG", b"GIF89a", b'{"name":"Mira"}', b"\0" * 100])
    def test_other_files_are_unreadable(self, data: bytes) -> None:
        with pytest.raises(CardUnreadable, match="not a PNG"):
            read_card(data)

    @pytest.mark.parametrize(
        "value",
        [
            b"",
            b"A",
            b"%%%%",
            base64.b64encode(b"not json"),
            base64.b64encode(b"[" * 100_000),
            base64.b64encode(b"9" * 10_000),
            base64.b64encode(b"[]"),
            base64.b64encode(b'"text"'),
            base64.b64encode(b"\xff\xfe"),
        ],
    )
    def test_a_garbled_card_is_unreadable(self, value: bytes) -> None:
        with pytest.raises(CardUnreadable, match="The card in the image") as refused:
            read_card(png(text(b"chara", value)))
        assert refused.value.fact["params"]["case"] in ("garbled", "not_object")

    def test_base64_is_taken_as_loosely_as_sillytavern_takes_it(self) -> None:
        card = {"name": "?>?>~~~ÿÿ"}
        strict = base64.b64encode(json.dumps(card, ensure_ascii=False).encode())
        loose = strict.replace(b"+", b"-").replace(b"/", b"_").rstrip(b"=")

        assert loose != strict
        assert read_card(png(text(b"chara", loose[:8] + b"\r\n" + loose[8:]))) == card

    def test_bytes_that_are_not_utf8_are_replaced(self) -> None:
        value = base64.b64encode(b'{"name":"M\xffra"}')

        assert read_card(png(text(b"chara", value))) == {"name": "M\ufffdra"}

    def test_an_image_cut_anywhere_gives_its_card_or_is_unreadable(self) -> None:
        card = card_chunk(b"chara", CARD)
        whole = png(card, card_chunk(b"ccv3", CARD))
        begins = whole.index(card)

        for length in range(len(SIGNATURE), len(whole)):
            if length >= begins + len(card) - 4:
                assert read_card(whole[:length]) == CARD
            else:
                with pytest.raises(CardUnreadable, match="ends too early"):
                    read_card(whole[:length])

    @pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\0\0\1\0"])
    def test_a_length_beyond_the_file_is_not_followed(self, length: bytes) -> None:
        with pytest.raises(CardUnreadable, match=r"too large|too early"):
            read_card(SIGNATURE + length + b"tEXtchara\0e30=")

    def test_an_image_of_parts_without_end_is_unreadable(self) -> None:
        with pytest.raises(CardUnreadable, match="too many parts"):
            read_card(SIGNATURE + chunk(b"tIME", b"") * 100_001)

    @given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())))
    def test_every_card_comes_back(self, card: dict[str, Any]) -> None:
        assert read_card(png(card_chunk(b"ccv3", card))) == card

    @given(st.lists(st.binary() | st.builds(text, st.sampled_from([b"chara", b"ccv3"]), st.binary())))
    def test_any_bytes_give_a_card_none_or_unreadable(self, parts: list[bytes]) -> None:
        try:
            card = read_card(SIGNATURE + b"".join(parts))
        except CardUnreadable:
            return

        assert card is None or isinstance(card, dict)


class TestCardLorebook:
    def test_is_the_world_of_the_extensions(self) -> None:
        assert card_lorebook(CARD) == "Mira Löre 界"

    @pytest.mark.parametrize(
        "card",
        [
            {},
            {"data": None},
            {"data": []},
            {"data": {}},
            {"data": {"extensions": "world"}},
            {"data": {"extensions": {}}},
            {"data": {"extensions": {"world": ""}}},
            {"data": {"extensions": {"world": None}}},
            {"data": {"extensions": {"world": ["Mira Lore"]}}},
            {"extensions": {"world": "Mira Lore"}},
        ],
    )
    def test_a_card_without_one_names_none(self, card: dict[str, Any]) -> None:
        assert card_lorebook(card) is None
