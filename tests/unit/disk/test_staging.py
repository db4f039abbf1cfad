"""Files that are written aside: whole, durable, and told by their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from forklore.disk.disk import Disk
from forklore.disk.files import OpenFile
from forklore.disk.transaction import staging
from forklore.disk.transaction.staging import Stager
from forklore.model.plan import Bytes, DigestOf, Piece, Range

LARGE = (b"The tide comes in. " * 70_000)[:1_300_000]
SMALL = b"The tide goes out. " * 20


@pytest.fixture
def stager() -> Iterator[Stager]:
    stager = Stager(Disk())
    yield stager
    stager.close()


@pytest.fixture(params=[SMALL, LARGE], ids=["small", "large"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenFile]:
    path = tmp_path / "source"
    path.write_bytes(request.param)
    with OpenFile(path) as file:
        yield file


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_digest_that_comes_late_stands_in_its_place(tmp_path: Path, source: OpenFile, stager: Stager) -> None:
    whole = Range("source", 0, source.size)
    pieces: tuple[Piece, ...] = (Bytes(b"<"), DigestOf((whole,)), Bytes(b">"), whole, Bytes(b"!"))

    staged = stager.finish(stager.begin(tmp_path / "new", pieces, {"source": source}, None))

    digest = sha256(source.read())
    assert (tmp_path / "new").read_bytes() == f"<{digest}>".encode() + source.read() + b"!"
    assert [length for length, _ in staged.content] == [66, source.size, 1]
    assert staged.content[1][1] == digest


def test_a_file_knows_the_digest_of_one_that_was_begun_before(tmp_path: Path, source: OpenFile, stager: Stager) -> None:
    whole = Range("source", 0, source.size)
    first = stager.begin(tmp_path / "first", (whole,), {"source": source}, None)
    second = stager.begin(tmp_path / "second", (DigestOf((whole,)), whole), {"source": source}, None)

    stager.finish(second)
    stager.finish(first)

    assert (tmp_path / "first").read_bytes() == source.read()
    assert (tmp_path / "second").read_bytes() == sha256(source.read()).encode() + source.read()


def test_a_large_file_may_consist_of_small_pieces(tmp_path: Path, stager: Stager) -> None:
    (tmp_path / "source").write_bytes(LARGE)
    with OpenFile(tmp_path / "source") as source:
        halves = (Range("source", 0, 650_000), Range("source", 650_000, len(LARGE)))
        pieces: tuple[Piece, ...] = (DigestOf(halves), *halves)

        stager.finish(stager.begin(tmp_path / "new", pieces, {"source": source}, None))

    assert (tmp_path / "new").read_bytes() == sha256(LARGE).encode() + LARGE


@pytest.mark.parametrize("fails", ["create", "copy"])
def test_nobody_waits_for_a_file_that_could_not_be_written(
    tmp_path: Path, source: OpenFile, stager: Stager, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(Disk, fails, refuse)
    whole = Range("source", 0, source.size)
    first = stager.begin(tmp_path / "first", (whole,), {"source": source}, None)
    second = stager.begin(tmp_path / "second", (DigestOf((whole,)), whole), {"source": source}, None)

    for file in (first, second):
        with pytest.raises(OSError, match="no"):
            stager.finish(file)


def test_what_is_not_finished_is_let_go(tmp_path: Path, source: OpenFile) -> None:
    stager = Stager(Disk())
    file = stager.begin(tmp_path / "new", (Range("source", 0, source.size),), {"source": source}, None)

    stager.close()

    assert file.descriptor == -1


def test_where_no_thread_is_to_be_had_the_file_is_written_all_the_same(
    tmp_path: Path, source: OpenFile, stager: Stager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(staging, "start_new_thread", refuse)
    whole = Range("source", 0, source.size)

    staged = stager.finish(stager.begin(tmp_path / "new", (DigestOf((whole,)), whole), {"source": source}, None))
    stager.close()

    assert (tmp_path / "new").read_bytes() == sha256(source.read()).encode() + source.read()
    assert staged.content[1][1] == sha256(source.read())


def test_whoever_interrupts_a_copy_does_not_have_to_wait(
    tmp_path: Path, source: OpenFile, stager: Stager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Disk, "copy", interrupt)

    with pytest.raises(KeyboardInterrupt):
        stager.begin(tmp_path / "new", (Range("source", 0, source.size),), {"source": source}, None, prove=False)
