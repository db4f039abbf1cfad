"""What is found about the folder itself: every finding told in full."""

from typing import Any

import pytest

from forklore.checks.folder import FOLDER_FINDINGS, folder_findings, log_findings, unread_file
from forklore.disk.operation_log import OperationUnreadable
from forklore.errors import (
    FileInUse,
    FileOnlineOnly,
    FileUnreadable,
    ForkloreError,
    FormatNewer,
    LinkOutside,
    OperationForeign,
    PathOutside,
)
from forklore.gathered.folder import FolderState, LinkOut, Unfinished
from forklore.log.operations import Unread
from forklore.model.finding import Finding, Located, Severity

ERROR, WARNING = Severity.ERROR, Severity.WARNING
NOTHING = FolderState((), (), None, ())
JOURNAL: dict[str, Any] = {"changes": []}


def told(code: str, severity: Severity, path: str, *repairs: str, case: str, **params: Any) -> Located:
    return Located(Finding(code, severity, {"case": case, **params}, repairs), path=path)


def found(**members: Any) -> list[Located]:
    """Return what is found in a folder of which only this is known."""
    return list(folder_findings(NOTHING._replace(**members)))


OPERATIONS: dict[str, tuple[ForkloreError | None, dict[str, Any] | None, str, Severity, tuple[str, ...]]] = {
    "ours": (None, JOURNAL, "OPERATION_LEFTOVER", WARNING, ("recover",)),
    "ours, that got nowhere": (None, None, "OPERATION_LEFTOVER", WARNING, ("recover",)),
    "ours, that cannot be read now": (FileUnreadable(file="x"), None, "OPERATION_LEFTOVER", WARNING, ("recover",)),
    "another machine's": (OperationForeign(), JOURNAL, "OPERATION_FOREIGN", ERROR, ("finish", "discard")),
    "another's, not understood": (OperationForeign(), None, "OPERATION_FOREIGN", ERROR, ("discard",)),
    "a way out": (PathOutside(path="x"), None, "PATH_OUTSIDE", ERROR, ("discard",)),
    "a link out": (LinkOutside(path="x"), None, "LINK_OUTSIDE", ERROR, ("discard",)),
    "a newer one": (FormatNewer(format=2), None, "FORMAT_NEWER", ERROR, ()),
}


@pytest.mark.parametrize("fault, journal, code, severity, repairs", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_an_unfinished_operation(
    fault: ForkloreError | None,
    journal: dict[str, Any] | None,
    code: str,
    severity: Severity,
    repairs: tuple[str, ...],
) -> None:
    reason = fault.fact if fault else None

    assert found(unfinished=(Unfinished("7-abc", journal, fault),)) == [
        told(code, severity, ".forklore/staging/7-abc", *repairs, case="operation", reason=reason)
    ]


LOG: dict[str, tuple[ForkloreError, Severity]] = {
    "OPERATION_UNREADABLE": (OperationUnreadable(operation="7-abc"), WARNING),
    "PATH_OUTSIDE": (PathOutside(path="x"), ERROR),
    "FORMAT_NEWER": (FormatNewer(format=2), ERROR),
    "LINK_OUTSIDE": (LinkOutside(path="x"), ERROR),
}


@pytest.mark.parametrize("code", LOG)
def test_a_file_of_the_log_that_is_no_operation(code: str) -> None:
    fault, severity = LOG[code]
    unread = Unread(".forklore/operations/7-abc.json", fault)

    expected = [told(code, severity, unread.path, case="log", reason=fault.fact)]

    assert found(unread=(unread,)) == expected
    assert list(log_findings([unread])) == expected


def test_settings_of_a_newer_version() -> None:
    fault = FormatNewer("settings", format=2)

    assert found(settings_fault=fault) == [
        told("FORMAT_NEWER", ERROR, ".forklore/settings.json", case="settings", reason=fault.fact)
    ]


@pytest.mark.parametrize("is_folder, case, repairs", [(True, "linked_folder", ("allow",)), (False, "linked_file", ())])
def test_a_link_that_leads_out(is_folder: bool, case: str, repairs: tuple[str, ...]) -> None:
    assert found(links=(LinkOut("chats/Mira", is_folder, "/elsewhere"),)) == [
        told("LINK_OUTSIDE", ERROR, "chats/Mira", *repairs, case=case, target="/elsewhere")
    ]


@pytest.mark.parametrize("error", [FileInUse(file="x"), FileOnlineOnly(file="x")])
def test_a_file_that_is_not_read_for_now(error: FileInUse | FileOnlineOnly) -> None:
    assert unread_file(error, "chats/Mira/Tale.jsonl") == told(
        error.code, ERROR, "chats/Mira/Tale.jsonl", case="file", reason=error.fact
    )


def test_nothing_is_found_in_a_folder_in_order() -> None:
    assert found() == []


def test_everything_is_told_at_once_in_the_same_order() -> None:
    everything = found(
        links=(LinkOut("worlds/A.json", False, "/a"), LinkOut("chats/B", True, "/b")),
        settings_fault=FormatNewer(),
        unread=(Unread("y", PathOutside()), Unread("x", FormatNewer())),
        unfinished=(Unfinished("2-b"), Unfinished("1-a")),
    )

    assert [each.where for each in everything] == [
        ".forklore/staging/2-b",
        ".forklore/staging/1-a",
        "y",
        "x",
        ".forklore/settings.json",
        "worlds/A.json",
        "chats/B",
    ]


def test_every_row_has_a_test() -> None:
    operations = {("operation", code) for _, _, code, _, _ in OPERATIONS.values()} - {("operation", "LINK_OUTSIDE")}
    links = {("linked_folder", "LINK_OUTSIDE"), ("linked_file", "LINK_OUTSIDE")}
    files = {("file", "FILE_IN_USE"), ("file", "FILE_ONLINE_ONLY")}
    tested = {*operations, *(("log", code) for code in LOG), ("settings", "FORMAT_NEWER"), *links, *files}

    assert [(row.of, row.code) for row in FOLDER_FINDINGS if (row.of, row.code) not in tested] == []
    assert len(FOLDER_FINDINGS) == len(tested)
