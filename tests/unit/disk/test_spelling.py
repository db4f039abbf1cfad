"""Disks that take no notice of how a name is spelled."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from forklore.disk.places import Places
from forklore.disk.workspace import ChatNotFound, Workspace
from forklore.model.names import comparable
from forklore.testing import stories
from forklore.testing.stories import write_workspace


class FoldingPlaces(Places):
    """Places on a disk that finds a file by any spelling of its name, as those of Windows and macOS do."""

    def file(self, path: str) -> str:
        """Return what the system calls a file."""
        return self._found(super().file(path))

    def folder(self, path: str) -> str:
        """Return what the system calls a folder."""
        return self._found(super().folder(path))

    def _found(self, place: str) -> str:
        found = str(self.root)
        for part in os.path.relpath(place, found).split(os.sep):
            names = os.listdir(found) if os.path.isdir(found) else []
            found = os.path.join(found, next((name for name in names if comparable(name) == comparable(part)), part))
        return found


@pytest.mark.parametrize(
    "typed",
    ["Mira/Tale", "mira/tale", "MIRA/TALE", "Mira/tale", "mira/Tale", "mIRA/tALE"],
)
def test_on_a_disk_that_folds_names_a_chat_has_the_spelling_that_is_on_the_disk(tmp_path: Path, typed: str) -> None:
    write_workspace(tmp_path, stories.solo_files("Tale", {}, stories.conversation(1)))
    workspace = Workspace(tmp_path, exact_addresses=True)
    workspace.places = FoldingPlaces(tmp_path)

    assert str(workspace.resolve(typed)) == "Mira/Tale"


def test_a_name_of_composed_letters_has_the_spelling_that_is_on_the_disk(tmp_path: Path) -> None:
    composed, taken_apart = "é", "e\u0301"
    write_workspace(tmp_path, stories.solo_files(taken_apart, {}, stories.conversation(1)))
    workspace = Workspace(tmp_path, exact_addresses=True)
    workspace.places = FoldingPlaces(tmp_path)

    assert workspace.resolve(f"Mira/{composed}").name == taken_apart


def test_a_group_chat_has_the_spelling_that_is_on_the_disk(tmp_path: Path) -> None:
    write_workspace(tmp_path, stories.group_files("Tale", {}, stories.conversation(1)))
    workspace = Workspace(tmp_path, exact_addresses=True)
    workspace.places = FoldingPlaces(tmp_path)

    assert str(workspace.resolve("group:17/TALE")) == "group:17/Tale"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems fold names")
def test_on_a_disk_that_does_not_fold_names_only_the_right_spelling_is_found(tmp_path: Path) -> None:
    write_workspace(tmp_path, stories.solo_files("Tale", {}, stories.conversation(1)))

    with pytest.raises(ChatNotFound):
        Workspace(tmp_path, exact_addresses=True).resolve("mira/tale")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems fold names")
def test_two_chats_whose_names_differ_in_case_alone_are_two(tmp_path: Path) -> None:
    write_workspace(tmp_path, stories.solo_files("Tale", {}, stories.conversation(1)))
    write_workspace(tmp_path, stories.solo_files("tALE", {}, stories.conversation(1)))

    assert str(Workspace(tmp_path).resolve("Mira/tALE")) == "Mira/tALE"
    assert str(Workspace(tmp_path).resolve("Mira/Tale")) == "Mira/Tale"
