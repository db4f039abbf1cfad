"""The character card inside a PNG image."""

import binascii
import json
import struct
from collections.abc import Iterator
from io import SEEK_CUR
from typing import Any, BinaryIO

from forklore.model.fact import Cause

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK_HEAD = struct.Struct(">I4s")
_CHECKSUM_BYTES = 4
_MOST_CHUNKS, _LARGEST_TEXT = 100_000, 64 << 20
_END = b"\0"  # no keyword holds it
_KEYWORDS_BY_RANK = (b"ccv3", b"chara")
_URL_SAFE_TO_PLAIN = bytes.maketrans(b"-_", b"+/")


class CardUnreadable(Cause):
    """The bytes are not a PNG image, or the card in it is garbled."""


def read_card(file: BinaryIO) -> dict[str, Any] | None:
    """Return the card of a character image as SillyTavern would read it, or None when there is none.

    Only the texts are read, since the picture is most of it. What is not PNG, an image that ends before a card was
    found, and a card that is not base64 of a JSON object are CardUnreadable.
    """
    if file.read(len(_SIGNATURE)) != _SIGNATURE:
        raise CardUnreadable("card_unreadable", case="no_png")
    texts: dict[bytes, bytes] = {}
    is_whole = False
    for keyword, text in _texts(file):
        is_whole = keyword == _END
        texts.setdefault(keyword.lower(), text)
    for keyword in _KEYWORDS_BY_RANK:
        if keyword in texts:
            return _parse_card(texts[keyword])
    if not is_whole:
        raise CardUnreadable("card_unreadable", case="cut_off")
    return None


def card_lorebook(card: dict[str, Any]) -> str | None:
    """Return the lorebook the card names as its own, or None."""
    value: Any = card
    for key in ("data", "extensions", "world"):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value if isinstance(value, str) and value else None


def _texts(file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Yield each text of the image by its keyword, and the end of the image as one without a keyword."""
    for _ in range(_MOST_CHUNKS):
        head = file.read(_CHUNK_HEAD.size)
        if len(head) < _CHUNK_HEAD.size:
            return
        length, kind = _CHUNK_HEAD.unpack(head)
        if kind == b"IEND":
            yield _END, b""
            return
        if kind != b"tEXt":
            file.seek(length + _CHECKSUM_BYTES, SEEK_CUR)
            continue
        if length > _LARGEST_TEXT:
            raise CardUnreadable("card_unreadable", case="too_large")
        keyword, separator, text = (data := file.read(length)).partition(b"\0")
        if len(data) < length:
            return
        if separator:
            yield keyword, text
        file.seek(_CHECKSUM_BYTES, SEEK_CUR)
    raise CardUnreadable("card_unreadable", case="too_many_parts")


def _parse_card(text: bytes) -> dict[str, Any]:
    try:
        # Undecodable bytes are replaced, because SillyTavern opens such a card as well.
        card = json.loads(_decode_base64(text).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise CardUnreadable("card_unreadable", case="garbled") from error
    if not isinstance(card, dict):
        raise CardUnreadable("card_unreadable", case="not_object")
    return card


def _decode_base64(text: bytes) -> bytes:
    # Line breaks, the URL-safe alphabet and missing padding are taken as SillyTavern takes them.
    digits = b"".join(text.split()).rstrip(b"=").translate(_URL_SAFE_TO_PLAIN)
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4), strict_mode=True)
