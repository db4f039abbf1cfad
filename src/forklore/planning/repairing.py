"""Repairs: each is a plan that removes its finding and adds none; shown first, applied on request, undoable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from forklore.channels.checkpoint_map import MAP_PATH, STATE_KEY, read_map
from forklore.channels.cut import Parent
from forklore.channels.identity import KEY as IDENTITY_KEY
from forklore.channels.identity import own_identity
from forklore.channels.lorebook import book_from_snapshot, empty_book
from forklore.channels.opened import Opened, snapshot_of, stale_operations
from forklore.channels.registry import rebuilt
from forklore.channels.running_recap import KEY as RUNNING_KEY
from forklore.channels.running_recap import own_versions
from forklore.channels.scenes import scene_start
from forklore.formats.chat_facts import links_of
from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_text import encode
from forklore.model.plan import (
    HEADER,
    Append,
    Bytes,
    Change,
    CreateFile,
    Drop,
    Edit,
    EditFile,
    Fingerprint,
    LineEdit,
    Put,
    RestoreFile,
)
from forklore.planning.cancelling import cancellation
from forklore.planning.fork import inside_metadata
from forklore.planning.swipe import shown_again
from forklore.planning.undo import links_taken_out

_ROLE = "repair"


@dataclass(frozen=True)
class Relative:
    """A chat beside the one that is repaired."""

    name: str
    path: str
    chat: Chat
    fingerprint: Fingerprint


@dataclass(frozen=True)
class Mending:
    """A timeline to be repaired, and what its repairs are made of."""

    opened: Opened
    chat_path: str
    book_path: str | None
    """Where its lorebook is, or should be."""
    now_ms: int
    trashed: Mapping[str, Any] | None = None
    """How the log describes the lorebook's going to the trash."""
    code: str = ""
    """The finding that is repaired: one repair may mend several kinds."""
    parents_book: bytes | None = None
    """The parent's lorebook as it was at the fork."""
    parents_book_source: str = ""
    """How its state at the fork is known; ``present`` when it is not."""
    parent: Relative | None = None
    children: tuple[Relative, ...] = ()

    @property
    def chat(self) -> Chat:
        """The chat."""
        return self.opened.chat


Changes = Iterable[Change]


def _edited(mending: Mending, *edits: Edit, path: str | None = None, line: int = HEADER) -> EditFile:
    return EditFile(path or mending.chat_path, tuple(LineEdit(line, edit) for edit in edits), role=_ROLE)


def _put(*path: str | int, value: Any) -> Put:
    return Put(("chat_metadata", *path), encode(value))


def _recorded(mending: Mending, **values: Any) -> list[Edit]:
    """Return edits that bring the record up to date, where there is one."""
    if mending.opened.record is None:
        return []
    return [_put(STATE_KEY, key, value=value) for key, value in values.items()]


# --- a missing or wrong lorebook ----------------------------------------------------------------------------------


def _from_trash(mending: Mending) -> Changes:
    if mending.trashed is not None:
        content = tuple((length, digest) for length, digest in mending.trashed["content"])
        yield RestoreFile(mending.trashed["path"], mending.trashed["item"], content)


def _from_snapshot(mending: Mending) -> Changes:
    scene = snapshot_of(mending.chat)
    if scene is not None and mending.book_path:
        yield CreateFile(mending.book_path, (Bytes(book_from_snapshot(scene, mending.opened.book_name or "")),))


def _from_parent(mending: Mending) -> Changes:
    if mending.parents_book is not None and mending.book_path:
        yield CreateFile(mending.book_path, (Bytes(mending.parents_book),))
        if mending.parents_book_source == "present" and mending.opened.record is not None:
            yield _edited(mending, *_recorded(mending, lorebook_source="present"))


def _empty(mending: Mending) -> Changes:
    if mending.book_path:
        yield CreateFile(mending.book_path, (Bytes(empty_book(mending.now_ms)),))


def _detach(mending: Mending) -> Changes:
    edits: list[Edit] = [Drop(("chat_metadata", "world_info")), *_recorded(mending, cloned_lorebook_name=None)]
    yield _edited(mending, *edits)


def _reattach(mending: Mending) -> Changes:
    if mending.opened.record:
        yield _edited(mending, _put("world_info", value=mending.opened.record["cloned_lorebook_name"]))


def _accept(mending: Mending) -> Changes:
    yield _edited(mending, *_recorded(mending, cloned_lorebook_name=mending.opened.book_name))
    yield from _mapped(mending, mending.opened.book_name)


def _mapped(mending: Mending, book: str | None) -> Changes:
    """Bring the parent's map up to date, where it has an entry for this timeline."""
    parent, name = mending.parent, mending.opened.name
    if parent is not None and book and read_map(parent.chat.metadata).get(name, book) != book:
        yield _edited(mending, _put(*MAP_PATH, name, value=book), path=parent.path)


# --- the running recap --------------------------------------------------------------------------------------------


def _use_latest(mending: Mending) -> Changes:
    if not mending.opened.running.numbers:
        return
    latest = max(mending.opened.running.numbers)
    recorded = mending.opened.record.get("running_recap_version") if mending.opened.record else None
    missing = recorded is not None and recorded not in mending.opened.running.numbers
    edits: list[Edit] = [_put(RUNNING_KEY, "current_version", value=latest)]
    yield _edited(mending, *edits, *(_recorded(mending, running_recap_version=latest) if missing else []))


def _put_back(mending: Mending) -> Changes:
    record, running = mending.opened.record or {}, mending.opened.running
    number = record.get("running_recap_version")
    versions = record.get("running_recap_versions")
    kept = [v for v in versions if isinstance(v, dict)] if isinstance(versions, list) else []
    version = next((v for v in kept if v.get("version") == number), None) or {
        "version": number,
        "content": record.get("running_recap_content"),
        "scene_count": record.get("running_recap_scene_count"),
        "new_scene_index": record.get("message_id"),
    }
    if not isinstance(mending.opened.metadata.get(RUNNING_KEY), dict):
        whole = {"chat_id": mending.opened.name, "current_version": number, "versions": [version]}
        yield _edited(mending, _put(RUNNING_KEY, value=whole))
        return
    edits: list[Edit] = [Append(("chat_metadata", RUNNING_KEY, "versions"), encode(version))]
    if running.current is None or mending.opened.is_untouched:
        edits.append(_put(RUNNING_KEY, "current_version", value=number))
    yield _edited(mending, *edits)


def _set_back(mending: Mending) -> Changes:
    recorded = (mending.opened.record or {}).get("running_recap_version")
    yield _edited(mending, _put(RUNNING_KEY, "current_version", value=recorded))


def _take_over(mending: Mending) -> Changes:
    yield _edited(mending, _put(RUNNING_KEY, "chat_id", value=mending.opened.name))


def _keep_own_versions(mending: Mending) -> Changes:
    edits = own_versions(Parent(mending.chat, None), mending.opened.name, mending.opened.last)
    yield _edited(mending, *(inside_metadata(edit) for edit in edits))


# --- the lorebook's inside ----------------------------------------------------------------------------------------


def _cancel_operations(mending: Mending) -> Changes:
    book = mending.opened.book
    ids = frozenset(operation.operation_id for operation in stale_operations(mending.opened))
    if book and mending.book_path and ids:
        yield cancellation(book, mending.book_path, ids)


def _rebuild_lines(mending: Mending) -> Changes:
    book = mending.opened.book
    if not book or not mending.book_path:
        return
    seen: set[int] = set()
    edits = []
    for entry in book.outline.registry_entries:
        content = rebuilt(entry, book.outline.by_uid, seen)
        if content != entry.content:
            edits.append(LineEdit(None, Put(("entries", entry.key, "content"), encode(content))))
    if edits:
        yield EditFile(mending.book_path, tuple(edits), role=_ROLE)


# --- messages, links and names ------------------------------------------------------------------------------------


def _show_last_scene(mending: Mending) -> Changes:
    chat, last = mending.chat, mending.opened.last
    hidden = [n for n in range(scene_start(chat, last), last + 1) if _can_be_shown(chat.line_bytes(n))]
    if hidden:
        edits = tuple(LineEdit(number, Put(("is_system",), "false")) for number in hidden)
        yield EditFile(mending.chat_path, edits, role=_ROLE)


def _can_be_shown(line: bytes) -> bool:
    return shown_again(line) is not line


def _remove_link(mending: Mending) -> Changes:
    edits = [
        edit for name in {link.chat for link in mending.opened.dangling} for edit in links_taken_out(mending.chat, name)
    ]
    if edits:
        yield EditFile(mending.chat_path, tuple(edits), role=_ROLE)


def _remove_entry(mending: Mending) -> Changes:
    edits = [Drop(("chat_metadata", *MAP_PATH, name)) for name in mending.opened.stale_map]
    if edits:
        yield _edited(mending, *edits)


def _relink(mending: Mending) -> Changes:
    at, opened = mending.opened.forked_at, mending.opened
    if mending.parent is None or at is None or not mending.parent.chat.has(at):
        return
    name = encode(opened.name)
    link: Edit = Put(("extra", "bookmark_link"), name)
    if opened.kind == "branch":
        link = Append(("extra", "branches"), name)
    edits = [LineEdit(at, link)]
    if opened.book_name:
        edits.append(LineEdit(HEADER, _put(*MAP_PATH, opened.name, value=opened.book_name)))
    yield EditFile(mending.parent.path, tuple(edits), role=_ROLE)


def _make_main(mending: Mending) -> Changes:
    edits: list[Edit] = [Drop(("chat_metadata", "main_chat"))]
    if mending.opened.identity is not None:
        edits.append(_put(IDENTITY_KEY, "parent", value=None))
    yield _edited(mending, *edits)


def _follow_rename(mending: Mending) -> Changes:
    """Follow what was renamed: the lorebook, the parent, or the chat itself, as the finding says."""
    opened = mending.opened
    edits: list[Edit] = []
    if mending.code == "LOREBOOK_MISSING" and opened.book_now:
        edits.append(_put("world_info", value=opened.book_now))
        edits += _recorded(mending, cloned_lorebook_name=opened.book_now)
        cache = opened.metadata.get("auto_lorebooks")
        if isinstance(cache, dict) and cache.get("lorebookName") == opened.book_name:
            edits.append(_put("auto_lorebooks", "lorebookName", value=opened.book_now))
        yield from _mapped(mending, opened.book_now)
    if mending.code == "PARENT_MISSING" and opened.parent_now:
        edits.append(_put("main_chat", value=opened.parent_now))
        if opened.identity is not None:
            edits.append(_put(IDENTITY_KEY, "parent", value=opened.parent_now))
    if mending.code == "CHAT_RENAMED" and opened.renamed_from:
        edits += _renamed(mending, opened.renamed_from)
        yield from _renamed_relatives(mending, opened.renamed_from)
    if edits:
        yield _edited(mending, *edits)


def _renamed(mending: Mending, old: str) -> list[Edit]:
    opened = mending.opened
    edits: list[Edit] = [_put(IDENTITY_KEY, "chat", value=opened.name), *_recorded(mending, chat_id=opened.name)]
    if opened.running.chat_id == old:
        edits.append(_put(RUNNING_KEY, "chat_id", value=opened.name))
    return edits


def _renamed_relatives(mending: Mending, old: str) -> Changes:
    """Tell the parent and the children of a new name."""
    new = mending.opened.name
    for child in mending.children:
        edits: list[Edit] = [_put("main_chat", value=new)]
        if own_identity(child.chat.metadata, child.name) is not None:
            edits.append(_put(IDENTITY_KEY, "parent", value=new))
        yield _edited(mending, *edits, path=child.path)
    if mending.parent is None:
        return
    lines = list(_links_renamed(mending.parent.chat, old, new))
    mapped = read_map(mending.parent.chat.metadata)
    if old in mapped:
        lines.append(LineEdit(HEADER, Drop(("chat_metadata", *MAP_PATH, old))))
        lines.append(LineEdit(HEADER, _put(*MAP_PATH, new, value=mapped[old])))
    if lines:
        yield EditFile(mending.parent.path, tuple(lines), role=_ROLE)


def _links_renamed(chat: Chat, old: str, new: str) -> Iterator[LineEdit]:
    """Yield edits that give every link to *old* its new name, in the message itself and in its swipes."""
    for number in sorted({link.message for link in links_of(chat) if link.chat == old}):
        message = chat.message(number)
        swipes = message.get("swipe_info")
        holders: list[tuple[tuple[str | int, ...], Any]] = [((), message)]
        holders += [(("swipe_info", i), each) for i, each in enumerate(swipes if isinstance(swipes, list) else ())]
        for path, holder in holders:
            extra = holder.get("extra") if isinstance(holder, dict) else None
            if not isinstance(extra, dict):
                continue
            if extra.get("bookmark_link") == old:
                yield LineEdit(number, Put((*path, "extra", "bookmark_link"), encode(new)))
            branches = extra.get("branches")
            if isinstance(branches, list) and old in branches:
                place = branches.index(old)
                yield LineEdit(number, Put((*path, "extra", "branches", place), encode(new)))


REPAIRS: dict[str, tuple[str, Callable[[Mending], Changes]]] = {
    "from-trash": ("Bring the lorebook back from the trash", _from_trash),
    "from-snapshot": ("Make the lorebook anew from the last scene snapshot in this timeline", _from_snapshot),
    "from-parent": ("Copy the parent's lorebook, cut to this fork", _from_parent),
    "empty": ("Make an empty lorebook with an idle queue", _empty),
    "detach": ("Go on without a lorebook", _detach),
    "reattach": ("Attach the lorebook that was recorded", _reattach),
    "accept": ("Record the lorebook that is attached now", _accept),
    "use-latest": ("Use the latest version of the running recap", _use_latest),
    "put-back": ("Put the recorded version of the running recap back", _put_back),
    "set-back": ("Set the running recap to the recorded version", _set_back),
    "take-over": ("Let this chat own its running recap", _take_over),
    "keep-own-versions": (
        "Let this chat own its running recap, without the versions that tell of messages it does not have",
        _keep_own_versions,
    ),
    "cancel-operations": ("Cancel the operations that are not about this timeline", _cancel_operations),
    "rebuild-lines": ("Rebuild the registry lines from the entries", _rebuild_lines),
    "show-last-scene": ("Show the messages of the last scene to the model again", _show_last_scene),
    "remove-link": ("Remove the links that lead nowhere", _remove_link),
    "remove-entry": ("Remove the map entries of chats that are gone", _remove_entry),
    "relink": ("Write the link and the map entry in the parent", _relink),
    "follow-rename": ("Follow the new name", _follow_rename),
    "make-main": ("Let this timeline be a story of its own", _make_main),
}
"""Every repair by its name, with what it does; ``isolate`` and ``share`` are operations of their own."""


def plan_repair(name: str, code: str, mending: Mending) -> tuple[Change, ...]:
    """Return the changes that a repair makes about the finding *code*; empty when there is nothing it could do."""
    return tuple(REPAIRS[name][1](replace(mending, code=code)))
