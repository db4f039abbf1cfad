"""Whatever is asked, the answer is one that the OpenAPI document tells of, and never a failure of the service."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

import forklore
from tests.conftest import SAMPLES
from tests.service.serving import Rest, Served, served

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
)

_REAL_CHATS = """
[parameters]
"query.chat" = ["Maren Tolliver", "Branch #42", "The key in hand - 2025-11-02@21h04m23s", "../settings", "no such chat"]
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    root = tmp_path / "hollow_quay"
    shutil.copytree(SAMPLES / "hollow_quay_legacy_shared", root)
    with served(root) as service:
        yield service


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_request_finds_a_failure_or_an_answer_that_is_not_told_of(running: Served, tmp_path: Path) -> None:
    forklore.open(running.folder).extension("install")
    code = json.loads((running.folder / "extensions/forklore/pairing.json").read_bytes())["code"]
    token = httpx.post(f"{running.address}/api/pair", json={"code": code}).json()["token"]
    (tmp_path / "schemathesis.toml").write_text(_REAL_CHATS, encoding="utf-8")
    found = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{running.address}/api/openapi.json"),
            *("--header", f"Authorization: Bearer {token}"),
            *("--checks", ",".join(CHECKS), "--max-examples", "25", "--generation-deterministic"),
            *("--exclude-path", "/api/events", "--exclude-path", "/api/logout"),
            *("--rate-limit", "150/s", "--no-color"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-8000:]


def test_the_document_tells_what_every_route_answers(rest: Callable[[str], Rest]) -> None:
    paths = rest("hollow_quay_clean").get("/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            answers = operation["responses"]
            assert "400" not in answers
            if path not in ("/api/events", "/api/logout"):
                assert answers["200"]["content"]["application/json"]["schema"], (method, path)
