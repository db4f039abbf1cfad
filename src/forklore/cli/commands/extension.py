"""``forklore extension``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli.command import Answer, Invocation, command
from forklore.cli.terminal import GOOD, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.extension import Extension


@command(examples=("forklore extension install", "forklore extension status", "forklore extension uninstall"))
@click.argument("action", metavar="install|status|uninstall", type=click.Choice(["install", "status", "uninstall"]))
def extension(invocation: Invocation, action: str) -> Answer:
    """Put Forklore's extension into SillyTavern, look at it, or remove it.

    It makes SillyTavern's own buttons create isolated forks. It uses the local service, so `forklore serve` has to run;
    a code that works once, for 15 minutes, is stored with it and pairs the two. Reload SillyTavern's page afterwards.
    """
    found = invocation.open().extension(action)
    return Answer(found, lambda: _lines(found, action))


def _lines(found: Extension, action: str) -> list[str]:
    """Return what is installed in SillyTavern and what to do next."""
    install = "→ forklore extension install"
    if found.installed is None:
        gone = f"{GOOD}The extension was removed.{PLAIN}" if found.removed else "The extension is not installed."
        return [gone] if action == "uninstall" else [gone, install]
    state = f"version {found.installed}" if found.current else f"version {found.installed}; this is {found.version}"
    lines = [f"{GOOD if found.current else WARN}The extension is installed{PLAIN}: {state}", f"  {found.folder}"]
    if found.password_needed:
        lines.append(f"{WARN}This folder belongs to another user, so browsers are paired with a password.{PLAIN}")
        lines.append("→ Set FORKLORE_PASSWORD before you start forklore serve, then enter it in the Extensions drawer.")
    elif found.code_waiting:
        lines.append("For the next 15 minutes, the first browser that opens SillyTavern is paired automatically.")
    elif not found.paired:
        lines.append(f"{WARN}No browser is paired.{PLAIN}")
    if action == "install" or not (found.paired or found.code_waiting or found.password_needed):
        lines.append("→ Start forklore serve, then reload SillyTavern's page.")
    elif not found.current:
        lines.append(install)
    return lines
