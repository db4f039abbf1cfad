"""The service as a process: events, many clients, hostile requests, starting and stopping."""

import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from errno import EADDRINUSE
from pathlib import Path
from typing import Any

import httpx
import pytest

from forklore.testing.stories import read_workspace
from tests.conftest import SAMPLES
from tests.edges.running import ILSE, MAREN, run_process
from tests.service.serving import Served, served, until

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    root = tmp_path / "hollow_quay"
    shutil.copytree(SAMPLES / "hollow_quay_clean", root)
    with served(root) as service:
        yield service


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Served]:
    root = tmp_path / "salvage"
    shutil.copytree(SAMPLES / "salvage_rights_queue_busy", root)
    with served(root) as service:
        yield service


class Heard:
    """What was heard on the stream of events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._more = threading.Condition()

    def add(self, name: str, data: dict[str, Any]) -> None:
        with self._more:
            self.events.append((name, data))
            self._more.notify_all()

    def wait_for(self, name: str, **parts: Any) -> dict[str, Any]:
        """Return the first event of that name that says so."""
        found = self._first(lambda each, data: each == name and parts.items() <= data.items(), 30)
        assert found is not None, (name, parts, self.events)
        return found

    def wait_for_book(self, book: str, seconds: float = 30) -> bool:
        """Whether it is told in time that a lorebook has changed, maybe together with others."""
        return self._first(lambda name, data: name == "changed" and book in data["books"], seconds) is not None

    def _first(self, fits: Callable[[str, dict[str, Any]], bool], seconds: float) -> dict[str, Any] | None:
        def found() -> dict[str, Any] | None:
            return next((data for name, data in self.events if fits(name, data)), None)

        with self._more:
            self._more.wait_for(lambda: found() is not None, seconds)
            return found()


@contextmanager
def listening(client: httpx.Client) -> Iterator[Heard]:
    """Listen to the events meanwhile."""
    heard, done = Heard(), threading.Event()

    def listen() -> None:
        name = ""
        with suppress(httpx.HTTPError), client.stream("GET", "/api/events", timeout=60) as stream:
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    heard.add(name, json.loads(line.removeprefix("data: ")))
                if done.is_set() or (name == "bye" and not line):
                    return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    heard.wait_for("hello")
    yield heard
    done.set()


@contextmanager
def watching(running: Served, client: httpx.Client) -> Iterator[Heard]:
    """Listen once changes on the disk are told, which begins a moment after somebody listens."""
    with listening(client) as heard:
        probe = running.folder / "worlds" / "Probe.json"
        for _ in range(60):
            probe.write_text('{"entries": {}}')
            if heard.wait_for_book("Probe", seconds=0.5):
                break
        else:
            raise AssertionError("no change was told")
        yield heard


def test_the_four_steps_and_the_operation_are_told(running: Served) -> None:
    with running.client() as client, listening(client) as heard:
        made = client.post("/api/checkpoint", json={"chat": MAREN}, headers={"x-forklore-job": "job-12345"}).json()

        told = heard.wait_for("operation", id=made["operation"])
        assert (told["kind"], told["chat"]) == ("checkpoint", made["chat"])
        work = [data for name, data in heard.events if name == "progress" and data["job"] == "job-12345"]
        steps = [data["step"] for data in work if "step" in data]
        assert [step["number"] for step in steps] == [1, 2, 3, 4]
        assert all(set(step) == {"number", "code", "params", "text"} and step["text"] for step in steps)
        notes = [data["note"] for data in work if "note" in data]
        assert notes
        assert all(set(note) == {"code", "params", "text", "good"} and note["text"] for note in notes)


def test_a_change_on_the_disk_and_its_findings_are_told(running: Served) -> None:
    with running.client() as client:
        made = client.post("/api/checkpoint", json={"chat": MAREN}).json()
        with watching(running, client) as heard:  # what our own files caused is over
            os.remove(running.folder / "worlds" / f"{made['lorebook']}.json")
            assert heard.wait_for_book(made["lorebook"])
            chat = running.folder / "chats" / f"{made['chat']}.jsonl"
            chat.write_bytes(chat.read_bytes())

            told = heard.wait_for("findings", chat=made["chat"])
            assert [finding["code"] for finding in told["findings"]] == ["LOREBOOK_MISSING"]


def test_what_the_command_line_does_is_told_too(running: Served) -> None:
    with running.client() as client:
        client.post("/api/checkpoint", json={"chat": MAREN})
        with watching(running, client) as heard:
            made = run_process("--data", running.folder, "--json", "branch", MAREN).json
            heard.wait_for("operation", id=made["operation"], kind="branch")


@pytest.mark.req(95)
def test_a_second_creation_is_refused_kindly_while_the_first_one_runs(running: Served) -> None:
    with running.client() as client, ThreadPoolExecutor(6) as pool:
        asked = [
            pool.submit(client.post, "/api/checkpoint", json={"chat": MAREN, "name": "one of many"}) for _ in range(6)
        ]
        answers = [each.result() for each in asked]

    assert [answer.status_code for answer in answers].count(200) == 1
    codes = {answer.json()["code"] for answer in answers if answer.status_code != 200}
    assert codes <= {"CREATION_IN_PROGRESS", "NAME_TAKEN"}


def test_a_fork_that_waits_is_followed_and_cancelled(busy: Served) -> None:
    before = read_workspace(busy.folder)
    with busy.client() as client, listening(client) as heard, ThreadPoolExecutor(1) as pool:
        job = {"x-forklore-job": "waiting-job"}
        asked = pool.submit(client.post, "/api/checkpoint", json={"chat": ILSE, "wait": True}, headers=job)
        heard.wait_for("progress", job="waiting-job")

        assert client.delete("/api/jobs/waiting-job").json() == {"job": "waiting-job", "cancelled": True}
        answer = asked.result()

    assert (answer.status_code, answer.json()["code"]) == (409, "CANCELLED")
    assert read_workspace(busy.folder) == before


def test_a_fork_that_waits_is_made_once_the_queue_is_idle(busy: Served) -> None:
    with busy.client() as client, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.post, "/api/checkpoint", json={"chat": ILSE, "wait": 60})
        waiting = client.get("/api/queue", params={"chat": ILSE}).json()["operations"]
        ids = [each["id"] for each in waiting]
        client.post("/api/queue", json={"chat": ILSE, "cancel": ids})

        assert asked.result().status_code == 200


def test_stopping_ends_streams_and_waiting_work_and_leaves_nothing_behind(busy: Served) -> None:
    before = read_workspace(busy.folder)
    with busy.client() as client, listening(client) as heard, ThreadPoolExecutor(1) as pool:
        job = {"x-forklore-job": "waiting-job"}
        asked = pool.submit(client.post, "/api/branch", json={"chat": ILSE, "wait": True}, headers=job)
        heard.wait_for("progress", job="waiting-job")

        assert busy.stop() == 0
        heard.wait_for("bye")
        assert asked.result().json()["code"] == "CANCELLED"
    assert read_workspace(busy.folder) == before
    assert "Traceback" not in "".join(busy.said)


@pytest.mark.slow
def test_fifty_clients_read_while_forks_are_made(running: Served) -> None:
    paths = ("/api/stories", "/api/overview", "/api/log", "/api/trash")
    with running.client(limits=httpx.Limits(max_connections=60)) as client, ThreadPoolExecutor(51) as pool:
        done = threading.Event()

        def read(number: int) -> set[int]:
            statuses = set()
            path = paths[number % len(paths)] if number % 5 else f"/api/verify?chat={MAREN}"
            while True:
                statuses.add(client.get(path).status_code)
                if done.wait(0.2):
                    return statuses

        readers = [pool.submit(read, number) for number in range(50)]
        made = [client.post("/api/checkpoint", json={"chat": MAREN, "wait": 30}) for _ in range(10)]
        done.set()

        assert {answer.status_code for answer in made} == {200}
        assert set().union(*(reader.result() for reader in readers)) == {200}
        for answer in made:
            assert client.get("/api/verify", params={"chat": answer.json()["chat"]}).json()["ok"]


def test_hostile_requests_read_and_change_nothing(running: Served) -> None:
    before = read_workspace(running.folder)
    with running.client() as client:
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        key = client.headers["x-forklore-page"]
    body = b'{"chat": "' + MAREN.encode() + b'"}'
    own = {
        "cookie": cookie,
        "x-forklore-page": key,
        "origin": running.address,
        "content-type": "application/json",
    }
    tries: list[tuple[str, str, dict[str, str], bytes]] = [
        ("POST", "/api/checkpoint", {}, body),
        ("POST", "/api/checkpoint", {"content-type": "application/json"}, body),
        ("POST", "/api/checkpoint", own | {"origin": "http://evil.example"}, body),
        ("POST", "/api/checkpoint", own | {"origin": "null"}, body),
        ("POST", "/api/checkpoint", own | {"host": "evil.example"}, body),
        ("POST", "/api/checkpoint", own | {"host": "evil.example:7788"}, body),
        ("POST", "/api/checkpoint", {key: own[key] for key in own if key != "origin"}, body),
        ("POST", "/api/checkpoint", own | {"content-type": "text/plain"}, b"chat=" + body),
        ("POST", "/api/checkpoint", own, b"x" * (100 << 20)),
        ("POST", "/api/checkpoint", own, b'{"chat": ["' * 90_000),
        ("POST", "/api/checkpoint", own, b'{"chat": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        ("POST", "/api/checkpoint", own, b'{"chat": "\xff\xfe"}'),
        ("POST", "/api/checkpoint", own | {"x-forklore-job": "../../x"}, body),
        ("GET", "/api/show?chat=../../../../etc/passwd", own, b""),
        ("GET", "/api/show?chat=..%2f..%2fsettings", own, b""),
        ("GET", "/api/show?chat=%00", own, b""),
        ("GET", "/page/../server.py", own, b""),
        ("GET", "/page/%2e%2e/server.py", own, b""),
        ("GET", "/page/..%2fserver.py", own, b""),
        ("GET", "/page//etc/passwd", own, b""),
        ("GET", "/page/%5c..%5cserver.py", own, b""),
        ("DELETE", "/api/jobs/..%2f..%2fx", own, b""),
        ("POST", "/api/restore", own, b'{"item": "../../chats/x"}'),
        ("POST", "/api/undo", own, b'{"operation": "../../../x"}'),
    ]
    with httpx.Client(base_url=running.address, timeout=60) as client:
        for method, path, headers, content in tries:
            try:
                answer = client.request(method, path, headers=headers, content=content)
            except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
                continue  # it did not even listen to the end
            assert 400 <= answer.status_code < 500, (method, path, answer.status_code)
            assert b"root:" not in answer.content
            assert b"import" not in answer.content
            if answer.status_code != 404 or path.startswith("/api"):
                assert answer.headers["content-type"] == "application/problem+json", (path, answer.text)

    assert read_workspace(running.folder) == before


def test_no_spelling_of_a_path_answers_without_a_key(running: Served) -> None:
    host, port = running.address.removeprefix("http://").split(":")
    for path in ("//api/overview", "/%2fapi/overview", "///api/stories", "/page/%2e%2e/%2e%2e/api/log", "/.//api/log"):
        with socket.create_connection((host, int(port))) as plain:
            plain.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: plain.recv(65536), b""))
        assert answer.split(b" ")[1] in (b"401", b"404"), (path, answer[:200])


def test_waiting_forks_keep_nobody_else_from_working(busy: Served) -> None:
    limits = httpx.Limits(max_connections=40)
    with busy.client(limits=limits) as client, ThreadPoolExecutor(20) as pool:
        waiting = [
            pool.submit(client.post, "/api/branch", json={"chat": ILSE, "wait": True}, headers={"x-forklore-job": name})
            for name in (f"waiting-{number:02}" for number in range(20))
        ]
        too_many, _ = wait(waiting, timeout=60, return_when=FIRST_COMPLETED)
        assert {each.result().status_code for each in too_many} == {429}
        assert {each.result().json()["code"] for each in too_many} == {"TOO_MANY_REQUESTS"}
        assert client.get("/api/stories").status_code == 200
        for number in range(20):
            client.delete(f"/api/jobs/waiting-{number:02}")
        answers = [each.result() for each in waiting]

    assert sorted({answer.status_code for answer in answers}) == [409, 429]
    assert [answer.status_code for answer in answers].count(409) == 6


def test_who_goes_away_does_not_get_a_fork_later(busy: Served) -> None:
    job = {"x-forklore-job": "waiting-job"}
    with busy.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post("/api/checkpoint", json={"chat": ILSE, "wait": True}, headers=job, timeout=1)
    with busy.client() as client:
        until(lambda: client.get("/api/log", headers=job).status_code == 200)  # the name is free: it has ended
        ids = [each["id"] for each in client.get("/api/queue", params={"chat": ILSE}).json()["operations"]]
        client.post("/api/queue", json={"chat": ILSE, "cancel": ids})
        client.post("/api/branch", json={"chat": ILSE, "wait": True})  # who still waited would get his as well
        kinds = [each["kind"] for each in client.get("/api/log").json()["operations"]]
    assert sorted(kinds) == ["branch", "cancel"]


@pytest.mark.parametrize("command", ["delete", "branch", "isolate"])
def test_an_address_that_is_gone_never_means_another_chat(running: Served, command: str) -> None:
    with running.client() as client:
        fork = client.post("/api/branch", json={"chat": MAREN}).json()["chat"]
        assert fork.startswith(MAREN)
        os.remove(running.folder / "chats" / f"{MAREN}.jsonl")

        answer = client.post(f"/api/{command}", json={"chat": MAREN})

    assert (answer.status_code, answer.json()["code"]) == (404, "CHAT_NOT_FOUND")
    assert (running.folder / "chats" / f"{fork}.jsonl").exists()


def test_half_a_request_keeps_nobody_waiting(running: Served) -> None:
    host, port = running.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow, running.client() as client:
        slow.sendall(b"POST /api/checkpoint HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{")
        assert client.get("/api/stories").status_code == 200


def test_a_body_without_a_length_is_cut_off(running: Served) -> None:
    with running.client() as client:
        endless = (b" " * 65536 for _ in range(400))
        try:
            answer = client.post("/api/checkpoint", content=endless, headers={"content-type": "application/json"})
        except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
            return
        assert answer.status_code == 413
        assert answer.headers["content-type"] == "application/problem+json"


def test_other_machines_are_let_in_only_with_a_password(tmp_path: Path) -> None:
    root = tmp_path / "hollow_quay"
    shutil.copytree(SAMPLES / "hollow_quay_clean", root)
    for password in ("", "short"):
        ran = run_process(
            "--data", root, "--json", "serve", "--host", "0.0.0.0", "--port", "0", env={"FORKLORE_PASSWORD": password}
        )
        assert (ran.code, ran.error["code"]) == (2, "PASSWORD_NEEDED")
    with (
        served(root, "--host", "0.0.0.0", env={"FORKLORE_PASSWORD": "correct horse battery"}) as service,
        httpx.Client(base_url=service.address, headers={"origin": service.address}) as client,
    ):
        assert client.post("/login", json={"password": "wrong"}).status_code == 422
        assert client.get("/api/stories").status_code == 401
        answer = client.post("/login", json={"password": "correct horse battery"})
        assert answer.status_code == 200
        assert client.get("/api/stories").status_code == 401  # with the cookie alone
        client.headers["x-forklore-page"] = answer.json()["key"]
        assert client.get("/api/stories").status_code == 200


def test_a_port_that_is_taken_is_told(running: Served) -> None:
    port = running.address.rpartition(":")[2]
    ran = run_process("--data", running.folder, "--json", "serve", "--port", port)
    assert (ran.code, ran.error["code"]) == (5, "PORT_TAKEN")
    reason = os.strerror(EADDRINUSE)
    assert ran.error["params"] == {"host": "127.0.0.1", "port": int(port), "reason": reason}
    assert ran.error["message"] == f"Forklore cannot listen on 127.0.0.1 port {port}: {reason}."


def test_each_user_has_a_link_of_his_own_that_opens_his_stories_alone(tmp_path: Path) -> None:
    for user, sample in (("anna", "hollow_quay_clean"), ("boris", "salvage_rights_clean")):
        shutil.copytree(SAMPLES / sample, tmp_path / "data" / user)
    with served(tmp_path / "data") as service:
        with service.client() as client:
            stories = client.get("/api/stories").json()["stories"]
        assert [story["main"] for story in stories] == [MAREN]
