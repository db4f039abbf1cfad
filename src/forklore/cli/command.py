"""What a command is made of: the global options, its examples, and the answer it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from forklore.cli.options import GLOBAL_OPTIONS, HELP_OPTION, Invocation, settle_wait
from forklore.errors import Kind

if TYPE_CHECKING:
    from forklore.app.forklore import Result

EXIT_CODES = {
    Kind.INVALID: 2,
    Kind.BLOCKED: 3,
    Kind.NOT_FOUND: 4,
    Kind.CONFLICT: 5,
    Kind.BUSY: 6,
    Kind.DAMAGED: 7,
}
EXIT_BUG, EXIT_INTERRUPTED = 1, 130
EXIT_HALF = EXIT_CODES[Kind.CONFLICT]  # something was in the way of the rest


class Answer(NamedTuple):
    """The result of a command, and the words for it, line by line; ``forklore.cli.main`` writes one of the two."""

    result: Result
    words: Callable[[], list[str]]
    exit_code: int = 0


class Command(click.Command):
    """A command that takes the global options and knows examples of its use."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        """Add the global options to those of the command."""
        super().__init__(*args, **kwargs)
        self.params.extend(option() for option in GLOBAL_OPTIONS)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, with a bare ``--wait`` understood."""
        return super().parse_args(ctx, settle_wait(args))

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the option that shows the help page."""
        del ctx
        return HELP_OPTION

    def get_help(self, ctx: click.Context) -> str:
        """Return the help page; the library that lays it out is loaded only for that."""
        from forklore.cli.help import command_help

        return command_help(self, ctx)


def command(*, examples: Sequence[str]) -> Callable[[Callable[..., Answer | None]], Command]:
    """Make a function a command of the same name; its first argument is the ``Invocation``.

    It returns its answer, or None when it has told everything while it ran.
    """

    def decorate(function: Callable[..., Answer | None]) -> Command:
        return click.command(function.__name__, cls=Command, examples=examples)(click.pass_obj(function))

    return decorate


__all__ = ["EXIT_BUG", "EXIT_CODES", "EXIT_HALF", "EXIT_INTERRUPTED", "Answer", "Command", "Invocation", "command"]
