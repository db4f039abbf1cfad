"""The user's state folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forklore.disk.state import State
from forklore.errors import FormatNewer
from tests.needed import posix_only


def test_only_who_has_the_key_can_sign(tmp_path: Path) -> None:
    mine, another = State(tmp_path / "mine"), State(tmp_path / "another")

    mac = mine.mac(b"a journal")

    assert State(tmp_path / "mine").is_mac(mac, b"a journal")
    assert not mine.is_mac(mac, b"another journal")
    assert not another.is_mac(mac, b"a journal")
    for odd in (None, 7, "", "\ud800", mac.upper(), mac[:-1]):
        assert not mine.is_mac(odd, b"a journal")


def test_a_garbled_key_is_made_anew(tmp_path: Path) -> None:
    mac = State(tmp_path).mac(b"x")
    (tmp_path / "key").write_text("garbled")

    assert not State(tmp_path).is_mac(mac, b"x")
    assert State(tmp_path).is_mac(State(tmp_path).mac(b"x"), b"x")


def test_where_nothing_can_be_kept_a_key_lasts_as_long_as_we_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    state = State(tmp_path / "file")

    assert state.is_mac(state.mac(b"x"), b"x")
    assert not State(tmp_path / "file").is_mac(state.mac(b"x"), b"x")


@posix_only("there are no such modes")
def test_nobody_else_can_look_into_it(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    path = state.of_workspace(tmp_path, "access.json")

    state.mac(b"x")
    state.write(path, {"tokens": []})

    made = [state.folder, *state.folder.rglob("*")]
    assert {each.name: oct(each.stat().st_mode & 0o777) for each in made} == {
        each.name: "0o700" if each.is_dir() else "0o600" for each in made
    }


@posix_only("there are no such modes")
def test_a_folder_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    state.folder.mkdir()
    os.chmod(state.folder, 0o755)  # on purpose

    state.mac(b"x")

    assert state.folder.stat().st_mode & 0o777 == 0o700


def test_what_is_about_a_workspace_is_bound_to_its_place(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    (tmp_path / "data").mkdir()

    assert state.of_workspace(tmp_path / "data", "x") == state.of_workspace(tmp_path / "other/../data", "x")
    assert state.of_workspace(tmp_path / "data", "x") != state.of_workspace(tmp_path / "copy", "x")


def test_a_newer_file_is_told_and_left_alone(tmp_path: Path) -> None:
    state, path = State(tmp_path), tmp_path / "links.json"
    path.write_text('{"format": 2}')

    with pytest.raises(FormatNewer):
        state.read(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b"\xff", b'{"a":' * 100_000])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.json").write_bytes(content)

    assert State(tmp_path).read(tmp_path / "odd.json") == {}
