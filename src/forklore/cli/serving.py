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


def serve_page(roots: Sequence[Path], *, as_json: bool = False, browser: bool = True, **how: Any) -> None:
    """Serve until told to stop; say where, and open the page where there is a screen."""
    from forklore.web.server import serve

    def tell(serving: Serving) -> None:
        if as_json:
            terminal.write_json(serving.to_json())
        else:
            terminal.write(*_words(serving))
            if browser:
                _open(serving.logins[0][1])

    def tell_next(link: str) -> None:
        terminal.say(f"The link was used. For another browser: {link}")

    serve(roots, on_ready=tell, on_login=tell_next, **how)


def _words(serving: Serving) -> list[str]:
    lines = []
    for root, link in serving.logins:
        lines += [f"Serving {root}", f"  Open {terminal.BOLD}{link}{terminal.PLAIN}", "  The link works once."]
    if serving.open_to_network:
        lines.append("Others on your network can log in with the password.")
    return [*lines, "Stop with Ctrl-C."]


def _open(link: str) -> None:
    """Open the page where there is a screen; beside us, since some browsers are slow to start."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
