"""What a fork would come to."""

from collections.abc import Callable
from typing import Any

import pytest

from forklore.app.check import ForkBlocked
from forklore.app.forklore import Forklore
from forklore.errors import BadRequest
from forklore.testing.stories import read_workspace

MAREN = "Maren Tolliver/Maren Tolliver - 2025-11-02@19h14m08s"
ILSE = "Ilse Brandt/Ilse Brandt - 2025-11-09@20h41m55s"

Opened = Callable[[str], Forklore]


@pytest.mark.parametrize("at", [None, 31, 42])
@pytest.mark.parametrize("kind, name", [("checkpoint", "Before the tower"), ("checkpoint", None), ("branch", None)])
def test_the_fork_is_made_as_it_was_shown(opened: Opened, kind: str, name: str | None, at: int | None) -> None:
    workspace = opened("hollow_quay_clean")
    before = read_workspace(workspace.root)

    shown = workspace.view.preview(kind, MAREN, at=at, name=name).to_json()

    assert read_workspace(workspace.root) == before
    assert shown["plan"] == workspace.plan(kind, MAREN, at=at, name=name).to_json()["plan"]
    checkpoint = kind == "checkpoint"
    made = workspace.checkpoint(MAREN, at=at, name=name) if checkpoint else workspace.branch(MAREN, at=at)
    made_json = made.to_json()
    findings = ("warnings", "notes")  # told of a fork that can still be made otherwise, or of one that is there
    assert {key: shown[key] for key in shown if key in made_json and key not in findings} == {
        key: value for key, value in made_json.items() if key not in ("operation", "left", *findings)
    }
    for key in findings:
        assert [_as_made(each) for each in shown[key]] == [(each["code"], each["params"]) for each in made_json[key]]
    kept = [version["version"] for version in workspace.show(made.chat).running_versions]
    everything = [version["version"] for version in workspace.show(MAREN).running_versions]
    assert shown["versions_kept"] == kept
    assert sorted(shown["versions_kept"] + shown["versions_left_out"]) == sorted(everything)


def _as_made(finding: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    params = finding["params"]
    return finding["code"], {**params, "case": "made"} if params.get("case") == "fork" else params


@pytest.mark.req(12, 33)
def test_a_fork_that_would_be_refused_is_refused(opened: Opened) -> None:
    with pytest.raises(ForkBlocked) as refused:
        opened("salvage_rights_queue_busy").view.preview("branch", ILSE)

    assert refused.value.code == "QUEUE_NOT_EMPTY"


def test_another_kind_is_a_bad_request(opened: Opened) -> None:
    with pytest.raises(BadRequest):
        opened("hollow_quay_clean").view.preview("main", MAREN)
