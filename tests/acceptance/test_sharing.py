"""Every way in which timelines can share a lorebook: all faces say the same of it, and what they offer mends it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.sharing import (
    WAYS,
    Way,
    a_fork_on_its_parents_book,
    a_list_of_one,
    open_at,
    two_characters,
    two_mains,
)
from tests.edges.running import run
from tests.service.serving import Rest

CODE = "SHARED_LOREBOOK"
Ask = Callable[..., Any]
"""Asks by the name of a command or a view, of a chat or of all, and perhaps for the repairs of a code."""
ways = pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])


@contextmanager
def library(root: Path) -> Iterator[Ask]:
    workspace = open_at(root)
    yield lambda name, *chat: getattr(workspace if hasattr(workspace, name) else workspace.view, name)(*chat).to_json()


@contextmanager
def command_line(root: Path) -> Iterator[Ask]:
    yield lambda name, *chat: run("--data", root, "--json", name, *chat).json


@contextmanager
def service(root: Path) -> Iterator[Ask]:
    rest = Rest(root)
    yield lambda name, *chat: rest.get(f"/{name}", **dict(zip(("chat", "code"), chat, strict=False))).json()
    rest.close()


@pytest.mark.req(2, 118, 131)
@pytest.mark.parametrize("face", [library, command_line, service])
@ways
def test_all_faces_say_the_same(way: Way, face: Callable[[Path], Any], tmp_path: Path) -> None:
    sharing = way(tmp_path)

    with face(tmp_path) as ask:
        trees = ask("stories")["stories"]
        timelines = [each for story in trees for each in story["timelines"]]
        found = {each["chat"]: shared_in(ask("verify", each["chat"])) for each in timelines}
        assert {each["chat"] for each in timelines if not each["isolated"]} == sharing
        assert {chat for chat, findings in found.items() if findings} == sharing
        assert {each["chat"] for each in shared_in(ask("doctor"))} == sharing
        assert all(ask("tree", each["chat"]) in trees for each in timelines)
        for chat in sharing:
            (finding,) = found[chat]
            offered = [each["repair"] for each in ask("repair", chat, CODE)["repairs"]]
            assert offered == finding["repairs"] != []


@pytest.mark.req(2, 118, 131)
@pytest.mark.parametrize("face", [library, service])
@ways
def test_what_the_page_draws_says_the_same(way: Way, face: Callable[[Path], Any], tmp_path: Path) -> None:
    sharing = way(tmp_path)

    with face(tmp_path) as ask:
        trees = ask("stories")["stories"]
        lanes = [lane for story in trees for lane in ask("layout", story["main"])["lanes"]]
        cards = ask("overview")["stories"]
        assert {lane["chat"] for lane in lanes if lane["health"] == "leaks"} == sharing
        assert {card["main"] for card in cards if card["health"] == "leaks"} == {
            story["main"] for story in trees if sharing & {each["chat"] for each in story["timelines"]}
        }


def shared_in(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in told["findings"] if finding["code"] == CODE]


def mended_by_library(root: Path, chat: str) -> object:
    workspace = open_at(root)
    (finding,) = [each for each in workspace.verify(chat).findings if each.code == CODE]
    return workspace.repair(chat, CODE, repair=finding.repairs[0]).operation


def mended_by_service(root: Path, chat: str) -> object:
    rest = Rest(root)
    (finding,) = shared_in(rest.get("/verify", chat=chat).json())
    made = rest.post("/repair", chat=chat, code=CODE, **{"with": finding["repairs"][0]}).json()
    rest.close()
    return made["operation"]


@pytest.mark.req(118, 123)
@pytest.mark.parametrize("mended", [mended_by_library, mended_by_service])
@ways
def test_what_is_offered_mends_it_from_whichever_side(
    way: Way, mended: Callable[[Path, str], object], tmp_path: Path
) -> None:
    sharing = way(tmp_path / "as it was")
    for number, chat in enumerate(sorted(sharing)):
        root = tmp_path / str(number)
        shutil.copytree(tmp_path / "as it was", root)

        operation = mended(root, chat)

        assert operation is not None
        workspace = open_at(root)
        assert [each.finding.code for each in workspace.doctor().findings] == []
        assert len({workspace.show(each).lorebook for each in sharing}) == len(sharing)


@pytest.mark.req(118)
def test_isolating_all_mends_every_way_at_once(tmp_path: Path) -> None:
    for way in (a_fork_on_its_parents_book, two_mains, a_list_of_one, two_characters):
        way(tmp_path)
    workspace = open_at(tmp_path)

    done = workspace.isolate_all()

    assert done.refused == ()
    assert workspace.doctor().findings == ()
    assert all(each.isolated for story in workspace.stories().stories for each in story.timelines)
