"""Installing the extension: whole, up to date, and gone without a trace when it is taken away."""

import json
from pathlib import Path

import pytest

import forklore
from forklore.app.extension import SOURCE, ExtensionForeign
from forklore.app.forklore import Forklore
from forklore.errors import BadRequest
from forklore.testing import stories
from forklore.testing.stories import read_workspace, write_workspace
from forklore.version import VERSION

PLACE = "extensions/forklore"


@pytest.fixture
def workspace(tmp_path: Path) -> Forklore:
    return forklore.open(write_workspace(tmp_path, stories.solo_files("Tale", {}, stories.conversation(2))))


class TestInstall:
    def test_every_file_of_the_package_is_there(self, workspace: Forklore) -> None:
        found = workspace.extension("install")

        folder = workspace.root / PLACE
        assert {path.name for path in folder.iterdir()} == {
            *(path.name for path in SOURCE.iterdir()),
            "installed.json",
            "pairing.json",
        }
        assert json.loads((folder / "manifest.json").read_bytes())["version"] == VERSION
        assert found.current
        assert found.code_waiting
        assert not found.paired

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
        (workspace.root / ".forklore").mkdir(exist_ok=True)
        token = {"hash": "00", "origin": "http://127.0.0.1:8000", "made": "2026-11-15T18:36:13Z", "for": "extension"}
        (workspace.root / ".forklore/access.json").write_text(json.dumps({"tokens": [token]}))

        assert workspace.extension().paired

    @pytest.mark.parametrize("content", ["", "[]", '{"tokens": 1}', '{"tokens": [1]}', "\x00"])
    def test_a_garbled_access_file_means_not_paired(self, workspace: Forklore, content: str) -> None:
        (workspace.root / ".forklore").mkdir(exist_ok=True)
        (workspace.root / ".forklore/access.json").write_text(content)

        assert not workspace.extension().paired


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

    @pytest.mark.parametrize("name", ["../../settings.json", "/etc/hosts", "..", ""])
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
