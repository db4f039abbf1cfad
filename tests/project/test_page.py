"""The page keeps its promises to readers of every language, and to its content security policy."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from forklore.checks.requirements import REQUIREMENTS
from tests.needed import missing

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "forklore" / "web" / "page"
SCRIPTS = sorted(PAGE.rglob("*.js"))
SOURCE = "\n".join(path.read_text("utf-8") for path in SCRIPTS)
LANGUAGES = sorted(path.stem for path in (PAGE / "lang").glob("*.json"))
FINDINGS = (ROOT / "docs" / "reference" / "findings.md").read_text("utf-8")


def words(language: str) -> dict[str, str]:
    def once(pairs: list[tuple[str, str]]) -> dict[str, str]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    text = (PAGE / "lang" / f"{language}.json").read_text("utf-8")
    told: dict[str, str] = json.loads(text, object_pairs_hook=once)
    return told


def slots(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}", text))


def test_every_language_has_the_same_words_with_the_same_placeholders() -> None:
    english = words("en")

    assert LANGUAGES == ["en", "zh"]
    for language in LANGUAGES:
        theirs = words(language)
        assert set(theirs) == set(english)
        assert {key for key in english if slots(theirs[key]) != slots(english[key])} == set()
        assert {key for key, text in theirs.items() if not text.strip()} == set()


def test_every_word_that_a_script_asks_for_exists() -> None:
    english = words("en")
    asked = set(re.findall(r'\bt\(\s*"([^"]+)"', SOURCE))
    counted = {f"{key}.{form}" for key in re.findall(r'\bmany\(\s*"([^"]+)"', SOURCE) for form in ("one", "other")}

    assert (asked | counted) - set(english) == set()


def test_every_word_is_asked_for() -> None:
    asked = set(re.findall(r'"([a-z][a-zA-Z_0-9.]*)"', SOURCE))
    patterns = [
        re.compile(".+".join(map(re.escape, re.split(r"\$\{[^}]*\}", template))))
        for template in re.findall(r"`([^`\n]+)`", SOURCE)
        if re.match(r"[a-z_]+\.|\$\{word\}\.", template)
    ]
    unasked = {
        key
        for key in words("en")
        if re.sub(r"\.(one|other)$", "", key) not in asked
        and key not in asked
        and not any(pattern.fullmatch(key) for pattern in patterns)
    }

    assert unasked == set()


def test_every_code_and_repair_has_words() -> None:
    english = words("en")
    codes = set(re.findall(r"^\| `([A-Z_]+)` ", FINDINGS, re.MULTILINE)) | {row.code for row in REQUIREMENTS}
    repairs = set(re.findall(r"^\| `([a-z-]+)` ", FINDINGS, re.MULTILINE))

    assert {code for code in codes if f"code.{code}" not in english} == set()
    assert {repair for repair in repairs if f"repair.{repair}" not in english} == set()


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
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text("utf-8")):
            assert (path.parent / name).resolve().is_file(), f"{path.name} imports {name}"


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
