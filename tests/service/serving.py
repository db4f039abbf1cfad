"""A service for tests: inside this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from forklore.app.open import state_folder
from forklore.disk.state import State
from forklore.web.access import Access
from forklore.web.application import application
from forklore.web.doors import House
from forklore.web.service import Service
from tests.edges.running import command_line
from tests.service.shapes import misfits_of_answer

ADDRESS = "http://127.0.0.1:7788"


class Rest:
    """The service of one workspace inside this process, asked by its own page."""

    def __init__(self, root: Path) -> None:
        """Serve *root* and log in."""
        self.root = root.resolve()
        self.access, self.service = Access([self.root], State(state_folder())), Service()
        house = House(7788, frozenset({"127.0.0.1"}))
        self.app = application(house, self.access, self.service)
        login = self.access.log_in(self.root.name, self.access.new_login(self.root))
        cookie = f"{house.cookie}={login.cookie}"
        self.headers = {"cookie": cookie, "x-forklore-page": login.key, "origin": ADDRESS}
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)  # type: ignore[arg-type]  # two spellings of one protocol
        self._client = httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers=self.headers)

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        """Ask for something."""
        return self.ask("GET", path, **({"params": parameters} if parameters else {}))

    def post(self, path: str, **body: Any) -> httpx.Response:
        """Have something done."""
        return self.ask("POST", path, json=body)

    def ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send any request; whatever is answered has the shape that is told of it."""
        answer = self._runner.run(self._client.request(method, f"/api{path}", **request))
        if "json" in answer.headers.get("content-type", "") and answer.content:
            is_problem = answer.headers["content-type"] == "application/problem+json"
            assert not misfits_of_answer(method, path, answer.json(), is_problem=is_problem)
        return answer

    def close(self) -> None:
        """End it."""
        self._runner.run(self._client.aclose())
        self._runner.close()


@dataclass
class Served:
    """A service that runs as a process."""

    process: subprocess.Popen[str]
    address: str
    login: str
    folder: Path
    logins: dict[str, str] = field(default_factory=dict)
    """The first link of each user."""
    said: list[str] = field(default_factory=list)

    @contextmanager
    def client(self, **settings: Any) -> Iterator[httpx.Client]:
        """Return a client that is logged in by a link of its own."""
        with httpx.Client(base_url=self.address, headers={"origin": self.address}, timeout=60, **settings) as client:
            log_in(client, self.next_login())
            yield client

    def next_login(self) -> str:
        """Return a link that was not used yet."""
        link, self.login = self.login, ""
        return link or self._said_link()

    def _said_link(self) -> str:
        for _ in range(200):
            links = re.findall(r"For another browser: (\S+)", "".join(self.said))
            if links and links[-1] not in self._used:
                self._used.add(links[-1])
                return str(links[-1])
            threading.Event().wait(0.05)
        raise AssertionError("no new link was told")

    _used: set[str] = field(default_factory=set)

    def stop(self) -> int:
        """Tell it to stop, as Ctrl-C does, and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


def until(what: Callable[[], bool], seconds: float = 60, pause: float = 0.02) -> None:
    """Wait until something is so; look for it again after every *pause*."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(pause)


def log_in(client: httpx.Client, link: str) -> None:
    """Follow a login link as the page does, and keep what it is given."""
    answer = client.post("/login", json=dict(parse_qsl(urlsplit(link).query)))
    assert answer.status_code == 200, answer.text
    client.headers["x-forklore-page"] = answer.json()["key"]


@contextmanager
def served(
    root: Path, *options: str, env: Mapping[str, str] | None = None, files: int | None = None
) -> Iterator[Served]:
    """Run ``forklore serve`` on a free port; it may open so many *files*."""

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if files is not None:
            import resource  # noqa: PLC0415  # Windows has none

            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    process = subprocess.Popen(
        [*command_line("--data", root, "--json", "serve", "--no-browser", "--port", "0"), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        preexec_fn=prepare,  # noqa: PLW1509  # no threads yet
    )
    assert process.stdout is not None
    assert process.stderr is not None
    document = ""
    while not document.rstrip().endswith("\n}"):
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"the service did not start: {process.stderr.read()}")
        document += line
    told = json.loads(document)
    logins = {each["user"]: each["login"] for each in told["workspaces"]}
    running = Served(process, told["address"], told["workspaces"][0]["login"], root, logins)

    def hear() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            running.said.append(line)

    listener = threading.Thread(target=hear, daemon=True)
    listener.start()
    try:
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        listener.join(10)
        process.stdout.close()
        process.stderr.close()
