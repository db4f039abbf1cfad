"""Installing the extension: whole, up to date, and gone without a trace when it is taken away."""

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

import forklore
from forklore import texts
from forklore.access import keys
from forklore.access.keys import Token, add_token
from forklore.app import extension
from forklore.app.extension import SOURCE, ExtensionForeign
from forklore.app.forklore import Forklore
from forklore.app.open import state_folder
from forklore.disk.state import State
from forklore.errors import BadRequest, LinkOutside
from forklore.testing import stories
from forklore.testing.stories import read_workspace, write_workspace
from forklore.version import VERSION
from tests.needed import posix_only

PLACE = "extensions/forklore"


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is no part of the workspace."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture
def workspace(tmp_path: Path) -> Forklore:
    return forklore.open(write_workspace(tmp_path, stories.solo_files("Tale", {}, stories.conversation(2))))


class TestInstall:
    def test_every_file_of_the_package_is_there(self, workspace: Forklore) -> None:
        found = workspace.extension("install")

        folder = workspace.root / PLACE
        assert {path.name for path in folder.iterdir()} == {
            *(path.name for path in SOURCE.iterdir()),
            "texts",
            "installed.json",
            "pairing.json",
        }
        assert {path.name for path in (folder / "texts").iterdir()} == {
            "template.js",
            "words.js",
            "printable.js",
            "en.json",
            "zh.json",
        }
        for language in texts.LANGUAGES:
            assert json.loads((folder / f"texts/{language}.json").read_bytes()) == texts.catalogue(language)
        assert json.loads((folder / "manifest.json").read_bytes())["version"] == VERSION
        assert found.current
        assert found.code_waiting
        assert not found.paired
        assert not found.password_needed

    @posix_only("there are no such modes")
    def test_nobody_else_can_read_the_code(self, workspace: Forklore) -> None:
        workspace.extension("install")

        assert (workspace.root / PLACE / "pairing.json").stat().st_mode & 0o077 == 0

    def test_the_code_has_128_bits_and_is_another_one_each_time(self, workspace: Forklore) -> None:
        codes = set()
        for _ in range(3):
            workspace.extension("install")
            codes.add(json.loads((workspace.root / PLACE / "pairing.json").read_bytes())["code"])

        assert len(codes) == 3
        assert all(len(bytes.fromhex(code)) == 16 for code in codes)

    def test_a_second_time_writes_what_differs_and_removes_what_we_no_longer_have(self, workspace: Forklore) -> None:
        workspace.extension("install")
        folder = workspace.root / PLACE
        (folder / "index.js").write_text("old")
        (folder / "forgotten.js").write_text("old")
        listed = json.loads((folder / "installed.json").read_bytes())
        (folder / "installed.json").write_text(json.dumps(listed | {"files": [*listed["files"], "forgotten.js"]}))

        found = workspace.extension("install")

        assert found.written == ("index.js",)
        assert found.removed == ("forgotten.js",)

    def test_another_extension_of_that_name_is_left_alone(self, workspace: Forklore) -> None:
        folder = workspace.root / PLACE
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text('{"version": "9"}')

        with pytest.raises(ExtensionForeign):
            workspace.extension("install")

        assert [path.name for path in folder.iterdir()] == ["manifest.json"]
        assert workspace.extension().installed is None
        assert workspace.extension("uninstall").removed == ()

    @posix_only("links need a privilege there")
    @pytest.mark.parametrize("link", ["extensions", PLACE, f"{PLACE}/texts"])
    def test_a_folder_that_lies_elsewhere_is_left_alone(self, workspace: Forklore, elsewhere: Path, link: str) -> None:
        if link.startswith(PLACE) and link != PLACE:
            workspace.extension("install")
            shutil.rmtree(workspace.root / link)
        (workspace.root / link).parent.mkdir(exist_ok=True)
        (workspace.root / link).symlink_to(elsewhere)

        with pytest.raises(LinkOutside):
            workspace.extension("install")

        assert list(elsewhere.iterdir()) == []

    @posix_only("it does not tell whose a folder is")
    def test_for_the_folder_of_another_user_the_password_is_offered(
        self, workspace: Forklore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: workspace.root.stat().st_uid + 1)

        found = workspace.extension("install")

        assert found.password_needed
        assert not found.code_waiting
        assert not (workspace.root / PLACE / "pairing.json").exists()

    def test_the_tokens_of_before_are_removed(self, workspace: Forklore) -> None:
        former = workspace.root / ".forklore/access.json"
        former.parent.mkdir(exist_ok=True)
        for action in ("install", "uninstall"):
            former.write_text('{"tokens": []}')
            workspace.extension(action)
            assert not former.exists()

    def test_no_link_is_followed_to_remove_them(self, workspace: Forklore, elsewhere: Path) -> None:
        (elsewhere / "access.json").write_text("mine")
        with suppress(FileNotFoundError):
            (workspace.root / ".forklore").rename(elsewhere / "aside")
        (workspace.root / ".forklore").symlink_to(elsewhere)

        keys.remove_former_access(workspace.root)

        assert (elsewhere / "access.json").read_text() == "mine"


class TestRenewal:
    """What ``serve`` does when it starts."""

    @pytest.fixture
    def state(self) -> State:
        return State(state_folder())

    def test_a_new_code_is_left_where_the_extension_is(self, workspace: Forklore, state: State) -> None:
        workspace.extension("install")
        path = workspace.root / PLACE / "pairing.json"
        before = path.read_bytes()

        extension.renew_code(workspace.root, state, now=1_000_000.0)

        assert path.read_bytes() != before
        assert extension.status(workspace.root, state, now=1_000_900.0).code_waiting
        assert not extension.status(workspace.root, state, now=1_000_901.0).code_waiting

    def test_nothing_is_written_where_the_extension_is_not(self, workspace: Forklore, state: State) -> None:
        before = read_workspace(workspace.root)

        extension.renew_code(workspace.root, state, now=1_000_000.0)

        assert read_workspace(workspace.root) == before

    def test_nothing_is_written_through_a_link(self, workspace: Forklore, state: State, elsewhere: Path) -> None:
        workspace.extension("install")
        moved = (workspace.root / PLACE).rename(elsewhere / "moved")
        (workspace.root / PLACE).symlink_to(moved)
        before = (moved / "pairing.json").read_bytes()

        extension.renew_code(workspace.root, state, now=1_000_000.0)

        assert (moved / "pairing.json").read_bytes() == before

    def test_a_folder_that_cannot_be_written_keeps_nobody_from_serving(self, workspace: Forklore, state: State) -> None:
        workspace.extension("install")
        (workspace.root / PLACE / "pairing.json").unlink()
        (workspace.root / PLACE / "pairing.json").mkdir()

        extension.renew_code(workspace.root, state, now=1_000_000.0)


class TestStatus:
    def test_looking_writes_nothing(self, workspace: Forklore) -> None:
        before = read_workspace(workspace.root)

        found = workspace.extension()

        assert found.installed is None
        assert not found.current
        assert read_workspace(workspace.root) == before

    def test_an_older_version_is_told(self, workspace: Forklore) -> None:
        workspace.extension("install")
        (workspace.root / PLACE / "manifest.json").write_text('{"version": "0.0.1"}')

        found = workspace.extension()

        assert found.installed == "0.0.1"
        assert not found.current

    def test_a_token_for_the_extension_means_paired(self, workspace: Forklore) -> None:
        workspace.extension("install")
        add_token(State(state_folder()), workspace.root, Token("00", "http://127.0.0.1:8000", "2026-11-15T18:36:13Z"))

        assert workspace.extension().paired
        assert not workspace.extension("uninstall").paired

    def test_a_list_of_tokens_in_the_folder_means_nothing(self, workspace: Forklore) -> None:
        (workspace.root / ".forklore").mkdir(exist_ok=True)
        token = {"hash": "00", "origin": "http://127.0.0.1:8000", "made": "2026-11-15T18:36:13Z"}
        (workspace.root / ".forklore/access.json").write_text(json.dumps({"tokens": [token]}))

        assert not workspace.extension().paired

    def test_a_code_that_somebody_else_left_is_none(self, workspace: Forklore) -> None:
        (workspace.root / PLACE).mkdir(parents=True)
        (workspace.root / PLACE / "pairing.json").write_text('{"code": "open-sesame"}')

        assert not workspace.extension().code_waiting


class TestUninstall:
    def test_nothing_of_ours_is_left(self, workspace: Forklore) -> None:
        before = read_workspace(workspace.root)
        workspace.extension("install")

        workspace.extension("uninstall")

        assert read_workspace(workspace.root) == before
        assert not (workspace.root / PLACE).exists()

    def test_what_is_not_ours_stays(self, workspace: Forklore) -> None:
        workspace.extension("install")
        own = workspace.root / PLACE / "my notes.txt"
        own.write_text("mine")

        workspace.extension("uninstall")

        assert [path.name for path in own.parent.iterdir()] == ["my notes.txt"]

    @posix_only("links need a privilege there")
    def test_what_lies_behind_a_link_stays(self, workspace: Forklore, elsewhere: Path) -> None:
        workspace.extension("install")
        words = workspace.root / PLACE / "texts"
        shutil.rmtree(words)
        (elsewhere / "en.json").write_text("mine")
        words.symlink_to(elsewhere)

        workspace.extension("uninstall")

        assert (elsewhere / "en.json").read_text() == "mine"
        assert [path.name for path in words.parent.iterdir()] == ["texts"]

    @pytest.mark.parametrize(
        "name", ["../../settings.json", "texts/../../../settings.json", "/etc/hosts", "..", "texts/..", ""]
    )
    def test_a_list_that_leads_elsewhere_removes_nothing_there(self, workspace: Forklore, name: str) -> None:
        workspace.extension("install")
        elsewhere = workspace.root / "settings.json"
        elsewhere.write_text("{}")
        listed = workspace.root / PLACE / "installed.json"
        listed.write_text(json.dumps({"files": [name, "manifest.json"]}))

        workspace.extension("uninstall")

        assert elsewhere.exists()


def test_another_action_is_refused(workspace: Forklore) -> None:
    with pytest.raises(BadRequest):
        workspace.extension("explode")
