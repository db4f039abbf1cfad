"""Isolation: the channels of a timeline that gets a lorebook of its own where it is.

It is cut at its own last message, as a fork in the past would be, with three differences: the lorebook is split by
whose entries are whose, versions of the running recap that the parent wrote later are told from its own, and the map
keeps the forks that were made from this very timeline. The copy of a main chat into whose lorebook nobody else has
written since is at its head: everything in the book is its own too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore.attribution.splitting import BASE, OWN, Kin, Share, Split, split_book
from forklore.attribution.witnesses import name_of
from forklore.channels import CHANNELS
from forklore.channels.checkpoint_map import CHANNEL as MAP_CHANNEL
from forklore.channels.checkpoint_map import MAP_PATH, read_map
from forklore.channels.cut import Channel, Earlier
from forklore.channels.identity import CHANNEL as IDENTITY_CHANNEL
from forklore.channels.lorebook import CHANNEL as BOOK_CHANNEL
from forklore.channels.lorebook import BookCut, as_it_was, compose, file_keys, free_key, with_idle_queue, with_rows
from forklore.channels.registry import lines_by_uid
from forklore.channels.running_recap import cut_versions, is_inside, read_running_recap
from forklore.channels.scenes import CHANNEL as SCENES_CHANNEL
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import encode, to_bytes, to_text
from forklore.formats.lorebook_json import REGISTRY_PREFIX, EntryKey, Lorebook, parse_lorebook, retitled
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.fact import some
from forklore.model.finding import Finding, Severity
from forklore.model.plan import Drop, Edit, Put
from forklore.model.timeline import mark_of

_INDEX = re.compile(r"\A(\[[^:\]]*: )(.*)(\]\s*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OwnBook(BookCut):
    """The book of an isolated timeline."""

    split: Split = field(default_factory=lambda: Split(None))


def channels_of_isolation(kin: Kin, *, adopts: bool) -> tuple[Channel, ...]:
    """Return the channels for isolating a timeline; one that *adopts* has a book of its own already."""

    def at_parting(channel: Channel) -> Callable[[TimelineState, ForkPoint, Earlier], Cut]:
        return lambda parent, point, earlier: channel.cut(parent, point_of_parting(point, kin), earlier)

    rules: dict[str, Callable[[TimelineState, ForkPoint, Earlier], Cut]] = {
        # What is recorded speaks of the message at which the timeline was forked.
        "scenes": at_parting(SCENES_CHANNEL),
        "identity": lambda parent, point, earlier: _cut_identity(
            at_parting(IDENTITY_CHANNEL)(parent, point, earlier), kin
        ),
        "lorebook": lambda parent, point, earlier: _cut_book(parent, point, earlier, kin=kin, adopts=adopts),
        "running_recap": lambda parent, point, _: cut_versions(parent, point, lambda v: _accounts_for(kin, v)),
        "checkpoint_map": lambda parent, point, earlier: _cut_map(parent, point, earlier, kin=kin),
    }
    return tuple(channel._replace(cut=rules.get(channel.name, channel.cut)) for channel in CHANNELS)


def point_of_parting(point: ForkPoint, kin: Kin) -> ForkPoint:
    """Return the point at which the timeline was forked, not the one at which it is isolated."""
    return point._replace(at=kin.at, derived_upto=kin.at)


# --- the lorebook -------------------------------------------------------------------------------------------------


def _cut_book(parent: TimelineState, point: ForkPoint, earlier: Earlier, *, kin: Kin, adopts: bool) -> Cut:
    book = parent.book
    if book is not None and point.clone_name is not None and adopts:
        return Cut(OwnBook("live", book.outline))
    if book is None or point.clone_name is None or point.is_head:
        return BOOK_CHANNEL.cut(parent, point, earlier)
    split = split_book(book, kin)
    if split.base is None:
        source, data = "present", _without(book, split, point.clone_name)
    else:
        source, data = "scene-snapshot", compose(book, _entries(book, split, kin), point.clone_name)
    own = OwnBook(source, parse_lorebook(point.clone_name, data).outline, data, split=split)
    cut = with_rows(own, parent, parent.lorebook, point) if parent.lorebook is not None else own
    findings = (_in_doubt(split.in_doubt),) if split.in_doubt else ()
    carried, left_out = file_keys(book, cut)
    edits = (Put(("world_info",), encode(point.clone_name)),)
    return Cut(cut, edits=edits, carried=carried, left_out=left_out, findings=findings)


def _in_doubt(shares: tuple[Share, ...]) -> Finding:
    entries, more = some([{"uid": each.uid, "name": each.comment, "because": each.because} for each in shares])
    return Finding("ENTRIES_IN_DOUBT", Severity.WARNING, {"count": len(shares), "entries": entries, "more": more})


def _entries(book: Lorebook, split: Split, kin: Kin) -> dict[str, Any]:
    """Return the entries of the timeline by their keys, each in the state that is its own."""
    base, live = split.base.snapshot if split.base else {}, book.live_entries
    entries: dict[str, Any] = {}

    def add(key: EntryKey, entry: Mapping[str, Any]) -> None:
        place = live[key][0] if key in live else str(key[0])
        entries[free_key(entries, place)] = entry

    def now(key: EntryKey) -> Mapping[str, Any] | None:
        return live[key][1] if key in live else None

    for key in (*base, *(key for key in live if key not in base)):
        old, new = base.get(key), now(key)
        if share := split.shares.get(key):
            if share.keeps:
                kept = _kept_state(key, share, kin) or (old if share.version == BASE else None)
                add(key, as_it_was(kept, new) if kept is not None else new or {})
        elif old is not None:
            entry = as_it_was(old, new)
            if key[1].startswith(REGISTRY_PREFIX):
                entry["content"] = _listed(entry.get("content"), new.get("content") if new else None, split)
            add(key, entry)
        elif new is not None and key[1].startswith(REGISTRY_PREFIX):
            content = _listed(None, new.get("content"), split)
            if lines_by_uid(content):
                add(key, {**new, "content": content})
    return entries


def _kept_state(key: EntryKey, share: Share, kin: Kin) -> Mapping[str, Any] | None:
    """Return the entry as the timeline's own last snapshot has it, where that is the state to take."""
    if share.version != OWN:
        return None
    return next((work.snapshot[key] for work in reversed(kin.subject.works) if key in work.snapshot), None)


def _listed(before: Any, now: Any, split: Split) -> str:
    """Return what a registry lists: the kept entries, each with the line of the state that is taken of it."""
    old, new = (lines_by_uid(text) if isinstance(text, str) else {} for text in (before, now))
    known = {share.uid for share in split.shares.values()}
    kept = {share.uid: share for share in split.shares.values() if share.keeps}
    lines: dict[int, str] = {}
    for uid in (*old, *(uid for uid in new if uid not in old)):
        share = kept.get(uid)
        if share is not None and share.version != BASE:
            lines[uid] = new.get(uid) or old[uid]
        elif uid in old and (share is not None or uid not in known):
            lines[uid] = old[uid]
    for text, its_lines in ((before, old), (now, new)):
        if isinstance(text, str) and lines == its_lines:
            return text
    head = next(text.split("\n")[0] for text in (now, before) if isinstance(text, str))
    return "\n".join([head, *sorted(lines.values(), key=lambda line: line.partition("name:")[2].casefold())])


def _without(book: Lorebook, split: Split, clone: str) -> bytes:
    """Return the live book, byte for byte, with an idle queue and without the entries that are not the timeline's."""
    gone = [(share.uid, share.comment) for share in split.left_out]
    live = book.live_entries
    edits: list[Edit] = [Drop(("entries", live[key][0])) for key in gone if key in live]
    for entry in book.outline.internal if edits else ():
        content = entry.content or ""
        written = content
        if entry.comment.startswith(REGISTRY_PREFIX):
            written = _unlisted(content, {uid for uid, _ in gone})
        elif match := _INDEX.match(content):
            written = _unindexed(match, {name for _, comment in gone for name in (comment, name_of(comment))})
        if written != content:
            edits.append(Put(("entries", entry.key, "content"), encode(written)))
    if edits:
        book = parse_lorebook(book.name, to_bytes(apply_edits(to_text(book.data), edits).text))
    return retitled(with_idle_queue(book), clone)


def _unlisted(content: str, uids: set[Any]) -> str:
    gone = {line for uid, line in lines_by_uid(content).items() if uid in uids}
    return "\n".join(line for line in content.split("\n") if line not in gone) if gone else content


def _unindexed(match: re.Match[str], names: set[str]) -> str:
    listed = match[2].split(", ")
    kept = [name for name in listed if name not in names]
    return f"{match[1]}{', '.join(kept) or 'none discovered yet'}{match[3]}" if len(kept) < len(listed) else match[0]


# --- identity, recap and map --------------------------------------------------------------------------------------


def _cut_identity(cut: Cut, kin: Kin) -> Cut:
    """Give the timeline an identity of its own; a parent that nobody knows is not made up.

    Its forks know it by the mark that it had, which goes with its old ``integrity``.
    """
    above = mark_of(kin.parent.text.metadata.get("integrity")) if kin.parent else None
    value = {**cut.value, "parent_mark": above, "former_mark": cut.value["parent_mark"]}
    if value["parent"]:
        return cut._replace(value=value)
    edits = tuple(edit for edit in cut.edits if edit.path != ("main_chat",))
    return cut._replace(value={**value, "parent": None}, edits=edits)


def _accounts_for(kin: Kin, version: object) -> bool:
    """Whether the timeline's own messages can account for a version of the running recap."""
    if is_inside(version, kin.at):
        return True
    if not isinstance(version, dict) or not is_inside(version, kin.subject.last):
        return False
    if kin.parent is not None and version in read_running_recap(kin.parent.text.metadata).versions:
        return False  # copied with the parent's metadata when the timeline was forked
    return any(work.message == version["new_scene_index"] for work in kin.subject.works)


def _cut_map(parent: TimelineState, point: ForkPoint, earlier: Earlier, *, kin: Kin) -> Cut:
    cut = MAP_CHANNEL.cut(parent, point, earlier)
    mapped = read_map(parent.metadata)
    if not kin.children & set(mapped):
        return cut
    foreign = [name for name in mapped if name not in kin.children]
    return cut._replace(edits=tuple(Drop((*MAP_PATH, name)) for name in foreign))
