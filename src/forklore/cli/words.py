"""The words that several commands use, as lines for people.

A line may hold anything a story holds, also a line break; ``forklore.cli.terminal`` makes it harmless and sets the
colours. So what is to be two lines has to be two lines here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from forklore.cli.terminal import BAD, BOLD, DIM, GOOD, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.applying import DryRun
    from forklore.app.show import TimelineShown
    from forklore.errors import ForkloreError
    from forklore.model.finding import Finding, Report
    from forklore.model.timeline import Timeline

_KEYS = {
    "auto_lorebooks": "registry cache",
    "autoLorebooks": "pending lorebook work",
    "auto_recap": "combined recap and other recap data",
    "auto_recap_running_scene_recaps": "later running recaps",
    "chat_id_hash": "chat id",
    "lastInContextMessageId": "mark of the context's beginning",
    "note_depth": "author's note",
    "note_interval": "author's note",
    "note_position": "author's note",
    "note_prompt": "author's note",
    "note_role": "author's note",
    "persona": "persona",
    "tainted": "mark that the chat was edited",
    "timedWorldInfo": "sticky and cooldown effects",
    "variables": "variables",
}


_RULE = "━" * 40


_REASONS = 5


def error_lines(error: ForkloreError, *, making: str = "") -> list[str]:
    """Return what went wrong and what to do; a refused fork gets the whole list of requirements."""
    report: Report | None = getattr(error, "report", None)
    if report is not None:
        return blocked_lines(report, making)
    prefix = f"Failed to create {making}: " if making else ""
    lines = [f"{BAD}{prefix}{error.lines[0]}{PLAIN}", *error.lines[1:]]
    return [*lines, f"→ {error.action}"] if error.action else lines


def blocked_lines(report: Report, kind: str) -> list[str]:
    """Return why a fork was refused: all requirements that are not met, each with what to do."""
    title = kind if " " in kind else kind.capitalize()
    lines = [_RULE, f"{BOLD}Cannot Create {title}{PLAIN}", _RULE, "", "The following requirements must be met:", ""]
    return [*lines, *findings_lines(report.errors, BAD), *besides(report.warnings), "", "Nothing was changed."]


def besides(warnings: Sequence[Finding]) -> list[str]:
    """Return the warnings that come after errors."""
    if not warnings:
        return []
    return ["", f"Besides, {count(len(warnings), 'warning')}:", "", *findings_lines(warnings, WARN)]


def findings_lines(findings: Sequence[Finding], colour: str) -> list[str]:
    """Return findings, numbered, each with its details and what to do."""
    lines = [line for number, finding in enumerate(findings, 1) for line in _finding(number, finding, colour)]
    return lines[1:]


def _finding(number: int, finding: Finding, colour: str) -> Iterator[str]:
    indent = " " * (len(str(number)) + 2)
    yield ""
    yield f"{number}. {colour}{finding.message}{PLAIN} {DIM}{finding.code}{PLAIN}"
    yield from (indent + line for line in finding.lines)
    if finding.action:
        yield f"{indent}→ {finding.action}"


def warnings_lines(warnings: Sequence[Finding]) -> list[str]:
    """Return the warnings below a result."""
    if not warnings:
        return []
    return ["", f"{count(len(warnings), 'warning').capitalize()}:", "", *findings_lines(warnings, WARN)]


def pending_lines(pending: Sequence[str]) -> list[str]:
    """Return what is still to be done."""
    return [f"  {WARN}still to do: {sentence}{PLAIN}" for sentence in pending]


def sign(pending: Sequence[str]) -> str:
    """Return the sign before a result: whether all of it was done."""
    return f"{WARN}!{PLAIN}" if pending else f"{GOOD}✓{PLAIN}"


def some(sentences: Sequence[str]) -> list[str]:
    """Return the first few sentences, and how many more there are."""
    more = [f"… and {len(sentences) - _REASONS} more"] if len(sentences) > _REASONS else []
    return [*sentences[:_REASONS], *more]


def dry_run_lines(planned: DryRun) -> list[str]:
    """Return the changes that would be made."""
    lines = [f"  {row['action']:<7} {row['path']}" for row in planned.plan.to_json()["plan"]]
    if not lines:
        return ["There is nothing to do."]
    return ["This would be done, and was not:", *lines, *warnings_lines(planned.report.warnings)]


def book(timeline: Timeline | TimelineShown) -> str:
    """Return a timeline's lorebook, and whether it is its own."""
    if timeline.lorebook is None:
        return f"{DIM}none{PLAIN}"
    if timeline.isolated:
        return f'{DIM}"{timeline.lorebook}"{PLAIN} {GOOD}isolated{PLAIN}'
    return f'{DIM}"{timeline.lorebook}"{PLAIN} {WARN}shares its lorebook{PLAIN}'


def keys(keys: Iterable[str]) -> str:
    """Return metadata keys as a person calls them; one that nobody knows keeps its name."""
    return ", ".join(sorted({_KEYS.get(key, key) for key in keys}))


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number of things."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def messages(timeline: Timeline) -> str:
    """Return how many messages a timeline has."""
    return count(timeline.messages, "message")


def entries(number: int) -> str:
    """Return a number of lorebook entries."""
    return count(number, "entry", "entries")


def size(size: int) -> str:
    """Return a size in bytes as people write it."""
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"


def table(*rows: tuple[str, str]) -> list[str]:
    """Return the rows that have a value, with their names aligned."""
    width = max(len(name) for name, value in rows if value)
    return [f"  {DIM}{name:<{width}}{PLAIN}  {value}" for name, value in rows if value]


def section(title: str, lines: Sequence[str]) -> list[str]:
    """Return lines below a title; nothing when there are none."""
    return ["", title, *lines] if lines else []


def state_valid(kind: object) -> str:
    """Return that a fork is as it was made."""
    return f"{'Branch' if kind == 'branch' else 'Checkpoint'} state valid. All checks passed."
