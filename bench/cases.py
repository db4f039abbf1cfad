"""What is measured, against what, and how much it may cost."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import forklore
from bench.measure import Case, Times, in_turn, peak_memory
from bench.serving import first_answer, serving, write_forest
from bench.stories import SIZES, BenchStory, Size, write_library, write_story
from forklore.testing.damage import write_damaged_workspace

_NAME = "A bench checkpoint"
_PORT = 17_788
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table; without a *limit* it is for information."""

    what: str
    measured: str
    against: str = ""
    ratio: float | None = None
    limit: float | None = None

    @property
    def verdict(self) -> str:
        """What the table says about the limit."""
        if self.limit is None or self.ratio is None:
            return ""
        return f"≤ {self.limit:g}: {'yes' if self.ratio <= self.limit else '**no**'}"


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how thoroughly to measure."""

    scratch: Path
    rounds: int
    quick: bool

    @contextmanager
    def story(self, size: Size, *, recaps: bool = True, snapshot: int | None = 60) -> Iterator[BenchStory]:
        """Provide a story that is removed afterwards."""
        folder = self.scratch / "story"
        try:
            yield write_story(folder, size, recaps=recaps, snapshot=snapshot)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _compared(times: Times, case: str, against: str, *, what: str = "", limit: float | None = None) -> Result:
    return Result(
        what or case,
        f"{times.milliseconds(case):.1f} ms",
        f"{against}: {times.milliseconds(against):.1f} ms",
        times.ratio(case, against),
        limit,
    )


# --- checkpoints --------------------------------------------------------------------------------------------------

_LIMITS = {"small": 3.2, "middle": 2.0, "large": 1.4}
_CP, _COPY, _JSON = "`cp` and fsync", "copying in the kernel and fsync", "every line through `json`, fsync"


def checkpoints(bench: Bench) -> Iterator[Result]:
    """Measure a whole checkpoint against copying its three files."""
    for name, size in SIZES.items():
        if bench.quick and name == "large":
            continue
        with bench.story(size) as story:
            yield from _checkpoints(bench, story, name)


def _checkpoints(bench: Bench, story: BenchStory, name: str) -> Iterator[Result]:
    opened = forklore.open(story.root)
    past = story.size.messages // 2 // 2 * 2  # a reply, some time after a snapshot
    head, back = f"checkpoint, {name}", f"checkpoint in the past, {name}"
    times = in_turn(
        {
            head: Case(lambda: opened.checkpoint(story.address, name=_NAME), before=story.reset),
            back: Case(lambda: opened.checkpoint(story.address, at=past, name=_NAME), before=story.reset),
            _CP: Case(lambda: _cp(story), before=lambda: _ready_to_copy(story)),
            _COPY: Case(lambda: _copy(story), before=lambda: _ready_to_copy(story)),
        },
        bench.rounds * 2,
    )
    yield _compared(times, head, _CP, limit=_LIMITS[name])
    yield _compared(times, head, _COPY)
    yield _compared(times, back, _CP)
    yield _json(bench, story, name)
    if shutil.which("git"):
        yield _git(bench, story, head, name)


def whole_snapshots(bench: Bench) -> Iterator[Result]:
    """Measure a checkpoint in the past of a story whose scene snapshots hold the whole lorebook."""
    sizes = [Size(2_000, 1_000), *([] if bench.quick else [Size(20_000, 4_000)])]
    for size in sizes:
        with bench.story(size, snapshot=None) as story:
            opened = forklore.open(story.root)
            megabytes = story.chat.stat().st_size / 1e6
            back = f"checkpoint in the past, {megabytes:.0f} MB of chat with snapshots of all {size.entries} entries"
            past = size.messages // 2 // 2 * 2
            times = in_turn(
                {
                    back: Case(partial(opened.checkpoint, story.address, at=past, name=_NAME), before=story.reset),
                    _CP: Case(partial(_cp, story), before=partial(_ready_to_copy, story)),
                },
                bench.rounds,
            )
            yield _compared(times, back, _CP)


def whole_command(bench: Bench) -> Iterator[Result]:
    """Measure ``forklore checkpoint`` as a whole command against ``cp`` and ``sync`` as whole commands."""
    compileall.compile_dir(Path(forklore.__file__).parent, quiet=1)  # as the installer of a package does
    copying = "`cp` and `sync`"
    for name, size in SIZES.items():
        if bench.quick and name == "large":
            continue
        with bench.story(size) as story:
            command = [sys.executable, "-m", "forklore", "--data", str(story.root), "checkpoint", story.address]
            what = f"`forklore checkpoint`, {name}"
            times = in_turn(
                {
                    what: Case(partial(_run, command), before=story.reset),
                    copying: Case(partial(_cp_command, story), before=partial(_ready_to_copy, story)),
                },
                bench.rounds,
            )
            yield _compared(times, what, copying)


def _cp_command(story: BenchStory) -> None:
    """Copy the three files as somebody does at a prompt, and wait until they are on the disk."""
    target = story.root / "copies"
    copy = ["sh", "-c", 'cp -- "$1" "$2" "$3" "$4" && sync "$4"/* "$4"', "sh", *map(str, _sources(story)), str(target)]
    _run(copy)


def _json(bench: Bench, story: BenchStory, name: str) -> Result:
    # Not among the others: it takes seconds and much memory, and whatever came next would find the machine otherwise.
    times = in_turn(
        {
            _CP: Case(lambda: _cp(story), before=lambda: _ready_to_copy(story)),
            _JSON: Case(lambda: _through_json(story), before=lambda: _ready_to_copy(story)),
        },
        max(3, bench.rounds // 4),
    )
    return _compared(times, _JSON, _CP, what=f"{_JSON}, {name}")


def _git(bench: Bench, story: BenchStory, head: str, name: str) -> Result:
    opened = forklore.open(story.root)
    committing = f"`git add -A && git commit`, {name}"
    times = in_turn(
        {
            head: Case(lambda: opened.checkpoint(story.address, name=_NAME), before=story.reset),
            committing: Case(lambda: _commit(story.root), before=lambda: _ready_to_commit(story)),
        },
        max(3, bench.rounds // 4),
    )
    return _compared(times, committing, head)


def _ready_to_copy(story: BenchStory) -> None:
    story.reset()
    os.link(story.chat, story.root / "parent.jsonl")  # a checkpoint writes the parent anew
    (story.root / "copies").mkdir()
    os.sync()


def _sources(story: BenchStory) -> tuple[Path, Path, Path]:
    return story.chat, story.book, story.root / "parent.jsonl"


def _cp(story: BenchStory) -> None:
    target = story.root / "copies"
    subprocess.run(["cp", *map(str, _sources(story)), str(target)], check=True)
    for path in [*target.iterdir(), target]:
        _sync(path)


def _copy(story: BenchStory) -> None:
    target = story.root / "copies"
    for source in _sources(story):
        with source.open("rb") as reading, (target / source.name).open("wb") as writing:
            left = os.fstat(reading.fileno()).st_size
            while left:
                left -= os.copy_file_range(reading.fileno(), writing.fileno(), left)
            os.fsync(writing.fileno())
    _sync(target)


def _through_json(story: BenchStory) -> None:
    target = story.root / "copies"
    for source in _sources(story):
        with source.open(encoding="utf-8") as reading, (target / source.name).open("w", encoding="utf-8") as writing:
            if source.suffix == ".json":
                json.dump(json.load(reading), writing, ensure_ascii=False, indent=4)
            else:
                for line in reading:
                    writing.write(json.dumps(json.loads(line), ensure_ascii=False) + "\n")
            writing.flush()
            os.fsync(writing.fileno())
    _sync(target)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _ready_to_commit(story: BenchStory) -> None:
    """Commit the workspace as it is, then let the chat go on by one message."""
    story.reset()
    subprocess.run(["git", "init", "--quiet", str(story.root)], check=True)
    _commit(story.root)
    with story.chat.open("ab") as chat:
        chat.write(b'\n{"name":"User","is_user":true,"mes":"On we go."}')
    os.sync()


def _commit(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", _NAME], check=True)


# --- looking ------------------------------------------------------------------------------------------------------

_READ, _BUFFER, _CAT = "`open().read()` of the chat", "reading the chat into one buffer", "`cat` of the chat"


def looking(bench: Bench) -> Iterator[Result]:
    """Measure ``check`` and ``status`` of a long chat against reading its file once."""
    size = SIZES["middle" if bench.quick else "large"]
    for what, recaps, entries in (("its large book", True, size.entries), ("no recaps and a small book", False, 100)):
        with bench.story(Size(size.messages, entries), recaps=recaps) as story:
            yield from _looking(bench, story, f"a chat of {story.chat.stat().st_size / 1e6:.0f} MB with {what}")


def _looking(bench: Bench, story: BenchStory, what: str) -> Iterator[Result]:
    opened = forklore.open(story.root)
    times = in_turn(
        {
            "check": Case(lambda: opened.check(story.address)),
            "status": Case(lambda: opened.status(story.address)),
            _READ: Case(lambda: story.chat.open("rb").read()),
            _BUFFER: Case(lambda: _read_into_buffer(story.chat)),
            _CAT: Case(lambda: subprocess.run(["cat", str(story.chat)], check=True, stdout=subprocess.DEVNULL)),
        },
        bench.rounds * 2,
    )
    limit = None if bench.quick else 3.0  # a short chat is read in no time
    yield _compared(times, "check", _READ, what=f"`check`, {what}", limit=limit)
    yield _compared(times, "check", _BUFFER, what="the same")
    yield _compared(times, "check", _CAT, what="the same")
    yield _compared(times, "status", _READ, what=f"`status`, {what}", limit=limit)


def _read_into_buffer(path: Path) -> None:
    buffer = bytearray(_MIB)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def command(bench: Bench) -> Iterator[Result]:
    """Measure ``forklore check`` of a small chat as a whole command."""
    importing = '`python -c "import rich_click"`'
    compileall.compile_dir(Path(forklore.__file__).parent, quiet=1)  # as the installer of a package does
    with bench.story(SIZES["small"]) as story:
        check = [sys.executable, "-m", "forklore", "--data", str(story.root), "check", story.address]
        if subprocess.run(check, check=False, capture_output=True).returncode:
            yield Result("`forklore check`", "cannot be run yet")
            return
        times = in_turn(
            {
                "`forklore check` of a small chat": Case(lambda: _run(check)),
                importing: Case(lambda: _run([sys.executable, "-c", "import rich_click"])),
                "`python -c pass`": Case(lambda: _run([sys.executable, "-c", "pass"])),
            },
            bench.rounds * 2,
        )
    yield _compared(times, "`forklore check` of a small chat", "`python -c pass`", limit=8.0)
    yield _compared(times, "`forklore check` of a small chat", importing, what="the same", limit=2.5)
    yield _compared(times, importing, "`python -c pass`")


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


# --- all stories --------------------------------------------------------------------------------------------------


def stories(bench: Bench) -> Iterator[Result]:
    """Measure ``stories`` of many chats, the first time and again."""
    library, cache = bench.scratch / "library", bench.scratch / "cache"
    write_library(library, folders=20 if bench.quick else 200)
    chats = list(library.rglob("*.jsonl"))
    size = sum(chat.stat().st_size for chat in chats) / 1e6
    os.environ["FORKLORE_CACHE"] = str(cache)
    reading, walking = "reading every file whole", "a bare walk with `stat`"
    catting = "`find` and `cat` of every file"
    first, again = f"`stories`, {len(chats)} chats of {size:.0f} MB, first time", "`stories` again, nothing changed"
    try:
        times = in_turn(
            {
                first: Case(lambda: _stories(library), before=lambda: shutil.rmtree(cache, ignore_errors=True)),
                again: Case(lambda: _stories(library), before=lambda: _stories(library)),
                reading: Case(lambda: _read_all(library)),
                catting: Case(lambda: _cat_all(library)),
                walking: Case(lambda: list(_walk(str(library)))),
            },
            bench.rounds,
        )
    finally:
        shutil.rmtree(library, ignore_errors=True)
    yield _compared(times, first, catting, limit=1.5)
    yield _compared(times, first, reading, what="the same")
    yield _compared(times, again, walking, limit=2.0)


def _stories(library: Path) -> None:
    forklore.open(library).stories()


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _walk(entry.path)
            else:
                yield entry.path, entry.stat()


def _read_all(library: Path) -> None:
    for path, _ in _walk(str(library)):
        with open(path, "rb") as file:  # noqa: PTH123  # as quick as it gets
            file.read()


def _cat_all(library: Path) -> None:
    with subprocess.Popen(["find", str(library), "-type", "f", "-print0"], stdout=subprocess.PIPE) as finding:
        subprocess.run(["xargs", "-0", "cat"], check=True, stdin=finding.stdout, stdout=subprocess.DEVNULL)


# --- the doctor ---------------------------------------------------------------------------------------------------


def doctor(bench: Bench) -> Iterator[Result]:
    """Measure ``doctor`` of a large workspace with damage of every kind against reading every file once."""
    library, cache = bench.scratch / "hospital", bench.scratch / "cache"
    write_damaged_workspace(library, timelines=300 if bench.quick else 3_000)
    os.environ["FORKLORE_CACHE"] = str(cache)
    opened: Any = forklore.open(library)
    chats = sum(1 for _ in library.rglob("*.jsonl"))
    size = sum(stat.st_size for _, stat in _walk(str(library))) / 1e6
    if not hasattr(opened, "doctor"):
        yield Result("`doctor`", "cannot be run yet")
        return
    what, reading = f"`doctor`, {chats} timelines, {size:.0f} MB in all", "reading every file once"
    parsing = "every line of it through `json`"
    cold, reading_cold = f"{what}, from the disk", f"{reading}, from the disk"

    def forget() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    def forget_all() -> None:
        forget()
        _out_of_memory(library)

    cases = {
        what: Case(opened.doctor, before=forget),
        reading: Case(lambda: _read_all(library)),
        parsing: Case(lambda: _parse_all(library)),
    }
    if hasattr(os, "posix_fadvise"):
        cases[cold] = Case(opened.doctor, before=forget_all)
        cases[reading_cold] = Case(lambda: _read_all(library), before=forget_all)
    os.sync()  # what is not yet on the disk cannot be let go
    try:
        times = in_turn(cases, bench.rounds)
    finally:
        shutil.rmtree(library, ignore_errors=True)
    yield _compared(times, what, reading, limit=None if bench.quick else 3.0)
    yield _compared(times, what, parsing, what="the same")
    if cold in cases:
        yield _compared(times, cold, reading_cold)


def _out_of_memory(library: Path) -> None:
    """Ask the system to keep no file of the library in memory."""
    for path, _ in _walk(str(library)):
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def _parse_all(library: Path) -> None:
    for path, _ in _walk(str(library)):
        with open(path, "rb") as file, suppress(ValueError):  # noqa: PTH123  # as quick as it gets
            for text in file.read().split(b"\n") if path.endswith(".jsonl") else [file.read()]:
                json.loads(text)


# --- memory and space ---------------------------------------------------------------------------------------------

_OPEN = "import forklore; opened = forklore.open(sys.argv[1])"
_USES = {
    "`check`": f"{_OPEN}; opened.check(sys.argv[2])",
    "a checkpoint": f"{_OPEN}; opened.checkpoint(sys.argv[2])",
    "a checkpoint in the past": f"{_OPEN}; opened.checkpoint(sys.argv[2], at=int(sys.argv[3]))",
}


def memory(bench: Bench) -> Iterator[Result]:
    """Measure how much memory a process holds at most."""
    for messages, limit in ((2_000, None), (45_500, 80)) if not bench.quick else ((2_000, None),):
        with bench.story(Size(messages, 100)) as story:
            yield from _memory(story, f"{story.chat.stat().st_size / 1e6:.0f} MB of chat, a small book", limit)
    if not bench.quick:
        with bench.story(SIZES["large"]) as story:
            book = story.book.stat().st_size / 1e6
            yield from _memory(
                story, f"{story.chat.stat().st_size / 1e6:.0f} MB of chat, a book of {book:.0f} MB", None
            )


def _memory(story: BenchStory, what: str, limit: float | None) -> Iterator[Result]:
    opened = peak_memory(_OPEN, str(story.root)) / _MIB
    for use, code in _USES.items():
        story.reset()
        peak = peak_memory(code, str(story.root), story.address, str(story.size.messages // 2)) / _MIB
        yield Result(
            f"peak memory of {use}, {what}", f"{peak:.0f} MiB", f"an open workspace: {opened:.0f} MiB", peak, limit
        )


def space(bench: Bench) -> Iterator[Result]:
    """Measure what fifty checkpoints of one chat leave in the folder of Forklore's own."""
    size = SIZES["middle" if bench.quick else "large"]
    with bench.story(Size(size.messages, 100)) as story:
        opened = forklore.open(story.root)
        for number in range(50):
            made = opened.checkpoint(story.address, name=f"{_NAME} {number}")
            # What takes the room is the fork itself; only what stays besides is of interest.
            (story.chat.parent / f"{made.chat.rpartition('/')[2]}.jsonl").unlink()
        left = sum(path.stat().st_size for path in (story.root / ".forklore").rglob("*") if path.is_file())
        chat = story.chat.stat().st_size
    yield Result(
        f"`.forklore` after 50 checkpoints of a chat of {chat / 1e6:.0f} MB", f"{left / 1e6:.2f} MB", "", left / 1e6, 5
    )


# --- the service --------------------------------------------------------------------------------------------------

_IDLE_SECONDS = 10


def service(bench: Bench) -> Iterator[Result]:
    """Measure how soon the service answers, what it costs while nobody asks, and how quickly the page gets its data."""
    compileall.compile_dir(Path(forklore.__file__).parent, quiet=1)  # as the installer of a package does
    forest = bench.scratch / "forest"
    main = write_forest(forest, stories=500, timelines=300)
    seconds = statistics.median(first_answer(forest, _PORT + number) for number in range(max(5, bench.rounds // 2)))
    yield Result("first answer after `forklore serve`", f"{seconds * 1000:.0f} ms", "", seconds, 1.0)
    with serving(forest) as running:
        time.sleep(1)
        computed = running.cpu_seconds()
        time.sleep(_IDLE_SECONDS)
        yield Result("memory of an idle service", f"{running.memory():.0f} MiB", "", running.memory(), 90)
        idle = running.cpu_seconds() - computed
        yield Result(f"computing of an idle service in {_IDLE_SECONDS} s", f"{idle:.2f} s", "", idle, 0)
        for what, ask in (
            ("the list of 500 stories", lambda: running.get("overview")),
            ("the tree of 300 timelines", lambda: running.get("layout", chat=main)),
        ):
            times = in_turn({what: Case(ask)}, bench.rounds)
            yield Result(what, f"{times.milliseconds(what):.1f} ms", "", times.milliseconds(what) / 1000, 0.3)
    with bench.story(SIZES["middle" if bench.quick else "large"]) as story:
        yield from _opening(bench, story)


def _opening(bench: Bench, story: BenchStory) -> Iterator[Result]:
    """Measure what the page asks to show the end of a long timeline; each time the file is a new one to the service."""
    last = story.size.messages
    what = f"a timeline of {last} messages opens"
    again = "the next screen of it"
    with serving(story.root) as running:

        def show(start: int) -> None:
            running.get("messages", chat=story.address, start=start, count=50)

        times = in_turn(
            {
                what: Case(lambda: show(last - 50), before=lambda: os.utime(story.chat)),
                again: Case(lambda: show(last - 150)),
                _READ: Case(lambda: story.chat.open("rb").read()),
            },
            bench.rounds * 2,
        )
    yield _compared(times, what, _READ, limit=None if bench.quick else 2.0)
    yield _compared(times, again, _READ)


def extension(bench: Bench) -> Iterator[Result]:
    """Measure what the extension adds to sending a message in the real SillyTavern."""
    from bench import extension as in_sillytavern  # noqa: PLC0415  # others need no browser

    if in_sillytavern.is_missing():
        yield Result(in_sillytavern.WITH, "SillyTavern is not here: `make e2e` gets it")
        return
    times = in_sillytavern.sending(bench.scratch, bench.rounds)
    yield _compared(times, in_sillytavern.WITH, in_sillytavern.WITHOUT, limit=None if bench.quick else 1.05)


ALL: tuple[Callable[[Bench], Iterator[Result]], ...] = (
    checkpoints,
    whole_snapshots,
    whole_command,
    looking,
    command,
    stories,
    doctor,
    service,
    extension,
    memory,
    space,
)


def results_of(part: Callable[[Bench], Iterator[Result]], bench: Bench) -> list[Result]:
    """Measure one part."""
    return list(part(bench))
