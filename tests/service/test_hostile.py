"""The service against programs that mean harm: guesses, floods, stolen cookies, prepared folders, endless work."""

import hashlib
import json
import os
import shutil
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import forklore
from tests.conftest import SAMPLES
from tests.edges.running import MAREN
from tests.service.serving import Served, log_in, served, until

pytestmark = pytest.mark.timeout(240)

PASSWORD = "correct horse battery"
FILES = 256
FEW_FILES, MOST_OF_ONE_WITH_FEW_FILES = 170, 10
PIPELINED = 200
FORGED = ("x-forwarded-for", "forwarded", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "via")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "hollow_quay"
    shutil.copytree(SAMPLES / "hollow_quay_clean", root)
    return root


@pytest.fixture
def running(root: Path) -> Iterator[Served]:
    with served(root) as service:
        yield service


@pytest.fixture
def guarded(root: Path) -> Iterator[Served]:
    with served(root, env={"FORKLORE_PASSWORD": PASSWORD}) as service:
        yield service


def place(service: Served) -> tuple[str, int]:
    host, port = service.address.removeprefix("http://").split(":")
    return host, int(port)


def said(service: Served) -> str:
    return "".join(service.said)


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def never_reading(service: Served) -> socket.socket:
    """Return a connection that has asked for more than fits on the way, and reads nothing."""
    host, port = place(service)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect((host, port))
    connection.sendall(f"GET /texts/en.json HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode() * PIPELINED)
    return connection


def seconds_of_trickling(connection: socket.socket, drop: bytes) -> float:
    """Send *drop* after *drop* and return for how long the service puts up with it, at most twenty seconds."""
    began = time.monotonic()
    connection.settimeout(0.5)
    while time.monotonic() - began < 20:
        try:
            connection.sendall(drop)
            if connection.recv(100) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - began


def unread_answers(service: Served) -> int:
    """Return on how many open connections more is waiting to be read than any client leaves for long."""
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    port, is_open = f":{place(service)[1]:04X}", "01"
    waiting = [int(each[4].partition(":")[0], 16) for each in sockets if each[1].endswith(port) and each[3] == is_open]
    return sum(size > 1 << 16 for size in waiting)


def is_well(service: Served) -> bool:
    try:
        return httpx.get(f"{service.address}/api/health", timeout=15).status_code == 200
    except httpx.TransportError:
        return False


def open_files(service: Served) -> int:
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))


class TestGuesses:
    """Nobody guesses the password by trying often."""

    @pytest.mark.parametrize("path", ["/login", "/api/pair"])
    def test_of_five_hundred_guesses_ten_are_tried_whatever_the_headers_say(self, guarded: Served, path: str) -> None:
        began = time.monotonic()
        answers: Counter[int] = Counter()
        with httpx.Client(base_url=guarded.address, headers={"origin": guarded.address}) as client:
            for number in range(500):
                address = f"10.{number % 7}.{number // 250}.{number % 250}"
                forged = {name: f"for={address}" if name == "forwarded" else address for name in FORGED}
                answers[client.post(path, json={"password": f"guess {number}"}, headers=forged).status_code] += 1
            assert client.post(path, json={"password": PASSWORD}).status_code == 429
        seconds = time.monotonic() - began

        assert set(answers) == {422, 429}
        assert 10 <= answers[422] <= 10 + seconds / 6  # one more every six seconds

    def test_other_addresses_of_this_machine_are_the_same_client(self, guarded: Served) -> None:
        answers: Counter[int] = Counter()
        for number in range(2, 32):
            transport = httpx.HTTPTransport(local_address=f"127.0.0.{number}")
            with httpx.Client(base_url=guarded.address, transport=transport) as client:
                answers[client.post("/login", json={"password": "guess"}).status_code] += 1

        assert answers[422] <= 11


class TestConnections:
    """Nobody keeps others out by holding connections."""

    def test_after_a_thousand_half_open_ones_the_service_answers(self, root: Path) -> None:
        with served(root, files=FILES) as service, service.client() as client, ExitStack() as flood:
            most = 0
            for number in range(1000):
                connection = flood.enter_context(socket.socket())
                connection.settimeout(20)
                connection.connect(place(service))
                connection.sendall(b"GET /api/health HTTP/1.1\r\nHost:"[: number % 33])
                most = max(most, open_files(service))
            began = time.monotonic()
            with httpx.Client(base_url=service.address, timeout=15) as stranger:
                assert stranger.get("/api/health").status_code == 200
            assert client.get("/api/stories").status_code == 200
            seconds = time.monotonic() - began

            assert seconds < 15
            assert most < FILES
            assert "Traceback" not in said(service)
            assert len(service.said) <= 2

    def test_many_at_the_same_moment_are_no_harm_either(self, root: Path) -> None:
        with served(root, files=FILES) as service, ThreadPoolExecutor(16) as pool, ExitStack() as flood:

            def hold(_: int) -> socket.socket:
                connection = socket.create_connection(place(service), timeout=30)
                connection.sendall(b"GET / HT")
                return connection

            for each in pool.map(hold, range(1000)):
                flood.enter_context(each)
            answer = httpx.get(f"{service.address}/api/health", timeout=15)

            assert answer.status_code == 200
            assert service.said == []

    def test_clients_that_never_read_keep_nobody_out(self, root: Path) -> None:
        with served(root, files=FEW_FILES) as service, ExitStack() as flood:
            for _ in range(MOST_OF_ONE_WITH_FEW_FILES):
                flood.enter_context(never_reading(service))
            until(lambda: unread_answers(service) == MOST_OF_ONE_WITH_FEW_FILES)

            until(lambda: is_well(service))
            assert "Traceback" not in said(service)

    @pytest.mark.slow
    def test_an_answer_is_given_thirty_seconds_to_be_read(self, running: Served) -> None:
        began = time.monotonic()
        with never_reading(running):
            until(lambda: unread_answers(running) == 1)
            until(lambda: unread_answers(running) == 0, 60)

        assert 25 < time.monotonic() - began < 45

    @pytest.mark.slow
    def test_a_request_that_trickles_in_is_given_ten_seconds(self, running: Served) -> None:
        with socket.create_connection(place(running), timeout=30) as slow:
            slow.sendall(b"GET /api/health HTTP/1.1\r\n")
            assert 9 < seconds_of_trickling(slow, b"x-more: 1\r\n") < 15

    @pytest.mark.slow
    def test_after_an_answer_no_trickle_keeps_the_connection(self, running: Served) -> None:
        host, port = place(running)
        with socket.create_connection((host, port), timeout=30) as slow:
            slow.sendall(f"POST /api/undo HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 1000\r\n\r\n".encode())
            assert b"401" in slow.recv(65536)
            assert seconds_of_trickling(slow, b"x") < 15

    def test_a_client_that_is_being_answered_is_not_cut_off(self, root: Path) -> None:
        with (
            served(root, files=FILES) as service,
            service.client() as client,
            client.stream("GET", "/api/events", timeout=60) as events,
            ExitStack() as flood,
        ):
            lines = events.iter_lines()
            assert next(lines) == "event: hello"
            for _ in range(400):
                flood.enter_context(socket.create_connection(place(service), timeout=30))
            with httpx.Client(base_url=service.address, cookies=client.cookies, headers=client.headers) as other:
                other.post("/api/open", json={"chat": MAREN}).raise_for_status()
            assert "event: open_chat" in lines

    @pytest.mark.parametrize(
        "rubbish",
        [b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n", b"\r\n" * 500, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    )
    def test_what_is_not_http_is_no_news(self, running: Served, rubbish: bytes) -> None:
        for _ in range(20):
            with socket.create_connection(place(running), timeout=30) as connection:
                connection.sendall(rubbish)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(30)
                read_all(connection)
        assert httpx.get(f"{running.address}/api/health").status_code == 200
        assert running.said == []

    def test_rubbish_while_an_answer_is_on_its_way_is_no_news(self, running: Served) -> None:
        host, port = place(running)
        with running.client() as client:
            head = [f"{name}: {value}" for name, value in own(client).items() if name != "content-type"]
            with socket.create_connection((host, port), timeout=30) as connection:
                request = ["GET /api/events HTTP/1.1", f"Host: {host}:{port}", *head, "Transfer-Encoding: chunked"]
                connection.sendall("\r\n".join([*request, "", ""]).encode())
                assert b"hello" in connection.recv(65536) + connection.recv(65536)
                connection.sendall(b"no chunk at all\r\n" * 10)
                read_all(connection)
            assert client.get("/api/stories").status_code == 200
        assert "Traceback" not in said(running)

    def test_an_upgrade_that_we_do_not_know_is_no_news(self, running: Served) -> None:
        before = list(running.said)
        for _ in range(20):
            headers = {"connection": "upgrade", "upgrade": "websocket"}
            assert httpx.get(f"{running.address}/api/health", headers=headers).status_code == 200
        assert running.said == before


class TestPaths:
    """A path that leads nowhere is not found, whatever it looks like."""

    @pytest.mark.parametrize("name", ["x" * 249, "x" * 250, "x" * 5000, "%C3%A9" * 200, "x/" * 120])
    def test_a_long_one_is_not_found(self, running: Served, name: str) -> None:
        answer = httpx.get(f"{running.address}/page/{name}")

        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
        assert running.said == []


class TestBodies:
    """A body that does not come keeps nobody waiting."""

    @pytest.mark.slow
    def test_one_that_stalls_is_answered_with_408(self, running: Served) -> None:
        host, port = place(running)
        with running.client() as client:
            head = "\r\n".join(f"{name}: {value}" for name, value in own(client).items())

        def stall(path: str) -> bytes:
            request = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{head}\r\nContent-Length: 99\r\n\r\n{{"
            with socket.create_connection((host, port), timeout=60) as slow:
                slow.sendall(request.encode())
                return read_all(slow)

        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(stall, ["/api/checkpoint", "/api/pair", "/login"]))

        for answer in answers:
            assert answer.startswith(b"HTTP/1.1 408 "), answer
            assert b"connection: close" in answer.lower()
            assert b"application/problem+json" in answer
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "REQUEST_TIMEOUT"
        assert "Traceback" not in said(running)


def own(client: httpx.Client) -> dict[str, str]:
    """Return what the page of a client that is logged in sends with each request."""
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    return {
        "cookie": cookie,
        "x-forklore-page": client.headers["x-forklore-page"],
        "origin": client.headers["origin"],
        "content-type": "application/json",
    }


class TestCookies:
    """A cookie is sent to every port of a host, so whoever listens on another one gets it."""

    def test_whoever_has_the_cookie_alone_is_let_in_nowhere(self, running: Served) -> None:
        with running.client() as client:
            document = client.get("/api/openapi.json").json()
            stolen = {name: value for name, value in own(client).items() if name != "x-forklore-page"}
        asked = [
            (method.upper(), path.replace("{job}", "some-job-1"))
            for path, methods in document["paths"].items()
            for method in methods
            if path not in ("/api/health", "/api/pair")
        ]
        assert len(asked) > 30
        with httpx.Client(base_url=running.address) as thief:
            for method, path in [*asked, ("GET", "/api/openapi.json"), ("GET", "/api/nothing"), ("GET", "/api")]:
                for extra in ({}, {"sec-fetch-site": "same-origin"}, {"x-forklore-page": ""}, {"x-forklore-page": "x"}):
                    answer = thief.request(method, path, headers=stolen | extra)
                    assert (answer.status_code, answer.json()["code"]) == (401, "LOGIN_NEEDED"), (method, path)
            for path in ("/", "/login"):  # they hold nothing of a story
                assert b"hollow" not in thief.get(path, headers=stolen).content.lower()

    def test_nobody_gets_a_key_for_a_cookie(self, running: Served) -> None:
        with running.client() as client:
            stolen = {name: value for name, value in own(client).items() if name != "x-forklore-page"}
        with httpx.Client(base_url=running.address, headers=stolen) as thief:
            for body in ({}, {"user": "hollow_quay"}, {"user": "hollow_quay", "code": ""}, {"password": ""}):
                answer = thief.post("/login", json=body)
                assert answer.status_code in (401, 422)
                assert "key" not in answer.json()


class TestLogins:
    """A login link works once, for the user it names."""

    def test_following_a_link_spends_nothing(self, running: Served) -> None:
        link = running.next_login()
        for _ in range(3):
            assert httpx.get(link).status_code == 200
        with httpx.Client(base_url=running.address, headers={"origin": running.address}) as client:
            log_in(client, link)
            assert client.get("/api/stories").status_code == 200

    def test_a_link_names_its_user_and_is_nobody_elses(self, tmp_path: Path) -> None:
        for user in ("anna", "boris & co"):
            shutil.copytree(SAMPLES / "hollow_quay_clean", tmp_path / "data" / user)
        with served(tmp_path / "data") as service:
            link = service.next_login()
            assert "user=anna&" in link
            with httpx.Client(base_url=service.address, headers={"origin": service.address}) as client:
                code = link.rpartition("code=")[2]
                refused = client.post("/login", json={"user": "boris & co", "code": code})
                assert (refused.status_code, refused.json()["code"]) == (401, "LOGIN_NEEDED")
                assert refused.json()["detail"] == "This login link no longer works."
                log_in(client, link)
                assert client.post("/login", json={"user": "anna", "code": code}).status_code == 401

    def test_another_login_in_the_same_browser_ends_the_first(self, running: Served) -> None:
        with running.client() as client:
            before = own(client)
            log_in(client, running.next_login())
            assert client.get("/api/stories").status_code == 200
        with httpx.Client(base_url=running.address, headers=before) as late:
            assert late.get("/api/stories").status_code == 401

    def test_a_page_of_another_port_logs_nobody_in(self, guarded: Served) -> None:
        for origin in ("http://127.0.0.1:8000", "http://evil.example", "null"):
            headers = {"origin": origin, "sec-fetch-site": "same-site"}
            for body in ({"password": PASSWORD}, {"user": "hollow_quay", "code": guarded.login.rpartition("=")[2]}):
                answer = httpx.post(f"{guarded.address}/login", json=body, headers=headers)
                assert answer.status_code in (401, 403)
                assert "set-cookie" not in answer.headers


class TestFolders:
    """A folder that a stranger prepared lets nobody in."""

    def test_what_lies_in_it_opens_nothing(self, root: Path) -> None:
        token, origin = "a token of mine", "http://127.0.0.1:8000"
        made = {"hash": hashlib.sha256(token.encode()).hexdigest(), "origin": origin, "made": "2026-11-17T10:00:00Z"}
        code = {"hash": hashlib.sha256(b"open-sesame").hexdigest(), "made": time.time()}
        (root / ".forklore").mkdir()
        (root / ".forklore/access.json").write_text(
            json.dumps({"tokens": [made | {"purpose": "extension"}], "code": code})
        )
        folder = root / "extensions/forklore"
        folder.mkdir(parents=True)
        (folder / "pairing.json").write_text('{"code": "open-sesame"}')
        with served(root) as service, httpx.Client(base_url=service.address) as client:
            bearer = {"authorization": f"Bearer {token}"}
            for headers in (bearer, bearer | {"origin": origin}):
                assert client.get("/api/stories", headers=headers).status_code == 401
            answer = client.post("/api/pair", json={"code": "open-sesame"}, headers={"origin": origin})
            assert (answer.status_code, answer.json()["code"]) == (422, "NOT_PAIRED")
            assert not (root / ".forklore/access.json").exists()

    def test_each_start_leaves_a_new_code_that_pairs_once(self, root: Path) -> None:
        forklore.open(root).extension("install")
        path = root / "extensions/forklore/pairing.json"
        first = json.loads(path.read_bytes())
        with served(root) as service:
            second = json.loads(path.read_bytes())
            assert first != second
            assert path.stat().st_mode & 0o077 == 0
            pair = f"{service.address}/api/pair"
            assert httpx.post(pair, json=first).json()["code"] == "NOT_PAIRED"
            token = httpx.post(pair, json=second).json()["token"]
            assert httpx.post(pair, json=second).json()["code"] == "NOT_PAIRED"
            assert not path.exists()
            bearer = {"authorization": f"Bearer {token}"}
            assert httpx.get(f"{service.address}/api/stories", headers=bearer).status_code == 200
            path = httpx.post(f"{service.address}/api/login", headers=bearer | {"content-length": "0"}).json()["path"]
            assert path.startswith("/login?user=hollow_quay&code=")

    def test_no_token_of_sillytavern_widens_what_is_followed(self, root: Path, tmp_path: Path) -> None:
        forklore.open(root).extension("install")
        (root / "worlds").rename(tmp_path / "elsewhere")
        (root / "worlds").symlink_to(tmp_path / "elsewhere")
        with served(root) as service, service.client() as own_page:
            code = json.loads((root / "extensions/forklore/pairing.json").read_bytes())
            token = httpx.post(f"{service.address}/api/pair", json=code).json()["token"]
            repair = {"chat": "worlds", "code": "LINK_OUTSIDE", "with": "allow"}
            with httpx.Client(base_url=service.address, headers={"authorization": f"Bearer {token}"}) as tavern:
                for name in ("allow", "finish", "discard"):
                    answer = tavern.post("/api/repair", json=repair | {"with": name})
                    assert (answer.status_code, answer.json()["code"]) == (403, "OWN_PAGE_NEEDED")
                assert tavern.get("/api/repair", params={"chat": "worlds", "code": "LINK_OUTSIDE"}).json()["repairs"]

            assert own_page.post("/api/repair", json=repair).status_code == 200

    def test_open_to_the_network_no_code_is_left_and_none_opens(self, root: Path) -> None:
        forklore.open(root).extension("install")
        code = json.loads((root / "extensions/forklore/pairing.json").read_bytes())
        with served(root, "--host", "0.0.0.0", env={"FORKLORE_PASSWORD": PASSWORD}) as service:
            assert json.loads((root / "extensions/forklore/pairing.json").read_bytes()) == code
            answer = httpx.post(f"{service.address}/api/pair", json=code)
            assert (answer.status_code, answer.json()["code"]) == (422, "NOT_PAIRED")
            assert "password" in answer.json()["detail"]


@pytest.mark.slow
class TestLongWork:
    """One client does not keep the others waiting with long work."""

    @pytest.fixture
    def large(self, tmp_path: Path) -> Iterator[Served]:
        root = tmp_path / "large"
        shutil.copytree(SAMPLES / "hollow_quay_legacy_shared", root)
        for folder in list((root / "chats").iterdir()):
            for number in range(150):
                shutil.copytree(folder, folder.with_name(f"{folder.name} {number}"))
        with served(root) as service:
            yield service

    def test_of_fifteen_doctors_two_work_and_the_others_are_told_at_once(self, large: Served) -> None:
        limits = httpx.Limits(max_connections=40)
        with large.client(limits=limits) as client, ThreadPoolExecutor(16) as pool:

            def doctor(_: int) -> tuple[int, float, dict[str, Any]]:
                began = time.monotonic()
                answer = client.get("/api/doctor")
                return answer.status_code, time.monotonic() - began, answer.json()

            asked = [pool.submit(doctor, number) for number in range(15)]
            until(lambda: sum(each.done() for each in asked) >= 13, 60)
            began = time.monotonic()
            assert client.get("/api/settings").status_code == 200
            quick = time.monotonic() - began
            still_at_work = sum(not each.done() for each in asked)
            answers = [each.result() for each in asked]

        told = [body for status, _, body in answers if status == 429]
        assert still_at_work == 2, "the doctors were too quick to tell"
        assert [status for status, _, _ in answers].count(200) == 2
        assert {body["code"] for body in told} == {"TOO_MANY_REQUESTS"}
        assert all("Wait until one of them is done" in body["action"] for body in told)
        assert quick < 5
