"""Starting and stopping the service."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from litestar.types import ASGIApp

from forklore.access.keys import remove_former_access, sessions_of
from forklore.access.logins import logins_of
from forklore.access.running import Running, announced
from forklore.app.extension import renew_code
from forklore.app.open import open_workspace, user_state
from forklore.disk.workspace import only_one
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.log.records import log_on_stderr
from forklore.version import VERSION
from forklore.web.access import Access
from forklore.web.addresses import is_loopback, login_path
from forklore.web.application import application
from forklore.web.connections import BACKLOG, Connection
from forklore.web.doors import House
from forklore.web.service import Service

_SHORTEST_PASSWORD = 8
_LAST_SECONDS = 30  # for what is being written when the service is told to stop
_WAITING_OUTSIDE = 1024  # connections that the system keeps for us
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class PortTaken(ForkloreError):
    """Something listens there already."""

    code = "PORT_TAKEN"
    kind = Kind.CONFLICT


class PasswordNeeded(BadRequest):
    """Whoever can reach the machine could reach the stories."""

    code = "PASSWORD_NEEDED"


@dataclass(frozen=True, slots=True)
class Serving:
    """Where the service listens, and how to come in."""

    address: str
    logins: tuple[tuple[Path, str], ...]
    """For each workspace a link that works once; an empty one where nobody would see it."""
    open_to_network: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what ``serve`` tells when it begins."""
        return {
            "address": self.address,
            "workspaces": [{"user": root.name, "folder": str(root), "login": link} for root, link in self.logins],
        }


def serve(
    roots: Sequence[Path],
    *,
    host: str,
    port: int,
    password: str | None = None,
    names: Sequence[str] = (),
    origins: Sequence[str] = (),
    poll: bool = False,
    patience: float | None = None,
    log: str | None = None,
    on_ready: Callable[[Serving], None],
    on_login: Callable[[str], None],
) -> None:
    """Serve until told to stop; *on_ready* hears where, *on_login* of the next link when one was used.

    With *patience* it also stops when nobody has asked or listened for so many seconds.
    With a *log*, nobody sees what is told: then no link is made here, but by the command line when it is asked for one.
    """
    roots = [root.resolve() for root in roots]
    to_network = not is_loopback(host)
    refuse_open_doors(roots, host=host, password=password)
    listening = listen(host, port)
    port = listening.getsockname()[1]
    house = House(port, _names_of(host, names), open_to_network=to_network, origins=frozenset(origins))
    state = user_state()
    for root in roots:
        _tidy_up(root)
        remove_former_access(root)
        if not to_network:  # there only the password opens
            renew_code(root, state, now=time.time())
    access = Access(
        roots,
        state,
        password=password,
        sessions=sessions_of(port),
        logins=logins_of(port),
        open_to_network=to_network,
    )
    service = Service()
    address = address_of(host, port)

    def link(root: Path) -> str:
        return address + login_path(root.name, access.new_login(root)) if log is None else ""

    if log is None:
        access.on_login = lambda root: on_login(link(root))
    config = _config(application(house, access, service, poll=poll))
    with announced(state, port, Running(address, tuple(map(str, roots)), os.getpid(), VERSION, log)):
        on_ready(Serving(address, tuple((root, link(root)) for root in roots), to_network))
        asyncio.run(_Server(config, service, patience).serve([listening]))


def refuse_open_doors(roots: Sequence[Path], *, host: str, password: str | None) -> None:
    """Raise ``PasswordNeeded`` where strangers could come in, and ``UserNeeded`` where a password opens too much."""
    if not is_loopback(host) and (password is None or len(password) < _SHORTEST_PASSWORD):
        raise PasswordNeeded(host=host, shortest=_SHORTEST_PASSWORD)
    if password is not None:
        only_one(list(roots))  # a password opens one workspace


def address_of(host: str, port: int) -> str:
    """Return where the page is for somebody on this machine."""
    return f"http://{_shown(host)}:{port}"


def _names_of(host: str, names: Sequence[str]) -> frozenset[str]:
    """Return every name that the service answers to."""
    known = _LOOPBACK | {host.lower(), *(name.lower() for name in names)}
    if not is_loopback(host):
        known |= {socket.gethostname().lower(), f"{socket.gethostname().lower()}.local"}
    return frozenset(known)


def _config(app: ASGIApp) -> uvicorn.Config:
    log_on_stderr(logging.WARNING, "%(message)s")
    logging.getLogger("watchdog").setLevel(logging.ERROR)  # it warns of every folder that is watched no more
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it warns of every request that is not HTTP
    return uvicorn.Config(
        app,
        http=Connection,
        backlog=BACKLOG,
        proxy_headers=False,  # who asks is who is connected, whatever a header says
        date_header=False,
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )


class _Server(uvicorn.Server):
    """Lets streams and waiting work end before it waits for open connections; a signal is a normal end."""

    def __init__(self, config: uvicorn.Config, service: Service, patience: float | None) -> None:
        super().__init__(config)
        self._service = service
        self._patience = patience
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told_to_stop = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen; whoever is not accepted yet waits outside, where he costs us no file."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_WAITING_OUTSIDE)

    async def main_loop(self) -> None:
        """Sleep until told to stop: uvicorn's own loop wakes ten times a second."""
        self._loop = asyncio.get_running_loop()
        while not self.should_exit:
            try:
                await asyncio.wait_for(self._told_to_stop.wait(), self._patience)
            except TimeoutError:
                if self._service.idle_seconds() >= (self._patience or 0):
                    return

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._told_to_stop.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        def stop(number: int, frame: FrameType | None) -> None:
            self.handle_exit(number, frame)

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _tidy_up(root: Path) -> None:
    """Finish or take back what a crash left; what cannot be opened is told to whoever asks for it."""
    with suppress(ForkloreError, OSError):
        open_workspace(root).recover()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; raises ``PortTaken`` when somebody else does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]  # Python adds what was attempted, which we say
        raise PortTaken(host=host, port=port, reason=reason) from error
    except OverflowError as error:
        raise BadRequest("port", port=port) from error


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104  # a comparison; listening there needs a password
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
