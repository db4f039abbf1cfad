"""``forklore serve``."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

import click

from forklore.cli import terminal
from forklore.cli.command import Invocation, command

if TYPE_CHECKING:
    from forklore.web.server import Serving


@command(
    examples=(
        "forklore serve",
        "forklore serve --port 8800 --no-browser",
        "FORKLORE_PASSWORD=… forklore serve --host 0.0.0.0",
    )
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; elsewhere needs a password.")
@click.option("--port", default=7788, show_default=True, type=click.IntRange(0, 65535), help="0 for any free one.")
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another name by which this machine is asked.")
@click.option(
    "--origin", "origins", multiple=True, metavar="URL", help="A SillyTavern on another machine to pair with."
)
@click.option("--poll", is_flag=True, help="Look for changes every few seconds, where the disk does not tell of them.")
def serve(
    invocation: Invocation,
    *,
    host: str,
    port: int,
    no_browser: bool,
    names: tuple[str, ...],
    origins: tuple[str, ...],
    poll: bool,
) -> None:
    """Serve the page with your stories.

    It opens in the browser by a link that works once. Only this machine can reach it; with --host others can, and then
    the environment's FORKLORE_PASSWORD must hold a password. The SillyTavern extension talks to it, too.
    """
    from forklore.web.server import serve as serve_until_stopped

    def tell(serving: Serving) -> None:
        if invocation.json:
            terminal.write_json(serving.to_json())
        else:
            terminal.write(_words(serving))
        if not no_browser and not invocation.json:
            _open(serving.logins[0][1])

    serve_until_stopped(
        invocation.find(),
        host=host,
        port=port,
        password=os.environ.get("FORKLORE_PASSWORD"),
        names=names,
        origins=origins,
        poll=poll,
        on_ready=tell,
        on_login=lambda link: terminal.say(f"Somebody came in. For another browser: {link}\n"),
    )


def _words(serving: Serving) -> str:
    lines = []
    for root, link in serving.logins:
        lines += [f"Serving {root}", f"  Open {terminal.BOLD}{link}{terminal.PLAIN}", "  The link works once."]
    if serving.open_to_network:
        lines.append("Others in your network can come in with the password.")
    return "\n".join([*lines, "Stop with Ctrl-C.", ""])


def _open(link: str) -> None:
    """Open the page where there is a screen; beside us, since some browsers are slow to start."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
