"""Isolating all goes on when its asker goes away, and is found again with what came of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.workspaces import many_sharing
from tests.service.serving import Served, served, until

JOB = "left-alone-1"
NAMED = {"x-forklore-job": JOB}
FORKS = 100


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    with served(many_sharing(tmp_path / "forest", FORKS)) as service:
        yield service


def begin_and_leave(running: Served, headers: dict[str, str]) -> None:
    """Ask for it, and drop the connection once it has begun."""
    with running.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post("/api/isolate", json={"all": True}, headers=headers, timeout=0.3)


def ended(client: httpx.Client) -> dict[str, Any]:
    """Return the job once it has ended."""
    until(lambda: client.get(f"/api/jobs/{JOB}").json()["ended"])
    job: dict[str, Any] = client.get(f"/api/jobs/{JOB}").json()
    return job


def operations(client: httpx.Client, request: str | None = None) -> int:
    parameters = {} if request is None else {"request": request}
    return len(client.get("/api/log", params=parameters).json()["operations"])


def test_it_goes_on_when_the_connection_is_dropped_and_its_result_is_found(running: Served) -> None:
    begin_and_leave(running, NAMED)

    with running.client() as client:  # another login, as after a browser was closed
        (job,) = client.get("/api/jobs").json()["jobs"]
        assert (job["job"], job["command"], job["chat"], job["ended"]) == (JOB, "isolate", None, False)
        job = ended(client)
        assert (job["done"], job["total"], job["problem"]) == (FORKS, FORKS, None)
        assert (len(job["answer"]["forks"]), job["answer"]["refused"]) == (FORKS, [])
        assert operations(client, JOB) == FORKS
        story = client.get("/api/tree").json()
        assert all(timeline["isolated"] for timeline in story["timelines"])

        assert client.delete(f"/api/jobs/{JOB}").json() == {"job": JOB, "cancelled": False}
        assert client.get("/api/jobs").json() == {"jobs": []}
        assert client.get(f"/api/jobs/{JOB}").json()["code"] == "JOB_NOT_FOUND"


def test_whoever_finds_it_can_stop_it_and_what_was_isolated_stays_so(running: Served) -> None:
    begin_and_leave(running, NAMED)

    with running.client() as client:
        assert client.delete(f"/api/jobs/{JOB}").json() == {"job": JOB, "cancelled": True}
        job = ended(client)
        assert (job["answer"], job["problem"]["code"], job["problem"]["status"]) == (None, "CANCELLED", 409)
        assert operations(client) < FORKS


def test_whoever_stays_gets_the_answer_and_it_is_kept_until_it_is_forgotten(running: Served) -> None:
    with running.client() as client:
        answer = client.post("/api/isolate", json={"all": True}, headers=NAMED).json()

        assert ended(client)["answer"] == answer


def test_what_nobody_could_find_again_ends_with_its_asker(running: Served) -> None:
    begin_and_leave(running, {})

    with running.client() as client:
        assert client.get("/api/jobs").json() == {"jobs": []}
        counts = [-1]

        def is_still() -> bool:
            counts.append(operations(client))
            return counts[-2] == counts[-1]

        until(is_still, pause=0.5)
        assert counts[-1] < FORKS


def test_a_service_that_is_told_to_stop_does_not_wait_for_it(running: Served) -> None:
    begin_and_leave(running, NAMED)

    assert running.stop() == 0
    assert "Traceback" not in "".join(running.said)
