"""Repairs: each is a plan that removes its finding and adds none; shown first, applied on request, undoable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from forklore.adapters.guard import MESSAGE, METADATA, Naming
from forklore.channels.checkpoint_map import MAP_PATH, read_map
from forklore.channels.lorebook import BookCut, book_from_snapshot, empty_book
from forklore.channels.progress import is_untouched
from forklore.channels.queue import stale_operations
from forklore.channels.registry import rebuilt
from forklore.channels.running_recap import KEY as RUNNING_KEY
from forklore.channels.running_recap import own_versions, read_running_recap
from forklore.channels.scenes import scene_start
from forklore.channels.survey import last_snapshot
from forklore.formats.chat_facts import links_of
from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_text import encode
from forklore.formats.record import IDENTITY_KEY, RECORD_KEY, own_identity
from forklore.gathered.timeline import TimelineState
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.plan import (
    HEADER,
    Append,
    Bytes,
    Change,
    CreateFile,
    Drop,
    Edit,
    EditFile,
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
class RepairCase:
    """A finding of a timeline, and what its repairs are made of."""

    code: str
    """The finding: one repair may mend several kinds."""
    timeline: TimelineState
    index: WorkspaceIndex
    now_ms: int
    parent: TimelineState | None = None
    children: tuple[TimelineState, ...] = ()
    """The chats that name this one as their parent under its old name."""
    parents_book: BookCut | None = None
    """The parent's lorebook as it was at the fork."""
    namings: tuple[Naming, ...] = ()
    """Where it names another one of its family."""


Changes = Iterable[Change]


def _edited(case: RepairCase, *edits: Edit, path: str | None = None, line: int = HEADER) -> EditFile:
    return EditFile(path or case.timeline.path, tuple(LineEdit(line, edit) for edit in edits), role=_ROLE)


def _put(*path: str | int, value: Any) -> Put:
    return Put(("chat_metadata", *path), encode(value))


def _recorded(case: RepairCase, **values: Any) -> list[Edit]:
    """Return edits that bring the record up to date, where there is one."""
    if case.timeline.record is None:
        return []
    return [_put(RECORD_KEY, key, value=value) for key, value in values.items()]


# --- a missing or wrong lorebook ----------------------------------------------------------------------------------


def _from_trash(case: RepairCase) -> Changes:
    book = case.timeline.lorebook
    trashed = case.index.trashed.get(book.path) if book else None
    if trashed is not None:
        content = tuple((length, digest) for length, digest in trashed["content"])
        yield RestoreFile(trashed["path"], trashed["item"], content)


def _from_snapshot(case: RepairCase) -> Changes:
    scene, book = last_snapshot(case.timeline.chat), case.timeline.lorebook
    if scene is not None and book:
        yield CreateFile(book.path, (Bytes(book_from_snapshot(scene, book.name)),))


def _from_parent(case: RepairCase) -> Changes:
    cut, book = case.parents_book, case.timeline.lorebook
    if cut is not None and cut.data is not None and book:
        yield CreateFile(book.path, (Bytes(cut.data),))
        if cut.source == "present" and case.timeline.record is not None:
            yield _edited(case, *_recorded(case, lorebook_source="present"))


def _empty(case: RepairCase) -> Changes:
    if case.timeline.lorebook:
        yield CreateFile(case.timeline.lorebook.path, (Bytes(empty_book(case.now_ms)),))


def _detach(case: RepairCase) -> Changes:
    edits: list[Edit] = [Drop(("chat_metadata", "world_info")), *_recorded(case, cloned_lorebook_name=None)]
    yield _edited(case, *edits)


def _reattach(case: RepairCase) -> Changes:
    """Attach the lorebook that is the timeline's own: a main chat's by what its fork recorded, else as recorded."""
    own = case.index.own_book(case.timeline)
    if own is None and case.timeline.record:
        own = case.timeline.record.get("cloned_lorebook_name")
    if own is not None:
        yield _edited(case, _put("world_info", value=own))


def _accept(case: RepairCase) -> Changes:
    if case.code == "NAMES_PARENT":
        known = case.timeline.record.get("names_accepted") if case.timeline.record else None
        accepted = [*(known if isinstance(known, list) else []), *(each.place for each in case.namings)]
        yield _edited(case, *_recorded(case, names_accepted=accepted))
        return
    if case.code == "LOREBOOK_FROM_PRESENT":
        yield _edited(case, *_recorded(case, lorebook_accepted=True))
        return
    yield _edited(case, *_recorded(case, cloned_lorebook_name=case.timeline.book_name))
    yield from _mapped(case, case.timeline.book_name)


def _mapped(case: RepairCase, book: str | None) -> Changes:
    """Bring the parent's map up to date, where it has an entry for this timeline."""
    parent, name = case.parent, case.timeline.name
    if parent is not None and book and read_map(parent.metadata).get(name, book) != book:
        yield _edited(case, _put(*MAP_PATH, name, value=book), path=parent.path)


# --- names of the family ------------------------------------------------------------------------------------------


def _re_point(case: RepairCase) -> Changes:
    """Let what names the family name the timeline's own chat or lorebook."""
    clones = {str(each["original"]): str(each["name"]) for each in case.timeline.recorded_books}
    chats = case.index.chat_names(case.timeline.address)

    def own(name: str) -> str | None:
        return clones.get(name) or (case.timeline.name if name in chats else case.timeline.book_name)

    yield from _naming_edits(case, lambda naming: Put(naming.path, encode(new)) if (new := own(naming.name)) else None)


def _leave_out(case: RepairCase) -> Changes:
    # From the end: what is dropped out of a list moves nothing that is still to be dropped.
    yield from _naming_edits(case, lambda naming: Drop(naming.path), reverse=True)


def _naming_edits(
    case: RepairCase, edit_of: Callable[[Naming], Edit | None], *, reverse: bool = False
) -> Iterator[EditFile]:
    """Yield the edits of every place that names the family, by the files they are in."""
    paths = {book.name: book.path for book in case.timeline.books}
    edits: dict[str, list[LineEdit]] = {}
    for naming in reversed(case.namings) if reverse else case.namings:
        edit = edit_of(naming)
        if edit is not None:
            line = {METADATA: HEADER, MESSAGE: 0}.get(naming.where)
            path = case.timeline.path if line is not None else paths[naming.book]
            inside = inside_metadata(edit) if line == HEADER else edit
            edits.setdefault(path, []).append(LineEdit(line, inside))
    for path, made in edits.items():
        yield EditFile(path, tuple(made), role=_ROLE)


# --- the running recap --------------------------------------------------------------------------------------------


def _use_latest(case: RepairCase) -> Changes:
    numbers = read_running_recap(case.timeline.metadata).numbers
    if not numbers:
        return
    latest = max(numbers)
    recorded = case.timeline.record.get("running_recap_version") if case.timeline.record else None
    missing = recorded is not None and recorded not in numbers
    edits: list[Edit] = [_put(RUNNING_KEY, "current_version", value=latest)]
    yield _edited(case, *edits, *(_recorded(case, running_recap_version=latest) if missing else []))


def _put_back(case: RepairCase) -> Changes:
    record, running = case.timeline.record or {}, read_running_recap(case.timeline.metadata)
    number = record.get("running_recap_version")
    versions = record.get("running_recap_versions")
    kept = [v for v in versions if isinstance(v, dict)] if isinstance(versions, list) else []
    version = next((v for v in kept if v.get("version") == number), None) or {
        "version": number,
        "content": record.get("running_recap_content"),
        "scene_count": record.get("running_recap_scene_count"),
        "new_scene_index": record.get("message_id"),
    }
    if not isinstance(case.timeline.metadata.get(RUNNING_KEY), dict):
        whole = {"chat_id": case.timeline.name, "current_version": number, "versions": [version]}
        yield _edited(case, _put(RUNNING_KEY, value=whole))
        return
    edits: list[Edit] = [Append(("chat_metadata", RUNNING_KEY, "versions"), encode(version))]
    if running.current is None or is_untouched(case.timeline):
        edits.append(_put(RUNNING_KEY, "current_version", value=number))
    yield _edited(case, *edits)


def _set_back(case: RepairCase) -> Changes:
    recorded = (case.timeline.record or {}).get("running_recap_version")
    yield _edited(case, _put(RUNNING_KEY, "current_version", value=recorded))


def _take_over(case: RepairCase) -> Changes:
    yield _edited(case, _put(RUNNING_KEY, "chat_id", value=case.timeline.name))


def _keep_own_versions(case: RepairCase) -> Changes:
    edits = own_versions(case.timeline, case.timeline.name, case.timeline.last)
    yield _edited(case, *(inside_metadata(edit) for edit in edits))


# --- the lorebook's inside ----------------------------------------------------------------------------------------


def _cancel_operations(case: RepairCase) -> Changes:
    book = case.timeline.lorebook
    ids = frozenset(operation.operation_id for operation in stale_operations(case.timeline))
    if book and book.content and ids:
        yield cancellation(book.content, book.path, ids)


def _rebuild_lines(case: RepairCase) -> Changes:
    state = case.timeline.lorebook
    if state is None or state.content is None:
        return
    book = state.content
    seen: set[int] = set()
    edits = []
    for entry in book.outline.registry_entries:
        content = rebuilt(entry, book.outline.by_uid, seen)
        if content != entry.content:
            edits.append(LineEdit(None, Put(("entries", entry.key, "content"), encode(content))))
    if edits:
        yield EditFile(state.path, tuple(edits), role=_ROLE)


# --- messages, links and names ------------------------------------------------------------------------------------


def _show_last_scene(case: RepairCase) -> Changes:
    chat, last = case.timeline.chat, case.timeline.last
    hidden = [n for n in range(scene_start(chat, last), last + 1) if _can_be_shown(chat.line_bytes(n))]
    if hidden:
        edits = tuple(LineEdit(number, Put(("is_system",), "false")) for number in hidden)
        yield EditFile(case.timeline.path, edits, role=_ROLE)


def _can_be_shown(line: bytes) -> bool:
    return shown_again(line) is not line


def _remove_link(case: RepairCase) -> Changes:
    edits = [
        edit
        for name in {link.chat for link in case.index.dangling(case.timeline.address, case.timeline.chat)}
        for edit in links_taken_out(case.timeline.chat, name)
    ]
    if edits:
        yield EditFile(case.timeline.path, tuple(edits), role=_ROLE)


def _remove_entry(case: RepairCase) -> Changes:
    edits = [Drop(("chat_metadata", *MAP_PATH, name)) for name in case.index.stale_map(case.timeline.address)]
    if edits:
        yield _edited(case, *edits)


def _relink(case: RepairCase) -> Changes:
    timeline = case.timeline
    at = timeline.forked_at
    if case.parent is None or at is None or not case.parent.chat.has(at):
        return
    name = encode(timeline.name)
    link: Edit = Put(("extra", "bookmark_link"), name)
    if timeline.kind == "branch":
        link = Append(("extra", "branches"), name)
    edits = [LineEdit(at, link)]
    if timeline.book_name:
        edits.append(LineEdit(HEADER, _put(*MAP_PATH, timeline.name, value=timeline.book_name)))
    yield EditFile(case.parent.path, tuple(edits), role=_ROLE)


def _make_main(case: RepairCase) -> Changes:
    edits: list[Edit] = [Drop(("chat_metadata", "main_chat"))]
    if case.timeline.identity is not None:
        edits.append(_put(IDENTITY_KEY, "parent", value=None))
    yield _edited(case, *edits)


def _follow_rename(case: RepairCase) -> Changes:
    """Follow what was renamed: the lorebook, the parent, or the chat itself, as the finding says."""
    timeline = case.timeline
    edits: list[Edit] = []
    if case.code == "LOREBOOK_MISSING" and (book := case.index.book_now(timeline)):
        edits.append(_put("world_info", value=book))
        edits += _recorded(case, cloned_lorebook_name=book)
        cache = timeline.metadata.get("auto_lorebooks")
        if isinstance(cache, dict) and cache.get("lorebookName") == timeline.book_name:
            edits.append(_put("auto_lorebooks", "lorebookName", value=book))
        yield from _mapped(case, book)
    if case.code == "PARENT_MISSING" and (parent := case.index.parent_now(timeline)):
        edits.append(_put("main_chat", value=parent))
        if timeline.identity is not None:
            edits.append(_put(IDENTITY_KEY, "parent", value=parent))
    if case.code == "CHAT_RENAMED" and timeline.renamed_from:
        edits += _renamed(case, timeline.renamed_from)
        yield from _renamed_relatives(case, timeline.renamed_from)
    if edits:
        yield _edited(case, *edits)


def _renamed(case: RepairCase, old: str) -> list[Edit]:
    timeline = case.timeline
    edits: list[Edit] = [_put(IDENTITY_KEY, "chat", value=timeline.name), *_recorded(case, chat_id=timeline.name)]
    if read_running_recap(timeline.metadata).chat_id == old:
        edits.append(_put(RUNNING_KEY, "chat_id", value=timeline.name))
    return edits


def _renamed_relatives(case: RepairCase, old: str) -> Changes:
    """Tell the parent and the children of a new name."""
    new = case.timeline.name
    for child in case.children:
        edits: list[Edit] = [_put("main_chat", value=new)]
        if own_identity(child.metadata, child.name) is not None:
            edits.append(_put(IDENTITY_KEY, "parent", value=new))
        yield _edited(case, *edits, path=child.path)
    if case.parent is None:
        return
    lines = list(_links_renamed(case.parent.chat, old, new))
    mapped = read_map(case.parent.metadata)
    if old in mapped:
        lines.append(LineEdit(HEADER, Drop(("chat_metadata", *MAP_PATH, old))))
        lines.append(LineEdit(HEADER, _put(*MAP_PATH, new, value=mapped[old])))
    if lines:
        yield EditFile(case.parent.path, tuple(lines), role=_ROLE)


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


REPAIRS: dict[str, Callable[[RepairCase], Changes]] = {
    "from-trash": _from_trash,
    "from-snapshot": _from_snapshot,
    "from-parent": _from_parent,
    "empty": _empty,
    "detach": _detach,
    "reattach": _reattach,
    "accept": _accept,
    "re-point": _re_point,
    "leave-out": _leave_out,
    "use-latest": _use_latest,
    "put-back": _put_back,
    "set-back": _set_back,
    "take-over": _take_over,
    "keep-own-versions": _keep_own_versions,
    "cancel-operations": _cancel_operations,
    "rebuild-lines": _rebuild_lines,
    "show-last-scene": _show_last_scene,
    "remove-link": _remove_link,
    "remove-entry": _remove_entry,
    "relink": _relink,
    "follow-rename": _follow_rename,
    "make-main": _make_main,
}
"""Every repair by its name; ``isolate`` and ``share`` are operations of their own."""


def plan_repair(name: str, case: RepairCase) -> tuple[Change, ...]:
    """Return the changes that a repair makes; empty when there is nothing it could do."""
    return tuple(REPAIRS[name](case))
