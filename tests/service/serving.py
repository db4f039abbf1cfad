"""A service for tests: inside this process, or as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from forklore.web.access import Access
from forklore.web.application import application
from forklore.web.doors import House
from forklore.web.service import Service
from tests.edges.running import command_line

ADDRESS = "http://127.0.0.1:7788"


class Rest:
    """The service of one workspace inside this process, asked by its own page."""

    def __init__(self, root: Path) -> None:
        """Serve *root* and log in."""
        self.root = root.resolve()
        self.access, self.service = Access([self.root]), Service()
        house = House(7788, frozenset({"127.0.0.1"}))
        self.app = application(house, self.access, self.service)
        session = self.access.log_in(self.access.new_login(self.root))
        self.headers = {"cookie": f"{house.cookie}={session}", "origin": ADDRESS}
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
        """Send any request."""
        return self._runner.run(self._client.request(method, f"/api{path}", **request))

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
    said: list[str] = field(default_factory=list)

    @contextmanager
    def client(self, **settings: Any) -> Iterator[httpx.Client]:
        """Return a client that is logged in by a link of its own."""
        with httpx.Client(base_url=self.address, headers={"origin": self.address}, timeout=60, **settings) as client:
            answer = client.get(self.next_login())
            assert answer.status_code == 303, answer.text
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


@contextmanager
def served(root: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Run ``forklore serve`` on a free port."""
    process = subprocess.Popen(
        [*command_line("--data", root, "--json", "serve", "--no-browser", "--port", "0"), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # no threads yet
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
    running = Served(process, told["address"], told["workspaces"][0]["login"], root)

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
