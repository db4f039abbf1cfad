"""What a command is made of: the global options, its examples, and the answer it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import click

from forklore.cli.options import GLOBAL_OPTIONS, Invocation, settle_wait


class Result(Protocol):
    """What a use case returns."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape of the result."""


@dataclass(frozen=True)
class Answer:
    """The result of a command, and the words for it; ``forklore.cli.main`` writes one of the two."""

    result: Result
    words: Callable[[], str]
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

    def get_help(self, ctx: click.Context) -> str:
        """Return the help page; the library that lays it out is loaded only for that."""
        from forklore.cli.help import command_help

        return command_help(self, ctx)


def command(*, examples: Sequence[str]) -> Callable[[Callable[..., Answer]], Command]:
    """Make a function a command of the same name; its first argument is the ``Invocation``."""

    def decorate(function: Callable[..., Answer]) -> Command:
        named = function.__name__.rstrip("_")
        made = click.command(named, cls=Command, examples=examples)(click.pass_obj(function))
        return made

    return decorate


__all__ = ["Answer", "Command", "Invocation", "Result", "command"]
