"""What the extension says: its own texts, and the words for what the service tells as codes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

import forklore
from forklore import texts
from forklore.app.extension import SOURCE
from forklore.testing import stories
from forklore.testing.stories import write_workspace
from forklore.texts.template import gaps, parse

OWN = "st."
SCRIPTS = "\n".join(path.read_text("utf-8") for path in sorted(SOURCE.glob("*.js")))


def own_texts(language: str) -> dict[str, str]:
    """Return the texts that are the extension's alone, by what it calls them."""
    return {key.removeprefix(OWN): text for key, text in texts.catalogue(language).items() if key.startswith(OWN)}


class TestCatalogue:
    def test_every_text_that_is_asked_for_is_there_and_no_other(self) -> None:
        asked = set(re.findall(r"\b(?:t|because)\(\s*'([a-z_]+)'", SCRIPTS))
        chosen = set(re.findall(r"\bt\([^()]*\? '([a-z_]+)' : '([a-z_]+)'", SCRIPTS))
        states = {f"state_{state}" for state in ("unknown", "connected", "unpaired", "away", "password")}

        assert asked | {key for pair in chosen for key in pair} | states == set(own_texts("en"))

    def test_every_language_has_the_same_texts_with_the_same_gaps(self) -> None:
        english = own_texts("en")
        for language in texts.LANGUAGES:
            theirs = own_texts(language)
            assert theirs.keys() == english.keys()
            assert [key for key in english if gaps(parse(theirs[key])) != gaps(parse(english[key]))] == []

    def test_numbers_of_things_have_plurals(self) -> None:
        assert [key for key, text in texts.catalogue("en").items() if "(s)" in text] == []


_PROGRAM = """
    import { createInterface } from 'node:readline';
    import { readFile } from 'node:fs/promises';
    const [place, locale] = process.argv.slice(1);
    globalThis.SillyTavern = { getContext: () => ({ getCurrentLocale: () => locale }) };
    globalThis.fetch = async (url) => new Response(await readFile(url));
    const wording = await import(place);
    await wording.loaded;
    for await (const line of createInterface({ input: process.stdin })) {
        const { does, with: given } = JSON.parse(line);
        console.log(JSON.stringify(wording[does](...given)));
    }
"""


class Speaker:
    """The extension's module for words, which says what it is asked to say."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._asked: IO[str] = process.stdin
        self._answers: IO[str] = process.stdout

    def __call__(self, does: str, *given: Any) -> Any:
        """Return what a function of the module returns."""
        self._asked.write(json.dumps({"does": does, "with": given}) + "\n")
        self._asked.flush()
        return json.loads(self._answers.readline())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as it is installed, among modules as empty as can be."""
    public = tmp_path_factory.mktemp("public")
    root = write_workspace(public / "scripts/extensions", stories.solo_files("Tale", {}, stories.conversation(2)))
    forklore.open(root).extension("install")
    (public / "package.json").write_text('{"type": "module"}')
    (public / "script.js").write_text("export const eventSource = null, event_types = null;")
    for name in ("bookmarks", "group-chats", "popup", "user", "world-info"):
        (public / f"scripts/{name}.js").write_text("export {};")
    return root / "extensions/forklore"


Speak = Callable[[str], Speaker]


@pytest.fixture(scope="module")
def speak(installed: Path) -> Iterator[Speak]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    running: dict[str, subprocess.Popen[str]] = {}

    def start(locale: str) -> Speaker:
        if locale not in running:
            command = [node, "--input-type=module", "-e", _PROGRAM, (installed / "wording.js").as_uri(), locale]
            pipe = subprocess.PIPE
            running[locale] = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
        return Speaker(running[locale])

    yield start
    for process in running.values():
        process.communicate()


@pytest.fixture
def english(speak: Speak) -> Speaker:
    return speak("en")


BUSY = {
    "code": "QUEUE_NOT_EMPTY",
    "params": {"kind": "checkpoint", "count": 1, "pending": 1, "in_progress": 0, "retrying": 0, "operations": []},
    "severity": "error",
    "message": "Busy.",
    "action": "Wait.",
    "details": "",
    "repairs": [],
}
UNKNOWN = {"code": "OF_TOMORROW", "severity": "error", "message": "New `thing`.", "action": "Look.", "details": "More."}


class TestLanguage:
    @pytest.mark.parametrize(
        "locale, title",
        [("en", "Create Branch"), ("de-de", "Create Branch"), ("zh-cn", "创建分支"), ("zh-TW", "创建分支")],
    )
    def test_it_is_that_of_sillytavern_or_english(self, speak: Speak, locale: str, title: str) -> None:
        assert speak(locale)("t", "title", {"kind": "branch"}) == title

    def test_a_name_is_one_line(self, english: Speaker) -> None:
        said = english("t", "made", {"kind": "checkpoint", "name": "a\nb\u202ec"})

        assert said == r"Checkpoint created: a\nb\u202ec"


class TestFindings:
    @pytest.mark.req(14)
    def test_the_kind_is_said_once(self, english: Speaker) -> None:
        told = english("toldOf", BUSY)

        assert told["message"] == "1 operation in queue. Please wait for queue to finish."
        refused = english("because", "refused", told["message"], {"kind": "branch"})
        assert refused == "Cannot create branch: 1 operation in queue. Please wait for queue to finish."

    def test_a_finding_has_steps(self, english: Speaker) -> None:
        told = english("toldOf", {**BUSY, "code": "NO_SCENE_RECAP", "params": {"at": 7}})

        assert told["message"] == "Scene has no recap"
        assert told["why"]
        assert len(told["steps"]) > 1

    def test_what_is_not_known_here_is_told_as_it_came(self, english: Speaker) -> None:
        told = english("toldOf", {**UNKNOWN, "params": {}, "repairs": []})

        assert told == {"message": "New “thing”.", "why": "", "details": "More.", "action": "Look.", "steps": []}

    def test_what_an_older_service_says_has_no_gaps(self, english: Speaker) -> None:
        without = {key: value for key, value in BUSY.items() if key != "params"}

        assert english("toldOf", without)["message"] == "Busy."


class TestProblems:
    @pytest.mark.req(95, 96)
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    def test_whoever_holds_the_lock_is_told(self, english: Speaker, kind: str) -> None:
        problem = {
            "code": "CREATION_IN_PROGRESS",
            "params": {"case": kind},
            "message": "",
            "action": "",
            "findings": [],
        }

        told = english("toldOfProblem", problem)

        assert told["message"] == f"{kind.capitalize()} creation already in progress. Please wait."
        assert "--wait" not in told["action"]

    def test_of_one_finding_it_is_what_that_says(self, english: Speaker) -> None:
        problem = {"code": "QUEUE_NOT_EMPTY", "params": {}, "message": "x", "action": "y", "findings": [BUSY]}

        assert english("toldOfProblem", problem)["message"].startswith("1 operation in queue.")

    def test_what_is_not_known_here_is_told_as_it_came(self, english: Speaker) -> None:
        problem = {"code": "OF_TOMORROW", "params": {}, "message": "It `broke`.", "action": "Wait.", "findings": []}

        told = english("toldOfProblem", problem)

        assert (told["message"], told["action"]) == ("It “broke”.", "Wait.")

    def test_what_to_do_stays_on_a_line_of_its_own(self, english: Speaker) -> None:
        said = english("because", "failed", "It broke.\n→ Wait.", {"kind": "checkpoint"})

        assert said == "Failed to create checkpoint: It broke.\n→ Wait."


class TestFacts:
    def test_a_note_of_a_step(self, english: Speaker, speak: Speak) -> None:
        note = {"code": "nothing_to_clone", "params": {}, "text": "English"}

        assert english("worded", note) == texts.words(note)
        assert speak("zh-cn")("worded", note) == texts.words(note, "zh")

    def test_what_is_not_known_here_is_told_as_it_came(self, english: Speaker) -> None:
        assert english("worded", {"code": "of_tomorrow", "params": {}, "text": "Soon."}) == "Soon."
