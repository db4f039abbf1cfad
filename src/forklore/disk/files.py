"""Files that are open for reading: a fixed content with a fingerprint."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from forklore.disk.disk import Disk, fingerprint, read_at, read_in_pieces
from forklore.disk.system import IS_WINDOWS, READING, Look, is_online_only, look, open_shared, read_shared
from forklore.errors import FileOnlineOnly, ForkloreError, Kind
from forklore.formats.chat_jsonl import SCAN_BYTES, Chat, index_lines, index_of
from forklore.model.plan import Fingerprint

_LARGE = 1 << 20
_COUNTED_AT_ONCE = 1 << 20
_LARGEST = 4 << 30  # of any file: the largest chats have 100 MB, and a stranger's may claim to have any size
_LARGEST_READ = 512 << 20  # as a whole, into memory
_SMALL_FILE = 64 << 20  # more than a journal with the whole header of a chat in it
_SMALL = 128 << 10  # so much is read at once rather than where it is asked for
_IN_MEMORY = 2 << 20  # so much is kept once it had to be read as a whole: it will be wanted again
_AT_ONCE = 64 << 20  # so much is read at once where a file must not be open for long
_PIECE = 4 << 20  # and of a larger one, so much
_MOMENT = 0.5  # seconds for which what was read is not read again while it looks the same
_MOST_KEPT = 8  # files
_NEXT_SAVE = 0.04  # seconds that are waited for one
_LOOKED_AGAIN = 0.001
_ATTEMPTS = 5  # a writer that saves five times while we read is not going to pause for us


class ContextChanged(ForkloreError):
    """A file changed while a fork was being made from it."""

    code = "CONTEXT_CHANGED"
    kind = Kind.CONFLICT


class HeldFile:
    """A file that is open for reading; SillyTavern replaces files as a whole, so its content stays what it is."""

    def __init__(self, path: str | Path) -> None:
        """Open the file; raises what ``os.open`` raises, and ``OSError`` for what is no file."""
        self.path = path
        self._kept: bytes | None = None
        self.descriptor = os.open(path, READING)
        self.stat: os.stat_result | Look = os.fstat(self.descriptor)
        if not stat.S_ISREG(self.stat.st_mode) or self.size > _LARGEST:
            self.close()
            raise _no_file_for_us(path, self.stat)

    @property
    def name(self) -> str:
        """What the file is called in its folder."""
        return os.path.basename(self.path)

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return self.stat.st_size

    @property
    def is_in_memory(self) -> bool:
        """Whether all that is asked of it as a chat was read already."""
        return self.size <= _SMALL and "chat" in self.__dict__

    @property
    def fingerprint(self) -> Fingerprint:
        """What tells whether the file at the path is still this one."""
        return fingerprint(self.stat)

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes from *start* to *end*; raises ``ContextChanged`` when the file became shorter."""
        end = self.size if end is None else end
        if self._kept is not None:
            return self._kept[start:end]
        if end - start > _LARGEST_READ:
            raise _too_large(self.path)
        data = self._read(start, end)
        if len(data) == self.size <= _IN_MEMORY:
            self._kept = data
        return data

    def read_as_opened(self) -> bytes:
        """Return the whole content; raises ``ContextChanged`` when it is no longer the one that was opened."""
        data = self.read()
        if fingerprint(os.fstat(self.descriptor)) != self.fingerprint:
            raise ContextChanged("reading", file=self.name)
        return data

    def _read(self, start: int, end: int) -> bytes:
        return self._read_from(self.descriptor, start, end)

    def _read_from(self, descriptor: int, start: int, end: int) -> bytes:
        data = read_at(descriptor, start, end - start)
        while len(data) < end - start:
            more = read_at(descriptor, start + len(data), end - start - len(data))
            if not more:
                raise ContextChanged("shorter", file=self.name)
            data += more
        return data

    def chunks(self, start: int = 0, end: int | None = None, size: int = SCAN_BYTES) -> Iterator[Any]:
        """Yield the content in pieces of *size* bytes; each is gone when the next one comes."""
        end = self.size if end is None else end
        if self._kept is not None or end - start <= size:
            yield from (self.read(at, min(end, at + size)) for at in range(start, end, size))
            return
        for piece in read_in_pieces(self.descriptor, start, end, size):
            yield piece
            start += len(piece)
        if start < end:
            raise ContextChanged("shorter", file=self.name)

    def copy_to(self, target: int, start: int, end: int, disk: Disk) -> None:
        """Copy a byte range to where *target* is being written."""
        disk.copy(self.descriptor, target, start, end)

    def digest(self, start: int = 0, end: int | None = None) -> str:
        """Return the SHA-256 of the bytes from *start* to *end*."""
        digest = hashlib.sha256()
        for chunk in self.chunks(start, end):
            digest.update(chunk)
        return digest.hexdigest()

    @cached_property
    def chat(self) -> Chat:
        """The content as a chat."""
        if self.size <= _SMALL:
            return Chat.from_bytes(self.read())
        if self.size <= _IN_MEMORY:
            return Chat(lambda _sought: index_of(self.read()), self.read, self.chunks, self._first_bytes)
        return Chat(
            lambda sought: index_lines(self.chunks(size=_COUNTED_AT_ONCE), sought),
            self.read,
            self.chunks,
            self._first_bytes,
        )

    def seek(self, *needles: bytes) -> Chat:
        """Return the content as a chat in which these texts are looked for while its lines are counted, once."""
        self.chat = self.chat.seeking(*needles)
        return self.chat

    def _first_bytes(self, count: int) -> bytes:
        return self.read(0, min(count, self.size))

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        if self.descriptor >= 0:
            _close(self.descriptor, self.size)
            self.descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Read(NamedTuple):
    """A file as it was when it was last read."""

    when: float
    fingerprint: Fingerprint
    content: bytes | None
    """None for one that is too large to be kept."""


class _JustRead:
    """The files that were read a moment ago: one operation asks for a file more than once."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, _Read] = OrderedDict()
        self._lock = threading.Lock()  # the service reads in several threads

    def get(self, path: str | Path, now: Fingerprint) -> bytes | None:
        """Return the content of a file that looks the same as when it was read, None when that was not just now."""
        read = self._recent(path)
        return read.content if read is not None and read.fingerprint == now else None

    def is_being_saved(self, path: str | Path, now: Fingerprint) -> bool:
        """Whether a file is another one than a moment ago: who saves it is likely to do so again."""
        read = self._recent(path)
        return read is not None and read.fingerprint != now

    def put(self, path: str | Path, now: Fingerprint, content: bytes) -> None:
        """Keep what was read, for a moment."""
        kept = content if len(content) <= _IN_MEMORY else None
        with self._lock:
            self._files[str(path)] = _Read(time.monotonic(), now, kept)
            self._files.move_to_end(str(path))
            while len(self._files) > _MOST_KEPT:
                self._files.popitem(last=False)

    def _recent(self, path: str | Path) -> _Read | None:
        with self._lock:
            read = self._files.get(str(path))
        return read if read is not None and time.monotonic() - read.when < _MOMENT else None


_JUST_READ = _JustRead()


class BriefFile(HeldFile):
    """The same where nobody can replace a file that somebody else has open: it is open only while it is being read.

    What is not very large is read at once. Of the rest, each piece is read only if it is still the same file; else
    ``ContextChanged`` is raised. While it is open it is read, and nothing else is done.
    """

    def __init__(self, path: str | Path) -> None:
        """Read the file; raises ``OSError`` as above, and ``FileOnlineOnly`` for what is not on this machine."""
        self.path = path
        self._kept: bytes | None = None
        self.descriptor = -1
        for attempt in range(_ATTEMPTS):
            self.stat = self._look()
            if is_online_only(self.stat):
                raise FileOnlineOnly(file=self.name)
            if not stat.S_ISREG(self.stat.st_mode) or self.size > _LARGEST:
                raise _no_file_for_us(path, self.stat)
            if self.size > _AT_ONCE:
                return
            self._kept = _JUST_READ.get(path, self.fingerprint)
            if self._kept is not None:
                return
            try:
                self._kept = self._read_whole()
            except ContextChanged:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                _JUST_READ.put(path, self.fingerprint, self._kept)
                return

    def _look(self) -> Look | os.stat_result:
        """Look at the file; where somebody saves again and again, right after a save: the next one is far then."""
        found = look(self.path)
        if _JUST_READ.is_being_saved(self.path, before := fingerprint(found)):
            until = time.monotonic() + _NEXT_SAVE
            while fingerprint(found) == before and time.monotonic() < until:
                time.sleep(_LOOKED_AGAIN)
                found = look(self.path)
        return found

    def _read_whole(self) -> bytes:
        """Return the content, opened for as short as can be; raises ``ContextChanged`` when it was another one then."""
        data = read_shared(self.path, self.size)
        self._needs_the_same()
        if len(data) < self.size:
            raise ContextChanged("shorter", file=self.name)
        return data

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the file for a moment; raises ``ContextChanged`` when it was another one then."""
        descriptor = open_shared(self.path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
        self._needs_the_same()

    def _needs_the_same(self) -> None:
        if fingerprint(look(self.path)) != self.fingerprint:
            raise ContextChanged("reading", file=self.name)

    def read_as_opened(self) -> bytes:
        """Return the whole content: what is read is always as it was opened."""
        return self.read()

    def _read(self, start: int, end: int) -> bytes:
        with self._opened() as descriptor:
            return self._read_from(descriptor, start, end)

    def chunks(self, start: int = 0, end: int | None = None, size: int = SCAN_BYTES) -> Iterator[Any]:
        """Yield the content in pieces of *size* bytes."""
        end = self.size if end is None else end
        yield from (self.read(at, min(end, at + size)) for at in range(start, end, size))

    def copy_to(self, target: int, start: int, end: int, disk: Disk) -> None:
        """Copy a byte range to where *target* is being written."""
        if self._kept is not None:
            disk.copy(self._kept, target, start, end)
            return
        for at in range(start, end, _PIECE):
            with self._opened() as descriptor:
                disk.copy(descriptor, target, at, min(end, at + _PIECE))


def _read_briefly(path: str, _size: int) -> bytes:
    return BriefFile(path).read()


if TYPE_CHECKING:
    OpenFile = HeldFile
else:
    OpenFile = BriefFile if IS_WINDOWS else HeldFile

read_at_once: Callable[[str, int], bytes] = _read_briefly if IS_WINDOWS else read_shared
"""Return the content of a file of that size, the quickest way there is."""


def read_small(path: str | Path, most: int = _SMALL_FILE) -> bytes:
    """Return the content of a file of ours; raises ``OSError`` for what is none, or larger than any of ours."""
    with OpenFile(path) as file:
        if file.size > most:
            raise _too_large(path)
        try:
            return file.read()
        except ContextChanged as error:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), str(path)) from error


def _no_file_for_us(path: str | Path, found: os.stat_result | Look) -> OSError:
    if stat.S_ISREG(found.st_mode):
        return _too_large(path)
    kind = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
    return OSError(kind, os.strerror(kind), str(path))


def _too_large(path: str | Path) -> OSError:
    return OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))


def _close(descriptor: int, size: int) -> None:
    """Close a file; where that gives back the space of a large one that was replaced, nobody has to wait for it."""
    if size > _LARGE and os.fstat(descriptor).st_nlink == 0:
        threading.Thread(target=os.close, args=(descriptor,), name="forklore-close").start()
    else:
        os.close(descriptor)
