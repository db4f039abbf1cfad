"""The page keeps its promises to readers of every language, and to its content security policy."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import forklore
from forklore.app.progress import Silent
from forklore.checks.requirements import REQUIREMENTS
from forklore.printable import printable
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


class Heard(Silent):
    """Notes what is told while something is made."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str, *, good: bool | None = None) -> None:
        del good
        self.notes.append(text)


def said_on_samples(sample: Callable[[str], Path]) -> set[str]:
    """What the service says to somebody who looks at the samples and makes a checkpoint."""
    legacy = forklore.open(sample("hollow_quay_legacy_shared"))
    findings = [each.finding for each in legacy.doctor().findings]
    because = {
        producer.because for entry in legacy.contamination("Branch #42").entries for producer in entry.produced_by
    }
    heard = Heard()
    clean = forklore.open(sample("hollow_quay_clean"), progress=heard)
    made = [clean.checkpoint("19h14m08s", at=at, name=f"At {at}") for at in (42, 44)]
    findings += [finding for each in made for finding in each.warnings]
    busy = forklore.open(sample("salvage_rights_queue_busy")).check("Ilse")
    facts = clean.verify(made[0].chat).facts.values()
    told = {each.message for each in (*findings, *busy.errors)} | {each.details for each in findings}
    return {text for text in (*told, *because, *heard.notes, *facts) if text}


def phrase_book() -> list[re.Pattern[str]]:
    """The templates of the phrase book, as the page reads them."""
    templates = [text for key, text in words("en").items() if key.startswith("said.")]
    return [re.compile(re.sub(r"\\\{(\w+)\\\}", r"(.+?)", re.escape(text)), re.DOTALL) for text in templates]


def is_translated(text: str, phrases: list[re.Pattern[str]]) -> bool:
    if any(phrase.fullmatch(text) for phrase in phrases):
        return True
    starts = (re.match(phrase.pattern + " +", text, re.DOTALL) for phrase in phrases)
    return any(start and is_translated(text[start.end() :], phrases) for start in starts)


def test_what_the_service_says_most_often_is_in_the_phrase_book(sample: Callable[[str], Path]) -> None:
    phrases = phrase_book()
    said = said_on_samples(sample)

    assert len(said) > 20
    assert {text for text in said if not is_translated(text, phrases)} == set()


def test_no_sentence_of_the_phrase_book_is_hidden_by_another() -> None:
    templates = {key: text for key, text in words("en").items() if key.startswith("said.")}
    book = list(templates)
    for key, text in templates.items():
        example = re.sub(r"\{(\w+)\}", "x", text)
        fits = [book[number] for number, phrase in enumerate(phrase_book()) if phrase.fullmatch(example)]
        assert fits[0] == key, f"{key} is read as {fits[0]}"


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


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_page_shows_control_characters_as_the_command_line_does() -> None:
    texts = [chr(code) for code in (*range(0x250), *range(0x2000, 0x2100), 0xFEFF)] + ["Mira\nForged\x1b\u202e 塔"]
    program = (
        'import { readFileSync } from "node:fs";'
        f"const source = readFileSync({json.dumps(str(PAGE / 'js' / 'printable.js'))}, 'utf8');"
        "const { printable, printableText } = await import('data:text/javascript,' + encodeURIComponent(source));"
        'const texts = JSON.parse(readFileSync(0, "utf8"));'
        "console.log(JSON.stringify([texts.map(printable), texts.map(printableText)]));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program],
        input=json.dumps(texts).encode(),
        capture_output=True,
        check=True,
    )
    names, lines = json.loads(done.stdout)

    assert names == [printable(text) for text in texts]
    assert lines == [text if text in "\t\n\r" else printable(text).replace("\\nF", "\nF") for text in texts]
