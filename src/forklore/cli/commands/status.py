"""``forklore status``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.cli.terminal import GOOD, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.show import Status


@command(examples=('forklore status "Before the tower"', 'forklore status "Before the tower" --json'))
@chat_argument
def status(invocation: Invocation, chat: str) -> Answer:
    """Compare a fork with what was recorded about it.

    The diagnostic object shows which lorebook and which version of the running recap the fork was made with, and
    whether it still has them.
    """
    shown = invocation.open().status(chat)
    return Answer(shown, lambda: _lines(shown))


_LONG_TEXT = 100


def _lines(shown: Status) -> list[str]:
    """Return the diagnostic object, and what it means."""
    text = json.dumps(_shortened(shown.to_json()), ensure_ascii=False, indent=2)
    return [*text.split("\n"), "", *_verdict(shown)]


def _verdict(shown: Status) -> list[str]:
    gone = f'{WARN}The lorebook "{shown.current_lorebook}" is missing.{PLAIN}'
    return [*([gone] if shown.lorebook_missing else []), *_compared(shown)]


def _compared(shown: Status) -> list[str]:
    if not shown.is_checkpoint:
        return ["This is a main chat: nothing was recorded, and nothing needs to be."]
    if shown.checkpoint_state is None:
        before = "This chat was created before full isolation support (or by SillyTavern alone)"
        return [f"{WARN}{before}; it may share data with its parent.{PLAIN}"]
    if shown.valid:
        return [f"{GOOD}✓{PLAIN} {words.state_valid(shown.checkpoint_state.get('kind'))}"]
    found = []
    if shown.checkpoint_state.get("cloned_lorebook_name") != shown.current_lorebook:
        found.append(f"{WARN}The chat uses a different lorebook from the one it was made with.{PLAIN}")
    if not shown.running_recap_version_match:
        found.append(
            "The running recap is at a different version than recorded, which is normal once the story goes on."
        )
    return found


def _shortened(value: Any) -> Any:
    """Return a JSON value with long texts cut: recaps are pages long."""
    if isinstance(value, dict):
        return {key: _shortened(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, str) and len(value) > _LONG_TEXT:
        return f"{value[:_LONG_TEXT]}…"
    return value
