"""Every requirement of the project is proved by a test that names its number."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NUMBERS = range(1, 165)
"""The requirements of the project, as they are numbered once and for all."""

Holder = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign


def is_marker(node: ast.AST) -> bool:
    """Whether this is ``pytest.mark.req``."""
    return isinstance(node, ast.Attribute) and node.attr == "req" and ast.unparse(node) == "pytest.mark.req"


def is_test(name: str) -> bool:
    return name.startswith(("test_", "Test"))


def collected(tree: ast.Module) -> Iterator[Holder]:
    """Yield what pytest collects: tests and test classes of a module, and what is assigned to a name of such a kind."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and is_test(node.name):
            yield node
            waiting += node.body if isinstance(node, ast.ClassDef) else []
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if any(is_test(name) or name == "pytestmark" for name in names):
                yield node


def marked(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the markers that stand on tests."""
    for holder in collected(tree):
        places = [holder.value] if isinstance(holder, ast.Assign) else holder.decorator_list
        for place in places:
            yield from (node for node in ast.walk(place) if isinstance(node, ast.Call) and is_marker(node.func))


def numbers_in(tree: ast.Module) -> Iterator[object]:
    for marker in marked(tree):
        yield from (each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in marker.args)


def misplaced(tree: ast.Module) -> list[int]:
    """Return the lines with a marker that pytest heeds nowhere."""
    heeded = {id(marker.func) for marker in marked(tree)}
    named = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_marker(node))
    return sorted(node.lineno for node in named if id(node) not in heeded)


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """Every module below ``tests``, by its path."""
    return {
        path.relative_to(TESTS).as_posix(): ast.parse(path.read_bytes())
        for path in sorted(TESTS.rglob("*.py"))
        if "samples" not in path.parts
    }


def test_every_requirement_is_marked(modules: dict[str, ast.Module]) -> None:
    proved = {number for tree in modules.values() for number in numbers_in(tree)}

    assert [number for number in NUMBERS if number not in proved] == []


def test_no_other_number_is_marked(modules: dict[str, ast.Module]) -> None:
    others = [
        (path, each)
        for path, tree in modules.items()
        for each in numbers_in(tree)
        if type(each) is not int or each not in NUMBERS
    ]

    assert others == []


def test_every_marker_names_a_number(modules: dict[str, ast.Module]) -> None:
    empty = [path for path, tree in modules.items() for marker in marked(tree) if not marker.args or marker.keywords]

    assert empty == []


def test_every_marker_stands_on_a_test_of_a_module_of_tests(modules: dict[str, ast.Module]) -> None:
    wrong = {path: misplaced(tree) for path, tree in modules.items()}
    helpers = [
        path for path, tree in modules.items() if not path.rpartition("/")[2].startswith("test_") and list(marked(tree))
    ]

    assert {path: lines for path, lines in wrong.items() if lines} == {}
    assert helpers == []


@pytest.mark.parametrize(
    "source, numbers, lines",
    [
        ("@pytest.mark.req(1, 2)\ndef test_a(): ...", [1, 2], []),
        ("@pytest.mark.req(1)\nasync def test_a(): ...", [1], []),
        ("@pytest.mark.req(1)\nclass TestA:\n    @pytest.mark.req(2)\n    def test_b(self): ...", [1, 2], []),
        ("TestA = pytest.mark.req(3)(Machine.TestCase)", [3], []),
        ("pytestmark = [pytest.mark.slow, pytest.mark.req(4)]", [4], []),
        ("@pytest.mark.req(0, 165, True)\ndef test_a(): ...", [0, 165, True], []),
        ("@pytest.mark.req(1)\ndef helper(): ...", [], [1]),
        ("class Helper:\n    @pytest.mark.req(1)\n    def test_a(self): ...", [], [2]),
        ("def test_a():\n    @pytest.mark.req(1)\n    def test_b(): ...", [], [2]),
        ("@pytest.mark.req\ndef test_a(): ...", [], [1]),
        ("marks = pytest.mark.req(1)", [], [1]),
    ],
)
def test_markers_are_found_where_pytest_heeds_them(source: str, numbers: list[object], lines: list[int]) -> None:
    tree = ast.parse(source)

    assert list(numbers_in(tree)) == numbers
    assert misplaced(tree) == lines
