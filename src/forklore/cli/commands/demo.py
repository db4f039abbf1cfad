"""``forklore demo``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forklore.cli import terminal
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.commands.tree import tree_lines
from forklore.cli.terminal import BAD, BOLD, DIM, GOOD, PLAIN
from forklore.errors import Kind

if TYPE_CHECKING:
    from forklore.app.fork import ForkMade
    from forklore.demo.demo import Demonstration, Mark


_PORT = 7788
_PATIENCE_SECONDS = 300.0  # where nobody can press Ctrl-C, nobody may be looking


@command(examples=("forklore demo", "forklore demo hollow-quay --no-serve", "forklore demo --json"))
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path())
@click.option("--no-serve", is_flag=True, help="Do not serve the story's page afterwards.")
def demo(invocation: Invocation, *, folder: str | None, no_serve: bool) -> Answer | None:
    """Fork a sample story and prove that nothing leaks.

    The story is copied to DIR, which must not exist or be empty (without DIR: to a new temporary folder, which stays).
    A checkpoint and a branch are made of it, both sides go on, and every file is searched for what it must not know.
    Then the story's page is served, to look around in; with --json or --no-serve it is not.
    """
    from forklore.app.progress import Silent
    from forklore.demo.demo import demonstrate

    shown = demonstrate(folder, Silent())
    if no_serve or invocation.json or not shown.ok:
        return Answer(shown, lambda: list(_words(shown)), 0 if shown.ok else EXIT_CODES[Kind.DAMAGED])
    terminal.write(*_words(shown), *_title(6, "The page"))
    _serve(Path(shown.folder))
    return None


def _serve(root: Path) -> None:
    """Serve the story's page; beside a service that runs already, on another port."""
    from forklore.cli.serving import serve_page
    from forklore.web.server import PortTaken

    patience = None if terminal.is_terminal(sys.stdin) else _PATIENCE_SECONDS
    if patience is not None:
        terminal.write("It stops by itself when nobody has looked at it for five minutes.")
    try:
        serve_page([root], host="127.0.0.1", port=_PORT, patience=patience)
    except PortTaken:
        serve_page([root], host="127.0.0.1", port=0, patience=patience)


def _words(shown: Demonstration) -> Iterator[str]:
    main, checkpoint, branch = shown.timelines
    yield from _title(1, "A story")
    yield f"The sample story was copied to {shown.folder}"
    yield "None of your own files are touched."
    yield from _title(2, "Two forks in the past")
    for made in (shown.checkpoint, shown.branch):
        yield from _made(made)
    yield from _title(3, "Both sides go on")
    for mark in shown.marks:
        yield mark.written_in
        yield f'  writes about "{mark.words}" in a new message and in its lorebook.'
    yield from _title(4, "The tree")
    yield from tree_lines(shown.story)
    yield from _title(5, "The proof")
    yield f"All {shown.files} files were searched for what only one side can know."
    for mark in shown.marks:
        yield from _found(mark)
    yield ""
    yield "The checkpoint is exactly what was recorded when it was made (SHA-256):"
    for digest in shown.digests:
        same = digest.recorded == digest.computed
        yield f"  {_tick(same)} {digest.part}  recorded {digest.recorded[:16]}…, now {digest.computed[:16]}…"
    yield ""
    yield "What the story learned only later is not in the checkpoint's lorebook:"
    yield f"  {', '.join(shown.learned_later)}"
    yield ""
    yield "Each timeline has the recaps of its own past:"
    for timeline in (main, checkpoint, branch):
        versions = " ".join(str(version["version"]) for version in timeline.running_versions)
        yield f"  {timeline.kind:<10}  {timeline.messages} messages, recap versions {versions}"
    verdict = "Nothing leaked." if shown.ok else "Something leaked. This is a bug: please report it."
    yield ""
    yield f"{_tick(shown.ok)} {BOLD}{verdict}{PLAIN}"
    yield ""
    yield f'{DIM}Look around:{PLAIN}  {_program()} --data "{shown.folder}" tree'


def _program() -> str:
    """Return what starts this program: it need not be where the shell looks for programs."""
    if shutil.which("forklore"):
        return "forklore"
    started = Path(sys.argv[0])
    return str(started) if started.stem == "forklore" else f'"{sys.executable}" -m forklore'


def _title(number: int, title: str) -> Iterator[str]:
    if number > 1:
        yield ""
    yield f"{BOLD}{number}. {title}{PLAIN}"


def _made(made: ForkMade) -> Iterator[str]:
    yield f"{GOOD}✓{PLAIN} {made.kind} at message {made.at}: {made.chat.partition('/')[2]}"
    yield f"  {made.messages} messages, {made.entries} lorebook entries, recap version {made.running_version}"


def _found(mark: Mark) -> Iterator[str]:
    yield ""
    yield f'"{mark.words}" is found in:'
    for path in mark.found:
        yield f"  {_tick(path in mark.expected)} {path}"
    yield (
        "  and nowhere else." if not mark.leaked else f"  {BAD}It should only be in {', '.join(mark.expected)}.{PLAIN}"
    )


def _tick(good: bool) -> str:
    return f"{GOOD}✓{PLAIN}" if good else f"{BAD}✗{PLAIN}"
