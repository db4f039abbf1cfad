"""Facts: a code with parameters, from which every face makes its sentence in the reader's language.

Parameters are what JSON can hold: names, numbers, lists of them, and other facts. They travel as they are; how they
read is decided in ``forklore.texts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from forklore import texts

Params = Mapping[str, Any]
Fact = dict[str, Any]
"""``{"code": …, "params": {…}}``: what stands as a parameter in another fact, and in its sentence."""

_SHOWN = 10
_Item = TypeVar("_Item")
NO_PARAMS: Params = {}


def fact(code: str, **params: Any) -> Fact:
    """Return a fact."""
    return {"code": code, "params": params}


def some(items: Sequence[_Item]) -> tuple[list[_Item], int]:
    """Return the first few items, and how many more there are: nobody reads a thousand."""
    return list(items[:_SHOWN]), max(0, len(items) - _SHOWN)


class Cause(ValueError):
    """Why something cannot be read: an exception that carries its fact."""

    def __init__(self, code: str, **params: Any) -> None:
        """Be about the fact *code*."""
        super().__init__(code)
        self.fact = fact(code, **params)

    def __str__(self) -> str:
        return texts.words(self.fact)
