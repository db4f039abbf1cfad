"""How the library is called: where the folder is, and which chat is meant."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import forklore
from forklore.disk.workspace import ChatNotFound
from forklore.model.address import ChatAddress
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import write_workspace

TALE = "Mira/Tale"


@pytest.fixture
def opened(tmp_path: Path) -> forklore.Forklore:
    files = stories.solo_files("Tale", {}, stories.conversation(4), books={})
    return forklore.open(write_workspace(tmp_path / "user", files), disk=HastyDisk())


def test_a_path_may_begin_with_the_home_folder(opened: forklore.Forklore, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(opened.root.parent))

    assert forklore.open("~/user").root == opened.root
    assert forklore.open(Path("~/user")).root == opened.root


def test_a_home_that_nobody_knows_is_a_folder_that_is_not_there() -> None:
    with pytest.raises(forklore.WorkspaceNotFound):
        forklore.open("~nobody-of-this-name/user")


def test_a_chat_is_meant_by_what_is_about_it(opened: forklore.Forklore) -> None:
    made = opened.checkpoint(TALE, name="Fork")
    fork = next(each for each in opened.tree().timelines if each.chat == made.chat)
    address = ChatAddress("Mira", "Fork")

    for meant in (fork, made, opened.show(fork), opened.verify(fork), address, SimpleNamespace(address=address)):
        assert opened.show(meant).chat == "Mira/Fork"
        assert opened.tree(meant) == opened.tree()
        assert opened.view.layout(meant) == opened.view.layout("Mira/Fork")


def test_a_result_means_its_chat_and_none_that_is_like_it(opened: forklore.Forklore) -> None:
    made = opened.checkpoint(TALE, name="Fork")
    opened.checkpoint(TALE, name="Fork of another day")
    opened.delete(made)

    assert opened.show("Mira/Fork").chat == "Mira/Fork of another day"
    with pytest.raises(ChatNotFound) as refused:
        opened.show(made)
    assert refused.value.params == {"chat": "Mira/Fork"}


def test_what_is_about_no_chat_is_a_mistake(opened: forklore.Forklore) -> None:
    with pytest.raises(TypeError):
        opened.show(opened.stories())  # type: ignore[arg-type]  # that is the mistake


def test_a_refusal_by_one_finding_alone_says_what_that_says(opened: forklore.Forklore) -> None:
    with pytest.raises(forklore.ForkBlocked) as refused:
        opened.checkpoint(TALE, at=99)

    error, (finding,) = refused.value, refused.value.report.errors
    assert (error.code, error.params) == ("MESSAGE_NOT_FOUND", {"at": 99, "last": 3})
    assert (error.message, error.action) == (finding.message, finding.action)
    assert error.part("message", "zh") == finding.part("message", "zh") != finding.message


@pytest.mark.parametrize("kind", ["checkpoint", "branch"])
def test_a_refusal_by_several_counts_them(kind: str) -> None:
    findings = tuple(forklore.Finding(code, forklore.Severity.ERROR) for code in ("NO_SCENE_BREAK", "NO_SCENE_RECAP"))

    error = forklore.ForkBlocked(forklore.Report(TALE, 3, findings), kind)

    assert (error.code, error.params) == ("FORK_BLOCKED", {"kind": kind, "count": 2})
    assert error.message == f"Cannot create {kind}: 2 requirements are not met."
    assert error.findings == findings
