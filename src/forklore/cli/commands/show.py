"""``forklore show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.cli.terminal import BOLD, GOOD, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.show import TimelineShown


@command(examples=('forklore show "Before the tower"', "forklore show Maren --json"))
@chat_argument
def show(invocation: Invocation, chat: str) -> Answer:
    """Show one timeline in detail.

    Its kind, parent and lorebook, the versions of its running recap, and for each scene break whether it is a good
    place for a fork.
    """
    shown = invocation.open().show(chat)
    return Answer(shown, lambda: _lines(shown))


def _lines(shown: TimelineShown) -> list[str]:
    """Return one timeline in detail."""
    where = f" of {shown.parent} at message {shown.at}" if shown.parent else ""
    entries = f", {words.entries(shown.entries)}" if shown.entries is not None else ""
    versions = [
        f"  version {version['version']}  {words.count(version['scene_count'] or 0, 'scene')}, "
        f"up to message {version['new_scene_index']}"
        + (" (current)" if version["version"] == shown.running_current else "")
        for version in shown.running_versions
    ]
    scenes = [
        f"  {scene.message:>5}  {scene.name or 'Unnamed Scene'}  "
        + (f"{WARN}{', '.join(scene.codes)}{PLAIN}" if scene.codes else f"{GOOD}✓ ready{PLAIN}")
        for scene in shown.scenes
    ]
    return [
        f"{BOLD}{shown.chat}{PLAIN}",
        *words.table(
            ("kind", f"{shown.kind}{where}"),
            ("messages", str(shown.messages)),
            ("lorebook", f"{words.book(shown)}{entries}"),
            ("record", {"recorded": "made by Forklore", "legacy": "made without Forklore"}.get(shown.record, "")),
        ),
        *words.section("Running recap", versions),
        *words.section("Scene breaks", scenes),
        *words.section("Forks", [f"  {child}" for child in shown.children]),
    ]
