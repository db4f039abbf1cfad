"""``forklore checkpoint``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import at_option, chat_argument, fork_options
from forklore.cli.terminal import BOLD, GOOD, PLAIN
from forklore.printable import shell_word

if TYPE_CHECKING:
    from forklore.app.fork import ForkMade


@command(
    examples=(
        "forklore checkpoint Maren",
        'forklore checkpoint Maren --at 42 --name "Before the tower" --show-last-scene',
        "forklore checkpoint Maren --wait 60",
    )
)
@chat_argument
@at_option
@click.option("--name", metavar="TEXT", help="Name of the checkpoint; without it, the parent's name and a number.")
@fork_options
def checkpoint(
    invocation: Invocation,
    *,
    chat: str,
    at: int | None,
    name: str | None,
    wait: float | None,
    show_last_scene: bool,
    leave_parent: bool,
    dry_run: bool,
) -> Answer:
    """Make a checkpoint.

    A checkpoint is a complete copy of the story up to one message, with a lorebook of its own. You go on in its parent.
    """
    invocation.making = "checkpoint"
    forklore = invocation.open()
    if dry_run:
        planned = forklore.plan(
            "checkpoint", chat, at=at, name=name, show_last_scene=show_last_scene, leave_parent=leave_parent
        )
        return Answer(planned, lambda: words.dry_run_lines(planned))
    made = forklore.checkpoint(
        chat, at=at, name=name, wait=wait, show_last_scene=show_last_scene, leave_parent=leave_parent
    )
    return Answer(made, lambda: fork_lines(made))


def fork_lines(made: ForkMade) -> list[str]:
    """Return what was made, where it comes from, what to look at, and how to take it back."""
    recap = "none"
    if made.running_version is not None:
        recap = f"version {made.running_version} ({words.count(made.running_scenes, 'scene')})"
    combined = made.combined_messages
    return [
        f"{GOOD}✓{PLAIN} {made.kind.capitalize()} created: {BOLD}{made.chat}{PLAIN}",
        *words.table(
            ("from", f"{made.parent} at message {made.at}"),
            ("messages", str(made.messages)),
            ("lorebook", f'"{made.lorebook}"' if made.lorebook else "none: the parent has none"),
            ("", _source(made)),
            ("running recap", recap),
            ("combined recap", "" if combined is None else words.count(combined, "message")),
            ("from today", words.keys(made.carried_from_present)),
            ("left out", words.keys(made.left_out)),
            ("take it back", f"forklore undo {made.operation}"),
        ),
        *words.warnings_lines(made.warnings),
        *words.notes_lines(made.notes),
        *_unhiding(made),
    ]


def _unhiding(made: ForkMade) -> list[str]:
    """Return how to show the model something, where all messages of the fork are hidden from it."""
    hidden = any(each.code == "HISTORY_HIDDEN" for each in (*made.warnings, *made.notes))
    command = f"forklore repair {shell_word(made.chat)} HISTORY_HIDDEN --with show-last-scene"
    return [f"    {command}"] if hidden else []


def _source(made: ForkMade) -> str:
    sources = {
        "live": "copied as it is",
        "scene-snapshot": "as it was at the latest scene snapshot up to that message",
        "present": "as it is today, because no earlier state was kept",
        "history": "as it was at that message",
        "anchor": "as an extension kept it at that time",
    }
    return f"{words.entries(made.entries)}, {sources.get(made.lorebook_source, '')}" if made.lorebook else ""
