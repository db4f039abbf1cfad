"""Holding an answer against its shape, without any field too many: what the document tells is all there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forklore.web.schema import ANSWERS, PROBLEM, Shape

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def misfits(value: Any, shape: Shape, where: str = "answer") -> Iterator[str]:
    """Yield what of *value* is not as its shape says, and what the shape does not tell of."""
    if "anyOf" in shape:
        found = [list(misfits(value, each, where)) for each in shape["anyOf"]]
        yield from () if [] in found else min(found, key=len)
    elif "enum" in shape:
        yield from () if value in shape["enum"] else (f"{where} is {value!r}",)
    elif not _is_kind(value, shape.get("type")):
        yield f"{where} is {value!r}, not {shape['type']}"
    elif isinstance(value, list) and "items" in shape:
        for number, item in enumerate(value):
            yield from misfits(item, shape["items"], f"{where}[{number}]")
    elif isinstance(value, dict) and "properties" in shape:
        known = shape["properties"]
        yield from (f"{where} has no {name}" for name in shape["required"] if name not in value)
        yield from (f"{where} has {name}, which nobody tells of" for name in value if name not in known)
        for name in known.keys() & value.keys():
            yield from misfits(value[name], known[name], f"{where}.{name}")
    elif isinstance(value, dict) and "additionalProperties" in shape:
        for name, item in value.items():
            yield from misfits(item, shape["additionalProperties"], f"{where}.{name}")


def _is_kind(value: Any, kind: str | list[str] | None) -> bool:
    kinds = [kind] if isinstance(kind, str) else kind or ()
    if isinstance(value, bool):
        return not kinds or "boolean" in kinds
    return not kinds or any(isinstance(value, _KINDS[each]) for each in kinds)


def misfits_of_answer(method: str, path: str, told: Any, *, is_problem: bool) -> list[str]:
    """Return what of a route's answer is not as its shape says."""
    route = path.strip("/")
    route = "jobs/{job}" if route.startswith("jobs/") else route
    shape = PROBLEM if is_problem else ANSWERS.get((method.lower(), route))
    return [] if shape is None else list(misfits(told, shape))
