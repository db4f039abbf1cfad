"""Every sentence, in every language: the one place where facts become words.

A fact is a code with parameters. ``en.json`` and ``zh.json`` have the words for each code; the command line, the page
and the extension in SillyTavern all read them from there, and nobody takes a sentence apart again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from forklore.printable import printable
from forklore.texts.template import Grammar, fill, parse

LANGUAGES = ("en", "zh")
FOLDER = Path(__file__).parent
NOTHING: Mapping[str, Any] = {}


@lru_cache(maxsize=len(LANGUAGES))
def catalogue(language: str = "en") -> dict[str, str]:
    """Return all texts of a language by their keys."""
    texts: dict[str, str] = json.loads((FOLDER / f"{language}.json").read_bytes())
    return texts


def text(key: str, params: Mapping[str, Any] = NOTHING, language: str = "en") -> str:
    """Return the text for *key* with its gaps filled."""
    return fill(parse(catalogue(language)[key]), params, _GRAMMARS[language])


def part_of(fact: str, part: str, params: Mapping[str, Any], language: str = "en") -> str:
    """Return one *part* of what is told about a fact (its message, its action …); empty when there is none.

    What differs by the situation has texts of its own below the parameter ``case``.
    """
    texts = catalogue(language)
    case = params.get("case")
    for key in (f"{fact}.{case}.{part}", f"{fact}.{part}") if case else (f"{fact}.{part}",):
        if key in texts:
            return fill(parse(texts[key]), params, _GRAMMARS[language])
    return ""


def words(fact: Mapping[str, Any], language: str = "en") -> str:
    """Return a *fact* that stands in another one: why a file cannot be read, what an operation waits for."""
    code, params = fact["code"], fact["params"]
    if code.isupper():  # an error of ours
        return part_of(f"error.{code}", "message", params, language)
    case = params.get("case")
    return text(f"fact.{code}.{case}" if case else f"fact.{code}", params, language)


def choices(params: Mapping[str, Any], language: str = "en") -> list[str]:
    """Return what the user may choose from, one line each, and how many more there are."""
    lines = [printable(each) for each in params.get("choices", ())]
    more = params.get("more_choices")
    return [*lines, text("more", {"count": more}, language)] if more else lines


def _grammar(language: str, plural: Callable[[int], str], comma: str, semicolon: str) -> Grammar:
    def named(family: str, value: str) -> str:
        key = f"{family}.{value}"
        return text(key if key in catalogue(language) else f"{family}.other", language=language)

    return Grammar(plural, comma, semicolon, lambda fact: words(fact, language), named)


_GRAMMARS = {
    "en": _grammar("en", lambda count: "one" if count == 1 else "other", ", ", "; "),
    "zh": _grammar("zh", lambda _: "other", "、", "；"),
}
