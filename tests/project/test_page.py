"""The page keeps its promises to readers of every language, and to its content security policy."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from forklore import texts
from forklore.checks.requirements import REQUIREMENTS
from forklore.printable import printable
from forklore.texts.template import gaps, parse
from tests.needed import missing

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "forklore" / "web" / "page"
SCRIPTS = sorted(PAGE.rglob("*.js"))
SOURCE = "\n".join(path.read_text("utf-8") for path in SCRIPTS)
FINDINGS = (ROOT / "docs" / "reference" / "findings.md").read_text("utf-8")
ELSEWHERE = ("act", "error", "fact", "finding", "more", "st", "cli")
"""Words that the command line or the extension ask for, or that a code asks for."""


def own_words() -> set[str]:
    """The keys of the page's own words."""
    return {key for key in texts.catalogue("en") if key.split(".")[0] not in ELSEWHERE}


def test_every_language_has_the_same_words_with_the_same_gaps() -> None:
    english = texts.catalogue("en")
    for language in texts.LANGUAGES:
        theirs = texts.catalogue(language)
        assert set(theirs) == set(english)
        assert {key for key in own_words() if gaps(parse(theirs[key])) != gaps(parse(english[key]))} == set()
        assert {key for key, text in theirs.items() if not text.strip()} == set()


def test_no_word_is_written_twice() -> None:
    for path in texts.FOLDER.rglob("*.json"):
        keys = [key for key, _ in json.loads(path.read_text("utf-8"), object_pairs_hook=list)]
        assert len(set(keys)) == len(keys), path.name


def test_every_word_that_a_script_asks_for_exists() -> None:
    asked = set(re.findall(r'\bt\(\s*"([^"]+)"', SOURCE))

    assert len(asked) > 100
    assert asked - set(texts.catalogue("en")) == set()


def test_every_word_is_asked_for() -> None:
    asked = set(re.findall(r'"([a-z][a-zA-Z_0-9.]*)"', SOURCE))
    patterns = [
        re.compile(".+".join(map(re.escape, re.split(r"\$\{[^}]*\}", template))))
        for template in re.findall(r"`([^`\n]+)`", SOURCE)
        if re.match(r"[a-z_]+\.|\$\{word\}\.", template)
    ]

    assert {key for key in own_words() - asked if not any(pattern.fullmatch(key) for pattern in patterns)} == set()


def test_every_code_and_repair_has_words() -> None:
    english = texts.catalogue("en")
    codes = set(re.findall(r"^\| `([A-Z_]+)` ", FINDINGS, re.MULTILINE)) | {row.code for row in REQUIREMENTS}
    repairs = set(re.findall(r"^\| `([a-z-]+)` ", FINDINGS, re.MULTILINE))

    assert {code for code in codes if f"code.{code}" not in english} == set()
    assert {repair for repair in repairs if f"repair.{repair}" not in english} == set()


def test_what_to_do_on_the_page_is_said_where_it_is_another_thing_elsewhere() -> None:
    """Nobody at the page can type an option of a command."""
    english = texts.catalogue("en")
    parts = (key.removesuffix(".action") for key in english if key.endswith(".action"))
    options = {part for part in parts if re.search(r"(?<![\w`-])--[a-z]", english[f"{part}.action"])}
    shown = {part for part in options if part.startswith("finding.") and not part.startswith("finding.SERVICE_")}

    assert {part for part in shown if f"{part}.page" not in english} == set()


@pytest.mark.parametrize(
    "word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("]
)
def test_the_text_of_a_story_can_never_become_markup(word: str) -> None:
    assert [path.name for path in SCRIPTS if word in path.read_text("utf-8")] == []


@pytest.mark.parametrize("name", ["index.html", "login.html"])
def test_a_page_has_nothing_inline_and_nothing_from_elsewhere(name: str) -> None:
    text = (PAGE / name).read_text("utf-8")

    assert re.findall(r"\son\w+=|\sstyle=|<style|javascript:", text) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)", text) == []
    links = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert links
    for link in links:
        assert link.startswith("/page/")
        assert (PAGE / link.removeprefix("/page/")).is_file()


def test_styles_name_nothing_from_elsewhere() -> None:
    for path in PAGE.rglob("*.css"):
        assert re.findall(r"url\(|@import", path.read_text("utf-8")) == [], path.name


def test_every_module_that_is_imported_is_there() -> None:
    for path in SCRIPTS:
        for name in re.findall(r'from "([./][^"]+)"', path.read_text("utf-8")):
            of_texts = name.removeprefix("/texts/")
            there = path.parent / name if of_texts == name else texts.FOLDER / of_texts
            assert there.resolve().is_file(), f"{path.name} imports {name}"


@pytest.mark.slow
@pytest.mark.e2e
def test_types_are_in_order() -> None:
    npx = shutil.which("npx")
    if npx is None:
        missing("the types are checked by TypeScript, which comes with npm")
    check = [npx, "-y", "-p", "typescript@5", "tsc", "-p", str(PAGE / "js" / "jsconfig.json")]
    checked = subprocess.run(check, capture_output=True, text=True, check=False)

    assert checked.stdout == ""
    assert checked.returncode == 0, checked.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_page_shows_control_characters_as_the_command_line_does() -> None:
    shown = [chr(code) for code in (*range(0x250), *range(0x2000, 0x2100), 0xFEFF)] + ["Mira\nForged\x1b\u202e 塔"]
    program = (
        'import { readFileSync } from "node:fs";'
        f"const source = readFileSync({json.dumps(str(texts.FOLDER / 'printable.js'))}, 'utf8');"
        "const { printable, printableText } = await import('data:text/javascript,' + encodeURIComponent(source));"
        'const texts = JSON.parse(readFileSync(0, "utf8"));'
        "console.log(JSON.stringify([texts.map(printable), texts.map(printableText)]));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program],
        input=json.dumps(shown).encode(),
        capture_output=True,
        check=True,
    )
    names, lines = json.loads(done.stdout)

    assert names == [printable(text) for text in shown]
    assert lines == [text if text in "\t\n\r" else printable(text).replace("\\nF", "\nF") for text in shown]
