"""Writing new content aside, durably and invisibly, before anything is published."""

from __future__ import annotations

import hashlib
import mmap
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from forklore.disk.disk import Disk, fingerprint_at
from forklore.disk.files import ContextChanged, OpenFile
from forklore.formats.chat_jsonl import SCAN_BYTES
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import to_bytes, to_text
from forklore.model.plan import Bytes, DigestOf, EditFile, Fingerprint, LineEdit, Piece, Range

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    Digests = dict[tuple[Bytes | Range, ...], Future[str]]

T = TypeVar("T")
Content = tuple[tuple[int, str], ...]
"""A file as consecutive segments: how long each one is, and its SHA-256; an empty digest stands for any content."""

_STAND_IN = b"0" * 64
_HASHED_AT_ONCE = 4 << 20
_MAPPED_AT_ONCE = 16 << 20  # it counts as memory of ours
_SMALL = 1 << 20  # what is smaller is written before a thread has begun
_LARGE = 16 << 20  # for less, setting space aside costs more than it saves


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that is written and durable, under a name nobody looks at."""

    path: Path
    fingerprint: Fingerprint
    content: Content


@dataclass(frozen=True, slots=True)
class PreparedEdit:
    """An edit worked out on a file as it is: the new content, and the edits that take it back."""

    pieces: tuple[Piece, ...]
    inverse: tuple[LineEdit, ...]


def prepare_edit(change: EditFile, file: OpenFile) -> PreparedEdit | None:
    """Return the new content of *file*; None when it is as wanted already. Raises ``NotJson`` or ``IndexError``."""
    by_line: dict[int | None, list[LineEdit]] = {}
    for edit in change.edits:
        by_line.setdefault(edit.line, []).append(edit)
    spans = {line: (0, file.size) if line is None else file.chat.span(line) for line in by_line}
    pieces: list[Piece] = []
    inverse: list[LineEdit] = []
    position = 0
    for line, (start, end) in sorted(spans.items(), key=lambda item: item[1]):
        edited = apply_edits(to_text(file.read(start, end)), [edit.edit for edit in by_line[line]])
        if not edited.inverse:
            continue
        inverse[:0] = [LineEdit(line, edit) for edit in edited.inverse]
        pieces += [Range(change.path, position, start), Bytes(to_bytes(edited.text))]
        position = end
    if not inverse:
        return None
    pieces.append(Range(change.path, position, file.size))
    return PreparedEdit(tuple(pieces), tuple(inverse))


class Stager:
    """Writes files aside, several at a time: the disk works on one while the next is written.

    Small files are written at once: that is quicker than handing them to a thread.
    """

    def __init__(self, disk: Disk, progress: Callable[[int], None] | None = None) -> None:
        """Write through *disk*; *progress* hears how many bytes were written."""
        self._disk = disk
        self._progress = progress or (lambda _count: None)
        self._pool: ThreadPoolExecutor | None = None
        self._digests: Digests = {}

    def close(self) -> None:
        """Wait for everything that was begun."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def begin(
        self,
        path: Path,
        pieces: tuple[Piece, ...],
        sources: Mapping[str, OpenFile],
        like: os.stat_result | None,
        *,
        prove: bool = True,
    ) -> Future[Staged]:
        """Begin writing a file, with mode and owner of *like*; without *prove*, copied ranges get no digest."""
        wanted = [piece.pieces for piece in pieces if isinstance(piece, DigestOf)]
        wanted += [(piece,) for piece in pieces if isinstance(piece, Range) and prove]
        file = _Writing(path, pieces, sources, like)
        if file.size < _SMALL:
            self._begin_digests(wanted, sources)
            return self._begin(self._write, file, self._digests, at_once=True)
        copying = self._begin(self._copy, file, {})
        # Each waits only for what was begun before it, so that they cannot all wait for each other.
        self._begin_own_digests(file, wanted, copying)
        self._begin_digests(wanted, sources)
        return self._begin(self._finish, file, dict(self._digests), copying)

    def let_begin(self) -> None:
        """Let the threads give the disk its work, before we keep the interpreter busy ourselves."""
        time.sleep(0.0002)

    def _begin_digests(self, wanted: Sequence[tuple[Bytes | Range, ...]], sources: Mapping[str, OpenFile]) -> None:
        """Begin to work out the digests of *wanted*, unless that was begun before."""
        for pieces in wanted:
            if pieces not in self._digests:
                self._digests[pieces] = self._begin(_hash, pieces, sources, at_once=_length(pieces) < _SMALL)

    def _begin_own_digests(
        self, file: _Writing, wanted: Sequence[tuple[Bytes | Range, ...]], copying: Future[None]
    ) -> None:
        """Work out the digests of what the file itself consists of from the copy, once it is made.

        The disk has something to do then, and a file of ours can be mapped: nobody will shorten it.
        """
        for pieces in wanted:
            place = _place(pieces, file.pieces)
            if place is not None and pieces not in self._digests:
                end = place + _length(pieces)
                self._digests[pieces] = self._begin(_hash_copy, copying, file.path, place, end)

    def _begin(self, work: Callable[..., T], *arguments: Any, at_once: bool = False) -> Future[T]:
        """Begin *work* in a thread; do it *at_once* where that is quicker than handing it over."""
        from concurrent.futures import Future, ThreadPoolExecutor  # noqa: PLC0415  # heavy, and only writers need it

        if not at_once:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=12)
            return self._pool.submit(work, *arguments)
        done: Future[T] = Future()
        try:
            done.set_result(work(*arguments))
        except BaseException as error:  # noqa: BLE001  # raised where the result is asked for, as a thread's would be
            done.set_exception(error)
        return done

    def _write(self, file: _Writing, digests: Digests) -> Staged:
        return self._finish(file, digests, self._begin(self._copy, file, digests, at_once=True))

    def _copy(self, file: _Writing, digests: Digests) -> None:
        """Write the pieces one after the other; where a digest is not known yet, note that it comes late."""
        descriptor = file.descriptor = self._disk.create(file.path, file.like)
        if file.size >= _LARGE:
            self._disk.reserve(descriptor, file.size)
        offset = 0
        for piece in file.pieces:
            if isinstance(piece, Range):
                self._disk.copy(file.sources[piece.path].descriptor, descriptor, piece.start, piece.end)
            elif isinstance(piece, Bytes):
                self._disk.write(descriptor, piece.data)
            elif piece.pieces in digests:
                self._disk.write(descriptor, digests[piece.pieces].result().encode())
            else:
                self._disk.write(descriptor, _STAND_IN)
                file.late.append((offset, piece))
            offset += _length_of(piece)
            self._progress(_length_of(piece))

    def _finish(self, file: _Writing, digests: Digests, copying: Future[None]) -> Staged:
        """Make the file durable, with the digests that came late; it is closed whatever happens."""
        try:
            copying.result()
            self._disk.sync(file.descriptor)
            for place, piece in file.late:
                self._disk.patch(file.descriptor, place, digests[piece.pieces].result().encode())
            if file.late:
                self._disk.sync(file.descriptor)
        finally:
            file.close()
        staged = fingerprint_at(file.path)
        if staged is None or staged.size != file.size:
            raise OSError(f"{file.path.name} was not written whole")
        return Staged(file.path, staged, _content(file.pieces, digests))


class _Writing:
    """A file that is being written."""

    def __init__(
        self, path: Path, pieces: tuple[Piece, ...], sources: Mapping[str, OpenFile], like: os.stat_result | None
    ) -> None:
        self.path, self.pieces, self.sources, self.like = path, pieces, sources, like
        self.size = _length(pieces)
        self.descriptor = -1
        self.late: list[tuple[int, DigestOf]] = []

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _content(pieces: tuple[Piece, ...], digests: Digests) -> Content:
    """Return what was written, segment by segment; small pieces that stand together are one segment."""
    segments: list[tuple[int, str]] = []
    small = b""
    for piece in pieces:
        if isinstance(piece, Range):
            if small:
                segments.append((len(small), hashlib.sha256(small).hexdigest()))
                small = b""
            if piece.end > piece.start:
                proof = digests.get((piece,))
                segments.append((piece.end - piece.start, proof.result() if proof else ""))
        else:
            small += piece.data if isinstance(piece, Bytes) else digests[piece.pieces].result().encode()
    if small:
        segments.append((len(small), hashlib.sha256(small).hexdigest()))
    return tuple(segments)


def _length(pieces: Sequence[Piece]) -> int:
    return sum(map(_length_of, pieces))


def _length_of(piece: Piece) -> int:
    match piece:
        case Range():
            return piece.end - piece.start
        case Bytes():
            return len(piece.data)
        case DigestOf():
            return len(_STAND_IN)


def _place(wanted: tuple[Piece, ...], pieces: tuple[Piece, ...]) -> int | None:
    """Return where in a file of *pieces* the *wanted* ones stand, None when they do not stand there together."""
    for first in range(len(pieces) - len(wanted) + 1):
        if pieces[first : first + len(wanted)] == wanted:
            return _length(pieces[:first])
    return None


def _hash_copy(copying: Future[None], path: Path, start: int, end: int) -> str:
    """Return the digest of a part of a file that is being written, once it is.

    It is mapped, not read: so it takes few steps in the interpreter, which may be busy elsewhere.
    """
    copying.result()
    digest = hashlib.sha256()
    with OpenFile(path) as file:
        try:
            while start < end:
                first = start - start % mmap.ALLOCATIONGRANULARITY
                stop = min(end, first + _MAPPED_AT_ONCE)
                with (
                    mmap.mmap(file.descriptor, stop - first, access=mmap.ACCESS_READ, offset=first) as mapped,
                    memoryview(mapped) as view,
                    view[start - first :] as part,
                ):
                    digest.update(part)
                start = stop
        except (OSError, ValueError):  # not every disk can be mapped
            _add(digest, file, start, end)
    return digest.hexdigest()


def _add(digest: Any, file: OpenFile, start: int, end: int) -> None:
    """Add a byte range to a digest; much of it in large pieces, since between two the interpreter may be busy."""
    for chunk in file.chunks(start, end, size=_HASHED_AT_ONCE if end - start > 4 * _HASHED_AT_ONCE else SCAN_BYTES):
        digest.update(chunk)


def _hash(pieces: tuple[Bytes | Range, ...], sources: Mapping[str, OpenFile]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        if isinstance(piece, Bytes):
            digest.update(piece.data)
        else:
            _add(digest, sources[piece.path], piece.start, piece.end)
    return digest.hexdigest()


def has_content(path: Path, content: Content) -> bool:
    """Whether there is a file at *path* that consists of exactly these segments."""
    try:
        with OpenFile(path) as file:
            return content_is(file, content)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ContextChanged):
        return False


def content_of_file(file: OpenFile) -> Content:
    """Return the content of a file as it is now, as one segment."""
    digest = hashlib.sha256()
    _add(digest, file, 0, file.size)
    return ((file.size, digest.hexdigest()),)


def content_is(file: OpenFile, content: Content) -> bool:
    """Whether the file consists of exactly these segments."""
    if file.size != sum(length for length, _ in content):
        return False
    start = 0
    for length, expected in content:
        if expected and file.digest(start, start + length) != expected:
            return False
        start += length
    return True
