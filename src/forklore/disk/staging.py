"""Writing new content aside, durably and invisibly, before anything is published."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.disk.disk import Disk, fingerprint_at
from forklore.disk.files import ContextChanged, OpenFile
from forklore.formats.chat_jsonl import SCAN_BYTES
from forklore.formats.json_edit import apply_edits
from forklore.formats.json_text import to_bytes, to_text
from forklore.model.plan import Bytes, DigestOf, EditFile, Fingerprint, LineEdit, Piece, Range

if TYPE_CHECKING:
    from concurrent.futures import Future

Content = tuple[tuple[int, str], ...]
"""A file as consecutive segments: how long each one is, and its SHA-256; an empty digest stands for any content."""

_STAND_IN = b"0" * 64
_HASHED_AT_ONCE = 4 << 20


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
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # heavy, and only writers need it

        self._disk = disk
        self._progress = progress or (lambda _count: None)
        self._pool = ThreadPoolExecutor(max_workers=12)  # more than there are files: a file may wait for its digests
        self._digests: dict[tuple[Bytes | Range, ...], Future[str]] = {}
        self._writing: list[Future[Staged]] = []
        self._busy: list[threading.Event] = []
        self._turn = threading.Lock()

    def close(self) -> None:
        """Wait for everything that was begun."""
        for writing in self._writing:  # each may still ask for a digest, which a closed pool refuses
            writing.exception()
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
        busy = threading.Event()
        writing = self._pool.submit(self._write, path, pieces, sources, like, prove=prove, busy=busy)
        self._writing.append(writing)
        self._busy.append(busy)
        return writing

    def wait_until_busy(self) -> None:
        """Wait until the disk has something to do for every file, before the interpreter is kept busy by ourselves."""
        for busy in self._busy:
            busy.wait()

    def _begin_digests(self, wanted: Sequence[tuple[Bytes | Range, ...]], sources: Mapping[str, OpenFile]) -> None:
        with self._turn:
            for pieces in wanted:
                if pieces not in self._digests:
                    self._digests[pieces] = self._pool.submit(_hash, pieces, sources)

    def _write(
        self,
        path: Path,
        pieces: tuple[Piece, ...],
        sources: Mapping[str, OpenFile],
        like: os.stat_result | None,
        *,
        prove: bool,
        busy: threading.Event,
    ) -> Staged:
        disk = self._disk
        late: list[tuple[int, DigestOf]] = []
        try:
            descriptor = disk.create(path, like)
        except BaseException:
            busy.set()
            raise
        try:
            offset = self._copy(descriptor, pieces, sources, late, busy=busy)
            # Copied first and counted then: so the disk has something to do meanwhile.
            proven = [(piece,) for piece in pieces if isinstance(piece, Range) and prove]
            self._begin_digests([*(piece.pieces for _, piece in late), *proven], sources)
            disk.sync(descriptor)
            for place, piece in late:
                disk.patch(descriptor, place, self._digests[piece.pieces].result().encode())
            if late:
                disk.sync(descriptor)
        finally:
            busy.set()
            os.close(descriptor)
        staged = fingerprint_at(path)
        if staged is None or staged.size != offset:
            raise OSError(f"{path.name} was not written whole")
        return Staged(path, staged, self._content(pieces))

    def _copy(
        self,
        descriptor: int,
        pieces: tuple[Piece, ...],
        sources: Mapping[str, OpenFile],
        late: list[tuple[int, DigestOf]],
        *,
        busy: threading.Event,
    ) -> int:
        """Write the pieces one after the other and return their length; note in *late* where a digest goes."""
        offset = 0
        for piece in pieces:
            if isinstance(piece, Range):
                if piece.end - piece.start >= SCAN_BYTES:
                    busy.set()
                self._disk.copy(sources[piece.path].descriptor, descriptor, piece.start, piece.end)
                written = piece.end - piece.start
            else:
                data = piece.data if isinstance(piece, Bytes) else _STAND_IN
                if isinstance(piece, DigestOf):
                    late.append((offset, piece))
                self._disk.write(descriptor, data)
                written = len(data)
            offset += written
            self._progress(written)
        return offset

    def _content(self, pieces: tuple[Piece, ...]) -> Content:
        """Return what was written, segment by segment; small pieces that stand together are one segment."""
        segments: list[tuple[int, str]] = []
        small = b""
        for piece in pieces:
            if isinstance(piece, Range):
                if small:
                    segments.append((len(small), hashlib.sha256(small).hexdigest()))
                    small = b""
                if piece.end > piece.start:
                    proof = self._digests.get((piece,))
                    segments.append((piece.end - piece.start, proof.result() if proof else ""))
            else:
                small += piece.data if isinstance(piece, Bytes) else self._digests[piece.pieces].result().encode()
        if small:
            segments.append((len(small), hashlib.sha256(small).hexdigest()))
        return tuple(segments)


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
