"""``forklore serve``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from forklore.cli.command import Invocation, command
from forklore.cli.options import serve_options
from forklore.cli.serving import serve_page, write_to


@command(
    examples=(
        "forklore serve",
        "forklore serve --port 8800 --no-browser",
        "forklore serve --host 0.0.0.0",
    )
)
@serve_options(click.IntRange(0, 65535), "0 for any free one.")
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@click.option("--password-file", metavar="FILE", type=click.Path(), help="A file that holds the password.")
@click.option(
    "--log", metavar="FILE", type=click.Path(), help="Write to FILE; no page is opened and no login link made."
)
def serve(
    invocation: Invocation,
    *,
    host: str,
    port: int,
    no_browser: bool,
    names: tuple[str, ...],
    origins: tuple[str, ...],
    poll: bool,
    password_file: str | None,
    log: str | None,
) -> None:
    """Serve the page with your stories.

    It opens in the browser with a link that works once. Only this computer can reach it; with --host others can, and
    then the environment variable FORKLORE_PASSWORD must hold a password. The SillyTavern extension uses it, too.
    To keep it running in the background: `forklore service install`.
    """
    if log is not None:
        write_to(Path(log))
    serve_page(
        invocation.find(),
        as_json=invocation.json,
        browser=not no_browser,
        log=log,
        host=host,
        port=port,
        password=_password(password_file),
        names=names,
        origins=origins,
        poll=poll,
    )


def _password(file: str | None) -> str | None:
    if file is not None:
        return Path(file).read_text(encoding="utf-8", errors="surrogateescape").rstrip("\r\n")
    return os.environ.get("FORKLORE_PASSWORD") or None
