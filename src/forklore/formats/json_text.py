"""JSON as SillyTavern reads and writes it: no value is lost on the way in, none is spelled otherwise on the way out."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from typing import Any

_BLANKS = re.compile(r"[ \t\n\r]*").match
_DEEPEST = 3000  # levels, also counting who calls us
_MOST_DIGITS = 4000  # Python reads and writes no longer numbers
_LONE_SURROGATE = "[\ud800-\udfff]"  # compiled where there is one, which is next to never


REFUSALS = (ValueError, RecursionError)
"""What the faster reader raises where it refuses."""


class NotJson(ValueError):
    """The text is not JSON, or not of the shape that was asked for."""


def _refuse(constant: str) -> Any:
    raise NotJson(f"{constant} is no JSON value")  # Python reads NaN and Infinity, SillyTavern does not


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)  # infinite, as it is to JavaScript


decode_value = json.JSONDecoder(parse_constant=_refuse, parse_int=_integer).raw_decode
"""Returns the value that begins at a place in a text, and where it ends; raises ``ValueError``."""


def faster_reader(*, is_worth_it: bool = False) -> Any:
    """Return msgspec, which reads several times faster, where it is loaded already or *is_worth_it* to load; else None.

    What it reads is what ``parse`` returns. It refuses half emoji, bytes that are not UTF-8 and more that SillyTavern
    takes, so a refusal says nothing.
    """
    if is_worth_it and "msgspec" not in sys.modules:
        try:
            import msgspec  # noqa: F401, PLC0415
        except ImportError:
            return None
    return sys.modules.get("msgspec")


def parse(data: bytes | str) -> Any:
    """Return the value of JSON *data*; raise ``NotJson`` when it is none."""
    reader = sys.modules.get("msgspec")
    if reader is None:
        return _parse(data)
    try:
        return reader.json.decode(data)
    except REFUSALS:
        return _parse(data)


def _parse(data: bytes | str) -> Any:
    text = data if isinstance(data, str) else to_text(data)
    start = skip_blanks(text, 1 if text.startswith("\ufeff") else 0)
    try:
        value, end = _decoded(text, start)
        if skip_blanks(text, end) != len(text):
            raise NotJson("something follows the value")
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error
    return value


def _decoded(text: str, start: int) -> tuple[Any, int]:
    try:
        return decode_value(text, start)
    except RecursionError:
        # JavaScript reads deeper ones than Python likes. Whoever met one meets it again, so the limit stays up.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEPEST))
        return decode_value(text, start)


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return the object that JSON *data* spells; raise ``NotJson`` when it is no object."""
    value = parse(data)
    if not isinstance(value, dict):
        raise NotJson("not an object")
    return value


def encode(value: Any, *, indent: int | None = None) -> str:
    """Return *value* as SillyTavern writes it: nothing escaped but what must be, half emoji as escapes.

    It is compact, or laid out with *indent*. A number beyond what JavaScript can hold becomes null, as it does there.
    """
    try:
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        value = _finite(value)
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if indent is None:
        return escape_lone_surrogates(compact)
    return escape_lone_surrogates(_laid_out(value, compact, indent))


def _laid_out(value: Any, compact: str, indent: int) -> str:
    """Return a value's *compact* text laid out; Python does it value by value, msgspec in a third of the time."""
    if formatter := sys.modules.get("msgspec"):
        try:
            text: str = formatter.json.format(compact, indent=indent)
        except REFUSALS:
            pass
        else:
            return text
    return json.dumps(value, ensure_ascii=False, separators=(",", ": "), indent=indent)


def escape_lone_surrogates(text: str) -> str:
    """Return JSON *text* with each half of an emoji written as an escape, as JavaScript does."""
    try:
        text.encode()
    except UnicodeEncodeError:  # seldom, and looking for them takes many times as long
        return re.sub(_LONE_SURROGATE, lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_text(data: bytes) -> str:
    """Return *data* as text from which ``to_bytes`` makes the same bytes, even where it is not UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Return the bytes that *text* was made of."""
    return text.encode("utf-8", "surrogateescape")


def skip_blanks(text: str, at: int = 0) -> int:
    """Return where the blanks that may stand at *at* end."""
    match = _BLANKS(text, at)
    return match.end() if match else at  # the pattern matches the empty string too


def same_value(left: str, right: str) -> bool:
    """Whether two JSON texts spell the same value."""
    return left == right or _equal(parse(left), parse(right))


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are one in JSON too, where true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return left == right and isinstance(left, bool) == isinstance(right, bool)
