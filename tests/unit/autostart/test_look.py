"""What can be wrong with an installed service is told, each with what to do."""

from dataclasses import replace

import pytest

from forklore.access.running import Running
from forklore.autostart.kept import Kept
from forklore.autostart.look import Seen, is_running, troubles
from forklore.model.finding import Severity

KEPT = Kept(
    system="systemd",
    file="/u/forklore.service",
    digest="digest",
    command=("/py", "-m"),
    data="/st",
    user=None,
    roots=("/st/a",),
    host="127.0.0.1",
    port=7788,
    names=(),
    origins=(),
    poll=False,
    address="http://127.0.0.1:7788",
    log="/log",
)
OURS = Running("http://127.0.0.1:7788", ("/st/a",), 7, "1.0", "/log")
WELL = Seen(
    digest="digest",
    has_program=True,
    is_fleeting=False,
    has_stories=True,
    running=OURS,
    program="/py",
    version="1.0",
)


def codes(seen: Seen) -> list[str]:
    found = list(troubles(KEPT, seen))
    assert all(finding.message and finding.action for finding in found)
    return [finding.code for finding in found]


def test_where_all_is_well_nothing_is_told() -> None:
    assert codes(WELL) == []


@pytest.mark.parametrize(
    "seen, code",
    [
        (replace(WELL, has_program=False), "SERVICE_PROGRAM_GONE"),
        (replace(WELL, is_fleeting=True), "SERVICE_PROGRAM_FLEETING"),
        (replace(WELL, program="/other"), "SERVICE_PROGRAM_OTHER"),
        (replace(WELL, has_stories=False), "SERVICE_FOLDER_GONE"),
        (replace(WELL, digest=None), "SERVICE_FILE_GONE"),
        (replace(WELL, digest="another"), "SERVICE_FILE_CHANGED"),
        (replace(WELL, running=None), "SERVICE_STOPPED"),
        (replace(WELL, running=replace(OURS, log=None)), "SERVICE_PORT_TAKEN"),
        (replace(WELL, version="1.1"), "SERVICE_OUTDATED"),
        (replace(WELL, left_out=("FORKLORE_STATE",)), "SERVICE_ENVIRONMENT"),
        (replace(WELL, ends_at_logout=True), "SERVICE_ENDS_AT_LOGOUT"),
    ],
)
def test_each_trouble_is_told_by_itself(seen: Seen, code: str) -> None:
    assert codes(seen) == [code]


def test_a_service_that_does_not_run_shows_the_end_of_its_log() -> None:
    (found,) = troubles(KEPT, replace(WELL, running=None, told=("a", "b\x1b[2J")))

    assert found.params == {"log": ["a", "b\x1b[2J"]}
    assert found.details == "a\nb\\x1b[2J"
    assert found.severity is Severity.ERROR


def test_a_serve_in_a_window_is_not_the_service() -> None:
    assert is_running(KEPT, OURS)
    assert not is_running(KEPT, replace(OURS, log=None))
    assert not is_running(KEPT, None)
