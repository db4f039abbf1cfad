"""Gathering: everything that rules may ask of a timeline and of the workspace around it, read in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from forklore.channels.progress import may_have_gone_on
from forklore.channels.scenes import MID_FLIGHT, names_recaps
from forklore.disk.disk import is_there
from forklore.disk.failures import unusable
from forklore.disk.files import OpenFile
from forklore.disk.operation_log import OperationLog
from forklore.disk.scan import facts_at, scan_chats
from forklore.disk.system import is_in_use
from forklore.disk.workspace import ChatNotFound, ChatUnreadable, Workspace
from forklore.errors import ForkloreError, FormatNewer, LinkOutside, PathOutside
from forklore.formats.chat_facts import beginning_of, links_of, lorebook_name
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.chat_lines import unreadable_lines
from forklore.formats.lorebook_json import Lorebook, LorebookUnreadable, read_lorebook
from forklore.formats.record import newer_format
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE, BookState, TimelineState
from forklore.gathered.workspace import BookFile, WorkspaceIndex
from forklore.log.operations import Operation, Unread
from forklore.model.address import ChatAddress, place_of
from forklore.model.names import book_key
from forklore.model.timeline import ChatFacts, Link, Story, grow_stories

_SHOWN = 10
_GROUPS = place_of("group:")

# --- a timeline ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenTimeline(TimelineState):
    """A timeline whose files are open for as long as it is worked with."""

    files: dict[str, OpenFile] = field(default_factory=dict)
    """The open files by their path in the workspace."""

    @property
    def chat_file(self) -> OpenFile:
        """The file of its chat."""
        return self.files[self.path]

    @property
    def book_file(self) -> OpenFile | None:
        """The file of its lorebook, None when it could not be opened or there is none."""
        return self.files.get(self.lorebook.path) if self.lorebook else None

    @property
    def size(self) -> int:
        """How many bytes its files have together."""
        return sum(file.size for file in self.files.values())

    def let_go(self) -> None:
        """Close what need not stay open: a small chat is in memory, and a system lets few files be open at once."""
        for path, file in self.files.items():
            if path != self.path or file.is_in_memory:
                file.close()

    def needs_header(self) -> None:
        """Raise ``CHAT_DAMAGED`` when the chat has no header that can be read."""
        if self.damage:
            raise ChatUnreadable(f"{str(self.address)!r} is damaged. {self.damage}")

    def refuse_newer(self) -> None:
        """Raise ``FormatNewer`` when a newer Forklore wrote about the chat: what it wrote is not replaced here."""
        number = newer_format(self.metadata)
        if number is not None:
            raise FormatNewer(f"{str(self.address)!r} has a record of a newer Forklore (format {number}).")


@contextmanager
def open_timeline(workspace: Workspace, address: ChatAddress, *, with_book: bool = True) -> Iterator[OpenTimeline]:
    """Open a timeline's files; without *with_book* its lorebook is opened, but not read."""
    path = workspace.chat_path(address)
    files: dict[str, OpenFile] = {path: _open(workspace.file(path), address)}
    try:
        chat = files[path].chat
        try:
            metadata, damage = chat.metadata, ""
        except ChatDamaged as error:
            metadata, damage = {}, str(error)
        if names_recaps(metadata):
            chat = files[path].seek(MID_FLIGHT)
        name = lorebook_name(metadata)
        book = _open_book(workspace, name, files) if name is not None else None
        if book is not None and with_book:
            book = read_book(book, files.get(book.path))
        read = tuple((each, file.fingerprint) for each, file in files.items())
        yield OpenTimeline(address, path, chat, metadata, damage, book, read=read, files=files)
    finally:
        for file in files.values():
            file.close()


@contextmanager
def open_timelines(workspace: Workspace, addresses: Iterable[str]) -> Iterator[dict[str, TimelineState]]:
    """Open several timelines without their lorebooks, by their addresses; without those that cannot be read."""
    with ExitStack() as stack:
        opened: dict[str, TimelineState] = {}
        for text in addresses:
            address = ChatAddress.parse(text)
            with suppress(ForkloreError):
                if address is not None:
                    timeline = stack.enter_context(open_timeline(workspace, address, with_book=False))
                    timeline.let_go()
                    opened[text] = timeline
        yield opened


def with_book(timeline: OpenTimeline) -> OpenTimeline:
    """Return a timeline with its lorebook read."""
    book = timeline.lorebook
    return replace(timeline, lorebook=read_book(book, timeline.book_file)) if book is not None else timeline


def with_surroundings(timeline: OpenTimeline, workspace: Workspace) -> OpenTimeline:
    """Return a timeline with what a fork of it needs to know: the chats beside it, and where its book is active."""
    book = timeline.lorebook
    if book is not None:
        book = replace(book, active=workspace.also_active(book.name, timeline.address))
    return replace(timeline, lorebook=book, beside=workspace.names_beside(timeline.address))


def in_place(timeline: OpenTimeline, index: WorkspaceIndex, *, damage: str | None = None) -> OpenTimeline:
    """Return a timeline with its place among the others, and with what *damage* was found meanwhile."""
    old = index.old_name(timeline.address, timeline.metadata)
    damage = timeline.damage if damage is None else damage
    return replace(timeline, place=index.timeline(timeline.address), renamed_from=old, damage=damage)


def looked_through(
    timeline: OpenTimeline, index: WorkspaceIndex, workspace: Workspace, *, prove: bool = False
) -> OpenTimeline:
    """Return a timeline with all that verifying it needs: whether every line can be read, and who links to it.

    With *prove*, or where it decides a finding, what was recorded with a digest is held against what is there now.
    """
    placed = in_place(timeline, index, damage=timeline.damage or _broken_lines(timeline.chat))
    if placed.parent and str(timeline.address) in index.unlinked:
        placed = replace(placed, parent_links=_links(placed.parent, workspace))
    if prove or may_have_gone_on(placed):
        placed = replace(placed, digests_now=dict(_digests(placed)))
    return placed


def _broken_lines(chat: Chat) -> str:
    broken = unreadable_lines(chat)
    if not broken:
        return ""
    lines = ", ".join(str(line + 1) for line in broken[:_SHOWN]) + (" …" if len(broken) > _SHOWN else "")
    return f"Not readable: line {lines}."


def _links(parent: str, workspace: Workspace) -> tuple[Link, ...] | None:
    address = ChatAddress.parse(parent)
    try:
        with OpenFile(workspace.file(workspace.chat_path(address))) as file:  # type: ignore[arg-type]  # of the tree
            return tuple(links_of(file.chat))
    except (OSError, ChatDamaged, ForkloreError):
        return None


def _digests(timeline: OpenTimeline) -> Iterator[tuple[str, str]]:
    """Yield what was recorded with a digest, and its digest now; what changes while it is read has none."""
    at, book = timeline.forked_at, timeline.book_file
    if timeline.digests.get("messages") and at is not None and timeline.chat.has(at):
        with suppress(ForkloreError):
            start, end = timeline.chat.span(0)[0], timeline.chat.span(at)[1]
            yield "messages", timeline.chat_file.digest(start, end)
    if timeline.digests.get("lorebook") and book is not None:
        with suppress(ForkloreError):
            yield "lorebook", book.digest()


def read_book(book: BookState, file: OpenFile | None) -> BookState:
    """Return the lorebook that an open file holds; what is wrong with it is noted, not raised."""
    if file is None:
        return book
    try:
        return replace(book, content=book_in(file, book.name))
    except (LorebookUnreadable, OSError) as error:
        return replace(book, fault=UNREADABLE, details=str(error))


def book_in(file: OpenFile, name: str) -> Lorebook:
    """Return the lorebook that an open file holds; raises ``LorebookUnreadable``, or ``OSError``."""
    return read_lorebook(name, file.size, read=file.read_as_opened, chunks=file.chunks)


def _open(path: str, address: ChatAddress) -> OpenFile:
    try:
        return OpenFile(path)
    except FileNotFoundError as error:
        raise ChatNotFound(f"There is no chat {str(address)!r} any more.") from error
    except OSError as error:
        if is_in_use(error):
            raise unusable(error) from error
        raise ChatUnreadable(f"{str(address)!r} cannot be opened ({error.strerror}).") from error


def _open_book(workspace: Workspace, name: str, files: dict[str, OpenFile]) -> BookState:
    book = BookState(name, workspace.book_path(name))
    try:
        files[book.path] = OpenFile(workspace.file(book.path))
    except FileNotFoundError:
        return replace(book, fault=MISSING)
    except (LinkOutside, PathOutside) as error:
        return replace(book, fault=OUTSIDE, details=f"{error.message} {error.action}")
    except OSError as error:
        if is_in_use(error):
            raise unusable(error) from error
        return replace(book, fault=UNREADABLE, details=f"It cannot be opened ({error.strerror}).")
    return book


# --- the workspace ------------------------------------------------------------------------------------------------


def gather_index(
    workspace: Workspace,
    cache: Path | None,
    *,
    shared_books: Iterable[str] = (),
    log: OperationLog | None = None,
    of: ChatAddress | None = None,
    told_book: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WorkspaceIndex:
    """Look through the workspace once.

    *log* is read when it is given. What takes long to find out is found out for the chat *of* alone, or for every
    chat: who is a copy of whom, and which lorebook was renamed. *told_book* is what somebody says a missing lorebook
    is called now.
    """
    folds = workspace.folds_names
    chats = tuple(scan_chats(workspace, cache, progress))
    entries = tuple(log.entries()) if log is not None else ()
    shared = frozenset(book_key(book, folds=folds) for book in shared_books)
    index = WorkspaceIndex(
        chats=chats,
        stories=grow_stories(chats, shared_on_purpose=shared, folds_names=folds),
        present=frozenset((place_of(chat.folder), chat.name) for chat in workspace.chats()),
        books={book_key(book.name, folds=folds): book for book in _books(workspace)},
        shared_on_purpose=shared,
        folds_names=folds,
        operations=tuple(entry for entry in entries if isinstance(entry, Operation)),
        unread=tuple(entry for entry in entries if isinstance(entry, Unread)),
        told_book=told_book,
    )
    wanted = chats if of is None else tuple(chat for chat in chats if chat.address == str(of))
    return replace(
        index,
        trash=frozenset(_trash(index, workspace)),
        beginnings=dict(_beginnings(index, wanted, workspace)),
        strangers=_strangers(index, workspace) if any(_misses_book(chat, index) for chat in wanted) else {},
    )


def _books(workspace: Workspace) -> Iterator[BookFile]:
    for entry in workspace.book_files():
        with suppress(OSError):  # removed while we look
            stat, name = entry.stat(), entry.name.removesuffix(".json")
            yield BookFile(name, workspace.book_path(name), stat.st_size, stat.st_mtime_ns / 1e9)


def _trash(index: WorkspaceIndex, workspace: Workspace) -> Iterator[str]:
    for operation in index.operations:
        for change in operation.changes:
            if change["do"] == "trash" and is_there(workspace.places.item(change["item"])):
                yield change["item"]


def _beginnings(index: WorkspaceIndex, wanted: Iterable[ChatFacts], workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield how those chats begin that name a lorebook which another story names too."""
    contested: dict[str, ChatFacts] = {}
    books = {index.key(chat.lorebook): chat.lorebook for chat in wanted if chat.lorebook is not None}
    for book in books.values():
        users = index.users(book)
        if len(users) > 1 and len({_main(each, index) for each in users}) > 1:
            contested.update((each.address, each) for each in users)
    for address, chat in contested.items():
        path = workspace.chat_path(ChatAddress(chat.folder, chat.name))
        try:
            with OpenFile(workspace.file(path)) as file:
                beginning = beginning_of(file.chat)
        except (OSError, ChatDamaged, ForkloreError):
            continue
        if beginning is not None:
            yield address, beginning


def _main(chat: ChatFacts, index: WorkspaceIndex) -> str | None:
    story: Story | None = index.story(chat.address)
    return story.main if story else None


def _misses_book(chat: ChatFacts, index: WorkspaceIndex) -> bool:
    return chat.lorebook is not None and not index.has_book(chat.lorebook)


def _strangers(index: WorkspaceIndex, workspace: Workspace) -> dict[str, tuple[BookFile, ...]]:
    """Return the lorebooks that neither a chat names nor we have made, by their digest."""
    ours = {change["path"] for each in index.operations for change in each.changes if change["do"] == "create"}
    strangers: dict[str, tuple[BookFile, ...]] = {}
    for book in index.unused_books.values():
        if book.path in ours:
            continue
        try:
            with OpenFile(workspace.file(book.path)) as file:
                digest = file.digest()
        except (OSError, ForkloreError):
            continue
        strangers[digest] = (*strangers.get(digest, ()), book)
    return strangers


def refreshed(index: WorkspaceIndex, operation: Operation, workspace: Workspace) -> WorkspaceIndex:
    """Return the index as it is after an operation: only what that changed is looked at again."""
    paths = {change["path"] for change in operation.changes}
    groups = {chat: f"group:{group.group_id}" for group in workspace.groups() for chat in group.chats}
    chats = []
    for chat in index.chats:
        if place_of(chat.folder) == _GROUPS:
            chat = chat._replace(folder=groups.get(chat.name, _GROUPS))  # noqa: PLW2901  # it is the same chat
        path = workspace.chat_path(ChatAddress(chat.folder, chat.name))
        facts = facts_at(Path(workspace.file(path)), chat) if path in paths else chat
        chats += [facts] if facts is not None else []
    return replace(
        index,
        chats=tuple(chats),
        stories=grow_stories(chats, shared_on_purpose=index.shared_on_purpose, folds_names=index.folds_names),
        present=frozenset((place_of(chat.folder), chat.name) for chat in workspace.chats()),
        books={book_key(book.name, folds=index.folds_names): book for book in _books(workspace)},
        operations=(operation, *index.operations),
    )
