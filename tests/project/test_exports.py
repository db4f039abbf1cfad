"""The public names, and that each way in has all of them."""

import inspect

import click

import forklore
from forklore.app.forklore import Forklore
from forklore.cli.main import SECTIONS, program

EXPORTS = [
    "DryRun",
    "Finding",
    "ForkBlocked",
    "ForkMade",
    "Forklore",
    "ForkloreError",
    "Kind",
    "LogShown",
    "QueueShown",
    "Report",
    "Severity",
    "Status",
    "Stories",
    "Story",
    "Timeline",
    "TimelineShown",
    "Undone",
    "__version__",
    "open",
]
WITHOUT_COMMAND = {
    "recover",
    "listening",
    "plan",
    "plan_isolation",
    "plan_isolations",
    "isolate_all",
    "is_shared_on_purpose",
    "empty_trash",
    "change_settings",
    "new_operations",
}
"""What happens on opening, what a face needs for itself, what --dry-run shows, and what other options do."""
WITHOUT_OPTION = {"contamination": {"start", "count"}}
"""The command line prints all of it: it is not asked twice for one report."""
WITHOUT_METHOD = {"demo", "completion", "serve", "service"}


def test_exports_are_pinned() -> None:
    assert forklore.__all__ == EXPORTS
    assert len(EXPORTS) <= 20


def test_every_export_is_there() -> None:
    for name in forklore.__all__:
        assert getattr(forklore, name) is not None


def test_every_method_has_a_command_and_every_command_a_method() -> None:
    methods = {name for name, _ in inspect.getmembers(Forklore, inspect.isfunction) if not name.startswith("_")}
    commands = set(program.list_commands(click.Context(program)))

    assert methods - WITHOUT_COMMAND == commands - WITHOUT_METHOD


def test_every_option_of_a_method_is_an_option_of_its_command() -> None:
    context = click.Context(program)
    for names in SECTIONS.values():
        for name in set(names) - WITHOUT_METHOD:
            command = program.get_command(context, name)
            assert command is not None
            parameters = set(inspect.signature(getattr(Forklore, name)).parameters) - {"self"}
            parameters -= WITHOUT_OPTION.get(name, set())
            assert parameters <= {parameter.name for parameter in command.params}, name
