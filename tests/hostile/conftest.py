"""A stranger's folder for each test, with the bait around it and everything that watches it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.edges.running import Ran, run
from tests.hostile.crafting import SECRET, Template, Templates, World, make_templates, world
from tests.hostile.trees import LOCKS, Folder, Link, Node, Seen, Tree, differences, look, read_tree, write_tree


@dataclass
class Hostile:
    """A workspace that a stranger prepared, and what must not happen to the world around it."""

    world: World
    templates: Templates
    outside: Seen = field(default_factory=dict)
    inside: Seen = field(default_factory=dict)
    laid: Tree = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.world.root

    @property
    def home(self) -> Path:
        """The home folder, in which everything but the workspace is outside."""
        return self.world.home

    def lay(
        self, template: Template | None = None, more: Mapping[str, Node | None] | None = None, *, own: bool = False
    ) -> None:
        """Write a workspace: a *template* (the history) with *more*; its operations are our *own*, or a stranger's.

        In *more* None takes something away, and a link takes the place of all that was there.
        """
        tree: Tree = dict((template or self.templates.history).tree)
        for path, node in (more or {}).items():
            if node is None or isinstance(node, Link):
                tree = {name: each for name, each in tree.items() if name != path and not name.startswith(f"{path}/")}
            if node is not None:
                tree[path] = node
        self.world.lay(tree, self.templates.state if own else {})
        self.outside, self.inside, self.laid = self.world.outside(), look(self.root), self.tree()

    def lay_outside(self, tree: Tree) -> None:
        """Write more into the home folder."""
        for path in tree:
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        write_tree(self.home, tree)

    def run(self, *words: str | Path) -> Ran:
        """Run a command on the workspace."""
        return run("--data", self.root, "--json", *words)

    def tree(self) -> Tree:
        """Return the workspace as it is now."""
        return read_tree(self.root)

    def outside_changes(self) -> list[str]:
        """Return what has changed outside since the workspace was written."""
        return differences(self.outside, self.world.outside())

    def inside_changes(self) -> list[str]:
        """Return what has changed in the workspace since it was written."""
        return differences(self.inside, look(self.root))

    def assert_unchanged(self) -> None:
        """Every file of the workspace is as it was; a lock may have been taken and folders of ours may be there."""
        now = self.tree()
        files = {path: node for path, node in now.items() if node != Folder() and path not in LOCKS}
        before = {path: node for path, node in self.laid.items() if node != Folder() and path not in LOCKS}
        assert files == before

    def assert_nothing_leaked(self, *told: Ran) -> None:
        """Nothing outside has changed, and nothing that stands there was told or kept anywhere."""
        assert self.outside_changes() == []
        for ran in told:
            assert SECRET not in ran.out + ran.err
        for folder in (self.root, self.world.state, self.world.cache):
            for path, node in read_tree(folder).items():
                if isinstance(node, bytes) and path != "secrets.json":
                    assert SECRET.encode() not in node, path

    def assert_refused(self, ran: Ran, code: str) -> None:
        """The request is refused with *code*, and nothing at all has changed or leaked."""
        assert ran.code == 7, ran.out
        assert ran.error["code"] == code
        assert ran.error["action"]
        self.assert_unchanged()
        self.assert_nothing_leaked(ran)

    def assert_told(self, ran: Ran, code: str) -> None:
        """The request is refused, *code* is among the reasons, and nothing at all has changed or leaked."""
        assert ran.code in (3, 7), ran.out
        assert code in ran.out
        self.assert_unchanged()
        self.assert_nothing_leaked(ran)


def findings(ran: Ran, code: str) -> list[dict[str, Any]]:
    """Return the findings with *code* that a command tells."""
    return [finding for finding in ran.json["findings"] if finding["code"] == code]


@pytest.fixture(scope="module")
def _templates() -> Iterator[tuple[World, Templates]]:
    with world() as made:
        yield made, make_templates(made)


@pytest.fixture
def hostile(_templates: tuple[World, Templates]) -> Hostile:
    """A stranger's workspace; the history, until something else is laid."""
    made, templates = _templates
    made.lay_bait()
    here = Hostile(made, templates)
    here.lay()
    return here
