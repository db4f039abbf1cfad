"""``forklore contamination``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forklore import texts
from forklore.cli import words
from forklore.cli.command import Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.cli.terminal import BOLD, DIM, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.contamination import Contamination


@command(examples=("forklore contamination Maren", 'forklore contamination "Branch #42" --json'))
@chat_argument
def contamination(invocation: Invocation, chat: str) -> Answer:
    """Show whose memories are in a shared lorebook.

    For each entry of the chat's lorebook: which timeline may have written it, how certain that is and why, and which
    timelines would get it if every fork were isolated. Nothing is changed.
    """
    report = invocation.open().contamination(chat)
    return Answer(report, lambda: _lines(report))


def _lines(report: Contamination) -> list[str]:
    """Return one line an entry: whose it is, how sure that is, and who would get it."""
    names = {timeline.chat: timeline.chat.partition("/")[2] for timeline in report.timelines}
    lines = [
        f'{BOLD}"{report.book}"{PLAIN} is used by {words.count(len(names), "timeline")}:',
        *(f"  {name}" for name in names.values()),
        "",
    ]
    for entry in report.entries:
        lines.append(f"{BOLD}{entry.comment or 'unnamed'}{PLAIN} {DIM}UID {entry.uid}{PLAIN}")
        for producer in entry.produced_by:
            name = names.get(producer.chat, producer.chat)
            lines.append(f"  {producer.confidence:<8}  {name}: {texts.words(producer.because)}")
        if not entry.produced_by:
            lines.append(f"  {WARN}unknown{PLAIN}   no scene and no message mentions it")
        if len(entry.goes_to) < len(names):
            lines.append(f"  {DIM}goes to{PLAIN}   {', '.join(names[chat] for chat in entry.goes_to)}")
    return [
        *lines,
        "",
        "Nothing was changed. Isolating every fork gives an entry to all timelines, unless “goes to” names fewer.",
    ]
