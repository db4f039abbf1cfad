import pytest

from forklore.errors import NameTaken
from forklore.model.finding import Finding, Report, ReportState, Severity
from forklore.texts import text


@pytest.mark.req(29, 30)
def test_a_report_has_the_shape_of_the_contract() -> None:
    warning = Finding("NO_SCENE_BREAK", Severity.WARNING, {"at": 4})
    state = ReportState(queue_empty=True, has_scene_recap=True, message_index=4)

    report = Report("Mira/Tale", 4, warnings=(warning,), state=state)

    assert report.valid
    assert report.to_json() == {
        "chat": "Mira/Tale",
        "at": 4,
        "valid": True,
        "errors": [],
        "warnings": [
            {
                "code": "NO_SCENE_BREAK",
                "params": {"at": 4},
                "severity": "warning",
                "message": text("finding.NO_SCENE_BREAK.message", {"at": 4}),
                "action": text("finding.NO_SCENE_BREAK.action", {"at": 4}),
                "details": warning.details,
                "repairs": [],
            }
        ],
        "notes": [],
        "state": {
            "queueEmpty": True,
            "hasSceneBreak": False,
            "hasSceneRecap": True,
            "hasRunningRecap": False,
            "messageIndex": 4,
        },
    }


@pytest.mark.req(29)
def test_a_report_with_an_error_is_not_valid() -> None:
    assert not Report("Mira/Tale", 4, errors=(Finding("X", Severity.ERROR, {"name": "x"}),)).valid


def test_an_error_has_the_shape_of_the_contract() -> None:
    finding = Finding("X", Severity.ERROR, {"name": "x"})

    error = NameTaken(name="Tale", findings=[finding]).to_json()

    assert error == {
        "error": {
            "code": "NAME_TAKEN",
            "params": {"name": "Tale"},
            "kind": "conflict",
            "message": "“Tale” already exists.",
            "action": "Choose another name. Nothing was changed.",
            "findings": [finding.to_json()],
        }
    }
