"""Gathering a timeline: its chat, its lorebook and what stands beside it, everything that rules may ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from forklore.adapters import ADAPTERS, IN_ENTRIES, IN_MESSAGES
from forklore.adapters.engine import NamedBook, books_named
from forklore.adapters.guard import quoted, short_texts
from forklore.channels import LOOKED_AFTER
from forklore.channels.guard import own_names
from forklore.channels.progress import may_have_gone_on
from forklore.channels.scenes import MID_FLIGHT, names_recaps
from forklore.disk.failures import unusable
from forklore.disk.files import OpenFile
from forklore.disk.system import is_in_use
from forklore.disk.workspace import ChatNotFound, ChatUnreadable, Workspace
from forklore.errors import ForkloreError, FormatNewer, LinkOutside, PathOutside
from forklore.formats.chat_facts import links_of, lorebook_name
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.chat_lines import unreadable_lines
from forklore.formats.lorebook_json import Lorebook, LorebookUnreadable, read_lorebook
from forklore.formats.record import FORMAT, newer_format
from forklore.gathered.timeline import MISSING, OUTSIDE, UNREADABLE, BookState, TimelineState
from forklore.model.address import ChatAddress
from forklore.model.fact import Fact, fact, some
from forklore.model.names import book_key, comparable
from forklore.model.timeline import Link

if TYPE_CHECKING:
    from forklore.gathered.workspace import WorkspaceIndex


@dataclass(frozen=True, eq=False)
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
            raise ChatUnreadable(chat=str(self.address), reason=self.damage)

    def refuse_newer(self) -> None:
        """Raise ``FormatNewer`` when a newer Forklore wrote about the chat: what it wrote is not replaced here."""
        number = newer_format(self.metadata)
        if number is not None:
            raise FormatNewer("chat", chat=str(self.address), format=number, known=FORMAT)


@contextmanager
def open_timeline(workspace: Workspace, address: ChatAddress, *, with_books: bool = True) -> Iterator[OpenTimeline]:
    """Open a timeline's files; without *with_books* the chat's own lorebook is opened, but none is read."""
    path = workspace.chat_path(address)
    files: dict[str, OpenFile] = {path: _open(workspace.file(path), address)}
    try:
        chat = files[path].chat
        try:
            metadata, damage = chat.metadata, None
        except ChatDamaged as error:
            metadata, damage = {}, error.fact
        chat = files[path].seek(*((MID_FLIGHT,) if names_recaps(metadata) else ()), *IN_MESSAGES)
        name = lorebook_name(metadata)
        book = _open_book(workspace, name, files) if name is not None else None
        opened = OpenTimeline(address, path, chat, metadata, damage, book, files=files)
        yield with_book(opened, workspace) if with_books else _as_read(opened)
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
                    timeline = stack.enter_context(open_timeline(workspace, address, with_books=False))
                    timeline.let_go()
                    opened[text] = timeline
        yield opened


def with_book(timeline: OpenTimeline, workspace: Workspace) -> OpenTimeline:
    """Return a timeline with its lorebooks read."""
    timeline, book = with_more(timeline, workspace), timeline.lorebook
    if book is None:
        return timeline
    names = tuple(map(quoted, own_names(timeline)))
    return replace(timeline, lorebook=read_book(book, timeline.book_file, names))


def with_more(timeline: OpenTimeline, workspace: Workspace) -> OpenTimeline:
    """Return a timeline with the other lorebooks that extensions keep for it alone."""
    if timeline.more:
        return timeline
    own = book_key(timeline.book_name, folds=False) if timeline.book_name is not None else None
    more: list[BookState] = []
    for name, role in _named_besides(timeline):
        if book_key(name, folds=False) != own and not workspace.is_meant_to_be_shared(name):
            book = _open_book(workspace, name, timeline.files)._replace(role=role)
            more.append(read_book(book, timeline.files.get(book.path)))
    return _as_read(replace(timeline, more=tuple(more)))


def _named_besides(timeline: OpenTimeline) -> list[NamedBook]:
    try:
        return books_named(timeline.metadata, timeline.chat, ADAPTERS)
    except ChatDamaged:  # told where the lines are looked through
        return books_named(timeline.metadata, None, ADAPTERS)


def _as_read(timeline: OpenTimeline) -> OpenTimeline:
    return replace(timeline, read=tuple((path, file.fingerprint) for path, file in timeline.files.items()))


def with_surroundings(timeline: OpenTimeline, workspace: Workspace) -> OpenTimeline:
    """Return a timeline with what a fork of it needs to know: the chats beside it, and where its book is active."""
    book = timeline.lorebook
    if book is not None:
        book = book._replace(active=workspace.also_active(book.name, timeline.address))
    return replace(timeline, lorebook=book, beside=workspace.names_beside(timeline.address))


def may_name_others(timeline: TimelineState, workspace: Workspace) -> bool:
    """Whether something that we do not know may be the name of another chat beside it, or of a lorebook."""
    known = {timeline.name, *(book.name for book in timeline.books)}
    texts = set(short_texts(timeline.metadata, LOOKED_AFTER))
    with suppress(ChatDamaged, IndexError):
        texts.update(short_texts(timeline.chat.message(0)))
    if not texts:
        return False
    there = workspace.names_beside(timeline.address) | workspace.book_names()
    return any(text in known or comparable(text) in there for text in texts)


def in_place(timeline: OpenTimeline, index: WorkspaceIndex, *, damage: Fact | None = None) -> OpenTimeline:
    """Return a timeline with its place among the others, and with what *damage* was found meanwhile."""
    old = index.old_name(timeline.address, timeline.metadata)
    damage = damage or timeline.damage
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


def _broken_lines(chat: Chat) -> Fact | None:
    broken = unreadable_lines(chat)
    if not broken:
        return None
    lines, more = some([line + 1 for line in broken])
    return fact("lines_unreadable", lines=lines, more=more)


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


def read_book(book: BookState, file: OpenFile | None, signs: tuple[bytes, ...] = ()) -> BookState:
    """Return the lorebook that an open file holds; what is wrong with it is noted, not raised.

    *signs* are looked for on the way, besides those of extensions.
    """
    if file is None:
        return book
    try:
        return book._replace(content=book_in(file, book.name, signs))
    except LorebookUnreadable as error:
        return book._replace(fault=UNREADABLE, reason=error.fact)
    except OSError as error:
        return book._replace(fault=UNREADABLE, reason=fact("not_readable", reason=error.strerror or str(error)))


def book_in(file: OpenFile, name: str, signs: tuple[bytes, ...] = ()) -> Lorebook:
    """Return the lorebook that an open file holds; raises ``LorebookUnreadable``, or ``OSError``."""
    return read_lorebook(name, file.size, read=file.read_as_opened, chunks=file.chunks, signs=(*IN_ENTRIES, *signs))


def _open(path: str, address: ChatAddress) -> OpenFile:
    try:
        return OpenFile(path)
    except FileNotFoundError as error:
        raise ChatNotFound("gone", chat=str(address)) from error
    except OSError as error:
        if is_in_use(error):
            raise unusable(error) from error
        raise ChatUnreadable("opening", chat=str(address), reason=error.strerror or str(error)) from error


def _open_book(workspace: Workspace, name: str, files: dict[str, OpenFile]) -> BookState:
    book = BookState(name, workspace.book_path(name))
    try:
        files[book.path] = OpenFile(workspace.file(book.path))
    except FileNotFoundError:
        return book._replace(fault=MISSING)
    except (LinkOutside, PathOutside) as error:
        return book._replace(fault=OUTSIDE, reason=error.fact)
    except OSError as error:
        if is_in_use(error):
            raise unusable(error) from error
        return book._replace(fault=UNREADABLE, reason=fact("not_readable", reason=error.strerror or str(error)))
    return book
