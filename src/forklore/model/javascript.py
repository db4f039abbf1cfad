"""JSON text and hashes exactly as SillyTavern's JavaScript computes them."""

import math
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

_LARGEST_EXACT_INTEGER = 2**53
_FIRST_KEY_THAT_IS_NO_INDEX = 2**32 - 1
_UINT32 = 0xFFFFFFFF

_ESCAPES = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_ESCAPED = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_INDEX_KEY = re.compile(r"0|[1-9][0-9]{0,9}")

_KNOWN_DECORATORS = ("@@activate", "@@dont_activate")


def js_stringify(value: Any) -> str:
    """Return what `JSON.stringify` gives for a value read by `json.loads`.

    A value that JSON cannot hold is a TypeError.
    """
    written: list[str] = []
    # A stack instead of recursion, so that whatever json.loads could read can be written from any call depth.
    pending: list[Iterator[tuple[str, Any]]] = [iter([("", value)])]
    closing = [""]
    while pending:
        step = next(pending[-1], None)
        if step is None:
            pending.pop()
            written.append(closing.pop())
            continue
        before, part = step
        written.append(before)
        if isinstance(part, Mapping):
            pending.append(_members(part))
            written.append("{")
            closing.append("}")
        elif isinstance(part, list | tuple):
            pending.append(("," if position else "", element) for position, element in enumerate(part))
            written.append("[")
            closing.append("]")
        else:
            written.append(_scalar(part))
    return "".join(written)


def string_hash(text: str, seed: int = 0) -> int:
    """Return cyrb53 of the text's UTF-16 code units, the 53-bit hash SillyTavern compares entries by."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    h1 = (0xDEADBEEF ^ seed) & _UINT32
    h2 = (0x41C6CE57 ^ seed) & _UINT32
    for unit in struct.unpack(f"<{len(encoded) // 2}H", encoded):
        h1 = (h1 ^ unit) * 2654435761 & _UINT32
        h2 = (h2 ^ unit) * 1597334677 & _UINT32
    h1 = ((h1 ^ h1 >> 16) * 2246822507 ^ (h2 ^ h2 >> 13) * 3266489909) & _UINT32
    h2 = ((h2 ^ h2 >> 16) * 2246822507 ^ (h1 ^ h1 >> 13) * 3266489909) & _UINT32
    return (h2 & 0x1FFFFF) << 32 | h1


def entry_hash(entry: Mapping[str, Any], world: str) -> int:
    """Return the hash by which a chat's timed effects recognise this entry of the lorebook `world`."""
    decorators, content = _split_decorators(entry.get("content"))
    # Key order is part of the hash. Assigning to a key that is there keeps its place, as in JavaScript.
    hashed: dict[str, Any] = {"uid": entry["uid"]} if "uid" in entry else {}
    hashed["world"] = world
    hashed.update(entry)
    hashed["decorators"] = decorators
    hashed["content"] = content
    return string_hash(js_stringify(hashed))


def _split_decorators(content: Any) -> tuple[list[str], Any]:
    if content is None:
        return [], ""
    if not isinstance(content, str) or not content.startswith("@@"):
        return [], content
    decorators: list[str] = []
    fallback = False
    lines = content.split("\n")
    for number, line in enumerate(lines):
        if not line.startswith("@@"):
            return decorators, "\n".join(lines[number:])
        is_alternative = line.startswith("@@@")
        if is_alternative and not fallback:
            continue
        decorator = line[1:] if is_alternative else line
        fallback = not decorator.startswith(_KNOWN_DECORATORS)
        if not fallback:
            decorators.append(decorator)
    return decorators, content


def _members(mapping: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    indices = sorted((key for key in mapping if _is_index(key)), key=int)
    names = [key for key in mapping if not _is_index(key)]
    for position, key in enumerate([*indices, *names]):
        yield f"{',' if position else ''}{_quoted(key)}:", mapping[key]


def _is_index(key: str) -> bool:
    return _INDEX_KEY.fullmatch(key) is not None and int(key) < _FIRST_KEY_THAT_IS_NO_INDEX


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _double(value)
    raise TypeError(f"JSON has no place for a {type(value).__name__}")


def _quoted(text: str) -> str:
    if _SURROGATE.search(text):
        # Joins the halves of pairs, which are one character to JavaScript, and leaves the lone ones.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _integer(value: int) -> str:
    if abs(value) <= _LARGEST_EXACT_INTEGER:
        return str(value)
    try:
        return _double(float(value))
    except OverflowError:  # infinite in JavaScript
        return "null"


def _double(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, point = _shortest_digits(abs(value))
    return sign + _placed(digits, point)


def _shortest_digits(value: float) -> tuple[str, int]:
    """Return digits and point such that the value is 0.<digits> times ten to the power of point."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    significant = (whole + fraction).lstrip("0")
    point = len(significant) - len(fraction) + int(exponent or 0)
    return significant.rstrip("0"), point


def _placed(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"
