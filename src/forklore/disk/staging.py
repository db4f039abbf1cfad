"""Writing new content aside, durably and invisibly, before anything is published."""

from __future__ import annotations

import hashlib
import mmap
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
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
    """Writes files aside, several at a time: the disk works on one while the next is written."""

    def __init__(self, disk: Disk, progress: Callable[[int], None] | None = None) -> None:
        """Write through *disk*; *progress* hears how many bytes were written."""
        self._disk = disk
        self._progress = progress or (lambda _count: None)
        self._pool: ThreadPoolExecutor | None = None
        self._digests: Digests = {}
        self._writing: list[Future[Staged]] = []
        self._registering = threading.Lock()

    def close(self) -> None:
        """Wait for everything that was begun."""
        for writing in self._writing:  # each may still ask for a digest, which a closed pool refuses
            writing.exception()
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
        digests = [piece.pieces for piece in pieces if isinstance(piece, DigestOf)]
        digests += [(piece,) for piece in pieces if isinstance(piece, Range) and prove]
        if _length(pieces) < _SMALL:
            self._begin_digests(digests, sources)
            writing = self._begin(self._write, path, pieces, sources, like, at_once=True)
        else:
            copied = threading.Event()
            with self._registering:
                # The writing first: with its digests waiting for it, it must not have to wait for a thread.
                writing = self._begin(self._write, path, pieces, sources, like, copied)
                self._begin_own_digests(path, pieces, digests, copied)
                self._begin_digests(digests, sources)
        self._writing.append(writing)
        return writing

    def _begin_digests(self, wanted: Sequence[tuple[Bytes | Range, ...]], sources: Mapping[str, OpenFile]) -> None:
        """Begin to work out the digests of *wanted*, unless that was begun before."""
        for pieces in wanted:
            if pieces not in self._digests:
                self._digests[pieces] = self._begin(_hash, pieces, sources, at_once=_length(pieces) < _SMALL)

    def _begin_own_digests(
        self,
        path: Path,
        pieces: tuple[Piece, ...],
        digests: Sequence[tuple[Bytes | Range, ...]],
        copied: threading.Event,
    ) -> None:
        """Work out the digests of what the file itself consists of from the copy, once it is made.

        The disk has something to do then, and a file of ours can be mapped: nobody will shorten it.
        """
        for wanted in digests:
            place = _place(wanted, pieces)
            if place is not None and wanted not in self._digests:
                self._digests[wanted] = self._begin(_hash_copy, copied, path, place, place + _length(wanted))

    def _begin(self, work: Callable[..., T], *arguments: Any, at_once: bool = False) -> Future[T]:
        """Begin *work* in a thread; do it *at_once* where that is quicker than handing it over."""
        from concurrent.futures import Future, ThreadPoolExecutor  # noqa: PLC0415  # heavy, and only writers need it

        if not at_once:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=12)  # more than files: a file may wait for its digests
            return self._pool.submit(work, *arguments)
        done: Future[T] = Future()
        try:
            done.set_result(work(*arguments))
        except BaseException as error:  # noqa: BLE001  # raised where the result is asked for, as a thread's would be
            done.set_exception(error)
        return done

    def _write(
        self,
        path: Path,
        pieces: tuple[Piece, ...],
        sources: Mapping[str, OpenFile],
        like: os.stat_result | None,
        copied: threading.Event | None = None,
    ) -> Staged:
        disk = self._disk
        late: list[tuple[int, DigestOf]] = []
        with ExitStack() as stack:
            if copied is not None:
                stack.callback(copied.set)  # also when it fails: nobody may wait for ever
            descriptor = disk.create(path, like)
            stack.callback(os.close, descriptor)
            with self._registering:  # from here on every digest that this file asks for has been begun
                digests = dict(self._digests)
            offset = self._copy(descriptor, pieces, sources, digests, late)
            if copied is not None:
                copied.set()
            disk.sync(descriptor)
            for place, piece in late:
                disk.patch(descriptor, place, digests[piece.pieces].result().encode())
            if late:
                disk.sync(descriptor)
        staged = fingerprint_at(path)
        if staged is None or staged.size != offset:
            raise OSError(f"{path.name} was not written whole")
        return Staged(path, staged, _content(pieces, digests))

    def _copy(
        self,
        descriptor: int,
        pieces: tuple[Piece, ...],
        sources: Mapping[str, OpenFile],
        digests: Digests,
        late: list[tuple[int, DigestOf]],
    ) -> int:
        """Write the pieces one after the other and return their length; note in *late* where a digest goes."""
        offset = 0
        for piece in pieces:
            if isinstance(piece, Range):
                self._disk.copy(sources[piece.path].descriptor, descriptor, piece.start, piece.end)
                written = piece.end - piece.start
            else:
                data = piece.data if isinstance(piece, Bytes) else _if_known(digests[piece.pieces])
                if not data and isinstance(piece, DigestOf):
                    data = _STAND_IN
                    late.append((offset, piece))
                self._disk.write(descriptor, data)
                written = len(data)
            offset += written
            self._progress(written)
        return offset


def _if_known(digest: Future[str]) -> bytes:
    return digest.result().encode() if digest.done() else b""


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


def _hash_copy(copied: threading.Event, path: Path, start: int, end: int) -> str:
    """Return the digest of a part of a file that is being written, once it is.

    It is mapped, not read: so it takes few steps in the interpreter, which may be busy elsewhere.
    """
    copied.wait()
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


def content_is(file: OpenFile, content: Content) -> bool:
    """Whether the file consists of exactly these segments."""
    if file.size != sum(length for length, _ in content):
        return False
    start = 0
    for length, expected in content:
        if expected:
            digest = hashlib.sha256()
            _add(digest, file, start, start + length)
            if digest.hexdigest() != expected:
                return False
        start += length
    return True
