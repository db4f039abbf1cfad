"""Reading one timeline: its chat, its lorebook, and what stands in the way of reading them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from forklore.channels.cut import Parent
from forklore.channels.identity import newer_format
from forklore.disk.failures import unusable
from forklore.disk.files import OpenFile
from forklore.disk.system import is_in_use
from forklore.disk.workspace import ChatNotFound, ChatUnreadable, Workspace
from forklore.errors import FormatNewer, LinkOutside, PathOutside
from forklore.formats.chat_facts import lorebook_name
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.formats.lorebook_json import Lorebook, LorebookUnreadable, read_lorebook
from forklore.model.address import ChatAddress


@dataclass
class Reading:
    """A timeline whose files are open, as far as they could be read."""

    address: ChatAddress
    parent: Parent
    chat_path: str
    files: dict[str, OpenFile] = field(default_factory=dict)
    """The open files by their path in the workspace."""
    damage: str = ""
    book_name: str | None = None
    book_path: str | None = None
    book_missing: bool = False
    book_damage: str = ""
    book_outside: str = ""
    """Why the lorebook is not read: a link leads out of the workspace."""

    def parse_book(self) -> None:
        """Read the lorebook that was opened; what is wrong with it is noted, not raised."""
        if self.book_name is None or self.book_path is None:
            return
        try:
            book = book_in(self.files[self.book_path], self.book_name)
        except (LorebookUnreadable, OSError) as error:
            self.book_damage = str(error)
        else:
            self.parent = Parent(self.parent.chat, book)

    def needs_header(self) -> None:
        """Raise ``CHAT_DAMAGED`` when the chat has no header that can be read."""
        if self.damage:
            raise ChatUnreadable(f"{str(self.address)!r} is damaged. {self.damage}")


def refuse_newer_identity(read: Reading) -> None:
    """Raise ``FormatNewer`` when a newer Forklore wrote about the chat: what it wrote is not to be replaced here."""
    number = newer_format(read.parent.metadata)
    if number is not None:
        raise FormatNewer(f"{str(read.address)!r} has a record of a newer Forklore (format {number}).")


@contextmanager
def reading(workspace: Workspace, address: ChatAddress, *, with_book: bool = True) -> Iterator[Reading]:
    """Open the timeline's files; without *with_book* the lorebook is opened, but not yet read."""
    path = workspace.chat_path(address)
    read = Reading(address, None, path)  # type: ignore[arg-type]  # filled in below, once the files are open
    try:
        chat_file = _open(workspace.file(path), address)
        read.files[path] = chat_file
        chat = chat_file.chat
        read.parent = Parent(chat, None)
        try:
            read.book_name = lorebook_name(chat.metadata)
        except ChatDamaged as error:
            read.damage = str(error)
        if read.book_name is not None:
            _open_book(workspace, read, read.book_name)
        if with_book:
            read.parse_book()
        yield read
    finally:
        for file in read.files.values():
            file.close()


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


def _open_book(workspace: Workspace, read: Reading, name: str) -> None:
    path = workspace.book_path(name)
    try:
        read.files[path] = OpenFile(workspace.file(path))
    except FileNotFoundError:
        read.book_missing = True
    except (LinkOutside, PathOutside) as error:
        read.book_outside = f"{error.message} {error.action}"
    except OSError as error:
        if is_in_use(error):
            raise unusable(error) from error
        read.book_damage = f"It cannot be opened ({error.strerror})."
    else:
        read.book_path = path
