"""``forklore completion``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import COMPLETE


@dataclass(frozen=True)
class Script:
    """A script that teaches a shell to complete our commands."""

    shell: str
    script: str

    def to_json(self) -> dict[str, Any]:
        """Return the script with the shell it is for."""
        return {"shell": self.shell, "script": self.script}


@command(
    examples=(
        "forklore completion bash >> ~/.bashrc",
        "forklore completion zsh >> ~/.zshrc",
        "forklore completion fish > ~/.config/fish/completions/forklore.fish",
    )
)
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, _invocation: Invocation, shell: str) -> Answer:
    """Print a script for your shell.

    It makes the shell complete commands, options and chats. SHELL is bash, zsh or fish.
    """
    from click.shell_completion import get_completion_class

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"The shell {shell} is not known.")
    complete = found(context.find_root().command, {}, "forklore", COMPLETE)
    made = Script(shell, complete.source_template % complete.source_vars())
    return Answer(made, lambda: made.script.split("\n"))
