"""Everything is documented, generated pages are fresh, and what the pages show is what happens."""

import importlib.util
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from forklore.checks.requirements import REQUIREMENTS
from forklore.cli.command import Command
from forklore.cli.main import SECTIONS, program
from forklore.cli.options import settle_wait
from tests.edges.running import Ran, run

ROOT = Path(__file__).parents[2]
COMMANDS = [name for names in SECTIONS.values() for name in names]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """The script that writes docs/reference."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(name: str) -> Command:
    found = program.get_command(click.Context(program), name)
    assert found is not None
    return found


# --- the reference ------------------------------------------------------------------------------------------------


def test_generated_pages_are_fresh(generate: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, f"{capsys.readouterr().err}run `make docs`"


def test_stale_pages_are_noticed(generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "REFERENCE", tmp_path)

    assert generate.main(["--check"]) == 1
    assert not list(tmp_path.iterdir())
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    assert f"### `forklore {name}`" in (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    shown = run(name, "--help")

    assert shown.code == 0
    assert 1 <= len(command(name).examples) <= 3
    for example in command(name).examples:
        assert f"   {example}\n" in shown.out
    assert f"forklore {name}" in shown.out


def test_every_error_code_is_documented(generate: ModuleType) -> None:
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")

    for error in generate.all_errors():
        assert f"| `{generate.code_of(error)}` |" in page
        assert generate.says(generate.code_of(error), of="error")[1] or generate.code_of(error) == "FORK_BLOCKED"


def test_every_finding_code_is_documented(generate: ModuleType) -> None:
    page = (ROOT / "docs/reference/findings.md").read_text(encoding="utf-8")

    codes = {requirement.code for requirement in REQUIREMENTS} | generate.told_codes()
    assert {"CLONE_UNUSED", "QUEUE_NOT_EMPTY"} <= codes
    assert all(f"| `{code}` |" in page for code in codes)


# --- the pages ----------------------------------------------------------------------------------------------------


def test_the_readme_is_short_and_tells_how_to_begin() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 120
    assert any(line.startswith("make demo") for line in lines)
    assert any(line.startswith("make test") for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def examples(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command in the console blocks, with the output that is shown for it."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        shown: list[str] = []
        for line in block.splitlines():
            if line.startswith("$ "):
                shown = []
                yield line[2:], shown
            else:
                shown.append(line)


def mentioned(text: str) -> Iterator[str]:
    """Yield every command line of ours that stands in a console block, a shell block or among words."""
    yield from (line for line, _ in examples(text))
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        yield from (line for line in block.splitlines() if line.startswith("forklore "))
    yield from re.findall(r"(?<!`)`(forklore [^`\n]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def arguments_of(line: str) -> list[str]:
    words = shlex.split(line.partition(">")[0], comments=True)
    assert words[0] == "forklore", line
    return words[1:]


def assert_parses(arguments: list[str]) -> None:
    """Hold a command line against the options there are, without running it."""
    context = click.Context(program)
    _, rest, _ = program.make_parser(context).parse_args(list(arguments))
    if rest:
        assert rest[0] in COMMANDS, arguments
        found = command(rest[0])
        found.make_parser(click.Context(found)).parse_args(settle_wait(rest[1:]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_line_in_the_docs_is_one(page: Path) -> None:
    for line in mentioned(page.read_text(encoding="utf-8")):
        assert_parses(arguments_of(line))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_in_the_help_is_a_command_line(name: str) -> None:
    for example in command(name).examples:
        assert_parses(arguments_of(example))


def test_a_command_line_that_is_none_would_be_noticed() -> None:
    with pytest.raises(click.UsageError):
        assert_parses(["check", "--nonsense"])
    with pytest.raises(AssertionError):
        assert_parses(["chekc"])


def run_example(line: str, shown: list[str]) -> Ran:
    """Run an example; what it shows must be what it prints, up to a line of three dots."""
    ran = run(*arguments_of(line))
    assert ran.code == 0, (line, ran.err)
    printed = ran.out.splitlines()
    if shown[-1:] == ["..."]:
        shown, printed = shown[:-1], printed[: len(shown) - 1]
    if shown:
        assert printed == shown, line
    return ran


def test_the_readme_shows_what_really_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "tests/samples/hollow_quay_clean", tmp_path / "story")
    monkeypatch.setenv("FORKLORE_DATA", str(tmp_path / "story"))

    lines = list(examples((ROOT / "README.md").read_text(encoding="utf-8")))
    for line, shown in lines:
        run_example(line, shown)

    assert len(lines) >= 5
    assert all(shown for _, shown in lines)


def test_the_tutorial_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    lines = list(examples((ROOT / "docs/tutorial.md").read_text(encoding="utf-8")))
    for line, shown in lines:
        run_example(line, shown)

    assert len(lines) >= 10
    assert os.listdir(tmp_path) == ["hollow-quay"]


@pytest.mark.parametrize("guide", ["undo-a-fork", "delete-and-trash"])
def test_a_guide_can_be_followed_after_a_fork(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "tests/samples/hollow_quay_clean", tmp_path / "story")
    monkeypatch.setenv("FORKLORE_DATA", str(tmp_path / "story"))
    assert run("checkpoint", "Maren", "--name", "Before the tower").code == 0

    for line, shown in examples((ROOT / f"docs/guides/{guide}.md").read_text(encoding="utf-8")):
        run_example(line, shown)


def test_the_guide_on_old_forks_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "tests/samples/hollow_quay_legacy_shared", tmp_path / "story")
    monkeypatch.setenv("FORKLORE_DATA", str(tmp_path / "story"))

    lines = list(examples((ROOT / "docs/guides/isolate-old-forks.md").read_text(encoding="utf-8")))
    for line, shown in lines:
        run_example(line, shown)

    assert len(lines) >= 4
