"""What is installed is what was declared: pyproject.toml, the lock and the imports agree."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = (ROOT / "requirements-dev.txt").read_text("utf-8")
DECISION = (ROOT / "docs" / "decisions" / "0004-dependencies.md").read_text("utf-8")

NEEDED = [Requirement(each) for each in PROJECT["project"]["dependencies"]]
FOR_WORK = [Requirement(each) for each in PROJECT["project"]["optional-dependencies"]["dev"]]
FOR_BUILDING = [Requirement(each) for each in PROJECT["build-system"]["requires"]]


def locked() -> dict[str, list[tuple[Requirement, str]]]:
    """Return each locked package with what its entries say after the version."""
    found: dict[str, list[tuple[Requirement, str]]] = {}
    for entry in re.findall(r"(?m)^(?! *#)\S.*(?:\n {4}--.*)*", LOCK):
        requirement, _, hashes = entry.partition(" \\\n")
        parsed = Requirement(requirement)
        found.setdefault(canonicalize_name(parsed.name), []).append((parsed, hashes))
    return found


def names(requirements: list[Requirement]) -> set[str]:
    return {canonicalize_name(each.name) for each in requirements}


def imported(*folders: str, but: str = "") -> set[str]:
    """Return the packages of others that the modules in *folders* import."""
    trees = [
        ast.parse(path.read_text("utf-8"))
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if not but or not path.is_relative_to(ROOT / but)
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    tops = {module.partition(".")[0] for module in modules}
    others = tops - sys.stdlib_module_names - {"forklore", "tests", "bench"}
    homes = packages_distributions()
    return {canonicalize_name(homes[top][0] if top in homes else top) for top in others}


@pytest.mark.parametrize("requirement", [*NEEDED, *FOR_WORK, *FOR_BUILDING], ids=str)
def test_the_lock_holds_a_version_that_is_allowed(requirement: Requirement) -> None:
    entries = locked().get(canonicalize_name(requirement.name), [])

    assert entries, "run `make lock`"
    for entry, _ in entries:
        (pin,) = entry.specifier
        assert pin.operator == "=="
        assert requirement.specifier.contains(pin.version), "run `make lock`"


def test_everything_in_the_lock_has_hashes_and_nothing_says_where_to_get_it() -> None:
    for entries in locked().values():
        for entry, hashes in entries:
            assert re.fullmatch(r"( {4}--hash=sha256:[0-9a-f]{64}( \\\n)?)+", hashes), entry

    assert "://" not in LOCK
    assert not re.search(r"(?m)^-", LOCK)


def test_what_is_imported_is_declared() -> None:
    declared = names(NEEDED)

    assert imported("src/forklore", but="src/forklore/testing") <= declared
    assert imported("src", "tests", "bench", "docs") <= declared | names(FOR_WORK)


@pytest.mark.parametrize("requirement", NEEDED, ids=str)
def test_each_bound_has_a_reason(requirement: Requirement) -> None:
    assert any(each.operator == ">=" for each in requirement.specifier)
    (row,) = re.findall(rf"(?m)^\| `{re.escape(requirement.name)}` .*$", DECISION)
    written = re.sub(r"\s", "", row)
    for each in requirement.specifier:
        assert f"`{each}`" in written
