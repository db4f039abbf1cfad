"""Disks that die, fail, forget, or let somebody in between: each is a ``Disk`` with one kind of accident."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from forklore.disk.disk import Disk, is_there
from forklore.testing.sillytavern import HastyDisk
from tests.needed import posix_only

STEPS = tuple(name for name in vars(Disk) if not name.startswith("_"))
"""Everything a disk can do."""
GROWING = frozenset({"make_folder", "create", "reserve", "write", "copy", "patch"})
"""What needs space."""


STRIDE = int(os.environ.get("FORKLORE_STRIDE", "1"))
"""A fault strikes at every step, or only at every so many-th where all takes much longer: under Wine."""


def steps(*of: object) -> range:
    """Return the steps that a fault strikes at; what it is a test *of* says where it begins, so that others differ."""
    return range(crc32(repr(of).encode()) % STRIDE, 1000, STRIDE)


def seeds(count: int) -> range:
    """Return what random walks begin with: *count* of them, or a quarter where all takes much longer."""
    return range(count if STRIDE == 1 else max(1, count // 4))


class PowerLoss(BaseException):
    """Nothing catches it, as nothing catches a power cut."""


# --- systems ------------------------------------------------------------------------------------------------------


another_system = posix_only("a system is played here, and Windows plays itself")


class LinkingDisk(HastyDisk):
    """A system without an exclusive rename and without an exchange: old Linux, many network disks."""

    def rename_new(self, source: Path, target: Path) -> None:
        """Link, then remove: two steps, between which both names are there."""
        os.link(source, target)
        self.remove(source)

    def exchange(self, one: Path, other: Path) -> bool:
        """Refuse."""
        return False


class PlainDisk(HastyDisk):
    """A system that has no links either: FAT, some phones; in what it can do also Windows."""

    def rename_new(self, source: Path, target: Path) -> None:
        """Look, then rename."""
        if is_there(target):
            raise FileExistsError(target)
        os.rename(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Refuse."""
        return False


class ContestedDisk(HastyDisk):
    """A disk on which somebody has a file open, as on Windows: it is neither moved, replaced nor removed meanwhile.

    It is the file that the change of names number *at* is about, by its place among the names (*which*); after so many
    *attempts* to change it the other one lets go.
    """

    _pauses = (0.0,) * len(Disk._pauses)

    def __init__(self, at: int = -1, attempts: int | None = None, *, which: int = 0, code: int = 32) -> None:
        """Let nobody be in the way, so far."""
        self.changes = self.refused = 0
        self.held: Path | None = None
        self._at, self._attempts, self._which, self._code = at, attempts, which, code

    def exchange(self, one: Path, other: Path) -> bool:
        """Refuse, as Windows does."""
        return False

    def _attempt(self, change: Callable[..., object], *names: Path) -> None:
        if self.changes == self._at and self.held is None:
            self.held = names[self._which % len(names)]
        if self.held in names and (self._attempts is None or self.refused < self._attempts):
            self.refused += 1
            raise sharing_violation(names[0], self._code)
        self.changes += 1
        super()._attempt(change, *names)


def sharing_violation(path: Path, code: int = 32) -> PermissionError:
    """Return what Windows raises for a file that somebody else has open."""
    error = PermissionError(errno.EACCES, "It is being used by another process", str(path))
    error.winerror = code  # type: ignore[attr-defined,unused-ignore]  # there is no such field elsewhere
    return error


class ForgetfulDisk(Disk):
    """A disk that keeps, when the power goes, only what was synced: contents by ``sync``, names by ``sync_folder``."""

    def remember(self, root: Path) -> None:
        """Take everything that is there now for synced."""
        self._root = root
        self._names: dict[Path, dict[str, int | None]] = {}
        self._contents: dict[int, bytes] = {}
        self._held: list[int] = []
        self._guard = threading.Lock()
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            ForgetfulDisk.sync_folder(self, folder)  # not as a step
        for path in root.rglob("*"):
            if path.is_file():
                self._contents[path.stat().st_ino] = path.read_bytes()

    def sync(self, descriptor: int) -> None:
        """Keep the content."""
        stat = os.fstat(descriptor)
        with self._guard:
            self._contents[stat.st_ino] = os.pread(descriptor, stat.st_size, 0)

    def sync_folder(self, path: Path) -> None:
        """Keep the names."""
        names: dict[str, int | None] = {}
        with self._guard:
            for entry in path.iterdir():
                names[entry.name] = None if entry.is_dir() else entry.stat().st_ino
                if not entry.is_dir():
                    self._held.append(os.open(entry, os.O_RDONLY))  # or its number might be given to another file
            self._names[path] = names

    def write_remains(self, target: Path, *, forgets: Callable[[Path], bool]) -> None:
        """Write to *target* what a power cut leaves: names of folders that it *forgets* only as they were synced."""
        for descriptor in self._held:
            os.close(descriptor)
        self._held.clear()
        self._write(self._root, target, forgets)

    def _write(self, folder: Path, target: Path, forgets: Callable[[Path], bool]) -> None:
        target.mkdir()
        names = self._names.get(folder, {})
        if not forgets(folder):
            there = [*folder.iterdir()] if folder.is_dir() else []
            names = {path.name: None if path.is_dir() else path.stat().st_ino for path in there}
        for name, number in names.items():
            if number is None:
                self._write(folder / name, target / name, forgets)
            else:
                (target / name).write_bytes(self._contents.get(number, b""))


# --- faults -------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One call of a method of a disk."""

    name: str
    arguments: tuple[Any, ...]
    call: Callable[[], Any]

    def half(self, disk: Disk) -> None:
        """Do half of it, where that can be; else all of it."""
        match self.name, self.arguments:
            case "write", (descriptor, data):
                os.write(descriptor, bytes(data)[: len(data) // 2])
            case "copy", (source, target, start, end):
                Disk.copy(disk, source, target, start, (start + end) // 2)
            case "remove_tree", (folder,):
                files = sorted(path for path in folder.rglob("*") if path.is_file())
                for path in files[: len(files) // 2]:
                    path.unlink()
            case "create", _:
                os.close(self.call())  # whoever loses power has no file open any more
            case _:
                self.call()


@dataclass(frozen=True)
class Fault:
    """What happens at a step; *done* says how much of the step has happened by then."""

    name: str
    done: str = "nothing"
    number: int | None = None
    """The error number; None: the power goes."""
    lasting: frozenset[str] = frozenset()
    """The steps that fail from then on, too."""
    is_interrupt: bool = False
    """Whether it is only the user who has had enough."""

    def __str__(self) -> str:
        return self.name

    def strike(self, step: Step, disk: FaultyDisk) -> None:
        """Let it happen."""
        if self.done == "half":
            step.half(disk)
        elif self.done == "all":
            made = step.call()
            if step.name == "create":
                os.close(made)  # nobody will ever hear of it
        if self.is_interrupt:
            raise KeyboardInterrupt
        if self.number is None:
            disk.is_dead = True
            raise PowerLoss
        raise OSError(self.number, os.strerror(self.number))


class FaultyDisk(Disk):
    """A disk on which a fault strikes at one of its steps; after a power loss it does nothing any more."""

    fault: Fault | None = None
    at = -1

    def __init__(self) -> None:
        """Be healthy, so far."""
        self.steps: list[str] = []
        self.struck = False
        self.is_dead = False
        self._guard = threading.Lock()

    def step(self, step: Step) -> Any:
        """Take a step."""
        with self._guard:
            if self.is_dead:
                raise PowerLoss
            number = len(self.steps)
            self.steps.append(step.name)
        fault = self.fault
        if fault is not None and (number == self.at or (self.struck and step.name in fault.lasting)):
            self.struck = True
            fault.strike(step, self)
        return step.call()


def _as_step(name: str) -> Callable[..., Any]:
    def method(self: FaultyDisk, *arguments: Any, **options: Any) -> Any:
        call = partial(getattr(super(FaultyDisk, self), name), *arguments, **options)
        return self.step(Step(name, arguments, call))

    return method


for _name in STEPS:
    setattr(FaultyDisk, _name, _as_step(_name))


def faulty(system: type[Disk] = HastyDisk, fault: Fault | None = None, at: int = -1) -> FaultyDisk:
    """Return a disk of a *system* on which *fault* strikes at step *at*."""
    disk: FaultyDisk = type(f"Faulty{system.__name__}", (FaultyDisk, system), {"fault": fault, "at": at})()
    return disk


# --- others in between --------------------------------------------------------------------------------------------


class CrowdedDisk(HastyDisk):
    """A disk on which others are at work: right before, or right after, a step of ours they take theirs."""

    def __init__(self) -> None:
        """Be alone, so far."""
        self._before: dict[str, list[Callable[[], object]]] = {}
        self._after: dict[str, list[Callable[[], object]]] = {}

    def before(self, step: str, *actions: Callable[[], object]) -> CrowdedDisk:
        """Let the first of the *actions* happen before the first such step, the second before the second …"""
        self._before.setdefault(step, []).extend(actions)
        return self

    def after(self, step: str, *actions: Callable[[], object]) -> CrowdedDisk:
        """Let the *actions* happen after such steps."""
        self._after.setdefault(step, []).extend(actions)
        return self

    def rename_new(self, source: Path, target: Path) -> None:
        """Rename, among others."""
        self._next(self._before, "rename_new")
        super().rename_new(source, target)
        self._next(self._after, "rename_new")

    def exchange(self, one: Path, other: Path) -> bool:
        """Exchange, among others."""
        self._next(self._before, "exchange")
        done = super().exchange(one, other)
        self._next(self._after, "exchange")
        return done

    @staticmethod
    def _next(actions: dict[str, list[Callable[[], object]]], step: str) -> None:
        if actions.get(step):
            actions[step].pop(0)()


def nothing() -> None:
    """Do nothing."""


def power_loss() -> None:
    """Let the power go."""
    raise PowerLoss
