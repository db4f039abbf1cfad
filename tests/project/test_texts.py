"""Every fact has words in every language, every sentence gets what it asks for, and no text is left over."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

import forklore
from forklore import texts
from forklore.checks.folder import FOLDER_FINDINGS
from forklore.checks.requirements import REQUIREMENTS
from forklore.checks.verify import ON_REQUEST, OPENING
from forklore.errors import ForkloreError
from forklore.model.fact import Cause
from forklore.texts.template import Gap, Template, gaps, parse

SOURCE = Path(forklore.__file__).parent
PARTS = ("message", "why", "details", "action", "steps", "reason", "page", "st")
"""``reason``: the message after "Cannot create …"; ``page`` and ``st``: what to do there, where it differs."""
_Kind = TypeVar("_Kind", bound=Exception)
ENGLISH = texts.catalogue("en")


class Told(NamedTuple):
    """One place in the source that makes a fact."""

    code: str
    case: str | None
    params: frozenset[str]
    is_whole: bool
    """Whether all its parameters can be seen in the source."""
    where: str


def subclasses(of: type[_Kind]) -> Iterator[type[_Kind]]:
    """Yield all classes of the package that are *of* a kind."""
    for module in pkgutil.walk_packages([str(SOURCE)], "forklore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    waiting: list[type[_Kind]] = [of]
    while waiting:
        for each in waiting.pop().__subclasses__():
            yield each
            waiting.append(each)


@cache
def calls() -> list[tuple[str, ast.Call, str]]:
    """Return every call of a plain name in the source."""
    return [
        (node.func.id, node, f"{path.relative_to(SOURCE)}:{node.lineno}")
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def literal(node: ast.expr | None) -> str | None:
    """Return the text that stands in the source, None when it is worked out."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def told(code: str, call: ast.Call, case: ast.expr | None, where: str) -> Iterator[Told]:
    """Yield what a *call* tells, for each case that it may be."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    case = named.get("case", case)
    options = [case.body, case.orelse] if isinstance(case, ast.IfExp) else [case]
    is_whole = None not in named and (case is None or all(literal(each) is not None for each in options))
    for each in options:
        yield Told(code, literal(each), frozenset(name for name in named if name), is_whole, where)


def errors() -> Iterator[Told]:
    """Yield every error that is raised."""
    codes = {each.__name__: each.code for each in subclasses(ForkloreError) if "__init__" not in vars(each)}
    for name, call, where in calls():
        if name in codes:
            yield from told(codes[name], call, call.args[0] if call.args else None, where)


def facts() -> Iterator[Told]:
    """Yield every fact that stands in another one."""
    causes = {each.__name__ for each in subclasses(Cause) if "__init__" not in vars(each)}
    for name, call, where in calls():
        code = literal(call.args[0]) if call.args else None
        if (name == "fact" or name in causes) and code is not None:
            yield from told(code, call, None, where)


def key_of(front: str, case: str | None, part: str = "") -> str:
    """Return the key that is looked up for a fact."""
    end = f".{part}" if part else ""
    special = f"{front}.{case}{end}"
    return special if case is not None and (special in ENGLISH or not part) else f"{front}{end}"


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_every_language_has_every_text_with_the_same_gaps(language: str) -> None:
    catalogue = texts.catalogue(language)

    assert catalogue.keys() == ENGLISH.keys()
    assert all(text.strip() for text in catalogue.values())
    assert {key: gaps(parse(text)) for key, text in catalogue.items()} == {
        key: gaps(parse(text)) for key, text in ENGLISH.items()
    }


def wanting(all_told: Iterator[Told], kind: str, part: str = "") -> Iterator[str]:
    """Yield where something is told that has no words, or not what they ask for."""
    for each in all_told:
        key = key_of(f"{kind}.{each.code}", each.case, part)
        if key not in ENGLISH:
            if each.is_whole:
                yield f"{each.where}: {key} has no words"
        elif each.is_whole and (missing := gaps(parse(ENGLISH[key])) - each.params - {"case"}):
            yield f"{each.where}: {key} asks for {sorted(missing)}"


def test_every_error_has_words_and_gives_what_they_ask_for() -> None:
    assert list(wanting(errors(), "error", "message")) == []


def families(template: Template) -> Iterator[str]:
    """Yield the families of texts that a text chooses from."""
    for part in template:
        if isinstance(part, Gap):
            yield from (case for case, _ in part.cases if part.how == "named")
            for _, below in part.cases:
                yield from families(below)


def test_what_many_sentences_choose_from_is_there_for_any_value() -> None:
    chosen = {family for text in ENGLISH.values() for family in families(parse(text))}

    assert chosen == {"act"}
    assert {f"{family}.other" for family in chosen} <= ENGLISH.keys()


def test_every_error_says_what_to_do() -> None:
    silent = {
        each.code
        for each in errors()
        if each.is_whole and key_of(f"error.{each.code}", each.case, "action") not in ENGLISH
    }

    assert silent == set()


def test_every_fact_has_words_and_gives_what_they_ask_for() -> None:
    assert list(wanting(facts(), "fact")) == []


def made_findings() -> set[str]:
    """Return the codes of the findings that are made by their name in the source."""
    made = {literal(call.args[0]) for name, call, _ in calls() if name == "Finding" and call.args}
    tables = {each.code for table in (REQUIREMENTS, OPENING, ON_REQUEST, FOLDER_FINDINGS) for each in table}
    return {code for code in made | tables if code}


def test_every_finding_has_words_and_says_what_to_do() -> None:
    worded = {key.split(".")[1] for key in ENGLISH if re.fullmatch(r"finding\.\w+(\.\w+)?\.message", key)}
    advised = {key.split(".")[1] for key in ENGLISH if re.fullmatch(r"finding\.\w+(\.\w+)?\.action", key)}

    assert worded == made_findings()
    assert advised == made_findings()


def test_no_text_of_an_error_or_a_fact_is_left_over() -> None:
    codes = {each.code for each in subclasses(ForkloreError)}
    said = set(words_of_the_source())
    left = []
    for key in ENGLISH:
        kind, *path = key.split(".")
        if kind == "error":
            code, cases = path[0], path[1:-1]
            if (code not in codes and code not in said) or not said.issuperset(cases):
                left.append(key)
        elif kind == "fact" and not said.issuperset(path):
            left.append(key)
    assert left == []


@cache
def words_of_the_source() -> frozenset[str]:
    """Return every text that stands in the source by itself."""
    return frozenset(
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_every_part_of_a_text_is_one_that_somebody_shows() -> None:
    ends = {key.rpartition(".")[2] for key in ENGLISH if key.startswith(("finding.", "error."))}

    assert ends <= set(PARTS)


SENTENCE = re.compile(
    r"\b(message|action|details|reason|said|told|error)\)?\.(startswith|startsWith|endswith|includes|match|search)\("
)


def test_no_sentence_is_taken_apart() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.js")])
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SENTENCE.search(line)
    ]

    assert found == []
