"""The service as a process: how soon it answers, what it holds while idle, how quickly the page gets its data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import forklore


class Running:
    """A running service, asked as its page asks it."""

    def __init__(self, process: subprocess.Popen[str], login: str) -> None:
        """Log in by the link."""
        self._process = process
        self.address = login.partition("/login")[0]
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        link = json.dumps(dict(parse_qsl(urlsplit(login).query))).encode()
        headers = {"content-type": "application/json", "origin": self.address}
        answer = self._opener.open(urllib.request.Request(f"{self.address}/login", link, headers))
        self._opener.addheaders = [("x-forklore-page", json.loads(answer.read())["key"])]

    def get(self, path: str, **parameters: object) -> Any:
        """Return the answer to a look."""
        query = "&".join(f"{name}={quote(str(value))}" for name, value in parameters.items())
        return json.loads(self._opener.open(f"{self.address}/api/{path}?{query}").read())

    def memory(self) -> float:
        """Return the MiB it holds."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def cpu_seconds(self) -> float:
        """Return the time it has computed."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(root: Path) -> Iterator[Running]:
    """Serve a workspace meanwhile."""
    process = _start(root, "0", stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        document = ""
        while not document.rstrip().endswith("\n}"):
            document += process.stdout.readline()
        yield Running(process, json.loads(document)["workspaces"][0]["login"])
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def first_answer(root: Path, port: int) -> float:
    """Return the seconds from entering the command to its first answer."""
    started = time.perf_counter()
    process = _start(root, str(port), stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health").read()
                return time.perf_counter() - started
            except OSError:
                time.sleep(0.005)
    finally:
        process.terminate()
        process.wait(60)


def _start(root: Path, port: str, stdout: int) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "forklore", "--data", str(root), "--json", "serve", "--no-browser", "--port", port]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL, text=True, env=environment)


def write_forest(root: Path, *, stories: int, timelines: int) -> str:
    """Write a workspace with many short stories and one with many timelines; return that one's main chat."""
    folder = root / "chats" / "Forest"
    folder.mkdir(parents=True)
    for number in range(stories):
        _write(folder / f"Story {number}.jsonl", {}, 10)
    opened = forklore.open(root)
    for number in range(timelines - 1):
        _write(folder / f"Fork {number}.jsonl", {"main_chat": "Story 0" if number < 20 else f"Fork {number // 3}"}, 10)
    return str(opened.tree("Forest/Story 0").main)


def _write(path: Path, metadata: dict[str, Any], messages: int) -> None:
    header = {"user_name": "You", "character_name": "Forest", "chat_metadata": metadata}
    lines = [header, *({"name": "You", "is_user": True, "mes": f"Message {n}"} for n in range(messages))]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
