"""The character card inside a PNG image."""

import binascii
import json
import struct
from collections.abc import Iterator
from typing import Any

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK_HEAD = struct.Struct(">I4s")
_CHECKSUM_BYTES = 4
_KEYWORDS_BY_RANK = (b"ccv3", b"chara")
_URL_SAFE_TO_PLAIN = bytes.maketrans(b"-_", b"+/")


class CardUnreadable(ValueError):
    """The bytes are not a PNG image, or the card in it is garbled."""


def read_card(png: bytes) -> dict[str, Any] | None:
    """Return the card of a character image as SillyTavern would read it, or None when there is none.

    An image that ends too early is read as far as it goes. Bytes that are not PNG, and a card that is not
    base64 of a JSON object, are CardUnreadable.
    """
    if not png.startswith(_SIGNATURE):
        raise CardUnreadable("this is not a PNG image")
    texts: dict[bytes, bytes] = {}
    for keyword, text in _texts(png):
        texts.setdefault(keyword.lower(), text)
    for keyword in _KEYWORDS_BY_RANK:
        if keyword in texts:
            return _parse_card(texts[keyword])
    return None


def card_lorebook(card: dict[str, Any]) -> str | None:
    """Return the lorebook the card names as its own, or None."""
    value: Any = card
    for key in ("data", "extensions", "world"):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value if isinstance(value, str) and value else None


def _texts(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = len(_SIGNATURE)
    while position + _CHUNK_HEAD.size <= len(png):
        length, kind = _CHUNK_HEAD.unpack_from(png, position)
        start = position + _CHUNK_HEAD.size
        end = start + length
        if end > len(png) or kind == b"IEND":
            return
        if kind == b"tEXt":
            keyword, separator, text = png[start:end].partition(b"\0")
            if separator:
                yield keyword, text
        position = end + _CHECKSUM_BYTES


def _parse_card(text: bytes) -> dict[str, Any]:
    try:
        # Undecodable bytes are replaced, because SillyTavern opens such a card as well.
        card = json.loads(_decode_base64(text).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise CardUnreadable("the card in this image is garbled") from error
    if not isinstance(card, dict):
        raise CardUnreadable("the card in this image is not a JSON object")
    return card


def _decode_base64(text: bytes) -> bytes:
    # Line breaks, the URL-safe alphabet and missing padding are taken as SillyTavern takes them.
    digits = b"".join(text.split()).rstrip(b"=").translate(_URL_SAFE_TO_PLAIN)
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4), strict_mode=True)
