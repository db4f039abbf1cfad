"""The public names, and that each way in has all of them."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator

import click
import pytest

import forklore
from forklore.app.forklore import Forklore
from forklore.app.views import Views
from forklore.cli.main import SECTIONS, program
from forklore.errors import ForkloreError

EXPORTS = [
    "BadRequest",
    "Cancelled",
    "ChatAmbiguous",
    "ChatHasForks",
    "ChatNotFound",
    "ChatUnreadable",
    "Cleanup",
    "ConfirmationNeeded",
    "Contamination",
    "ContextChanged",
    "CreationInProgress",
    "Deleted",
    "DiskFailed",
    "DryRun",
    "Examined",
    "Extension",
    "ExtensionForeign",
    "FileDamaged",
    "FileInUse",
    "FileOnlineOnly",
    "FileUnreadable",
    "Finding",
    "Followed",
    "ForkBlocked",
    "ForkMade",
    "Forklore",
    "ForkloreError",
    "FormatNewer",
    "GroupMissing",
    "GroupsShown",
    "Isolated",
    "IsolatedAll",
    "IsolationPlanned",
    "ItemNotFound",
    "Kind",
    "LayoutShown",
    "LinkOutside",
    "Located",
    "LogShown",
    "LorebookDamaged",
    "LorebookMissing",
    "MadeShown",
    "MessagesShown",
    "NameInvalid",
    "NameTaken",
    "NoSuchSwipe",
    "NotAFork",
    "Operation",
    "OperationForeign",
    "OperationNews",
    "OperationNotFound",
    "OperationUnreadable",
    "Overview",
    "PathOutside",
    "Preview",
    "QueueDamaged",
    "QueueShown",
    "ReadOnly",
    "RecapShown",
    "Repairs",
    "Report",
    "Restored",
    "SettingsInvalid",
    "SettingsShown",
    "Severity",
    "SharedOnPurpose",
    "Status",
    "Stories",
    "Story",
    "Timeline",
    "TimelineShown",
    "TrashAltered",
    "TrashShown",
    "UndoRefused",
    "Undone",
    "UserNeeded",
    "Verified",
    "Views",
    "Where",
    "WorkspaceNotFound",
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
    "follow_chats",
    "follow_book",
}
"""What happens on opening, what a face needs for itself, what --dry-run shows, and what other options do."""
WITHOUT_OPTION = {"contamination": {"start", "count"}}
"""The command line prints all of it: it is not asked twice for one report."""
APART = {"__main__", "access", "autostart", "cli", "demo", "testing", "web"}
"""What is no part of the library: the faces, and what only they use."""
WITHOUT_METHOD = {"demo", "completion", "serve", "service"}


def test_exports_are_pinned() -> None:
    assert forklore.__all__ == EXPORTS


def test_every_export_is_there() -> None:
    for name in forklore.__all__:
        assert getattr(forklore, name) is not None


def methods_of(api: type) -> Iterator[Callable[..., object]]:
    for name, member in inspect.getmembers(api):
        method = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and method is not None:
            yield method


@pytest.mark.parametrize("api", [Forklore, Views])
def test_what_a_method_returns_is_exported(api: type) -> None:
    returned = {word for method in methods_of(api) for word in re.findall(r"\w+", method.__annotations__["return"])}

    assert {word for word in returned if word[0].isupper()} - {"Fact"} <= set(EXPORTS)


def test_every_error_of_the_library_is_exported() -> None:
    for module in pkgutil.walk_packages(forklore.__path__, "forklore."):
        if module.name.split(".")[1] not in APART:
            importlib.import_module(module.name)
    errors = {error.__name__ for error in subclasses(ForkloreError) if error.__module__.split(".")[1] not in APART}

    assert errors <= set(EXPORTS)


def subclasses(of: type[ForkloreError]) -> Iterator[type[ForkloreError]]:
    for each in of.__subclasses__():
        yield each
        yield from subclasses(each)


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
