"""The way in: the table of commands, and the one place where answers are written and errors become exit codes."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from forklore.cli import terminal
from forklore.cli.command import EXIT_BUG, EXIT_CODES, EXIT_INTERRUPTED, Answer, Command
from forklore.cli.options import FORKLORE_LOG, GLOBAL_OPTIONS, HELP_OPTION, Invocation
from forklore.errors import BadRequest, ForkloreError

_FEW_COLLECTIONS = 20_000  # objects made between two looks for garbage; most commands end before the first one

SECTIONS: dict[str, tuple[str, ...]] = {
    "Look": ("stories", "tree", "show", "check", "verify", "status"),
    "Fork": ("checkpoint", "branch"),
    "Mend": ("doctor", "repair", "isolate", "contamination"),
    "Delete": ("delete", "cleanup", "trash", "restore"),
    "Take back": ("log", "undo"),
    "More": ("serve", "service", "extension", "settings", "queue", "demo", "completion"),
}
"""Every command by what it is for; each is a module of ``forklore.cli.commands`` with a function of that name."""


class Program(click.Group):
    """All commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help page."""
        del ctx
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        """Return the command, or None when there is no such command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"forklore.cli.commands.{cmd_name}")
        found: Command = getattr(module, cmd_name)
        return found

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the option that shows the help page."""
        del ctx
        return HELP_OPTION

    def get_help(self, ctx: click.Context) -> str:
        """Return the help page of the program."""
        from forklore.cli.help import group_help

        return group_help(self, ctx, SECTIONS)

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]  # it never returns
        """Run the command line *args*, write its answer and exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        before_dashes = arguments[: arguments.index("--")] if "--" in arguments else arguments
        invocation = Invocation(as_json="--json" in before_dashes)
        terminal.prepare_streams()
        if os.environ.get(FORKLORE_LOG):
            _log_on_stderr()
        extra.update(obj=invocation, standalone_mode=False)
        try:
            answer = super().main(arguments or ["--help"], prog_name or "forklore", **extra)
            code = _write_answer(answer, invocation) if isinstance(answer, Answer) else 0
        except ForkloreError as error:
            code = _write_error(error, invocation)
        except click.ClickException as error:
            code = _write_error(BadRequest("usage", reason=error.format_message()), invocation)
        except (click.Abort, KeyboardInterrupt):
            code = _write_interrupted(invocation)
        except OSError as error:
            from forklore.disk.failures import unusable

            code = _write_error(unusable(error), invocation)
        except Exception as error:
            code = _write_bug(error, invocation)
        sys.exit(code)


def _log_on_stderr() -> None:
    import logging

    from forklore.log.records import log_on_stderr

    log_on_stderr(logging.INFO, "%(asctime)s %(name)s: %(message)s")


def _write_answer(answer: Answer, invocation: Invocation) -> int:
    invocation.progress.close()
    if invocation.json:
        terminal.write_json(answer.result.to_json())
    else:
        terminal.write(*answer.words())
    return answer.exit_code


def _write_error(error: ForkloreError, invocation: Invocation) -> int:
    invocation.progress.close()
    if invocation.json:
        terminal.write_json(error.to_json())
    else:
        from forklore.cli import words

        terminal.say(*words.error_lines(error, making=invocation.making))
    return EXIT_CODES[error.kind]


def _write_interrupted(invocation: Invocation) -> int:
    error = _error("INTERRUPTED", "interrupted")
    invocation.progress.close()
    if invocation.json:
        terminal.write_json({"error": error})
    else:
        terminal.say(f"{error['message']} {error['action']}")
    return EXIT_INTERRUPTED


def _write_bug(error: Exception, invocation: Invocation) -> int:
    from forklore.log.records import traceback_lines

    told = _error("BUG", "bug", error=type(error).__name__, reason=str(error))
    invocation.progress.close()
    terminal.say(*traceback_lines(error), told["message"], f"→ {told['action']}")
    if invocation.json:
        terminal.write_json({"error": told})
    return EXIT_BUG


def _error(code: str, kind: str, **params: Any) -> dict[str, Any]:
    from forklore import texts

    message, action = (texts.part_of(f"error.{code}", part, params) for part in ("message", "action"))
    return {"code": code, "params": params, "kind": kind, "message": message, "action": action, "findings": []}


def _tell_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from forklore.version import VERSION

        if context.obj.json:
            terminal.write_json({"version": VERSION})
        else:
            terminal.write(f"forklore {VERSION}")
        context.exit()


program = Program(
    "forklore",
    params=[
        *(option() for option in GLOBAL_OPTIONS),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_tell_version,
            help="Show the version.",
        ),
    ],
    help=(
        "Checkpoints and branches of SillyTavern stories that share nothing with their parent and can be undone.\n\n"
        "CHAT is an address (folder/name), a chat's name, or a part that only one chat has. "
        "Messages are numbered from 0. Options of the program may also stand after the command."
    ),
    epilog="forklore COMMAND --help shows examples. Start with: forklore stories, or forklore demo",
    no_args_is_help=False,
)


def main() -> NoReturn:
    """Run the command line."""
    gc.set_threshold(_FEW_COLLECTIONS)
    try:
        program.main()
    finally:
        gc.freeze()  # the process ends: whatever is left goes with it, and need not be looked through before
