"""The options that commands share, and the global ones that stand before or after the command."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forklore.cli.progress import Steps
from forklore.cli.terminal import say
from forklore.errors import ForkloreError
from forklore.printable import printable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from forklore.app.forklore import Forklore

FORKLORE_DATA = "FORKLORE_DATA"
FORKLORE_LOG = "FORKLORE_LOG"
COMPLETE = "_FORKLORE_COMPLETE"


class Invocation:
    """One call of the program: what its global options say, and the workspace they lead to."""

    def __init__(self, *, as_json: bool = False) -> None:
        """Begin with nothing said, but for whether the answer is JSON."""
        self.json = as_json
        self.data: str | None = None
        self.user: str | None = None
        self.policy: str | None = None
        self.making = ""
        """What is being made: checkpoint, branch or isolation; what fails then is that."""
        self.progress = Steps(quiet=as_json)

    def open(self) -> Forklore:
        """Open the workspace; when it was found by searching, say which one it is."""
        from forklore.app.open import open_workspace  # most of the start-up time: only when it is needed

        forklore = open_workspace(self.data, user=self.user, policy=self.policy, progress=self.progress)
        if self.data is None and not os.environ.get(FORKLORE_DATA):
            say(f"Using {forklore.root.resolve()} (to use another: --data DIR)")
        return forklore

    def find(self) -> list[Path]:
        """Return the folder of every user that the options mean."""
        from forklore.app.open import find_roots

        return find_roots(self.data, user=self.user)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep a global option; the one after the command wins, as it comes last."""
    if value is not None and value is not False and isinstance(context.obj, Invocation):
        setattr(context.obj, str(parameter.name), value)


def _global(*names: str, **settings: Any) -> Callable[[], click.Option]:
    return partial(click.Option, list(names), callback=_remember, expose_value=False, **settings)


def _show_help(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(context.get_help())
        context.exit()


HELP_OPTION = click.Option(
    ["-h", "--help"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_help,
    help="Show this message and exit.",
)
"""What click has of its own too, but not before it looked for its words in the user's language, in every call."""

GLOBAL_OPTIONS: tuple[Callable[[], click.Option], ...] = (
    _global("--data", metavar="DIR", help=f"SillyTavern's folder, its data folder or a user folder [{FORKLORE_DATA}]."),
    _global("--user", metavar="HANDLE", help="Which user, when the data folder has several."),
    _global(
        "--policy",
        type=click.Choice(["standard", "strict"]),
        metavar="POLICY",
        help="How strict the checks before a fork are: standard or strict.",
    ),
    _global("--json", is_flag=True, default=None, help="Print exactly one JSON document."),
)


def complete_chat(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the chats that have what was typed, but for those whose names a shell could not take as one line."""
    from click.shell_completion import CompletionItem

    from forklore.app.open import open_workspace

    try:
        stories = open_workspace(context.obj.data, user=context.obj.user).stories().stories
    except (ForkloreError, OSError):
        return []  # a shell that completes a word is no place for an error
    chats = [timeline.chat for story in stories for timeline in story.timelines]
    fitting = [chat for chat in chats if incomplete.casefold() in chat.casefold() and printable(chat) == chat]
    # What bash is offered it puts into the line as it is; the other shells quote it.
    quoted = map(shlex.quote, fitting) if os.environ.get(COMPLETE) == "bash_complete" else fitting
    return [CompletionItem(chat) for chat in quoted]


def _seconds(text: str) -> float:
    seconds = _number(text)
    if seconds is None or seconds < 0:
        raise click.BadParameter(f"{text!r} is not a number of seconds.")
    return seconds


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def settle_wait(arguments: list[str]) -> list[str]:
    """Return the arguments with a ``--wait`` that no number follows made explicit, so that it takes no chat along."""
    settled = list(arguments)
    for place, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--wait" and _number("".join(arguments[place + 1 : place + 2])) is None:
            settled[place] = "--wait=inf"
    return settled


F = TypeVar("F", bound=Callable[..., Any])

chat_argument = click.argument("chat", metavar="CHAT", shell_complete=complete_chat)
at_option = click.option("--at", type=int, metavar="N", help="Message number, from 0; without it the last message.")
_wait_option = click.option(
    "--wait",
    type=_seconds,
    metavar="[SECONDS]",
    help="Wait until the queue is idle and the workspace is free; without a number, as long as it takes.",
)
_show_option = click.option("--show-last-scene", is_flag=True, help="Unhide the messages of the fork's last scene.")
leave_parent_option = click.option(
    "--leave-parent", is_flag=True, help="Leave the parent alone: SillyTavern's page has it open and updates it."
)
_dry_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")


def fork_options(function: F) -> F:
    """Add what checkpoint and branch have in common."""
    return _wait_option(_show_option(leave_parent_option(_dry_option(function))))


def serve_options(port: click.IntRange, port_help: str) -> Callable[[F], F]:
    """Return what adds the options that say where the page is served, and to whom."""
    poll_help = "Look for changes every few seconds, where the disk does not report them."
    options = (
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Where to listen; other addresses need a password."
        ),
        click.option("--port", default=7788, show_default=True, type=port, help=port_help),
        click.option(
            "--name", "names", multiple=True, metavar="HOST", help="Another name by which this machine is reached."
        ),
        click.option(
            "--origin", "origins", multiple=True, metavar="URL", help="A SillyTavern on another machine to pair with."
        ),
        click.option("--poll", is_flag=True, help=poll_help),
    )

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
