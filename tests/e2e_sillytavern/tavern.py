"""A real SillyTavern on a data folder of its own, and a real ``forklore serve`` beside it."""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forklore
from forklore.app.forklore import Forklore
from tests.e2e_sillytavern.installing import package

START_SECONDS = 240
UNUSED = ("assets", "caption", "expressions", "gallery", "memory", "stable-diffusion", "translate", "tts", "vectors")
"""What SillyTavern brings along for pictures, speech and the like: nothing here is about it, and it loads for long."""
Json = dict[str, Any]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(what: Callable[[], Any], seconds: float = 60, why: str = "") -> Any:
    """Return what *what* returns as soon as it is true."""
    end = time.monotonic() + seconds
    while True:
        if found := what():
            return found
        if time.monotonic() > end:
            raise TimeoutError(why or "it did not come true in time")
        time.sleep(0.05)


def network_address() -> str | None:
    """Return the address by which other machines know this one, None when it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # nothing is sent
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


class Door:
    """Lets the network in to a port of this machine, as `listen: true` would."""

    def __init__(self, host: str, port: int) -> None:
        """Pass on whatever comes to *host* to *port* of this machine."""
        self._inside = ("127.0.0.1", port)
        self._outside = socket.create_server((host, 0))
        self.url = f"http://{host}:{self._outside.getsockname()[1]}"
        threading.Thread(target=self._let_in, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more."""
        self._outside.close()

    def _let_in(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                guest = self._outside.accept()[0]
                host = socket.create_connection(self._inside)
                for one, other in ((guest, host), (host, guest)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        with one, contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


class Tavern:
    """One server and its only user."""

    def __init__(self, folder: Path, version: str, model_url: str, service_port: int) -> None:
        """Make the data folder below *folder*; nothing runs yet."""
        self.version = version
        self.folder = folder
        self.data = folder / "data"
        self.user = self.data / "default-user"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.service_port = service_port
        self._model_url = model_url
        self._process: subprocess.Popen[bytes] | None = None
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        self._token = ""

    def start(self) -> None:
        """Start the server, and set what a new user would be asked for."""
        self.data.mkdir(parents=True, exist_ok=True)
        command = ["node", "server.js", "--configPath", str(self.folder / "config.yaml")]
        command += ["--dataRoot", str(self.data), "--port", str(self.port), "--listen", "false"]
        command += ["--browserLaunchEnabled", "false"]
        with (self.folder / "sillytavern.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=package(self.version),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._token = wait_for(self._csrf_token, START_SECONDS, "SillyTavern did not start")
        self._set_up()

    def stop(self) -> None:
        """Stop the server."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _csrf_token(self) -> str:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError((self.folder / "sillytavern.log").read_text()[-2000:])
        try:
            with self._opener.open(f"{self.url}/csrf-token", timeout=5) as response:
                return str(json.load(response)["token"])
        except OSError:
            return ""

    def _set_up(self) -> None:
        path = self.user / "settings.json"
        settings = json.loads(path.read_bytes())
        settings["firstRun"] = False
        settings["main_api"] = "openai"
        user = settings.setdefault("power_user", {})
        user.setdefault("personas", {})["user-default.png"] = "Tester"
        user.setdefault("persona_descriptions", {})["user-default.png"] = {"description": "", "position": 0}
        user.update(auto_connect=True, auto_load_chat=False)
        # Without what only looks nice: nobody sees it, and it takes most of a processor.
        user.update(fast_ui_mode=True, reduced_motion=True, noShadows=True, blur_strength=0)
        settings.setdefault("extension_settings", {})["disabledExtensions"] = list(UNUSED)
        settings.setdefault("oai_settings", {}).update(
            chat_completion_source="custom",
            custom_url=self._model_url,
            custom_model="mock",
            stream_openai=False,
            bypass_status_check=True,
        )
        path.write_text(json.dumps(settings, indent=4), "utf-8")

    def install_extension(self) -> None:
        """Install the extension, with the settings it begins with, whatever was set before."""
        path = self.user / "settings.json"
        settings = json.loads(path.read_bytes())
        settings.setdefault("extension_settings", {})["forklore"] = {
            "address": f"http://127.0.0.1:{self.service_port}",
            "notices": "all",
            "whenAway": "refuse",
        }
        path.write_text(json.dumps(settings, indent=4), "utf-8")
        self.forklore().extension("install")

    # --- its own interface ----------------------------------------------------------------------------------------

    def ask(self, path: str, body: Json) -> str:
        """Ask the server as its page does."""
        headers = {"Content-Type": "application/json", "X-CSRF-Token": self._token}
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers)
        with self._opener.open(request, timeout=60) as response:
            return str(response.read().decode())

    def make_character(self, name: str, greeting: str = "It begins.") -> str:
        """Make a character; return its avatar."""
        fields = {"ch_name": name, "first_mes": greeting, "description": "", "alternate_greetings": [], "world": ""}
        return self.ask("/api/characters/create", fields)

    def make_group(self, name: str, avatars: list[str]) -> str:
        """Make a group; return its id."""
        chat = f"{name} - first"
        group: Json = {"name": name, "members": avatars, "avatar_url": "", "allow_self_responses": False}
        group |= {"activation_strategy": 1, "generation_mode": 0, "disabled_members": [], "fav": False}
        group |= {"chat_id": chat, "chats": [chat], "auto_mode_delay": 5, "hideMutedSprites": False}
        return str(json.loads(self.ask("/api/groups/create", group))["id"])

    # --- files ----------------------------------------------------------------------------------------------------

    def forklore(self) -> Forklore:
        """Return the workspace."""
        return forklore.open(self.user)

    def chat_path(self, address: str) -> Path:
        """Return where a chat's file is."""
        folder, _, name = address.partition("/")
        where = self.user / "group chats" if folder.startswith("group:") else self.user / "chats" / folder
        return where / f"{name}.jsonl"

    def read_chat(self, address: str) -> tuple[Json, list[Json]]:
        """Return a chat's metadata and messages, as they are on the disk."""
        lines = self.chat_path(address).read_text("utf-8").split("\n")
        header, *messages = (json.loads(line) for line in lines if line)
        return header["chat_metadata"], messages

    def read_book(self, name: str) -> Json:
        """Return a lorebook."""
        book: Json = json.loads((self.user / "worlds" / f"{name}.json").read_bytes())
        return book

    def write_book(self, name: str, book: Json) -> None:
        """Write a lorebook as SillyTavern does."""
        path = self.user / "worlds" / f"{name}.json"
        new = path.with_name(f"{path.name}.123")
        new.write_text(json.dumps(book, indent=4, ensure_ascii=False), "utf-8")
        new.replace(path)

    def add_sample(self, sample: Path, name: str) -> str:
        """Copy a sample story beside the others, told by a new character *name*; return its main chat's address.

        Its lorebook gets another name: the same story twice with one lorebook would be a copy that shares it.
        """
        avatar = self.make_character(name).removesuffix(".png")
        folder = self.user / "chats" / avatar
        folder.mkdir(parents=True, exist_ok=True)
        (book,) = sample.glob("worlds/*.json")
        own = f"{book.stem} of {avatar}"
        shutil.copyfile(book, self.user / "worlds" / f"{own}.json")
        for chat in sample.glob("chats/*/*.jsonl"):
            (folder / chat.name).write_bytes(chat.read_bytes().replace(book.stem.encode(), own.encode()))
        mains = (each for each in self.chats_of(avatar) if "main_chat" not in self.read_chat(each)[0])
        return next(mains)

    def chats_of(self, folder: str) -> list[str]:
        """Return the addresses of a character's chats."""
        return sorted(f"{folder}/{path.stem}" for path in (self.user / "chats" / folder).glob("*.jsonl"))

    def books(self) -> set[str]:
        """Return the names of all lorebooks."""
        return {path.stem for path in (self.user / "worlds").glob("*.json")}


class Service:
    """``forklore serve`` as a process of its own."""

    def __init__(self, tavern: Tavern) -> None:
        """Serve the workspace of *tavern*."""
        self._tavern = tavern
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str, password: str = "") -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "forklore", "serve", "--data", str(self._tavern.user), "--no-browser"]
        command += ["--port", str(self._tavern.service_port), *options]
        environment = {**os.environ, "FORKLORE_PASSWORD": password}
        with (self._tavern.folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
        wait_for(self.answers, 60, "the service did not start")

    def answers(self) -> bool:
        """Whether it is there."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self._tavern.service_port}/api/health", timeout=5):
                return True
        except OSError:
            return False

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it without a warning."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
