"""The page and the extension make the same sentences from the same catalogue as the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from forklore import texts
from forklore.texts import template
from forklore.texts.template import BadTemplate, Gap, Template, parse

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

NAME = "Mira\nForged\x1b\u202e 塔 {at} #"
NAMES = [NAME, "Ilse", "白夜"]

ODD: list[tuple[str, dict[str, Any]]] = [
    ("{count, plural, one {# entry} other {# entries}}", {"count": 1}),
    ("{count, plural, one {# entry} other {# entries}}", {"count": 0}),
    ("{count, plural, =1 {once} one {# entry} other {# entries}}", {"count": 1}),
    ("{more, plural, =0 {} other { and # more}}.", {"more": 0}),
    ("{state, select, edited {was edited} other {is new}}", {"state": "edited"}),
    ("{state, select, edited {was edited} other {is new}}", {"state": "constructor"}),
    ("{yes, select, true {yes} other {no}}", {"yes": True}),
    ("{yes, select, true {yes} other {no}}", {"yes": False}),
    *(("{to, select, none {nowhere} other {to {to}}}", {"to": to}) for to in (None, "", "Rome", 0)),
    ("{to, select, none {nowhere} other {to {to, list}}}", {"to": []}),
    ("{to, select, none {nowhere} other {to {to, list}}}", {"to": NAMES}),
    ("{to, select, none {nowhere} other {somewhere}}", {}),
    ("{names, list}|{names, lines}|{names, each, “{it}”}", {"names": NAMES}),
    ("{names, list}|{names, lines}|{names, each, “{it}”}", {"names": [1, 2]}),
    ("{names, list}|{names, lines}|{names, each, “{it}”}", {"names": None}),
    ("{links, each, {at}: “{chat}”{at, select, 1 { first} other {}}}", {"links": [{"at": 1, "chat": NAME}, {"at": 2}]}),
    ("{__proto__}{toString}{constructor}", {}),
    ("\\{parent\\} of {name} \\ # {{name}}".replace("{{name}}", "{name}"), {"name": NAME}),
    ("{ count , plural , one { # } other {#{count}} }", {"count": 2}),
]
BAD = ["{", "}", "{}", "{a", "{a, b}", "{a, plural, one {x}}", "{a, plural, one", "{a, list", "a } b", "{1}", "{a b}"]

PROGRAM = """
import { readFileSync } from "node:fs";
import { parse } from "./template.js";
import { Words } from "./words.js";
const { catalogues, asked, bad } = JSON.parse(readFileSync(0, "utf8"));
const words = {};
for (const [tag, texts] of Object.entries(catalogues)) words[tag] = new Words(tag, texts);
const refused = (text) => { try { parse(text); return false; } catch { return true; } };
console.log(JSON.stringify({
    told: asked.map(([tag, method, ...rest]) => words[tag][method](...rest)),
    refused: bad.map(refused),
}));
"""


def in_javascript(folder: Path, catalogues: Mapping[str, Any], asked: list[Any], bad: list[str]) -> dict[str, Any]:
    """Return what the scripts make of it."""
    for script in texts.FOLDER.glob("*.js"):
        shutil.copy(script, folder)
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    (folder / "program.js").write_text(PROGRAM, "utf-8")
    told = {"catalogues": catalogues, "asked": asked, "bad": bad}
    done = subprocess.run(["node", "program.js"], cwd=folder, input=json.dumps(told).encode(), stdout=-1, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def holes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a sentence have holes, as it may outside of tests."""
    monkeypatch.setattr(template, "absent", lambda _name: None)


@pytest.mark.usefixtures("holes")
def test_odd_templates_are_filled_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = {f"odd.{number}": text for number, (text, _) in enumerate(ODD)}
    monkeypatch.setattr(texts, "catalogue", lambda _language="en": catalogue)
    asked = [(tag, "text", f"odd.{n}", params) for tag in texts.LANGUAGES for n, (_, params) in enumerate(ODD)]

    answer = in_javascript(tmp_path, dict.fromkeys(texts.LANGUAGES, catalogue), asked, BAD)

    assert answer["told"] == [texts.text(key, params, tag) for tag, _, key, params in asked]


def test_what_is_no_template_is_refused_by_both(tmp_path: Path) -> None:
    answer = in_javascript(tmp_path, {}, [], BAD)

    assert answer["refused"] == [True] * len(BAD)
    for text in BAD:
        with pytest.raises(BadTemplate):
            parse(text)


def test_every_text_of_the_catalogue_is_filled_alike(tmp_path: Path) -> None:
    catalogues = {tag: texts.catalogue(tag) for tag in texts.LANGUAGES}
    asked = [
        (tag, "text", key, params)
        for tag, catalogue in catalogues.items()
        for key, text in catalogue.items()
        for params in samples(parse(text))
    ]

    answer = in_javascript(tmp_path, catalogues, asked, [])

    assert len(asked) > len(catalogues["en"])
    assert answer["told"] == [texts.text(key, params, tag) for tag, _, key, params in asked]


@pytest.mark.usefixtures("holes")
def test_parts_and_nested_facts_are_chosen_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = {
        "finding.X.message": "Plain {name}: {reason}",
        "finding.X.odd.message": "Odd {reasons, lines}",
        "finding.X.action": "Do it",
        "error.Y.message": "Refused {name}",
        "error.Y.other.message": "Refused otherwise",
        "fact.gone": "“{name}” is gone.",
        "fact.gone.far": "“{name}” is far: {reason}",
    }
    monkeypatch.setattr(texts, "catalogue", lambda _language="en": catalogue)
    gone = {"code": "gone", "params": {"name": NAME}}
    far = {"code": "gone", "params": {"case": "far", "name": "a", "reason": gone}}
    errors = [{"code": "Y", "params": {"name": "b"}}, {"code": "Y", "params": {"case": "other"}}]
    all_params = [{"name": "n", "reason": far}, {"case": "odd", "reasons": [gone, far, *errors]}, {"case": "new"}]
    asked: list[Any] = [
        (tag, "part", "finding.X", part, params)
        for tag in texts.LANGUAGES
        for part in ("message", "action", "why")
        for params in all_params
    ]

    answer = in_javascript(tmp_path, dict.fromkeys(texts.LANGUAGES, catalogue), asked, [])

    assert answer["told"] == [texts.part_of(fact, part, params, tag) for tag, _, fact, part, params in asked]


def test_what_to_do_is_that_of_the_case_before_that_of_the_face(tmp_path: Path) -> None:
    catalogue = {
        "finding.X.message": "Plain",
        "finding.X.why": "Because",
        "finding.X.steps": "One\nTwo",
        "finding.X.action": "Do it",
        "finding.X.page": "Press it",
        "finding.X.odd.action": "Do it oddly",
        "finding.X.far.action": "Do it there",
        "finding.X.far.page": "Press it there",
    }
    came: dict[str, Any] = {"message": "It came.", "details": "So.", "action": "Wait."}
    asked = [
        ("en", "told", "finding.X", {**came, "params": {"case": case}}, face)
        for case in (None, "odd", "far")
        for face in ("page", "st")
    ]
    newer = [("en", "told", "finding.Y", {**came, "params": {}}, "page"), ("en", "told", "finding.X", came, "page")]

    told = in_javascript(tmp_path, {"en": catalogue}, [*asked, *newer], [])["told"]

    actions = ["Press it", "Do it", "Do it oddly", "Do it oddly", "Press it there", "Do it there"]
    assert [each["action"] for each in told[:6]] == actions
    assert told[0] == {
        "message": "Plain",
        "why": "Because",
        "details": "",
        "action": "Press it",
        "steps": ["One", "Two"],
    }
    assert told[6:] == [{**came, "why": "", "steps": []}] * 2


def test_a_fact_without_words_is_told_as_it_came_and_numbers_as_people_write_them(tmp_path: Path) -> None:
    newer = {"code": "from_the_future", "params": {}}
    asked = [
        ("en", "word", newer),
        ("zh", "word", {**newer, "text": "It came."}),
        ("en", "text", "size", {"count": 12345}),
        ("en", "has", "constructor"),
    ]

    answer = in_javascript(tmp_path, {"en": {"size": "{count} bytes"}, "zh": {}}, asked, [])

    assert answer["told"] == ["from_the_future", "It came.", "12,345 bytes", False]


def samples(template: Template) -> Iterator[dict[str, Any]]:
    """Yield parameters that lead to every choice of a template at least once."""
    found: dict[str, list[Gap]] = {}
    for gap in _gaps(template):
        found.setdefault(gap.name, []).append(gap)
    values = {name: _values(gaps) for name, gaps in found.items()}
    for turn in range(max((len(each) for each in values.values()), default=1)):
        yield {name: each[turn % len(each)] for name, each in values.items()}


def _gaps(template: Template) -> Iterator[Gap]:
    for part in template:
        if isinstance(part, Gap):
            yield part
            if part.how != "each":
                for _, below in part.cases:
                    yield from _gaps(below)


def _values(gaps: list[Gap]) -> list[Any]:
    """Return values that fit every place where a parameter stands."""
    ways = {gap.how: gap for gap in gaps}
    if "each" in ways:
        return [[params for _, below in ways["each"].cases for params in samples(below)], []]
    if ways.keys() & {"list", "lines"}:
        return [NAMES, [1, 2], [], None]
    if "plural" in ways:
        return [0, 1, 2, 21]
    if "named" in ways:
        return ["undo", "constructor", None, NAME]
    if "select" in ways:
        return [*(case for case, _ in ways["select"].cases if case not in ("none", "other")), None, NAME]
    return [NAME, 7]
