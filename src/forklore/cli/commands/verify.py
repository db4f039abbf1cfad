"""``forklore verify``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from forklore import texts
from forklore.cli import words
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.options import chat_argument
from forklore.cli.terminal import BAD, BOLD, DIM, GOOD, PLAIN, WARN
from forklore.errors import Kind

if TYPE_CHECKING:
    from forklore.app.verify import Verified
    from forklore.model.finding import Finding


@command(examples=('forklore verify "Before the tower"', 'forklore verify "Before the tower" --json'))
@chat_argument
def verify(invocation: Invocation, chat: str) -> Answer:
    """Verify a timeline against its record.

    Every line of the chat is read, its lorebook and its recaps are compared with what was recorded when it was made,
    and with the rest of the story. Going on after the fork is normal. Nothing is changed; each finding names its
    repairs for `forklore repair`. The exit code is 3 when a finding is an error.
    """
    verified = invocation.open().verify(chat)
    return Answer(verified, lambda: _lines(verified), 0 if verified.ok else EXIT_CODES[Kind.BLOCKED])


def _lines(shown: Verified) -> list[str]:
    """Return what opening a timeline found."""
    proofs = [f"  {line}" for line in _proofs(shown)]
    if not shown.findings:
        verdict = "All checks passed." if shown.kind == "main" else words.state_valid(shown.kind)
        return [f"{GOOD}✓{PLAIN} {shown.chat}: {verdict}", *proofs, *words.notes_lines(shown.notes)]
    lines = [f"{BOLD}{shown.chat}{PLAIN} ({shown.kind})", *proofs, "", *_opening_findings(shown.findings)]
    return [*lines, *words.notes_lines(shown.notes)]


def _proofs(shown: Verified) -> Iterator[str]:
    """Yield what the record proves; of what it says nothing there is nothing to tell."""
    books = (("entries", f'lorebook "{name}"', proof) for name, proof in shown.facts["lorebooks"].items())
    for part, what, proof in (("messages", "messages", shown.facts["messages"]), *books):
        if proof["state"] != "unknown":
            yield f"{what}: {texts.text('.'.join(('proof', part, proof['state'])), proof)}"


def _opening_findings(findings: Iterable[Finding]) -> Iterator[str]:
    for number, finding in enumerate(findings, 1):
        colour, mark = (BAD, "✗") if finding.severity.value == "error" else (WARN, "!")
        yield f"{number}. {colour}{mark} {finding.message}{PLAIN} {DIM}[{finding.code}]{PLAIN}"
        yield from (f"   {line}" if line else "" for line in words.finding_lines(finding))
        if finding.repairs:
            yield f"   {DIM}Repairs: {', '.join(finding.repairs)}{PLAIN}"
