"""Command line and service are two faces of one application: same request, same JSON."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forklore.app.forklore import Forklore
from forklore.cli.main import SECTIONS
from forklore.web.problems import STATUS
from tests.edges.running import ILSE, MAREN, run
from tests.service.serving import Rest

KEY, LANTERN = "The key in hand", "Branch #42"
LEGACY = "hollow_quay_legacy_shared"
CLEAN = "hollow_quay_clean"
BUSY = "salvage_rights_queue_busy"

LOOKS: list[tuple[str, list[str], str, dict[str, Any]]] = [
    (CLEAN, ["stories"], "/stories", {}),
    (CLEAN, ["tree"], "/tree", {}),
    (LEGACY, ["tree", KEY], "/tree", {"chat": KEY}),
    (CLEAN, ["tree", "nobody"], "/tree", {"chat": "nobody"}),
    (CLEAN, ["show", MAREN], "/show", {"chat": MAREN}),
    (CLEAN, ["show", "../../etc/passwd"], "/show", {"chat": "../../etc/passwd"}),
    (CLEAN, ["check", MAREN], "/check", {"chat": MAREN}),
    (CLEAN, ["check", MAREN, "--at", "3"], "/check", {"chat": MAREN, "at": 3}),
    (CLEAN, ["check", MAREN, "--at", "-1"], "/check", {"chat": MAREN, "at": -1}),
    (CLEAN, ["check", MAREN, "--at", "99999"], "/check", {"chat": MAREN, "at": 99999}),
    (CLEAN, ["check", MAREN, "--kind", "branch"], "/check", {"chat": MAREN, "kind": "branch"}),
    (BUSY, ["check", ILSE], "/check", {"chat": ILSE}),
    (LEGACY, ["verify", KEY], "/verify", {"chat": KEY}),
    (LEGACY, ["status", KEY], "/status", {"chat": KEY}),
    (LEGACY, ["contamination", KEY], "/contamination", {"chat": KEY}),
    (LEGACY, ["doctor"], "/doctor", {}),
    (LEGACY, ["repair", KEY, "SHARED_LOREBOOK"], "/repair", {"chat": KEY, "code": "shared_lorebook"}),
    (LEGACY, ["repair", KEY, "NOTHING"], "/repair", {"chat": KEY, "code": "NOTHING"}),
    (CLEAN, ["cleanup"], "/cleanup", {}),
    (CLEAN, ["trash"], "/trash", {}),
    (CLEAN, ["log"], "/log", {}),
    (BUSY, ["queue", ILSE], "/queue", {"chat": ILSE}),
    (CLEAN, ["settings"], "/settings", {}),
]

CHANGES: list[tuple[str, list[str], str, dict[str, Any]]] = [
    (CLEAN, ["checkpoint", MAREN], "/checkpoint", {"chat": MAREN}),
    (
        CLEAN,
        ["checkpoint", MAREN, "--at", "20", "--name", "前の夜 🌒", "--show-last-scene"],
        "/checkpoint",
        {"chat": MAREN, "at": 20, "name": "前の夜 🌒", "show_last_scene": True},
    ),
    (CLEAN, ["checkpoint", MAREN, "--name", "CON"], "/checkpoint", {"chat": MAREN, "name": "CON"}),
    (CLEAN, ["checkpoint", MAREN, "--name", "x" * 300], "/checkpoint", {"chat": MAREN, "name": "x" * 300}),
    (CLEAN, ["checkpoint", MAREN, "--dry-run"], "/checkpoint", {"chat": MAREN, "dry_run": True}),
    (CLEAN, ["checkpoint", MAREN, "--policy", "strict", "--at", "4"], "", {}),
    (BUSY, ["checkpoint", ILSE], "/checkpoint", {"chat": ILSE}),
    (BUSY, ["branch", ILSE, "--wait", "0.1"], "/branch", {"chat": ILSE, "wait": 0.1}),
    (CLEAN, ["branch", MAREN, "--at", "30"], "/branch", {"chat": MAREN, "at": 30}),
    (CLEAN, ["branch", MAREN, "--swipe", "99"], "/branch", {"chat": MAREN, "swipe": 99}),
    (CLEAN, ["branch", MAREN, "--dry-run"], "/branch", {"chat": MAREN, "dry_run": True}),
    (LEGACY, ["isolate", KEY], "/isolate", {"chat": KEY}),
    (LEGACY, ["isolate", KEY, "--dry-run"], "/isolate", {"chat": KEY, "dry_run": True}),
    (LEGACY, ["isolate", KEY, "--share"], "/isolate", {"chat": KEY, "share": True}),
    (LEGACY, ["isolate", "--all"], "/isolate", {"all": True}),
    (LEGACY, ["isolate", KEY, "--all", "--dry-run"], "/isolate", {"chat": KEY, "all": True, "dry_run": True}),
    (LEGACY, ["isolate", "--all", "--share"], "/isolate", {"all": True, "share": True}),
    (LEGACY, ["isolate"], "/isolate", {}),
    (CLEAN, ["isolate", "--all"], "/isolate", {"all": True}),
    (
        LEGACY,
        ["repair", KEY, "SHARED_LOREBOOK", "--with", "isolate"],
        "/repair",
        {"chat": KEY, "code": "SHARED_LOREBOOK", "with": "isolate"},
    ),
    (LEGACY, ["doctor", "--fix"], "/doctor", {"fix": True}),
    (LEGACY, ["delete", KEY], "/delete", {"chat": KEY}),
    (LEGACY, ["delete", "2025-11-02@19h14m08s", "--yes"], "/delete", {"chat": "2025-11-02@19h14m08s", "yes": True}),
    (CLEAN, ["cleanup", "--apply"], "/cleanup", {"apply": True}),
    (CLEAN, ["restore", "../../../etc/passwd"], "/restore", {"item": "../../../etc/passwd"}),
    (CLEAN, ["trash", "--empty", "--older-than", "3"], "/trash", {"empty": True, "older_than": 3}),
    (
        CLEAN,
        ["trash", "--empty", "--older-than", "0", "--yes"],
        "/trash",
        {"empty": True, "older_than": 0, "yes": True},
    ),
    (CLEAN, ["undo"], "/undo", {}),
    (CLEAN, ["undo", "../nothing"], "/undo", {"operation": "../nothing"}),
    (BUSY, ["queue", ILSE, "--cancel", "nothing"], "/queue", {"chat": ILSE, "cancel": ["nothing"]}),
]


def compared(rest: Rest, arguments: list[str], path: str, parts: dict[str, Any], method: str) -> None:
    """Ask both faces, each on a workspace of its own, and hold the answers against each other."""
    other = rest.root.with_name("other")
    shutil.copytree(rest.root, other)

    ran = run("--data", other, "--json", *arguments)
    answer = rest.get(path, **parts) if method == "GET" else rest.post(path, **parts)

    told = answer.json()
    if "error" in ran.json:
        assert answer.headers["content-type"] == "application/problem+json"
        kinds = {kind.value: int(status) for kind, status in STATUS.items()}
        assert answer.status_code == told["status"] == kinds[told["kind"]]
        keys = ("code", "params", "kind", "action", "findings")
        told = {"error": {"message": told["detail"], **{key: told[key] for key in keys}}}
    else:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert _anonymous(told, rest.root) == _anonymous(ran.json, other)


def _anonymous(told: Any, root: Path) -> Any:
    """Return an answer without what differs between two runs: ids and the folder."""
    text = json.dumps(told).replace(json.dumps(str(root))[1:-1], "ROOT")
    return json.loads(re.sub(r"\b\d+-[0-9a-f]{8}\b", "ID", text))


@pytest.mark.parametrize("name,arguments,path,parts", LOOKS, ids=[" ".join(case[1]) for case in LOOKS])
def test_a_look_is_answered_alike(
    rest: Callable[[str], Rest], name: str, arguments: list[str], path: str, parts: dict[str, Any]
) -> None:
    compared(rest(name), arguments, path, parts, "GET")


def test_the_contamination_report_comes_in_pages_that_are_the_whole(rest: Callable[[str], Rest]) -> None:
    service = rest(LEGACY)
    whole = run("--data", service.root, "--json", "contamination", KEY).json

    starts = list(range(0, whole["total"], 10))
    pages = [service.get("/contamination", chat=KEY, start=start, count=10).json() for start in starts]

    assert [entry for page in pages for entry in page.pop("entries")] == whole.pop("entries")
    assert [page.pop("start") for page in pages] == starts
    assert whole.pop("start") == 0
    assert pages == [whole] * len(starts)
    for wrong in ({"start": whole["total"] + 1}, {"start": -1}, {"count": 0}, {"count": 201}):
        assert service.get("/contamination", chat=KEY, **wrong).json()["code"] == "BAD_REQUEST"


MADE = [case for case in CHANGES if case[2]]


@pytest.mark.parametrize("name,arguments,path,parts", MADE, ids=[" ".join(case[1]) for case in MADE])
def test_a_change_is_answered_alike(
    rest: Callable[[str], Rest], name: str, arguments: list[str], path: str, parts: dict[str, Any]
) -> None:
    compared(rest(name), arguments, path, parts, "POST")


def test_every_command_and_every_method_has_a_route(rest: Callable[[str], Rest]) -> None:
    paths = rest(CLEAN).get("/openapi.json").json()["paths"]
    routes = {path.removeprefix("/api/") for path in paths}
    here = {"demo", "completion", "serve", "service", "extension"}  # they work on the machine, not on a workspace
    assert {name for names in SECTIONS.values() for name in names} - here <= routes
    other_names = {
        "plan": "checkpoint", "plan_isolation": "isolate", "empty_trash": "trash", "change_settings": "settings",
        "isolate_all": "isolate", "plan_isolations": "isolate",
        "view": "overview", "is_shared_on_purpose": "settings", "new_operations": "events",
        "follow_chats": "follow", "follow_book": "follow",
    }  # fmt: skip
    methods = {name for name in vars(Forklore) if not name.startswith("_")} - {"recover", "listening", "extension"}
    assert {other_names.get(name, name) for name in methods} <= routes


def test_what_does_not_fit_into_a_request_is_told_field_by_field(rest: Callable[[str], Rest]) -> None:
    service = rest(CLEAN)

    wrong = service.get("/check", chat=MAREN, at="x").json()
    missing = service.get("/check").json()

    assert (wrong["status"], wrong["code"], wrong["params"]["case"]) == (422, "BAD_REQUEST", "misfit")
    assert [field["field"] for field in wrong["params"]["fields"]] == ["at"]
    assert wrong["detail"].startswith("Something in the request is wrong: at: ")
    assert (missing["code"], missing["params"]["case"]) == ("BAD_REQUEST", "refused")
    assert "'chat'" in missing["detail"]
    assert wrong["action"] == missing["action"] == "Correct the request and try again."
    assert service.ask("DELETE", "/check").json()["code"] == "METHOD_NOT_ALLOWED"


def test_a_life_of_a_fork_through_the_service(rest: Callable[[str], Rest]) -> None:
    service = rest(CLEAN)
    made = service.post("/checkpoint", chat=MAREN, name="Before the tower").json()
    assert service.get("/verify", chat=made["chat"]).json()["ok"]
    deleted = service.post("/delete", chat=made["chat"]).json()
    items = service.get("/trash").json()["items"]
    assert {item["operation"] for item in items} == {deleted["operation"]}
    service.post("/undo", operation=deleted["operation"])
    service.post("/undo", operation=made["operation"])
    log = service.get("/log").json()["operations"]
    assert [(each["kind"], each["undone"]) for each in log] == [
        ("undo", False), ("undo", False), ("delete", True), ("checkpoint", True),
    ]  # fmt: skip


def test_what_the_extension_saw_is_followed_through_the_service(rest: Callable[[str], Rest]) -> None:
    service = rest(CLEAN)
    made = service.post("/checkpoint", chat=MAREN).json()
    book = service.root / "worlds" / f"{made['lorebook']}.json"
    book.rename(book.with_name("Flag.json"))

    followed = service.post("/follow", book={"old": made["lorebook"], "new": "Flag"}).json()["followed"]

    assert [(each["where"], each["repair"]) for each in followed] == [(made["chat"], "follow-rename")]
    assert service.post("/follow", chat=made["chat"]).json() == {"followed": []}
    assert service.get("/made", request="nobody-0001").json()["outcome"] == "nothing"
