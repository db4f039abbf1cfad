"""Help pages, laid out by rich-click. It is loaded when somebody asks for help, and at no other time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichContext, RichGroup
from rich_click.rich_help_configuration import RichHelpConfiguration

from forklore.cli.terminal import as_json

if TYPE_CHECKING:
    from forklore.cli.command import Command

_GLOBAL = ["--data", "--user", "--policy", "--json"]
_WIDTH = 100


def command_help(command: Command, context: click.Context) -> str:
    """Return the help page of one command."""
    page = RichCommand(
        command.name,
        params=list(command.params),
        help=command.help,
        epilog=_examples(command.examples),
    )
    return _lay_out(page, context, [])


def group_help(group: click.Group, context: click.Context, sections: Mapping[str, Sequence[str]]) -> str:
    """Return the help page of the whole program, its commands by what they are for."""
    commands = {name: found for name in group.list_commands(context) if (found := group.get_command(context, name))}
    page = RichGroup(
        group.name,
        commands=commands,
        params=list(group.params),
        help=group.help,
        epilog=group.epilog,
    )
    return _lay_out(page, context, [{"name": name, "commands": list(names)} for name, names in sections.items()])


def _examples(examples: Sequence[str]) -> str:
    lines = "\n".join(f"  {example}" for example in examples)
    return f"\b\nExamples:\n{lines}"


def _lay_out(page: RichCommand, context: click.Context, sections: list[dict[str, object]]) -> str:
    config = RichHelpConfiguration(
        command_groups={"*": sections} if sections else {},  # type: ignore[dict-item]  # the type is not exported
        option_groups={"*": [{"name": "Global options", "options": _GLOBAL}]} if not sections else {},
        commands_before_options=True,
        max_width=_WIDTH,
        text_markup="ansi",
        append_metavars_help=False,
        show_arguments=False,
    )
    own = RichContext(page, parent=context.parent, info_name=context.info_name, rich_help_config=config)
    text = str(page.get_help(own))
    return as_json({"help": text}) if context.obj and context.obj.json else text
