"""The words for people: each result of the application as lines.

A line may hold anything a story holds, also a line break; ``forklore.cli.terminal`` makes it harmless and sets the
colours. So what is to be two lines has to be two lines here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from forklore.cli.terminal import BAD, BOLD, DIM, GOOD, PLAIN, WARN
from forklore.printable import shell_word

if TYPE_CHECKING:
    from forklore.app.contamination import Contamination
    from forklore.app.deciding import SettingsShown
    from forklore.app.doctor import Examined
    from forklore.app.extension import Extension
    from forklore.app.isolating import Isolated
    from forklore.app.isolating_all import IsolatedAll
    from forklore.app.opening import Verified
    from forklore.app.repairs import Repairs
    from forklore.app.results import (
        DryRun,
        ForkMade,
        LogShown,
        QueueShown,
        Status,
        Stories,
        TimelineShown,
    )
    from forklore.app.results_life import Cleanup, Deleted, Restored, TrashShown
    from forklore.errors import ForkloreError
    from forklore.log.operations import Operation
    from forklore.model.finding import Finding, Located, Report
    from forklore.model.plan import Plan
    from forklore.model.timeline import Story, Timeline

_RULE = "━" * 40
_LONG_TEXT = 100
_LISTED = 20  # of the findings of one kind
_REASONS = 5


# --- errors and findings ------------------------------------------------------------------------------------------


def error(error: ForkloreError, *, making: str = "") -> list[str]:
    """Return what went wrong and what to do; a refused fork gets the whole list of requirements."""
    report: Report | None = getattr(error, "report", None)
    if report is not None:
        return blocked(report, making)
    prefix = f"Failed to create {making}: " if making else ""
    lines = [f"{BAD}{prefix}{error.lines[0]}{PLAIN}", *error.lines[1:]]
    return [*lines, f"→ {error.action}"] if error.action else lines


def blocked(report: Report, kind: str) -> list[str]:
    """Return why a fork was refused: all requirements that are not met, each with what to do."""
    title = kind if " " in kind else kind.capitalize()
    lines = [_RULE, f"{BOLD}Cannot Create {title}{PLAIN}", _RULE, "", "The following requirements must be met:", ""]
    return [*lines, *_findings(report.errors, BAD), *_besides(report.warnings), "", "Nothing was changed."]


def report(report: Report) -> list[str]:
    """Return whether a fork can be made, and everything that stands in its way."""
    where = "the last message" if report.at is None else f"message {report.at}"
    if not report.valid:
        title = f"{BAD}✗{PLAIN} Not ready for a fork at {where}. The following requirements must be met:"
        return [title, "", *_findings(report.errors, BAD), *_besides(report.warnings)]
    ready = f"{GOOD}✓{PLAIN} Ready for a fork at {where}"
    if not report.warnings:
        return [f"{ready}."]
    return [f"{ready}, with {_count(len(report.warnings), 'warning')}:", "", *_findings(report.warnings, WARN)]


def _besides(warnings: Sequence[Finding]) -> list[str]:
    if not warnings:
        return []
    return ["", f"Besides, {_count(len(warnings), 'warning')}:", "", *_findings(warnings, WARN)]


def _findings(findings: Sequence[Finding], colour: str) -> list[str]:
    lines = [line for number, finding in enumerate(findings, 1) for line in _finding(number, finding, colour)]
    return lines[1:]


def _finding(number: int, finding: Finding, colour: str) -> Iterator[str]:
    indent = " " * (len(str(number)) + 2)
    yield ""
    yield f"{number}. {colour}{finding.message}{PLAIN} {DIM}{finding.code}{PLAIN}"
    yield from (indent + line for line in finding.lines)
    if finding.action:
        yield f"{indent}→ {finding.action}"


# --- stories ------------------------------------------------------------------------------------------------------


def stories(shown: Stories) -> list[str]:
    """Return one line a story."""
    if not shown.stories:
        return ["There are no chats yet."]
    lines = []
    for story in shown.stories:
        sharing = sum(not timeline.isolated for timeline in story.timelines)
        mark = f", {WARN}{sharing} with a shared lorebook{PLAIN}" if sharing else ""
        timelines = _count(len(story.timelines), "timeline")
        lines.append(f"{BOLD}{story.main}{PLAIN}  {timelines}, {_messages(story.timelines[0])}{mark}")
    total = sum(len(story.timelines) for story in shown.stories)
    summary = f"{_count(len(shown.stories), 'story', 'stories')}, {_count(total, 'timeline')}"
    return [*lines, f"{DIM}{summary}{PLAIN}"]


def tree(story: Story) -> list[str]:
    """Return the story drawn as a tree, two lines a timeline."""
    return list(_drawn(story))


def _drawn(story: Story) -> Iterator[str]:
    children: dict[str, list[Timeline]] = {}
    for timeline in story.timelines[1:]:
        children.setdefault(timeline.parent or story.main, []).append(timeline)
    waiting = [(story.timelines[0], "", "", "")]
    while waiting:
        timeline, before, branch, below = waiting.pop()
        grown = children.get(timeline.chat, [])
        name = timeline.chat if timeline.parent is None else timeline.chat.partition("/")[2]
        at = f" @{timeline.at}" if timeline.at is not None else ""
        trunk = "│" if grown else " "
        yield f"{before}{branch}{BOLD}{name}{PLAIN}  {timeline.kind}{at}, {_messages(timeline)}"
        yield f"{before}{below}{trunk}   {DIM}lorebook{PLAIN} {_book(timeline)}{_record(timeline)}"
        for number, child in reversed(list(enumerate(grown, 1))):
            last = number == len(grown)
            waiting.append((child, before + below, "└── " if last else "├── ", "    " if last else "│   "))


def _book(timeline: Timeline | TimelineShown) -> str:
    if timeline.lorebook is None:
        return f"{DIM}none{PLAIN}"
    if timeline.isolated:
        return f'{DIM}"{timeline.lorebook}"{PLAIN} {GOOD}isolated{PLAIN}'
    return f'{DIM}"{timeline.lorebook}"{PLAIN} {WARN}shares its lorebook{PLAIN}'


def _record(timeline: Timeline | TimelineShown) -> str:
    words = {"recorded": ", recorded", "legacy": ", made without Forklore"}
    return f"{DIM}{words.get(timeline.record, '')}{PLAIN}"


def show(shown: TimelineShown) -> list[str]:
    """Return one timeline in detail."""
    where = f" of {shown.parent} at message {shown.at}" if shown.parent else ""
    entries = f", {_entries(shown.entries)}" if shown.entries is not None else ""
    versions = [
        f"  version {version['version']}  {_count(version['scene_count'] or 0, 'scene')}, "
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
        *_table(
            ("kind", f"{shown.kind}{where}"),
            ("messages", str(shown.messages)),
            ("lorebook", f"{_book(shown)}{entries}"),
            ("record", {"recorded": "made by Forklore", "legacy": "made without Forklore"}.get(shown.record, "")),
        ),
        *_section("Running recap", versions),
        *_section("Scene breaks", scenes),
        *_section("Forks", [f"  {child}" for child in shown.children]),
    ]


def verified(shown: Verified) -> list[str]:
    """Return what opening a timeline found."""
    facts = [f"  {name}: {fact}" for name, fact in shown.facts.items()]
    if not shown.findings:
        verdict = "All checks passed." if shown.kind == "main" else _state_valid(shown.kind)
        return [f"{GOOD}✓{PLAIN} {shown.chat}: {verdict}", *facts]
    return [f"{BOLD}{shown.chat}{PLAIN} ({shown.kind})", *facts, "", *_opening_findings(shown.findings)]


def repairs(shown: Repairs) -> list[str]:
    """Return a finding with its repairs, or the one that was made."""
    if shown.applied:
        how = "repaired" if not shown.pending else "not wholly repaired"
        made = f"{shown.chat}: {shown.finding.code} {how} with {shown.applied}."
        undo = " Undo: forklore undo" if shown.operation else ""
        return [f"{_sign(shown.pending)} {made}{undo}", *_pending(shown.pending)]
    lines = [f"{BOLD}{shown.chat}{PLAIN}: {shown.finding.message}"]
    lines += [*(f"  {line}" for line in shown.finding.lines), ""]
    for offer in shown.offered:
        lines.append(f"  {BOLD}{offer.name}{PLAIN}  {offer.does}")
        lines += [f"      {DIM}{action} {path}{PLAIN}" for action, path in offer.plan]
    lines += [
        "",
        "Nothing was changed. Make one with --with REPAIR." if shown.offered else "There is no repair for it.",
    ]
    return lines


def examined(shown: Examined) -> list[str]:
    """Return what the doctor found, the same findings together, and what was mended."""
    lines = [f"{GOOD}✓{PLAIN} {fixed.where}: {fixed.code} mended ({fixed.repair})" for fixed in shown.fixed]
    if shown.ok:
        return [*lines, f"{GOOD}✓{PLAIN} Everything is in order."]
    by_code: dict[str, list[Located]] = {}
    for located in shown.findings:
        by_code.setdefault(located.finding.code, []).append(located)
    for code, group in by_code.items():
        first = group[0].finding
        colour, mark = (BAD, "✗") if first.severity.value == "error" else (WARN, "!")
        lines += ["", f"{colour}{mark} {code}{PLAIN} {DIM}({len(group)}){PLAIN}  {first.action}"]
        for located in group[:_LISTED]:
            details = f" {DIM}{located.finding.details}{PLAIN}" if located.finding.details else ""
            lines.append(f"  {located.where}: {located.finding.message}.{details}")
            lines += [f"    {DIM}{line}{PLAIN}" for line in located.finding.listed]
        if len(group) > _LISTED:
            lines.append(f"  {DIM}… and {len(group) - _LISTED} more; --json lists them all{PLAIN}")
        if group[0].chat is None and first.repairs and code != "OPERATION_LEFTOVER":
            lines += [
                f"  {DIM}forklore repair {shell_word(group[0].where)} {code} --with {name}{PLAIN}"
                for name in first.repairs
            ]
    count = _count(len(shown.findings), "finding")
    lines += [
        "",
        f"{count}. Each is repaired with `forklore repair CHAT CODE`, or explained by `forklore verify CHAT`.",
    ]
    if "SHARED_LOREBOOK" in by_code:
        lines.append("All that share a lorebook get their own with `forklore isolate --all`; --dry-run shows it first.")
    return lines if lines[0] else lines[1:]


def _opening_findings(findings: Iterable[Finding]) -> Iterator[str]:
    for number, finding in enumerate(findings, 1):
        colour, mark = (BAD, "✗") if finding.severity.value == "error" else (WARN, "!")
        yield f"{number}. {colour}{mark} {finding.message}{PLAIN} {DIM}[{finding.code}]{PLAIN}"
        yield from (f"   {line}" for line in finding.lines)
        if finding.action:
            yield f"   → {finding.action}"
        if finding.repairs:
            yield f"   {DIM}Repairs: {', '.join(finding.repairs)}{PLAIN}"


def status(shown: Status) -> list[str]:
    """Return the diagnostic object, and what it means."""
    text = json.dumps(_shortened(shown.to_json()), ensure_ascii=False, indent=2)
    return [*text.split("\n"), "", *_verdict(shown)]


def _verdict(shown: Status) -> list[str]:
    if not shown.is_checkpoint:
        return ["This is a main chat: nothing was recorded, and nothing has to be."]
    if shown.checkpoint_state is None:
        before = "This chat was created before full isolation support (or by SillyTavern alone)"
        return [f"{WARN}{before}; it may share data with its parent.{PLAIN}"]
    if shown.valid:
        return [f"{GOOD}✓{PLAIN} {_state_valid(shown.checkpoint_state.get('kind'))}"]
    found = []
    if not shown.lorebook_match:
        found.append(f"{WARN}The chat names another lorebook than the one it was made with.{PLAIN}")
    if not shown.running_recap_version_match:
        found.append("The running recap is another version than recorded; that is normal once the story goes on.")
    return found


def _state_valid(kind: object) -> str:
    return f"{'Branch' if kind == 'branch' else 'Checkpoint'} state valid. All checks passed."


def _shortened(value: Any) -> Any:
    """Return a JSON value with long texts cut: recaps are pages long."""
    if isinstance(value, dict):
        return {key: _shortened(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, str) and len(value) > _LONG_TEXT:
        return f"{value[:_LONG_TEXT]}…"
    return value


# --- forks --------------------------------------------------------------------------------------------------------


def fork(made: ForkMade) -> list[str]:
    """Return what was made, where it comes from, what to look at, and how to take it back."""
    recap = "none"
    if made.running_version is not None:
        recap = f"version {made.running_version} ({_count(made.running_scenes, 'scene')})"
    combined = made.combined_messages
    return [
        f"{GOOD}✓{PLAIN} {made.kind.capitalize()} created: {BOLD}{made.chat}{PLAIN}",
        *_table(
            ("from", f"{made.parent} at message {made.at}"),
            ("messages", str(made.messages)),
            ("lorebook", f'"{made.lorebook}"' if made.lorebook else "none: the parent has none"),
            ("", _source(made)),
            ("running recap", recap),
            ("combined recap", "" if combined is None else _count(combined, "message")),
            ("from today", _words(made.carried_from_present)),
            ("left out", _words(made.left_out)),
            ("take it back", f"forklore undo {made.operation}"),
        ),
        *_warnings([_now_made(warning, made.chat) for warning in made.warnings]),
    ]


def _now_made(warning: Finding, chat: str) -> Finding:
    """Return a warning with what can be done about it once the fork is there."""
    if warning.code != "HISTORY_HIDDEN":
        return warning
    command = f"forklore repair {shell_word(chat)} {warning.code} --with show-last-scene"
    return replace(warning, action=f"Show it the last scene: `{command}`")


def _source(made: ForkMade) -> str:
    words = {
        "live": "copied as it is",
        "scene-snapshot": "as it was at the last scene snapshot up to there",
        "present": "as it is today, because no earlier state was kept",
        "history": "as it was at that message",
    }
    return f"{_entries(made.entries)}, {words.get(made.lorebook_source, '')}" if made.lorebook else ""


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


def _words(keys: Iterable[str]) -> str:
    """Return metadata keys as a person calls them; one that nobody knows keeps its name."""
    return ", ".join(sorted({_KEYS.get(key, key) for key in keys}))


def dry_run(planned: DryRun) -> list[str]:
    """Return the changes that would be made."""
    lines = [f"  {row['action']:<7} {row['path']}" for row in planned.plan.to_json()["plan"]]
    if not lines:
        return ["There is nothing to do."]
    return ["This would be done, and was not:", *lines, *_warnings(planned.report.warnings)]


def _warnings(warnings: Sequence[Finding]) -> list[str]:
    if not warnings:
        return []
    return ["", f"{_count(len(warnings), 'warning').capitalize()}:", "", *_findings(warnings, WARN)]


# --- deleting -----------------------------------------------------------------------------------------------------


def deleted(shown: Deleted) -> list[str]:
    """Return what went to the trash, what stayed and why, and how to take it back."""
    book, kept = "none", list(shown.kept_because)
    if shown.book is not None:
        book = f'"{shown.book}" went with it'
    elif kept:
        book = f'"{shown.kept_book}" stays' if shown.kept_book else "stays, if it has one"
    return [
        f"{GOOD}✓{PLAIN} Moved to the trash: {BOLD}{shown.chat}{PLAIN}",
        *_table(
            ("lorebook", book),
            *(("", sentence) for sentence in _some(kept)),
            ("forks", f"{_count(len(shown.children), 'fork')}, whole without it" if shown.children else ""),
            ("take it back", f"forklore undo {shown.operation}"),
        ),
        *_pending(shown.pending),
    ]


def cleanup(shown: Cleanup) -> list[str]:
    """Return what nobody names, and what became of it."""
    books = [
        f"  {book.name}  {DIM}{_size(book.size)}, {_count(book.age_days, 'day')} old, from {book.origin}{PLAIN}"
        for book in shown.books
    ]
    entries = [f"  {entry.chat}  {DIM}{entry.fork} → {entry.book}{PLAIN}" for entry in shown.map_entries]
    lines = [
        *_section("Lorebooks that nobody names", books),
        *_section("Map entries of chats that are gone", entries),
        *_section("Whether a lorebook is free cannot be told", [f"  {each}" for each in _some(shown.kept_because)]),
    ]
    if not books and not entries:
        lines += ["", "There is nothing to clean up."]
    elif shown.operation is None:
        lines += ["", "Nothing was changed. Move it to the trash: forklore cleanup --apply"]
    else:
        lines += ["", f"{GOOD}✓{PLAIN} Moved to the trash. Take it back: forklore undo {shown.operation}"]
    return [*lines[1:], *_pending(shown.pending)]


def trash(shown: TrashShown) -> list[str]:
    """Return one item in two lines: what it is called here, and what it was."""
    if not shown.items:
        return ["The trash is empty."]
    total = f"{_count(len(shown.items), 'file')}, {_size(sum(item.size for item in shown.items))}"
    return [*_items(shown), f"{DIM}{total}{PLAIN}"]


def emptied(shown: TrashShown) -> list[str]:
    """Return what was deleted for good."""
    if not shown.items:
        return ["Nothing in the trash is that old."]
    size = _size(sum(item.size for item in shown.items))
    return [*_items(shown), f"{GOOD}✓{PLAIN} Deleted for good: {_count(len(shown.items), 'file')}, {size}"]


def _items(shown: TrashShown) -> Iterator[str]:
    for item in shown.items:
        yield f"{BOLD}{item.item}{PLAIN}"
        path = item.path or "left by an interrupted operation"
        yield f"  {item.when[:16].replace('T', ' ')}  {_size(item.size)}  {path}"


def restored(shown: Restored) -> list[str]:
    """Return what is back."""
    how = "Back from the trash" if not shown.pending else "Back from the trash, but not all of it"
    lines = [f"{_sign(shown.pending)} {how}: {BOLD}{shown.path}{PLAIN}"]
    lines += [f"  with it  {path}" for path in shown.also]
    return [*lines, *_pending(shown.pending), f"  take it back  forklore undo {shown.operation}"]


def _sign(pending: Sequence[str]) -> str:
    return f"{WARN}!{PLAIN}" if pending else f"{GOOD}✓{PLAIN}"


def _pending(pending: Sequence[str]) -> list[str]:
    return [f"  {WARN}still to do: {sentence}{PLAIN}" for sentence in pending]


def _some(sentences: Sequence[str]) -> list[str]:
    more = [f"… and {len(sentences) - _REASONS} more"] if len(sentences) > _REASONS else []
    return [*sentences[:_REASONS], *more]


def _size(size: int) -> str:
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"


# --- isolating ----------------------------------------------------------------------------------------------------


def isolated(done: Isolated) -> list[str]:
    """Return what isolating a timeline came to, what was left out, and how to take it back."""
    if done.outcome == "already":
        return [f"{GOOD}✓{PLAIN} {BOLD}{done.chat}{PLAIN} is isolated already. Nothing was changed."]
    if done.outcome == "shared":
        undo = f"  take it back  forklore undo {done.operation}" if done.operation else ""
        return [
            f'{GOOD}✓{PLAIN} The lorebook "{done.lorebook}" is shared on purpose.',
            undo or "  It was before. Nothing was changed.",
        ]
    where = f"{done.parent or 'an unknown chat'} at message {done.at}" if done.at is not None else "its original"
    own = f'"{done.lorebook}"' if done.lorebook else "none: it names none"
    if done.outcome == "adopted":
        own += ", its own already"
    removed = ", ".join(map(str, done.removed_versions))
    return [
        f"{GOOD}✓{PLAIN} Isolated: {BOLD}{done.chat}{PLAIN}",
        *_table(
            ("from", where),
            ("lorebook", own),
            ("", f"{_entries(done.entries)}, {_ISOLATED_FROM.get(done.lorebook_source, '')}" if done.lorebook else ""),
            ("entries left out", ", ".join(done.left_out_entries)),
            ("recaps left out", f"running recap version {removed}" if removed else ""),
            ("from today", _words(done.carried_from_present)),
            ("left out", _words(done.left_out)),
            ("take it back", f"forklore undo {done.operation}"),
        ),
        *_warnings(done.warnings),
        "",
        "Is it open in SillyTavern? Reload the page before you go on there.",
    ]


def isolation_planned(planned: DryRun) -> list[str]:
    """Return what isolating a timeline would come to; for a lorebook that would be shared on purpose the plan alone."""
    result: Isolated | None = getattr(planned, "result", None)
    if result is None or not planned.plan.changes:
        return dry_run(planned)
    lines = ["This would be done, and was not:", "", f"{GOOD}✓{PLAIN} Isolate: {BOLD}{result.chat}{PLAIN}"]
    lines += _isolation(replace(result, warnings=()), planned.plan)
    return [*lines, *_warnings(planned.report.warnings)]


def _isolation(fork: Isolated, plan: Plan | None) -> list[str]:
    """Return what one among several timelines gets, with the changes of its plan while it was not done."""
    removed = ", ".join(map(str, fork.removed_versions))
    return _table(
        ("lorebook", f'"{fork.lorebook}", {_entries(fork.entries)}' if fork.lorebook else ""),
        ("entries left out", ", ".join(fork.left_out_entries)),
        ("recaps left out", f"running recap version {removed}" if removed else ""),
        ("in doubt", "; ".join(warning.message for warning in fork.warnings)),
        *((row["action"], row["path"]) for row in (plan.to_json()["plan"] if plan else ())),
        ("take it back", f"forklore undo {fork.operation}" if fork.operation else ""),
    )


def isolated_all(told: IsolatedAll) -> list[str]:
    """Return what was done, or would be, for each timeline that shares a lorebook, and why not for some."""
    if not told.forks and not told.refused:
        return [f"{GOOD}✓{PLAIN} No fork shares its lorebook. Nothing was changed."]
    planned = told.plans is not None
    lines = ["This would be done, and was not:", ""] if planned else []
    for number, fork in enumerate(told.forks):
        lines.append(f"{GOOD}✓{PLAIN} {'Isolate' if planned else 'Isolated'}: {BOLD}{fork.chat}{PLAIN}")
        lines += _isolation(fork, told.plans[number] if told.plans is not None else None)
    for refused in told.refused:
        findings = refused.error.findings
        lines.append(
            f"{BAD}✗{PLAIN} {'Cannot be isolated' if planned else 'Not isolated'}: {BOLD}{refused.chat}{PLAIN}"
        )
        for each in findings:
            lines += [f"  {each.message} {DIM}{each.code}{PLAIN}", f"  → {each.action}"]
        if not findings:
            lines += [*(f"  {line}" for line in refused.error.lines), f"  → {refused.error.action}"]
    count = _count(len(told.forks), "fork")
    lines += (
        ["", f"{count} {'would be' if planned else 'isolated'}, {len(told.refused)} refused."] if told.refused else []
    )
    if told.forks and not planned:
        lines += ["", "Is one of them open in SillyTavern? Reload the page before you go on there."]
    return lines


_ISOLATED_FROM = {
    "live": "as it is",
    "scene-snapshot": "what its own messages account for",
    "present": "as it is today, without what can be shown to be another timeline's",
}


def contamination(report: Contamination) -> list[str]:
    """Return one line an entry: whose it is, how sure that is, and who would get it."""
    names = {timeline.chat: timeline.chat.partition("/")[2] for timeline in report.timelines}
    lines = [
        f'{BOLD}"{report.book}"{PLAIN} is named by {_count(len(names), "timeline")}:',
        *(f"  {name}" for name in names.values()),
        "",
    ]
    for entry in report.entries:
        lines.append(f"{BOLD}{entry.comment or 'unnamed'}{PLAIN} {DIM}UID {entry.uid}{PLAIN}")
        for producer in entry.produced_by:
            name = names.get(producer.chat, producer.chat)
            lines.append(f"  {producer.confidence:<8}  {name}: {producer.because}")
        if not entry.produced_by:
            lines.append(f"  {WARN}unknown{PLAIN}   no scene and no message speaks of it")
        if len(entry.goes_to) < len(names):
            lines.append(f"  {DIM}goes to{PLAIN}   {', '.join(names[chat] for chat in entry.goes_to)}")
    return [*lines, "", "Nothing was changed. Where no receiver is named, every timeline gets the entry."]


# --- queue, log, undo ---------------------------------------------------------------------------------------------


def queue(shown: QueueShown) -> list[str]:
    """Return the operations of the queue."""
    if shown.lorebook is None:
        return ["The chat has no lorebook, so it has no queue."]
    lines = [
        f"  {operation.operation_id}  {operation.status}  {operation.type}"
        + (f" ({operation.target})" if operation.target else "")
        for operation in shown.operations
    ]
    busy = sum(operation.is_busy for operation in shown.operations)
    title = f"{_count(busy, 'operation')} to be done:" if busy else "The queue is idle."
    back = [f"Take it back: forklore undo {shown.operation}"] if shown.operation else []
    return [title, *lines, *back]


def settings(shown: SettingsShown) -> list[str]:
    """Return what is decided for the workspace, and how to take a change back."""
    changed = [f"  {code}  {effect}" for code, effect in shown.requirements.items()]
    return [
        *_table(
            ("policy", shown.policy),
            ("checkpoints", shown.names["checkpoint"]),
            ("branches", shown.names["branch"]),
            ("take it back", f"forklore undo {shown.operation}" if shown.operation else ""),
        ),
        *_section("Requirements that differ from the policy", changed),
        *_section("Lorebooks that are shared on purpose", [f"  {book}" for book in shown.shared_books]),
    ]


def log(shown: LogShown) -> list[str]:
    """Return one line an operation, newest first."""
    told = [
        f"{WARN}!{PLAIN} {located.where}: {located.finding.message}. {DIM}[{located.finding.code}]{PLAIN}"
        for located in shown.findings
    ]
    if not shown.operations:
        return told or ["Nothing has been done here yet."]
    return told + [
        f"{BOLD}{operation.id}{PLAIN}  {operation.when[:16].replace('T', ' ')}  {operation.kind:<10}  {operation.chat}"
        + (f"  {DIM}of {operation.undoes}{PLAIN}" if operation.undoes else "")
        + (f"  {DIM}undone{PLAIN}" if operation.id in shown.undone else "")
        for operation in shown.operations
    ]


def undone(operation: Operation, by: str, pending: Sequence[str]) -> list[str]:
    """Return what was undone, and what is left of it."""
    how = "Undone" if not pending else "Not wholly undone"
    title = f"{_sign(pending)} {how}: {operation.kind} {operation.chat}"
    return [title, *_pending(pending), f"  take it back  forklore undo {by}"]


# --- common -------------------------------------------------------------------------------------------------------


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _messages(timeline: Timeline) -> str:
    return _count(timeline.messages, "message")


def _entries(number: int) -> str:
    return _count(number, "entry", "entries")


def _table(*rows: tuple[str, str]) -> list[str]:
    width = max(len(name) for name, value in rows if value)
    return [f"  {DIM}{name:<{width}}{PLAIN}  {value}" for name, value in rows if value]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *lines] if lines else []


# --- the extension ------------------------------------------------------------------------------------------------


def extension(found: Extension, action: str) -> list[str]:
    """Return what is installed in SillyTavern and what to do next."""
    install = "→ forklore extension install"
    if found.installed is None:
        gone = f"{GOOD}The extension was removed.{PLAIN}" if found.removed else "The extension is not installed."
        return [gone] if action == "uninstall" else [gone, install]
    state = f"version {found.installed}" if found.current else f"version {found.installed}, ours is {found.version}"
    lines = [f"{GOOD if found.current else WARN}The extension is installed{PLAIN}: {state}", f"  {found.folder}"]
    if found.password_needed:
        lines.append(f"{WARN}This folder belongs to another user, so browsers are paired with a password.{PLAIN}")
        lines.append("→ Set FORKLORE_PASSWORD before you start forklore serve, then enter it in the Extensions drawer.")
    elif found.code_waiting:
        lines.append("For the next 15 minutes, the first browser that opens SillyTavern is paired by itself.")
    elif not found.paired:
        lines.append(f"{WARN}No browser is paired.{PLAIN}")
    if action == "install" or not (found.paired or found.code_waiting or found.password_needed):
        lines.append("→ Start forklore serve, then reload SillyTavern's page.")
    elif not found.current:
        lines.append(install)
    return lines
