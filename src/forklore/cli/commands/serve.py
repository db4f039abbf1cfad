"""``forklore serve``."""

from __future__ import annotations

import os

import click

from forklore.cli.command import Invocation, command
from forklore.cli.serving import serve_page


@command(
    examples=(
        "forklore serve",
        "forklore serve --port 8800 --no-browser",
        "forklore serve --host 0.0.0.0",
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

    It opens in the browser with a link that works once. Only this computer can reach it; with --host others can, and
    then the environment's FORKLORE_PASSWORD must hold a password. The SillyTavern extension talks to it, too.
    """
    serve_page(
        invocation.find(),
        as_json=invocation.json,
        browser=not no_browser,
        host=host,
        port=port,
        password=os.environ.get("FORKLORE_PASSWORD") or None,
        names=names,
        origins=origins,
        poll=poll,
    )
