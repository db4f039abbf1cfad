"""A fuzzer: case *n* is a workspace with one to three things altered, and a few requests to it.

Whatever a stranger put there: nothing outside changes or is told, nothing fails but in an orderly way, nothing hangs,
and who only reads writes nothing. ``python -m tests.hostile.fuzzing --cases 100000 --first 0 --processes 2`` looks for
more than the tests do.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import random
import re
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner

from forklore.cli.main import program
from forklore.errors import ForkloreError
from tests.hostile.altering import Altering
from tests.hostile.asking import Asked, ask, told_by
from tests.hostile.caging import Escaped, lock_in
from tests.hostile.crafting import BAIT, SECRET, Templates, World, folder_in_memory, make_templates, secret, world
from tests.hostile.enemies import NOT_OURS
from tests.hostile.trees import Seen, differences, look, read_tree, write_tree

EXIT_CODES = frozenset({0, 2, 3, 4, 5, 6, 7})
"""What a command may end with; 1 is a bug."""
_SECONDS = 3.0
_MOST_BYTES = 2 << 30
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9]{6}-[0-9a-f]{4}")


@dataclass(frozen=True)
class Failure:
    """What should never happen."""

    kind: str
    cause: str
    """What failures with one reason have in common, as far as that can be told."""
    detail: str


@dataclass
class Case:
    """What was altered, what was asked, and what went wrong."""

    seed: int
    template: str = ""
    altered: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"case {self.seed} ({self.template})"]
        lines += [f"    altered: {what}" for what in self.altered]
        lines += [f"    asked:   {what}" for what in self.asked]
        lines += [f"    {failure.kind}: {failure.cause}\n        {failure.detail}" for failure in self.failures]
        return "\n".join(lines)


class Hung(BaseException):
    """A request took too long; nothing catches it."""


# --- one case -----------------------------------------------------------------------------------------------------


class Fuzzer:
    """Runs cases in one world, one after the other."""

    def __init__(self, made: World, templates: Templates, besides: frozenset[str] = frozenset()) -> None:
        """Run cases in the world *made*; failures of the kinds *besides* are known and do not count."""
        self._world, self._templates, self._besides = made, templates, besides
        self._runner = CliRunner()
        self._allowed: list[str] = []
        self._kinds = ""
        self._inside: Seen = {}

    def run(self, seed: int) -> Case:
        """Run the case number *seed*; the workspace stays as it is afterwards."""
        chance = random.Random(seed)
        template = self._templates.history
        if chance.random() < 0.6:
            template = chance.choice(self._templates.unfinished)
        altering = Altering(chance, str(self._world.home), template)
        for _ in range(chance.choice([1, 1, 2, 3])):
            altering.alter()
        state = self._templates.state if chance.random() < 0.6 else {}
        case = Case(seed, template.name, altering.altered)
        requests = [ask(chance, altering) for _ in range(chance.choice([1, 2, 3]))]
        self._allowed, self._kinds = [], ", ".join(sorted(altering.kinds))
        self._world.lay(altering.tree, state)
        outside, self._inside = self._world.outside(), look(self._world.root)
        for asked in requests:
            case.asked.append(str(asked))
            failures = self._ask(asked, outside, as_json=chance.random() < 0.7)
            case.failures += [each for each in failures if each.kind not in self._besides]
            if case.failures:
                break  # what follows would be about a workspace that is lost already
        if any(failure.kind in ("outside changed", "led out", "hung") for failure in case.failures):
            self._world.lay_bait()
        return case

    def _ask(self, asked: Asked, outside: Seen, *, as_json: bool) -> Iterator[Failure]:
        wrong: list[Failure] = []
        try:
            with alarm(_SECONDS):
                told = self._told(asked, wrong) if asked.call else self._said(asked, wrong, as_json=as_json)
        except Hung as hung:
            yield Failure("hung", _place_of(hung), str(asked))
            return
        except Escaped as escaped:
            yield Failure("led out", self._kinds, f"{asked}: {escaped} ({_place_of(escaped)})")
            return
        yield from wrong
        name = asked.words[0]
        if changed := self._outside_now(outside):
            yield Failure("outside changed", self._kinds, "; ".join(changed[:5]))
        now = look(self._world.root)
        wrote, self._inside = differences(self._inside, now), now
        if asked.reads_only and wrote:
            recovered = any(".forklore/staging/" in each for each in wrote)
            cause = "recovered an operation" if recovered else f"{name}: {_general(wrote[0])}"
            yield Failure("wrote while reading", cause, "; ".join(wrote[:5]))
        if not_ours := [each for each in wrote if each.partition(": ")[2] in NOT_OURS]:
            yield Failure("changed what is not ours", f"{name}: {not_ours[0]}", "; ".join(not_ours))
        yield from self._secrets(told, now)

    def _told(self, asked: Asked, wrong: list[Failure]) -> str:
        """Make the request through the library and return everything that was told."""
        assert asked.call is not None
        try:
            return told_by(asked.call(self._world.open()))
        except (ForkloreError, OSError) as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what we look for
            wrong.append(Failure("bug", _place_of(error), f"{asked}: {error!r:.300}"))
            return ""

    def _said(self, asked: Asked, wrong: list[Failure], *, as_json: bool) -> str:
        """Make the request through the command line and return everything that was printed."""
        words = ["--data", str(self._world.root), *(["--json"] if as_json else []), *asked.words]
        ran = self._runner.invoke(program, words)
        if isinstance(ran.exception, Hung):
            raise ran.exception
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            wrong.append(Failure("bug", _place_of(ran.exception), f"{asked}: {ran.exception!r:.300}"))
        elif ran.exit_code not in EXIT_CODES:
            cause = f"exit {ran.exit_code}: {_told_place(ran.stderr)}"
            wrong.append(Failure("bug", cause, f"{asked}: {_last_line(ran.stderr):.300}"))
        elif as_json:
            wrong += _document(asked, ran.stdout, ran.exit_code)
        if asked.allows is not None and ran.exit_code == 0:
            place = self._world.root / asked.allows
            self._allowed.append(os.path.realpath(place))
            if not place.is_dir():
                wrong.append(Failure("a file was allowed", asked.allows, str(asked)))
        return ran.stdout + ran.stderr

    # --- what must hold -------------------------------------------------------------------------------------------

    def _is_allowed(self, path: Path) -> bool:
        """Whether the user has allowed to follow a link to a folder in which *path* lies."""
        return any(path == Path(folder) or Path(folder) in path.parents for folder in self._allowed)

    def _outside_now(self, before: Seen) -> list[str]:
        changed = differences(before, self._world.outside())
        return [each for each in changed if not self._is_allowed(self._world.home / each.partition(": ")[2])]

    def _secrets(self, told: str, now: Seen) -> Iterator[Failure]:
        hidden = self._hidden()
        if SECRET in told and (found := next((each for each in hidden if each in told), None)):
            at = told.index(found)
            yield Failure("secret told", self._kinds, told[max(0, at - 150) : at + 100])
        for where, seen in (("workspace", now), ("state", look(self._world.state)), ("cache", look(self._world.cache))):
            for path, (*_, content) in seen.items():
                if not isinstance(content, bytes) or SECRET.encode() not in content or path == "secrets.json":
                    continue
                if found := next((each for each in hidden if each.encode() in content), None):
                    yield Failure("secret kept", f"in the {where}: {self._kinds}", f"{found} in {path}")
                    return

    def _hidden(self) -> list[str]:
        """Return the secrets of all files that the user has not allowed to be read."""
        files = {path: node for path, node in BAIT.items() if isinstance(node, bytes)}
        if self._allowed:
            files = {path: node for path, node in files.items() if not self._is_allowed(self._world.home / path)}
        return [
            secret("own-key"),
            *(each for path, node in files.items() for each in _secrets_in(node + path.encode())),
        ]


@cache
def _secrets_in(data: bytes) -> tuple[str, ...]:
    texts = data.decode(errors="replace").split(SECRET)[1:]
    ends = ("".join(each if each.isalnum() or each == "-" else " " for each in text).split(" ")[0] for text in texts)
    return tuple(f"{SECRET}{end}" for end in ends)


def _document(asked: Asked, out: str, code: int) -> Iterator[Failure]:
    """Whether standard output is exactly one JSON document, and an error says what to do."""
    try:
        document = json.loads(out)
    except ValueError as error:
        yield Failure("not one document", asked.words[0], f"{asked}: {error}: {out:.200}")
        return
    told = document.get("error") if isinstance(document, dict) else None
    if told and not (told.get("code") and told.get("message") and told.get("action")):
        yield Failure("an error without an action", str(told.get("code")), f"{asked}: {told}")
    if code in (2, 4, 5, 6, 7) and not told:
        yield Failure("no error told", asked.words[0], f"{asked}: exit {code}")


def _place_of(error: BaseException) -> str:
    """Return the kind of an error and the place in our code where it came up."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/forklore/" in frame.filename]
    where = f"{frames[-1].filename.rpartition('/forklore/')[2]}:{frames[-1].name}" if frames else "?"
    return f"{type(error).__name__} in {where}"


def _told_place(told: str) -> str:
    """Return the same from a traceback that was printed."""
    frames = [line for line in told.splitlines() if line.startswith('  File "') and "/forklore/" in line]
    where = frames[-1].rpartition("/forklore/")[2] if frames else "?"
    file, _, rest = where.partition('"')
    return f"{_last_line(told).partition(':')[0]} in {file}:{rest.rpartition(' ')[2]}"


def _last_line(told: str) -> str:
    lines = [line for line in told.splitlines() if line and not line.startswith((" ", "This is a bug"))]
    return lines[-1] if lines else ""


def _general(change: str) -> str:
    """Return a change without the ids in it."""
    return _ID.sub("ID", change)[:60]


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise ``Hung`` when the block takes longer; whoever else has set an alarm gets it back."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(_number: int, frame: FrameType | None) -> None:
        raise Hung("".join(traceback.format_stack(frame)[-3:]))

    handler = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, handler)


# --- many cases ---------------------------------------------------------------------------------------------------


@contextmanager
def little_memory() -> Iterator[None]:
    """Let this process have so much memory: what never ends must not take all there is."""
    if sys.platform == "win32":
        yield
        return
    import resource  # noqa: PLC0415  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _work(base: Path, seeds: range, given: Given, results: Any, at: Any) -> None:
    """Run cases and send each failed one, and now and then how many were run; *at* is the one that is running."""
    done = 0
    with world(base) as made, little_memory():
        lock_in(base)
        fuzzer = Fuzzer(made, make_templates(made), given.besides)
        for seed in seeds:
            at.value = seed
            case = fuzzer.run(seed)
            done += 1
            if case.failures:
                if given.keep:
                    _keep(made, base / "kept" / f"case-{seed}", case)
                results.put(case)
            if done == 100:
                results.put(done)
                done = 0
    results.put(done)
    at.value = -1


def _keep(made: World, folder: Path, case: Case) -> None:
    """Keep a failing workspace as it is now, and what happened."""
    shutil.rmtree(folder, ignore_errors=True)
    write_tree(folder / "workspace", read_tree(made.root))
    (folder / "told.txt").write_text(f"{case}\n", encoding="utf-8", errors="backslashreplace")


class Worker:
    """A process that runs every *n*-th case; when it dies, that is a failure too, and another one goes on."""

    def __init__(self, base: Path, seeds: range, given: Given, results: Any) -> None:
        """Begin with the first of *seeds*, in the empty folder *base*."""
        self._base, self._seeds, self._given, self._results = base, seeds, given, results
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._at = context.Value("q", self._seeds[0])
        arguments = (self._base, self._seeds, self._given, self._results, self._at)
        self._process = context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()

    def died(self) -> Iterator[Case]:
        """Yield the case that was its end, if it is dead, and go on after it."""
        if self._process.is_alive() or self._at.value < 0:
            return
        seed = self._at.value
        yield Case(seed, failures=[Failure("died", f"exit code {self._process.exitcode}", "")])
        self._seeds = self._seeds[self._seeds.index(seed) + 1 :]
        if self._seeds:
            self._start()
        else:
            self._at.value = -1

    @property
    def is_done(self) -> bool:
        """Whether all its cases were run."""
        return not self._process.is_alive() and self._at.value < 0


@dataclass(frozen=True)
class Given:
    """How cases are to be run."""

    besides: frozenset[str] = frozenset()
    """The kinds of failures that do not count."""
    keep: Path | None = None
    """Where failing workspaces are kept."""


def run_cases(first: int, cases: int, processes: int = 1, given: Given | None = None) -> list[Case]:
    """Run cases in processes that can do no harm, and return those that failed."""
    given = given or Given()
    results: Any = multiprocessing.get_context("spawn").Queue()
    begun, done = time.monotonic(), 0
    failed: list[Case] = []
    with ExitStack() as stack:
        bases = [stack.enter_context(folder_in_memory()) for _ in range(processes)]
        workers = [
            Worker(base, range(first + number, first + cases, processes), given, results)
            for number, base in enumerate(bases)
        ]
        while not all(worker.is_done for worker in workers) or not results.empty():
            try:
                match results.get(timeout=1):
                    case int(count):
                        done += count
                        told = f"{done} cases, {done / (time.monotonic() - begun):.0f} a second, {len(failed)} failed"
                        print(f"\r{told}", end="", file=sys.stderr)  # noqa: T201
                    case case:
                        failed.append(case)
            except queue.Empty:
                failed += [case for worker in workers for case in worker.died()]
        for base in bases:
            if given.keep is not None and (base / "kept").is_dir():
                shutil.copytree(base / "kept", given.keep, symlinks=True, dirs_exist_ok=True)
    return sorted(failed, key=lambda case: case.seed)


def main() -> int:
    """Run many cases and tell what failed, by its cause."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzzing", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep every failing workspace in this folder")
    parser.add_argument("--besides", action="append", default=[], help="a kind of failure that does not count")
    parser.add_argument("--all", action="store_true", help="tell every failing case, not only the first of a cause")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))  # so that processes and folders go with us
    begun = time.monotonic()
    failed = run_cases(asked.first, asked.cases, asked.processes, Given(frozenset(asked.besides), asked.keep))
    print(file=sys.stderr)  # noqa: T201
    print(report(failed, asked.cases, time.monotonic() - begun, tell_all=asked.all))  # noqa: T201
    return 1 if failed else 0


def report(failed: list[Case], done: int, seconds: float, *, tell_all: bool) -> str:
    """Return what failed, the most frequent cause first, each with its first case."""
    causes = Counter((failure.kind, failure.cause) for case in failed for failure in case.failures)
    lines = [f"{done} cases in {seconds:.0f} s, {done / seconds:.0f} a second; {len(failed)} failed"]
    for (kind, cause), count in causes.most_common():
        cases = [case for case in failed if any((each.kind, each.cause) == (kind, cause) for each in case.failures)]
        seeds = " ".join(str(case.seed) for case in cases[:8])
        lines.append(f"\n{count} × {kind}: {cause}\n  cases {seeds}")
        lines += [f"  {line}" for case in (cases if tell_all else cases[:1]) for line in str(case).splitlines()]
    return "\n".join(lines).encode("utf-8", "backslashreplace").decode()


if __name__ == "__main__":
    sys.exit(main())
