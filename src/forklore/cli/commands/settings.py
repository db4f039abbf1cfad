"""``forklore settings``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.errors import BadRequest

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
    help="How strict the checks before a fork are when --policy is not given: standard or strict.",
)
@click.option("--checkpoint-name", metavar="TEXT", help="Name of a checkpoint that you give none: {parent}, {n}.")
@click.option("--branch-name", metavar="TEXT", help="Name of a branch: {parent}, {n}. Empty for the usual one.")
@click.option(
    "--require",
    metavar="CODE=EFFECT",
    multiple=True,
    help="Make a requirement block, warn or ignore; usual leaves it to the policy. Can be given several times.",
)
@click.option("--share", metavar="BOOK", multiple=True, help="Several timelines may share this lorebook.")
@click.option("--unshare", metavar="BOOK", multiple=True, help="They may no longer share it.")
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
    """Show the settings of the workspace, or change them.

    A change is an operation like any other and can be undone. An empty name brings the usual one back.
    """
    forklore = invocation.open()
    names = {"checkpoint": checkpoint_name, "branch": branch_name}
    given = {kind: text or None for kind, text in names.items() if text is not None}
    requirements = dict(_effects(require))
    books: list[str] | None = None
    if share or unshare:
        shared = forklore.settings().shared_books
        if missing := [book for book in unshare if book not in shared]:
            raise BadRequest("not_shared", lorebook=missing[0])
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
            raise BadRequest("effect", text=text)
        yield code.strip(), None if effect.strip() == _USUAL else effect.strip()


def _lines(shown: SettingsShown) -> list[str]:
    """Return the settings, and how to take a change back."""
    changed = [f"  {code}  {effect}" for code, effect in shown.requirements.items()]
    return [
        *words.table(
            ("policy", shown.policy),
            ("checkpoints", shown.names["checkpoint"]),
            ("branches", shown.names["branch"]),
            ("take it back", f"forklore undo {shown.operation}" if shown.operation else ""),
        ),
        *words.section("Requirements that differ from the policy", changed),
        *words.section("Lorebooks shared on purpose", [f"  {book}" for book in shown.shared_books]),
    ]
