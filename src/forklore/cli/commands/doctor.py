"""``forklore doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.terminal import BAD, DIM, GOOD, PLAIN, WARN
from forklore.errors import Kind
from forklore.printable import shell_word

if TYPE_CHECKING:
    from forklore.app.doctor import Examined
    from forklore.model.finding import Located


@command(examples=("forklore doctor", "forklore doctor --fix", "forklore doctor --json"))
@click.option("--fix", is_flag=True, help="Repair what can be repaired without losing anything.")
def doctor(invocation: Invocation, *, fix: bool) -> Answer:
    """Examine the whole data folder.

    Every timeline is verified. Forklore also looks for lorebooks that are shared, missing or unused, for links and maps
    that lead nowhere, for renamed and copied chats, for groups that miss chats, and for interrupted operations. Nothing
    is changed without --fix; with it, only names are followed and hints written or removed, each as an operation that
    can be undone. The exit code is 3 when findings remain.
    """
    examined = invocation.open().doctor(fix=fix)
    return Answer(examined, lambda: _lines(examined), 0 if examined.ok else EXIT_CODES[Kind.BLOCKED])


_LISTED = 20  # of the findings of one kind


def _lines(shown: Examined) -> list[str]:
    """Return what the doctor found, the same findings together, and what was mended."""
    lines = [f"{GOOD}✓{PLAIN} {fixed.where}: {fixed.code} repaired ({fixed.repair})" for fixed in shown.fixed]
    if shown.ok:
        return [*lines, f"{GOOD}✓{PLAIN} Everything is in order."]
    by_code: dict[str, list[Located]] = {}
    for located in shown.findings:
        by_code.setdefault(located.finding.code, []).append(located)
    for code, group in by_code.items():
        first = group[0].finding
        colour, mark = (BAD, "✗") if first.severity.value == "error" else (WARN, "!")
        lines += ["", f"{colour}{mark} {code}{PLAIN} {DIM}({len(group)}){PLAIN}  {first.action}"]
        lines += [f"  {DIM}{line}{PLAIN}" for line in first.part("why").splitlines()]
        for located in group[:_LISTED]:
            details = located.finding.part("details").splitlines()
            told = f" {DIM}{details[0]}{PLAIN}" if details else ""
            lines.append(f"  {located.where}: {words.sentence(located.finding.message)}{told}")
            lines += [f"    {DIM}{line}{PLAIN}" for line in details[1:]]
        if len(group) > _LISTED:
            lines.append(f"  {DIM}… and {len(group) - _LISTED} more; --json lists them all{PLAIN}")
        if group[0].chat is None and first.repairs and code != "OPERATION_LEFTOVER":
            lines += [
                f"  {DIM}forklore repair {shell_word(group[0].where)} {code} --with {name}{PLAIN}"
                for name in first.repairs
            ]
    count = words.count(len(shown.findings), "finding")
    lines += [
        "",
        f"{count}. `forklore verify CHAT` explains them, and `forklore repair CHAT CODE` repairs one.",
    ]
    if "SHARED_LOREBOOK" in by_code:
        lines.append("`forklore isolate --all` gives each that shares a lorebook its own; add --dry-run to look first.")
    return lines if lines[0] else lines[1:]
