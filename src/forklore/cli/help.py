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
_HELP = ["-h", "--help"]


def command_help(command: Command, context: click.Context) -> str:
    """Return the help page of one command."""
    page = RichCommand(
        name=command.name,
        params=list(command.params),
        help=command.help,
    )
    examples = "".join(f"   {example}\n" for example in command.examples)
    return _lay_out(page, context, [], after=f" Examples:\n{examples}")


def group_help(group: click.Group, context: click.Context, sections: Mapping[str, Sequence[str]]) -> str:
    """Return the help page of the whole program, its commands by what they are for."""
    commands = {name: found for name in group.list_commands(context) if (found := group.get_command(context, name))}
    page = RichGroup(
        name=group.name,
        commands=commands,
        params=list(group.params),
        help=group.help,
        epilog=group.epilog,
    )
    return _lay_out(page, context, [{"name": name, "commands": list(names)} for name, names in sections.items()])


def _lay_out(page: RichCommand, context: click.Context, sections: list[dict[str, object]], *, after: str = "") -> str:
    names = [parameter.opts[0] for parameter in page.params if isinstance(parameter, click.Option)]
    own_options = [name for name in names if name not in _GLOBAL]
    panels = [
        {"name": "Command options", "options": [*own_options, "--help"]},
        {"name": "Global options", "options": _GLOBAL},
    ]
    config = RichHelpConfiguration(
        command_groups={"*": sections},  # type: ignore[dict-item]  # the types of both are not exported
        option_groups={"*": [] if sections else panels},  # type: ignore[dict-item]
        commands_before_options=True,
        max_width=_WIDTH,
        text_markup="ansi",
    )
    own = RichContext(
        page, parent=context.parent, info_name=context.info_name, rich_help_config=config, help_option_names=_HELP
    )
    text = "\n".join(line.rstrip() for line in f"{page.get_help(own)}\n\n{after}".splitlines()).strip("\n")
    return as_json({"help": text}) if context.obj and context.obj.json else text
