"""``forklore service``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forklore.cli import terminal
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.options import FORKLORE_DATA, serve_options
from forklore.cli.terminal import BAD, BOLD, DIM, GOOD, PLAIN, WARN
from forklore.errors import BadRequest, Kind

if TYPE_CHECKING:
    from forklore.autostart.kept import Kept
    from forklore.autostart.results import Service
    from forklore.autostart.wanted import Wanted

_OPTIONS = {
    "install": {"host", "port", "names", "origins", "poll", "no_browser"},
    "open": {"no_browser"},
    "status": set[str](),
    "uninstall": {"keep_log", "forget"},
}
_STARTED_BY = {
    "systemd": "systemd, when you log in",
    "launchd": "launchd, when you log in",
    "windows": "the Task Scheduler, when you log on",
    "termux": "Termux:Boot, when the phone starts; install that app too, and open it once",
}


@command(
    examples=("forklore service install", "forklore service open", "forklore service uninstall"),
)
@click.argument(
    "action", metavar="install|open|status|uninstall", type=click.Choice(["install", "open", "status", "uninstall"])
)
@serve_options(click.IntRange(1, 65535), "The port of the page.")
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@click.option("--keep-log", is_flag=True, help="Leave the log when uninstalling.")
@click.option("--forget", is_flag=True, help="When uninstalling, also log out and unpair every browser.")
@click.pass_context
def service(
    context: click.Context,
    invocation: Invocation,
    action: str,
    *,
    host: str,
    port: int,
    names: tuple[str, ...],
    origins: tuple[str, ...],
    poll: bool,
    no_browser: bool,
    keep_log: bool,
    forget: bool,
) -> Answer:
    """Keep the page running in the background.

    install starts `forklore serve` now and every time you log in. Install again after an update, or to change an
    option; the options that you leave out stay as they are.

    open opens the page with a new login link. status shows whether all is well, and where everything is.

    uninstall removes it again. Your stories stay, and so do logins and pairings unless you add --forget.

    With --host other devices can reach it: you are asked for a password, or it is taken from the environment variable
    FORKLORE_PASSWORD. It is kept in a file that only you can read.
    """
    from forklore.app.open import user_state
    from forklore.autostart.service import Autostart

    _refuse_options_of_others(context, action)
    autostart, now = Autostart(user_state()), time.time()
    if action == "install":
        given = {"host": host, "port": port, "names": names, "origins": origins, "poll": poll}
        found = autostart.install(_wanted(context, invocation, autostart.before, given))
        if found.running:
            found = autostart.open(now=now, shown=found)
    elif action == "open":
        found = autostart.open(now=now)
    elif action == "status":
        found = autostart.status()
    else:
        found = autostart.uninstall(keep_log=keep_log, forget=forget)
    if found.logins and not (no_browser or invocation.json):
        from forklore.cli.serving import open_page

        open_page(found.logins[0][1])
    return Answer(found, lambda: list(_words(found, action)), 0 if found.ok else EXIT_CODES[Kind.BLOCKED])


def _refuse_options_of_others(context: click.Context, action: str) -> None:
    for name in sorted(set[str]().union(*_OPTIONS.values()) - _OPTIONS[action]):
        if _is_given(context, name):
            option = next(each for each in context.command.params if each.name == name)
            raise BadRequest("option_elsewhere", option=option.opts[0], command=f"service {action}")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _wanted(context: click.Context, invocation: Invocation, before: Kept | None, options: dict[str, Any]) -> Wanted:
    """Return the service that is wanted; what is not said stays as it was installed before."""
    from dataclasses import replace

    from forklore.app.open import find_roots
    from forklore.autostart.wanted import Wanted

    data, user = invocation.data or os.environ.get(FORKLORE_DATA), invocation.user
    if before is not None:
        options = {name: each if _is_given(context, name) else getattr(before, name) for name, each in options.items()}
        user = user or (before.user if data is None else None)
        data = data or before.data
    roots = find_roots(data, user=user)
    if data is None:
        data = str(roots[0] if len(roots) == 1 else roots[0].parent)
        terminal.say(f"Using {Path(data).resolve()} (to use another: --data DIR)")
    password = os.environ.get("FORKLORE_PASSWORD") or None
    wanted = Wanted(data=str(Path(data).absolute()), user=user, roots=tuple(roots), password=password, **options)
    return replace(wanted, password=_ask_password()) if _must_ask(wanted) else wanted


def _must_ask(wanted: Wanted) -> bool:
    """Whether a password is needed, none is known, and there is somebody to ask."""
    from forklore.app.open import user_state
    from forklore.autostart.kept import read_password

    if wanted.password is not None or not wanted.needs_password or read_password(user_state()) is not None:
        return False
    return terminal.is_terminal(sys.stdin)


def _ask_password() -> str:
    question = "Password for everyone who opens the page from another device"
    answer: str = click.prompt(question, hide_input=True, confirmation_prompt=True, err=True)
    return answer


# --- words --------------------------------------------------------------------------------------------------------


def _words(found: Service, action: str) -> Iterator[str]:
    if action == "open":
        yield from _logins(found)
        return
    if not found.installed:
        yield from _gone(found, action)
        return
    runs = f"and {GOOD}running{PLAIN}" if found.running else f"but {BAD}not running{PLAIN}"
    yield f"The service is installed {runs}."
    yield f"  page        {found.address}"
    yield f"  stories     {found.data}"
    yield f"  started by  {_STARTED_BY.get(found.system or '', found.system)}"
    yield f"              {found.file}"
    yield f"  log         {found.log}"
    if action == "status":
        yield f"  command     {_shown(found.command)}"
    for finding in found.findings:
        yield f"{BAD if finding.severity.value == 'error' else WARN}{finding.message}{PLAIN} {DIM}{finding.code}{PLAIN}"
        yield from (f"  {line}" for line in finding.details.splitlines())
        yield f"→ {finding.action}"
    yield from _logins(found)
    if found.running and not found.logins:
        yield "→ forklore service open"


def _gone(found: Service, action: str) -> Iterator[str]:
    if found.removed:
        yield f"{GOOD}The service was removed.{PLAIN} Your stories are as they were."
        yield from (f"  {path}" for path in found.removed)
    else:
        yield "The service is not installed."
        if action == "status":
            yield "→ forklore service install"


def _logins(found: Service) -> Iterator[str]:
    for root, link in found.logins:
        if len(found.logins) > 1:
            yield f"For {Path(root).name}:"
        yield f"Open {BOLD}{link}{PLAIN}"
    if found.logins:
        yield "The link works once, for 15 minutes. To get another: forklore service open"


def _shown(words: tuple[str, ...]) -> str:
    if sys.platform == "win32":
        import subprocess

        return subprocess.list2cmdline(words)
    import shlex

    return shlex.join(words)
