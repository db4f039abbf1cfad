"""Opening a timeline: is it as it was recorded, its own, and whole? Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from forklore.app.around import Around
from forklore.app.means import Means
from forklore.app.reading import Reading, reading
from forklore.channels.checkpoint_map import STATE_KEY
from forklore.channels.opened import Opened
from forklore.checks.opening import findings_on_opening
from forklore.errors import ForkloreError
from forklore.formats.chat_facts import links_of
from forklore.formats.chat_jsonl import Chat
from forklore.formats.chat_lines import unreadable_lines
from forklore.model.address import ChatAddress
from forklore.model.finding import Finding, Severity

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Verified:
    """What opening a timeline found."""

    chat: str
    kind: str
    findings: tuple[Finding, ...]
    facts: dict[str, str]
    """What the recorded digests prove about the fork point, in words: no errors."""

    @property
    def ok(self) -> bool:
        """Whether the timeline can be trusted; a warning is no error."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the answer of ``verify``."""
        return {
            "chat": self.chat,
            "kind": self.kind,
            "ok": self.ok,
            "findings": [finding.to_json() for finding in self.findings],
            "facts": self.facts,
        }


def verify(address: ChatAddress, means: Means, around: Around | None = None) -> Verified:
    """Compare a timeline with its record and with the rest of the workspace."""
    around = around or Around(means)
    with opening(address, means, around) as (opened, read):
        return Verified(str(address), opened.kind, findings_on_opening(opened), _facts(opened, read))


@contextmanager
def opening(address: ChatAddress, means: Means, around: Around) -> Iterator[tuple[Opened, Reading]]:
    """Open a timeline with everything the checks ask for."""
    with reading(means.workspace, address) as read:
        yield opened_timeline(read, means, around), read


def opened_timeline(read: Reading, means: Means, around: Around) -> Opened:
    """Return a timeline that was read, with what the rest of the workspace says about it."""
    address, chat = read.address, read.parent.chat
    place = around.timeline(address)
    metadata = {} if read.damage else chat.metadata
    parent_missing = bool(metadata.get("main_chat")) and (place is None or place.parent is None)
    on_purpose = around.is_shared_on_purpose(read.book_name)
    return Opened(
        address=str(address),
        name=address.name,
        kind=place.kind if place else "main",
        chat=chat,
        metadata=metadata,
        damage=read.damage or _broken_lines(chat),
        book_name=read.book_name,
        book=read.parent.book,
        book_missing=read.book_missing,
        book_damage=read.book_damage,
        book_outside=read.book_outside,
        sharers=around.sharers(address),
        copy_of=None if on_purpose else around.original_of(address),
        is_shared_on_purpose=on_purpose,
        is_book_of_others_too=around.is_book_of_others_too(address, read.book_name),
        parent=place.parent if place else None,
        renamed_from=around.old_name(address, metadata),
        parent_now=around.parent_now(address, metadata) if parent_missing else None,
        book_now=_book_now(read.book_name, metadata, around) if read.book_missing and read.book_name else None,
        recorded_book_there=_recorded_book_there(metadata, around),
        dangling=() if read.damage else around.dangling(address, chat),
        stale_map=around.stale_map(address),
        link_pending=around.is_link_pending(address),
        book_in_trash=read.book_missing and means.workspace.book_path(read.book_name or "") in around.trashed,
    )


def _book_now(name: str, metadata: Any, around: Around) -> str | None:
    return around.book_now(name, _record(metadata), _digests(metadata).get("lorebook"))


def _recorded_book_there(metadata: Any, around: Around) -> bool:
    name = _record(metadata).get("cloned_lorebook_name")
    return isinstance(name, str) and name in around.unused_books


def _broken_lines(chat: Chat) -> str:
    broken = unreadable_lines(chat)
    if not broken:
        return ""
    lines = ", ".join(str(line + 1) for line in broken[:_SHOWN]) + (" …" if len(broken) > _SHOWN else "")
    return f"Not readable: line {lines}."


def _record(metadata: Any) -> dict[str, Any]:
    record = metadata.get(STATE_KEY)
    return record if isinstance(record, dict) else {}


def _digests(metadata: Any) -> dict[str, Any]:
    identity = metadata.get("forklore")
    digests = identity.get("digests") if isinstance(identity, dict) else None
    return digests if isinstance(digests, dict) else {}


def _facts(opened: Opened, read: Reading) -> dict[str, str]:
    """Return what the recorded digests prove; what was never recorded is not spoken of."""
    digests, at = _digests(opened.metadata), opened.forked_at
    facts: dict[str, str] = {}
    if opened.identity is None:
        return facts
    if digests.get("messages") and at is not None:
        facts["messages"] = _messages_fact(opened.chat, at, read, digests["messages"])
    if digests.get("lorebook") and read.book_path is not None:
        same = read.files[read.book_path].digest() == digests["lorebook"]
        facts["lorebook"] = "as cloned" if same else "has gone on since the fork"
    return facts


def _messages_fact(chat: Chat, at: int, read: Reading, digest: object) -> str:
    if not chat.has(at):
        return f"fewer than at the fork: {chat.message_count} of {at + 1}"
    try:
        same = read.files[read.chat_path].digest(chat.span(0)[0], chat.span(at)[1]) == digest
    except ForkloreError:
        return "changed while they were read"
    if same:
        return f"0 to {at} as they were at the fork"
    if any(link.message <= at for link in links_of(chat)):
        return f"0 to {at} are not byte for byte as at the fork; a link to a fork made from one of them is enough"
    return f"0 to {at} were edited since the fork"


__all__ = ["Verified", "opened_timeline", "opening", "verify"]
