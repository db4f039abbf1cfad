"""The damaged workspaces: the same every time, damaged in every way, and healthy wherever nothing was planted."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import forklore
from forklore.formats.chat_jsonl import Chat
from forklore.testing import stories
from forklore.testing.damage import CODES, Planted, damaged_files, write_damaged_workspace
from forklore.testing.sillytavern import HastyDisk, recap_story


@cache
def damaged(seed: int = 0) -> tuple[dict[str, bytes], list[Planted]]:
    return damaged_files(timelines=300, seed=seed)


def headers(files: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    """Return the metadata of every chat that has any, by its path."""
    found = {}
    for path, content in files.items():
        if path.endswith(".jsonl"):
            metadata = json.loads(content.partition(b"\n")[0]).get("chat_metadata")
            if metadata is not None:
                found[path] = metadata
    return found


def test_equal_seeds_make_equal_workspaces() -> None:
    assert damaged_files(timelines=300, seed=3) == damaged_files(timelines=300, seed=3)
    assert damaged_files(timelines=300, seed=3) != damaged_files(timelines=300, seed=4)


@pytest.mark.parametrize("timelines", [1, 300, 3000])
def test_every_kind_of_damage_is_planted_several_times(timelines: int) -> None:
    files, planted = damaged_files(timelines=timelines)

    counts = Counter(code for code, _ in planted)
    assert counts.keys() == CODES
    assert min(counts.values()) >= 2
    assert len(set(planted)) == len(planted)
    if timelines > 1:
        assert timelines <= sum(path.endswith(".jsonl") for path in files) < timelines + 10


def test_what_was_planted_is_where_it_is_said_to_be(tmp_path: Path) -> None:
    planted = write_damaged_workspace(tmp_path, timelines=300)

    opened = forklore.open(tmp_path, disk=HastyDisk())
    chats = {timeline.chat for story in opened.stories().stories for timeline in story.timelines}
    for code, where in planted:
        if code in ("OPERATION_LEFTOVER", "OPERATION_FOREIGN"):
            assert (tmp_path / where).is_dir()
        elif where.startswith(("worlds/", "groups/", "group chats/")):
            assert (tmp_path / where).is_file()
        else:
            assert where in chats


def test_the_files_of_the_written_workspace_are_the_ones_that_were_made_up(tmp_path: Path) -> None:
    files, planted = damaged()

    assert write_damaged_workspace(tmp_path, timelines=300) == planted
    assert stories.read_workspace(tmp_path) == {
        path: c for path, c in files.items() if not path.startswith(".forklore")
    }


def test_forks_have_the_fields_of_real_ones(tmp_path: Path) -> None:
    stories.write_workspace(tmp_path, recap_story("Real", "Book"))
    forklore.open(tmp_path, disk=HastyDisk()).checkpoint("Mira/Real", name="Fork")
    real = headers(stories.read_workspace(tmp_path))["chats/Mira/Fork.jsonl"]

    made = [metadata for metadata in headers(damaged()[0]).values() if "forklore" in metadata]

    assert len(made) > 50
    for metadata in made:
        assert metadata["forklore"].keys() >= real["forklore"].keys()
        assert metadata["auto_recap_checkpoint_state"].keys() == real["auto_recap_checkpoint_state"].keys()


def test_the_digests_of_a_fork_are_those_of_what_it_began_with() -> None:
    files, planted = damaged()
    wrong = {where for _, where in planted}
    compared = 0
    for path, metadata in headers(files).items():
        own, chat = metadata.get("forklore"), Chat.from_bytes(files[path])
        address = path.removeprefix("chats/").removesuffix(".jsonl")
        if own is None or own["chat"] != address.rpartition("/")[2] or chat.last != own["message"] or address in wrong:
            continue  # it went on, or something is wrong with it
        body = files[path].partition(b"\n")[2]
        content = {"messages": body, "lorebook": files.get(f"worlds/{metadata.get('world_info')}.json")}
        digests = {name: data and hashlib.sha256(data).hexdigest() for name, data in content.items()}
        # A message that was linked since differs by the link alone.
        if b"bookmark_link" not in body and b"branches" not in body:
            assert own["digests"] == digests
            compared += 1
    assert compared > 20


def test_healthy_timelines_share_nothing_and_are_who_they_are() -> None:
    files, planted = damaged()
    told = {code: {where for each, where in planted if each == code} for code in CODES}
    told["SHARED_LOREBOOK"] |= told["INTEGRITY_DUPLICATE"]
    books: Counter[str] = Counter()
    integrity: Counter[str] = Counter()
    for path, metadata in headers(files).items():
        address = path.removeprefix("chats/").removesuffix(".jsonl")
        if address not in told["SHARED_LOREBOOK"] and "world_info" in metadata:
            books[metadata["world_info"]] += 1
        if address not in told["INTEGRITY_DUPLICATE"]:
            integrity[metadata["integrity"]] += 1

    assert Counter(books.values())[2] == 2, "what two stories were given on purpose"
    assert max(books.values()) == 2
    assert max(integrity.values()) == 1


def test_lorebooks_are_written_as_sillytavern_writes_them() -> None:
    files, planted = damaged()
    unreadable = {where for code, where in planted if code == "LOREBOOK_UNREADABLE"}
    read = 0
    for path, content in files.items():
        if path.startswith("worlds/"):
            try:
                book = json.loads(content)
                assert content == stories.pretty(book)
                assert all(key == str(entry["uid"]) for key, entry in book["entries"].items())
                read += 1
            except (ValueError, TypeError):
                continue
    assert sum(path.startswith("worlds/") for path in files) - read == len(unreadable)


def test_what_is_planted_comes_in_order() -> None:
    assert all(one < other for one, other in pairwise(damaged()[1]))
