import pytest

from forklore.errors import BadRequest
from forklore.model.finding import Finding, Report, ReportState, Severity


@pytest.mark.req(29, 30)
def test_a_report_has_the_shape_of_the_contract() -> None:
    warning = Finding("NO_SCENE_BREAK", Severity.WARNING, "Message is not a scene break", "Mark it", "Use the button")
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
                "severity": "warning",
                "message": "Message is not a scene break",
                "action": "Mark it",
                "details": "Use the button",
                "repairs": [],
            }
        ],
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
    assert not Report("Mira/Tale", 4, errors=(Finding("X", Severity.ERROR, "x"),)).valid


def test_an_error_has_the_shape_of_the_contract() -> None:
    finding = Finding("X", Severity.ERROR, "x")

    error = BadRequest("No.", action="Do.", findings=[finding]).to_json()

    assert error == {
        "error": {
            "code": "BAD_REQUEST",
            "kind": "invalid",
            "message": "No.",
            "action": "Do.",
            "findings": [finding.to_json()],
        }
    }
