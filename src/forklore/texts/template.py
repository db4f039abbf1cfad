r"""Sentences with gaps: a small part of ICU's message format, the same in Python and in JavaScript.

``{name}`` is a value, ``{count, plural, one {# entry} other {# entries}}`` a number of things, and
``{state, select, edited {…} none {…} other {…}}`` chooses by a value. ``{kind, named, act}`` is the text
``act.<kind>``, or ``act.other``: what many sentences choose from stands once. Of a list, ``{names, list}`` puts the
items into one line, ``{names, lines}`` one into each line, and ``{links, each, message {at}}`` words each item by its
fields. Braces that mean themselves are written ``\{`` and ``\}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from forklore.printable import printable


class BadTemplate(ValueError):
    """A text of ours that cannot be read."""


class Gap(NamedTuple):
    """A place in a sentence that a parameter fills."""

    name: str
    how: str = ""
    """How it is filled; empty: with the value itself."""
    cases: tuple[tuple[str, Template], ...] = ()


Template = tuple[str | Gap, ...]


@lru_cache(maxsize=2048)
def parse(text: str) -> Template:
    """Return *text* taken apart; raises ``BadTemplate``."""
    template, end = _parts(text, 0)
    if end != len(text):
        raise BadTemplate(f"a brace too many: {text!r}")
    return template


def _parts(text: str, at: int) -> tuple[Template, int]:
    parts: list[str | Gap] = []
    words = ""
    while at < len(text) and text[at] != "}":
        if text[at] == "\\" and text[at + 1 : at + 2] in ("{", "}"):
            words, at = words + text[at + 1], at + 2
        elif text[at] == "{":
            if words:
                parts.append(words)
                words = ""
            gap, at = _gap(text, at + 1)
            parts.append(gap)
        else:
            words, at = words + text[at], at + 1
    return (*parts, words) if words else tuple(parts), at


def _gap(text: str, at: int) -> tuple[Gap, int]:
    end = next((place for place in range(at, len(text)) if text[place] in ",}"), -1)
    name = text[at:end].strip()
    if end < 0 or not name.isidentifier():
        raise BadTemplate(f"a gap has no name: {text!r}")
    if text[end] == "}":
        return Gap(name), end + 1
    how, at = _word(text, end + 1)
    if how in ("list", "lines"):
        return Gap(name, how), _closed(text, at)
    if how == "named":
        family, at = _word(text, at + 1)
        return Gap(name, how, ((family, ()),)), _closed(text, at)
    if how == "each":
        template, at = _parts(text, at + 2 if text[at : at + 2] == ", " else at)
        return Gap(name, how, (("", template),)), _closed(text, at)
    if how not in ("plural", "select"):
        raise BadTemplate(f"{how!r} is no way to fill a gap: {text!r}")
    cases: list[tuple[str, Template]] = []
    at += text[at : at + 1] == ","
    while text[at:].lstrip()[:1] not in ("}", ""):
        case, at = _word(text, at)
        opening = text.find("{", at)
        if opening < 0:
            raise BadTemplate(f"a brace is missing: {text!r}")
        template, at = _parts(text, opening + 1)
        cases.append((case, template))
        at = _closed(text, at)
    if "other" not in dict(cases):
        raise BadTemplate(f"a choice has no other: {text!r}")
    return Gap(name, how, tuple(cases)), _closed(text, at)


def _word(text: str, at: int) -> tuple[str, int]:
    while text[at : at + 1].isspace():
        at += 1
    end = at
    while end < len(text) and not text[end].isspace() and text[end] not in ",{}":
        end += 1
    return text[at:end], end


def _closed(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    if text[at : at + 1] != "}":
        raise BadTemplate(f"a brace is missing: {text!r}")
    return at + 1


class Grammar(NamedTuple):
    """What a language does with numbers and lists, and how it words what stands in a sentence."""

    plural: Callable[[int], str]
    comma: str
    semicolon: str
    word: Callable[[Mapping[str, Any]], str]
    """Words a fact."""
    named: Callable[[str, str], str]
    """Words a value as one of a family of texts."""


def fill(template: Template, params: Mapping[str, Any], grammar: Grammar, number: object = None) -> str:
    """Return the sentence; a name in it is one line of it whatever it holds, and *number* stands for ``#``."""
    return "".join(
        _filled(part, params, grammar)
        if isinstance(part, Gap)
        else part
        if number is None
        else part.replace("#", str(number))
        for part in template
    )


def _filled(gap: Gap, params: Mapping[str, Any], grammar: Grammar) -> str:  # noqa: PLR0911  # one a kind of gap
    value = params[gap.name] if gap.name in params else absent(gap.name)
    cases = dict(gap.cases)
    match gap.how:
        case "plural":
            exact = cases.get(f"={value}")
            chosen = exact if exact is not None else cases.get(grammar.plural(value or 0), cases["other"])
            return fill(chosen, params, grammar, value)
        case "select":
            return fill(cases.get(_chosen(value), cases["other"]), params, grammar)
        case "named":
            return grammar.named(gap.cases[0][0], _chosen(value))
        case "each":
            return grammar.semicolon.join(fill(cases[""], _fields(item), grammar) for item in value or ())
        case "list":
            return grammar.comma.join(_worded(item, grammar) for item in value or ())
        case "lines":
            return "\n".join(_worded(item, grammar) for item in value or ())
    return _worded(value, grammar)


def absent(name: str) -> Any:
    """Return what stands for a parameter that nobody gave: a sentence with a hole is better than none."""
    del name
    return None


def _chosen(value: object) -> str:
    if value is None or value in ("", [], ()):
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fields(item: object) -> Mapping[str, Any]:
    return item if isinstance(item, Mapping) else {"it": item}


def _worded(value: object, grammar: Grammar) -> str:
    if isinstance(value, Mapping):
        return grammar.word(value)
    return "" if value is None else printable(str(value))


def gaps(template: Template) -> frozenset[str]:
    """Return the names of the parameters that a template asks for; not those of the items of a list."""
    found: set[str] = set()
    for part in template:
        if isinstance(part, Gap):
            found.add(part.name)
            if part.how != "each":
                found.update(*(gaps(below) for _, below in part.cases))
    return frozenset(found)


__all__ = ["BadTemplate", "Gap", "Grammar", "Template", "fill", "gaps", "parse"]
