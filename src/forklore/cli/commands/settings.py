"""``forklore settings``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command

if TYPE_CHECKING:
    from forklore.app.settings import SettingsShown


_USUAL = "usual"


@command(
    examples=(
        "forklore settings",
        "forklore settings --default-policy strict --require NO_SCENE_BREAK=warn",
        'forklore settings --checkpoint-name "{parent} - Save {n}"',
    )
)
@click.option(
    "--default-policy",
    type=click.Choice(["standard", "strict"]),
    metavar="POLICY",
    help="How much must be in order before a fork is made, when --policy does not say it: standard or strict.",
)
@click.option("--checkpoint-name", metavar="TEXT", help="How a checkpoint without a name is called: {parent}, {n}.")
@click.option("--branch-name", metavar="TEXT", help="How a branch is called: {parent}, {n}. Nothing: as usual.")
@click.option(
    "--require",
    metavar="CODE=EFFECT",
    multiple=True,
    help="Let a requirement block, warn or ignore; usual: as the policy says. May be given several times.",
)
@click.option("--share", metavar="BOOK", multiple=True, help="Several timelines are meant to share this lorebook.")
@click.option("--unshare", metavar="BOOK", multiple=True, help="They are not meant to any more.")
def settings(
    invocation: Invocation,
    *,
    default_policy: str | None,
    checkpoint_name: str | None,
    branch_name: str | None,
    require: tuple[str, ...],
    share: tuple[str, ...],
    unshare: tuple[str, ...],
) -> Answer:
    """Show what is decided for the workspace, or decide otherwise.

    A change is an operation like any other and can be undone. An empty name is the usual one again.
    """
    forklore = invocation.open()
    names = {"checkpoint": checkpoint_name, "branch": branch_name}
    given = {kind: text or None for kind, text in names.items() if text is not None}
    requirements = dict(_effects(require))
    books: list[str] | None = None
    if share or unshare:
        shared = forklore.settings().shared_books
        if missing := [book for book in unshare if book not in shared]:
            raise click.UsageError(f"The lorebook {missing[0]!r} is not shared on purpose.")
        books = [book for book in dict.fromkeys((*shared, *share)) if book not in unshare]
    if default_policy is None and not given and not requirements and books is None:
        shown = forklore.settings()
    else:
        shown = forklore.change_settings(
            policy=default_policy, names=given or None, requirements=requirements or None, shared_books=books
        )
    return Answer(shown, lambda: _lines(shown))


def _effects(given: Iterable[str]) -> Iterable[tuple[str, str | None]]:
    for text in given:
        code, equals, effect = text.partition("=")
        if not equals:
            raise click.UsageError(f"{text!r} is not CODE=EFFECT, like NO_SCENE_BREAK=block.")
        yield code.strip(), None if effect.strip() == _USUAL else effect.strip()


def _lines(shown: SettingsShown) -> list[str]:
    """Return what is decided for the workspace, and how to take a change back."""
    changed = [f"  {code}  {effect}" for code, effect in shown.requirements.items()]
    return [
        *words.table(
            ("policy", shown.policy),
            ("checkpoints", shown.names["checkpoint"]),
            ("branches", shown.names["branch"]),
            ("take it back", f"forklore undo {shown.operation}" if shown.operation else ""),
        ),
        *words.section("Requirements that differ from the policy", changed),
        *words.section("Lorebooks that are shared on purpose", [f"  {book}" for book in shown.shared_books]),
    ]
