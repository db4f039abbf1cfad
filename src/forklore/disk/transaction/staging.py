"""Writing new content aside, durably and invisibly, before anything is published."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from forklore.disk.disk import Disk, fingerprint_at
from forklore.disk.files import ContextChanged, OpenFile
from forklore.disk.system import Look
from forklore.formats.chat_jsonl import SCAN_BYTES
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import to_bytes, to_text
from forklore.model.plan import Bytes, DigestOf, EditFile, Fingerprint, LineEdit, Piece, Range

if TYPE_CHECKING:
    from concurrent.futures import Future

    Digests = dict[tuple[Bytes | Range, ...], Future[str]]

T = TypeVar("T")
Content = tuple[tuple[int, str], ...]
"""A file as consecutive segments: how long each one is, and its SHA-256; an empty digest stands for any content."""

_STAND_IN = b"0" * 64
_HASHED_AT_ONCE = 4 << 20
_MAPPED_AT_ONCE = 32 << 20  # it counts as memory of ours
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
    """Writes files aside; the disk already works on one while the next is written and while we go on.

    Small files are written at once: that is quicker than handing them to a thread. A large one whose digest is wanted
    gets a thread of its own for all that is to be done with it. One that is only copied is copied at once too: two who
    copy keep two processors busy, and a third would take the interpreter away from them again and again.
    """

    def __init__(self, disk: Disk, progress: Callable[[int], None] | None = None) -> None:
        """Write through *disk*; *progress* hears how many bytes were written."""
        self._disk = disk
        self._progress = progress or (lambda _count: None)
        self._in_threads: list[Future[Any]] = []
        self._digests: Digests = {}
        self._begun: list[Writing] = []

    def close(self) -> None:
        """Wait for everything that was begun, and let go of the files; what was not finished is worthless."""
        for answer in self._in_threads:
            answer.exception()
        for file in self._begun:
            file.close()

    def begin(
        self,
        path: Path,
        pieces: tuple[Piece, ...],
        sources: Mapping[str, OpenFile],
        like: os.stat_result | Look | None,
        *,
        prove: bool = True,
    ) -> Writing:
        """Begin writing a file, with mode and owner of *like*; without *prove*, copied ranges get no digest."""
        wanted = [piece.pieces for piece in pieces if isinstance(piece, DigestOf)]
        wanted += [(piece,) for piece in pieces if isinstance(piece, Range) and prove]
        file = Writing(path, pieces, sources, like)
        self._begun.append(file)
        if file.size >= _SMALL:
            self._expect_own_digests(file, wanted)
        # A thread waits only for digests that were begun before it, so that they cannot all wait for each other.
        self._begin_digests(wanted, sources)
        try:
            self._begin_copy(file)
            if file.own:
                file.writing = self._in_thread(self._write, file)
            else:
                self._copy(file)
                file.writing.set_result(None)
        except BaseException as error:
            file.give_up(error)
            file.writing.set_exception(error)  # raised where the result is asked for, as a thread's would be
            if not isinstance(error, Exception):
                raise  # whoever interrupts us does not have to wait until then
        return file

    def finish(self, file: Writing) -> Staged:
        """Return when a file is whole and durable; it is closed whatever happens, unless a thread still writes it."""
        try:
            file.writing.result()
            if not file.is_sealed:
                self._seal(file)
        finally:
            if file.writing.done():
                file.close()
        staged = fingerprint_at(file.path)
        if staged is None or staged.size != file.size:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(file.path))
        return Staged(file.path, staged, _content(file.pieces, self._digests))

    def _expect_own_digests(self, file: Writing, wanted: Sequence[tuple[Bytes | Range, ...]]) -> None:
        """Note which digests come from the copy, once it is made.

        The disk has something to do then, and a file of ours can be mapped: nobody will shorten it.
        """
        for pieces in wanted:
            place = _place(pieces, file.pieces)
            if place is not None and pieces not in self._digests:
                digest = self._digests[pieces] = _unanswered()
                file.own.append((place, place + _length(pieces), digest))

    def _begin_digests(self, wanted: Sequence[tuple[Bytes | Range, ...]], sources: Mapping[str, OpenFile]) -> None:
        """Begin to work out the digests of *wanted*, unless that was begun before."""
        for pieces in wanted:
            if pieces not in self._digests:
                if _length(pieces) >= _SMALL:
                    self._digests[pieces] = self._in_thread(_hash, pieces, sources)
                else:
                    digest = self._digests[pieces] = _unanswered()
                    try:
                        digest.set_result(_hash(pieces, sources))
                    except BaseException as error:  # noqa: BLE001  # raised where the result is asked for
                        digest.set_exception(error)

    def _in_thread(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        """Have *work* done by a thread of its own, and go on at once."""
        answer: Future[T] = _unanswered()
        self._in_threads.append(answer)
        try:
            # Whoever starts a threading.Thread waits until it runs: milliseconds where all processors are busy.
            start_new_thread(_answer, (answer, work, arguments))
        except RuntimeError:  # there are too many already
            _answer(answer, work, arguments)
        return answer

    def _write(self, file: Writing) -> None:
        """Write the rest of a file, work out its own digests while the disk is at it, and make it durable."""
        try:
            self._copy(file)
            for start, end, digest in file.own:
                digest.set_result(_hash_copy(file, start, end))
        except BaseException as error:
            file.give_up(error)
            raise
        self._seal(file)

    def _begin_copy(self, file: Writing) -> None:
        """Make the file and write what comes before its first large piece."""
        file.descriptor = self._disk.create(file.path, file.like)
        if file.size >= _LARGE:
            self._disk.reserve(file.descriptor, file.size)
        self._copy(file, only_small=True)

    def _copy(self, file: Writing, *, only_small: bool = False) -> None:
        """Write the pieces one after the other; where a digest is not known yet, note that it comes late."""
        small = b""
        while file.left and not (only_small and _length_of(file.left[0]) >= _SMALL):
            piece = file.left.popleft()
            if isinstance(piece, Range):
                self._disk.write(file.descriptor, small)
                small = b""
                file.sources[piece.path].copy_to(file.descriptor, piece.start, piece.end, self._disk)
            elif isinstance(piece, Bytes):
                small += piece.data
            elif self._digests[piece.pieces].done():
                small += self._digests[piece.pieces].result().encode()
            else:
                file.late.append((file.written, piece))
                small += _STAND_IN
            file.written += _length_of(piece)
            self._progress(_length_of(piece))
        self._disk.write(file.descriptor, small)
        if not file.left:
            self._disk.begin_sync(file.descriptor)

    def _seal(self, file: Writing) -> None:
        """Put in the digests that came late, and make the file durable."""
        for place, piece in file.late:
            self._disk.patch(file.descriptor, place, self._digests[piece.pieces].result().encode())
        self._disk.sync(file.descriptor)
        file.is_sealed = True


def _answer(answer: Future[T], work: Callable[..., T], arguments: tuple[Any, ...]) -> None:
    try:
        answer.set_result(work(*arguments))
    except BaseException as error:  # noqa: BLE001  # raised where the answer is asked for
        answer.set_exception(error)


def _unanswered() -> Future[Any]:
    from concurrent.futures import Future  # noqa: PLC0415  # heavy, and only writers need it

    return Future()


class Writing:
    """A file that is being written."""

    def __init__(
        self, path: Path, pieces: tuple[Piece, ...], sources: Mapping[str, OpenFile], like: os.stat_result | Look | None
    ) -> None:
        """Speak of a file that is not begun yet."""
        self.path, self.pieces, self.sources, self.like = path, pieces, sources, like
        self.size = _length(pieces)
        self.descriptor = -1
        self.left = deque(pieces)
        self.written = 0
        self.late: list[tuple[int, DigestOf]] = []
        self.own: list[tuple[int, int, Future[str]]] = []
        """Which parts of it digests are wanted of."""
        self.writing: Future[None] = _unanswered()
        self.is_sealed = False

    def give_up(self, error: BaseException) -> None:
        """Nobody need wait for this file any more."""
        for _, _, digest in self.own:
            if not digest.done():
                digest.set_exception(error)

    def close(self) -> None:
        """Let go of the file; closing twice is fine."""
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


def _hash_copy(file: Writing, start: int, end: int) -> str:
    """Return the digest of a part of a file that we have written.

    It is mapped, not read: so it takes few steps, and no memory has to be found for it.
    """
    digest = hashlib.sha256()
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
        with OpenFile(file.path) as again:
            _add(digest, again, start, end)
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
    return _consists_of(file.size, file.digest, content)


def is_content(data: bytes, content: Content) -> bool:
    """Whether *data* consists of exactly these segments."""
    return _consists_of(len(data), lambda start, end: hashlib.sha256(data[start:end]).hexdigest(), content)


def _consists_of(size: int, digest: Callable[[int, int], str], content: Content) -> bool:
    if size != sum(length for length, _ in content):
        return False
    start = 0
    for length, expected in content:
        if expected and digest(start, start + length) != expected:
            return False
        start += length
    return True
