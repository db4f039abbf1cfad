"""``forklore isolate``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from forklore.cli import words
from forklore.cli.command import EXIT_CODES, Answer, Invocation, command
from forklore.cli.options import complete_chat
from forklore.cli.terminal import BAD, BOLD, DIM, GOOD, PLAIN
from forklore.errors import BadRequest, Kind

if TYPE_CHECKING:
    from forklore.app.dry_run import DryRun
    from forklore.app.isolate import Isolated
    from forklore.app.isolate_all import IsolatedAll
    from forklore.model.plan import Plan

_ISOLATED_FROM = {
    "live": "as it is",
    "scene-snapshot": "only what comes from its own messages",
    "present": "as it is today, without what belongs to another timeline for certain",
}


@command(
    examples=(
        'forklore isolate "Branch #42"',
        "forklore isolate --all --dry-run",
        "forklore isolate Maren --share",
    )
)
@click.argument("chat", metavar="[CHAT]", required=False, shell_complete=complete_chat)
@click.option("--all", "everyone", is_flag=True, help="Isolate every fork of CHAT's story that shares a lorebook.")
@click.option("--share", is_flag=True, help="Declare the lorebook shared on purpose instead, and leave it alone.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
def isolate(invocation: Invocation, *, chat: str | None, everyone: bool, share: bool, dry_run: bool) -> Answer:
    """Give a fork that SillyTavern made a lorebook of its own.

    The fork keeps what comes from its own messages, including what it wrote since it was forked; what only its parent
    knows is left out. The parent is not touched. A fork that is already isolated stays as it is.

    With --all this is done for every fork of the story that shares a lorebook, or without CHAT for every story: one
    after the other, each as an operation that can be undone. The exit code is 3 when one of them is refused.
    """
    if everyone:
        return _all(invocation, chat, share=share, dry_run=dry_run)
    if chat is None:
        raise BadRequest("isolate_what")
    invocation.making = "isolation"
    forklore = invocation.open()
    if dry_run:
        planned = forklore.plan_isolation(chat, share=share)
        return Answer(planned, lambda: _planned_lines(planned))
    done = forklore.isolate(chat, share=share)
    return Answer(done, lambda: _lines(done))


def _all(invocation: Invocation, chat: str | None, *, share: bool, dry_run: bool) -> Answer:
    if share:
        raise BadRequest("share_all")
    forklore = invocation.open()
    told = forklore.plan_isolations(chat) if dry_run else forklore.isolate_all(chat)
    return Answer(told, lambda: _all_lines(told), 0 if told.ok else EXIT_CODES[Kind.BLOCKED])


def _lines(done: Isolated) -> list[str]:
    """Return what isolating a timeline came to, what was left out, and how to take it back."""
    if done.outcome == "already":
        return [f"{GOOD}✓{PLAIN} {BOLD}{done.chat}{PLAIN} is already isolated. Nothing was changed."]
    if done.outcome == "shared":
        undo = f"  take it back  forklore undo {done.operation}" if done.operation else ""
        return [
            f'{GOOD}✓{PLAIN} The lorebook "{done.lorebook}" is declared shared.',
            undo or "  It already was. Nothing was changed.",
        ]
    where = f"{done.parent or 'an unknown chat'} at message {done.at}" if done.at is not None else "its original"
    own = f'"{done.lorebook}"' if done.lorebook else "none: it has none"
    if done.outcome == "adopted":
        own += ", already its own"
    entries = f"{words.entries(done.entries)}, {_ISOLATED_FROM.get(done.lorebook_source, '')}"
    removed = ", ".join(map(str, done.removed_versions))
    return [
        f"{GOOD}✓{PLAIN} Isolated: {BOLD}{done.chat}{PLAIN}",
        *words.table(
            ("from", where),
            ("lorebook", own),
            ("", entries if done.lorebook else ""),
            ("entries left out", ", ".join(done.left_out_entries)),
            ("recaps left out", f"running recap version {removed}" if removed else ""),
            ("from today", words.keys(done.carried_from_present)),
            ("left out", words.keys(done.left_out)),
            ("take it back", f"forklore undo {done.operation}"),
        ),
        *words.warnings_lines(done.warnings),
        *words.notes_lines(done.notes),
        "",
        "If it is open in SillyTavern, reload the page before you continue there.",
    ]


def _planned_lines(planned: DryRun) -> list[str]:
    """Return what isolating a timeline would come to; for a lorebook that would be shared on purpose the plan alone."""
    result: Isolated | None = getattr(planned, "result", None)
    if result is None or not planned.plan.changes:
        return words.dry_run_lines(planned)
    lines = [
        "This is what would be done. Nothing was changed.",
        "",
        f"{GOOD}✓{PLAIN} Isolate: {BOLD}{result.chat}{PLAIN}",
    ]
    lines += _isolation(replace(result, warnings=()), planned.plan)
    return [*lines, *words.warnings_lines(planned.report.warnings)]


def _isolation(fork: Isolated, plan: Plan | None) -> list[str]:
    """Return what one among several timelines gets, with the changes of its plan while it was not done."""
    removed = ", ".join(map(str, fork.removed_versions))
    return words.table(
        ("lorebook", f'"{fork.lorebook}", {words.entries(fork.entries)}' if fork.lorebook else ""),
        ("entries left out", ", ".join(fork.left_out_entries)),
        ("recaps left out", f"running recap version {removed}" if removed else ""),
        ("in doubt", "; ".join(warning.message for warning in fork.warnings)),
        *((row["action"], row["path"]) for row in (plan.to_json()["plan"] if plan else ())),
        ("take it back", f"forklore undo {fork.operation}" if fork.operation else ""),
    )


def _all_lines(told: IsolatedAll) -> list[str]:
    """Return what was done, or would be, for each timeline that shares a lorebook, and why not for some."""
    if not told.forks and not told.refused:
        return [f"{GOOD}✓{PLAIN} No fork shares its lorebook. Nothing was changed."]
    planned = told.plans is not None
    lines = ["This is what would be done. Nothing was changed.", ""] if planned else []
    for number, fork in enumerate(told.forks):
        lines.append(f"{GOOD}✓{PLAIN} {'Isolate' if planned else 'Isolated'}: {BOLD}{fork.chat}{PLAIN}")
        lines += _isolation(fork, told.plans[number] if told.plans is not None else None)
    for refused in told.refused:
        findings = refused.error.findings
        lines.append(
            f"{BAD}✗{PLAIN} {'Cannot be isolated' if planned else 'Not isolated'}: {BOLD}{refused.chat}{PLAIN}"
        )
        for each in findings:
            lines += [f"  {each.message} {DIM}{each.code}{PLAIN}", *(f"  {line}" for line in words.finding_lines(each))]
        if not findings:
            lines += [*(f"  {line}" for line in refused.error.lines), f"  → {refused.error.action}"]
    count = words.count(len(told.forks), "fork")
    lines += (
        ["", f"{count} {'would be' if planned else 'isolated'}, {len(told.refused)} refused."] if told.refused else []
    )
    if told.forks and not planned:
        lines += ["", "If one of them is open in SillyTavern, reload the page before you continue there."]
    return lines
