"""The words that several commands use, as lines for people.

A line may hold anything a story holds, also a line break; ``forklore.cli.terminal`` makes it harmless and sets the
colours. So what is to be two lines has to be two lines here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from forklore import texts
from forklore.cli.terminal import BAD, BOLD, DIM, GOOD, PLAIN, WARN

if TYPE_CHECKING:
    from forklore.app.dry_run import DryRun
    from forklore.app.show import TimelineShown
    from forklore.errors import ForkloreError
    from forklore.model.fact import Fact
    from forklore.model.finding import Finding, Report
    from forklore.model.timeline import Timeline

_KEYS = {
    "auto_lorebooks": "registry cache",
    "autoLorebooks": "pending lorebook work",
    "auto_recap": "combined recap and other recap data",
    "auto_recap_running_scene_recaps": "later running recaps",
    "chat_id_hash": "chat id",
    "lastInContextMessageId": "mark where the context begins",
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
_WANTED = {
    "checkpoint": ("Cannot Create Checkpoint", "Failed to create checkpoint: "),
    "branch": ("Cannot Create Branch", "Failed to create branch: "),
    "isolation": ("Cannot Isolate This Timeline", "Failed to isolate the timeline: "),
}
"""What was to be made: the title of a refusal, and what stands before any other error."""


def error_lines(error: ForkloreError, *, making: str = "") -> list[str]:
    """Return what went wrong and what to do; a refused fork gets the whole list of requirements."""
    report: Report | None = getattr(error, "report", None)
    if report is not None:
        return blocked_lines(report, making)
    prefix = _WANTED[making][1] if making and "failed" not in error.params else ""  # some say it themselves
    lines = [f"{BAD}{prefix}{error.lines[0]}{PLAIN}", *error.lines[1:]]
    return [*lines, f"→ {error.action}"] if error.action else lines


def blocked_lines(report: Report, making: str) -> list[str]:
    """Return why a fork was refused: all requirements that are not met, each with what to do."""
    lines = [_RULE, f"{BOLD}{_WANTED[making][0]}{PLAIN}", _RULE, "", "The following requirements must be met:", ""]
    return [*lines, *findings_lines(report.errors, BAD), *besides(report.warnings), "", "Nothing was changed."]


def besides(warnings: Sequence[Finding]) -> list[str]:
    """Return the warnings that come after errors."""
    if not warnings:
        return []
    return ["", f"Also {count(len(warnings), 'warning')}:", "", *findings_lines(warnings, WARN)]


def findings_lines(findings: Sequence[Finding], colour: str) -> list[str]:
    """Return findings, numbered, each with its details, what to do, and how."""
    lines = [line for number, finding in enumerate(findings, 1) for line in _finding(number, finding, colour)]
    return lines[1:]


def _finding(number: int, finding: Finding, colour: str) -> Iterator[str]:
    indent = " " * (len(str(number)) + 2)
    yield ""
    yield f"{number}. {colour}{finding.message}{PLAIN} {DIM}{finding.code}{PLAIN}"
    yield from (indent + line if line else "" for line in finding_lines(finding))


def finding_lines(finding: Finding) -> Iterator[str]:
    """Yield what follows the message of a finding: why and what it is about, what to do, and how, step by step."""
    yield from finding.details.splitlines()
    if finding.details and finding.steps:
        yield ""
    if finding.action:
        yield f"→ {finding.action}"
    yield from (f"  {number}. {step}" for number, step in enumerate(finding.steps, 1))


def warnings_lines(warnings: Sequence[Finding]) -> list[str]:
    """Return the warnings below a result."""
    if not warnings:
        return []
    return ["", f"{count(len(warnings), 'warning').capitalize()}:", "", *findings_lines(warnings, WARN)]


def notes_lines(notes: Sequence[Finding]) -> list[str]:
    """Return what is worth knowing, and what can be done if one likes."""
    lines = [(f"{DIM}Note:{PLAIN} {note.message} {DIM}{note.code}{PLAIN}", f"  → {note.action}") for note in notes]
    return ["", *(line for both in lines for line in both)] if lines else []


def pending_lines(pending: Sequence[Fact]) -> list[str]:
    """Return what is still to be done."""
    return [f"  {WARN}still to do: {texts.words(fact)}{PLAIN}" for fact in pending]


def sign(pending: Sequence[Fact]) -> str:
    """Return the sign before a result: whether all of it was done."""
    return f"{WARN}!{PLAIN}" if pending else f"{GOOD}✓{PLAIN}"


def some(facts: Sequence[Fact]) -> list[str]:
    """Return the first few facts in words, and how many more there are."""
    more = [f"… and {len(facts) - _REASONS} more"] if len(facts) > _REASONS else []
    return [*map(texts.words, facts[:_REASONS]), *more]


def sentence(text: str) -> str:
    """Return a text with a full stop at its end, unless it ends as a sentence does."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def dry_run_lines(planned: DryRun) -> list[str]:
    """Return the changes that would be made."""
    lines = [f"  {row['action']:<7} {row['path']}" for row in planned.plan.to_json()["plan"]]
    if not lines:
        return ["There is nothing to do."]
    return ["This is what would be done. Nothing was changed.", *lines, *warnings_lines(planned.report.warnings)]


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
