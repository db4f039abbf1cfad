"""Serving the page from the command line: what is told, and the browser that is opened."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.cli import terminal

if TYPE_CHECKING:
    from forklore.web.server import Serving

_LONG_LOG = 1 << 20


def serve_page(
    roots: Sequence[Path], *, as_json: bool = False, browser: bool = True, log: str | None = None, **how: Any
) -> None:
    """Serve until told to stop; say where, and open the page where there is a screen and no *log* instead."""
    from forklore.web.server import serve

    def tell(serving: Serving) -> None:
        if log is not None:
            terminal.write(*(f"{_now()} Serving {root} at {serving.address}" for root, _ in serving.logins))
        elif as_json:
            terminal.write_json(serving.to_json())
        else:
            terminal.write(*_words(serving))
            if browser:
                open_page(serving.logins[0][1])

    def tell_next(link: str) -> None:
        terminal.say(f"The link was used. For another browser: {link}")

    serve(roots, on_ready=tell, on_login=tell_next, log=log, **how)


def _words(serving: Serving) -> list[str]:
    lines = []
    for root, link in serving.logins:
        lines += [f"Serving {root}", f"  Open {terminal.BOLD}{link}{terminal.PLAIN}", "  The link works once."]
    if serving.open_to_network:
        lines.append("Others on your network can log in with the password.")
    return [*lines, "Stop with Ctrl-C."]


def write_to(log: Path) -> None:
    """Write to the file *log* from now on, which only this user can read; a long one is begun anew."""
    import logging

    from forklore.log.records import log_on_stderr
    from forklore.version import VERSION

    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.fstat(descriptor).st_size > _LONG_LOG:
        os.ftruncate(descriptor, 0)
    sys.stdout = sys.stderr = open(  # noqa: SIM115, PTH123  # for as long as the process lives
        descriptor, "w", encoding="utf-8", errors="backslashreplace", buffering=1
    )
    log_on_stderr(logging.WARNING, "%(asctime)s %(message)s")
    terminal.write(f"{_now()} Forklore {VERSION} starts")


def _now() -> str:
    from datetime import datetime

    return f"{datetime.now():%Y-%m-%d %H:%M:%S}"  # noqa: DTZ005  # for the person at this machine


def open_page(link: str) -> None:
    """Open the page where there is a screen; beside us, since some browsers are slow to start."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
