"""Work that can be followed and cancelled, and questions that are asked by many and answered once."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from forklore.app.progress import Cancelled
from forklore.disk.lock import CreationInProgress
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.web.access import Holder, TooManyRequests
from forklore.web.events import Events

_NAME = re.compile(r"[A-Za-z0-9-]{8,64}").fullmatch
_TOLD_EVERY_SECONDS = 0.1
MOST_JOBS = 16  # works that wait or run at a time; each has a thread
_MOST_OF_ONE, _MOST_LONG_OF_ONE = 6, 2  # of one client

Answer = TypeVar("Answer")


class JobNotFound(ForkloreError):
    """There is no such work."""

    code = "JOB_NOT_FOUND"
    kind = Kind.NOT_FOUND
    action = "It has ended, or never began."


class Job:
    """One piece of work: what it tells goes to the events, and it stops when it is cancelled."""

    def __init__(self, name: str | None, holder: Holder, events: Events, *, is_long: bool = False) -> None:
        """Begin; nobody is told of work without a *name*."""
        self.client = holder.key
        self.is_long = is_long
        self._name = name
        self._root = holder.root
        self._events = events
        self._told_at = 0.0
        self.is_cancelled = threading.Event()

    def step(self, number: int, title: str) -> None:
        """Tell of one of the four steps."""
        self._tell(step=number, title=title)

    def note(self, text: str, *, good: bool | None = None) -> None:
        """Tell what was found or done."""
        self._tell(note=text, good=good)

    def advance(self, done: int, total: int) -> None:
        """Tell how far it has come, now and then."""
        now = time.monotonic()
        if now - self._told_at >= _TOLD_EVERY_SECONDS or done >= total:
            self._told_at = now
            self._tell(done=done, total=total)

    def go_on(self) -> None:
        """Stop here if nobody wants it any more."""
        if self.is_cancelled.is_set():
            raise Cancelled("It was cancelled.")

    def _tell(self, **what: Any) -> None:
        if self._name is not None:
            self._events.publish(self._root, "progress", {"job": self._name, **what})


class Jobs:
    """All work that goes on."""

    def __init__(self, events: Events) -> None:
        """Begin with none."""
        self._events = events
        self._running: dict[tuple[Path, str], Job] = {}
        self._all: set[Job] = set()
        self._lock = threading.Lock()
        self._stopped = False

    @contextmanager
    def begin(self, holder: Holder, name: str | None, *, is_long: bool = False) -> Iterator[Job]:
        """Follow a piece of work under the *name* its caller gave it; nobody has too many, or too many long ones."""
        root = holder.root
        if name is not None and not _NAME(name):
            raise BadRequest("A job is named by 8 to 64 letters, digits and hyphens.")
        job = Job(name, holder, self._events, is_long=is_long)
        with self._lock:
            if name is not None and (root, name) in self._running:
                raise BadRequest(f"There is a job {name!r} already.", action="Choose another name.")
            self._refuse_too_many(job)
            if self._stopped:
                raise Cancelled("The service stops.")
            self._all.add(job)
            if name is not None:
                self._running[root, name] = job
        try:
            yield job
        finally:
            with self._lock:
                self._all.discard(job)
                if name is not None:
                    del self._running[root, name]

    def _refuse_too_many(self, job: Job) -> None:
        own = [each for each in self._all if each.client == job.client]
        if job.is_long and sum(each.is_long for each in own) >= _MOST_LONG_OF_ONE:
            raise TooManyRequests(
                f"{_MOST_LONG_OF_ONE} long tasks of yours are running already.",
                action="Wait until one of them is done, or cancel it, then try again.",
            )
        if len(own) >= _MOST_OF_ONE:
            raise TooManyRequests(
                f"{_MOST_OF_ONE} tasks of yours are running or waiting already.",
                action="Wait until one of them is done, or cancel it, then try again.",
            )
        if len(self._all) >= MOST_JOBS:
            raise CreationInProgress(f"{MOST_JOBS} operations are waiting already.")

    def cancel(self, root: Path, name: str) -> None:
        """Ask a piece of work to stop where that leaves nothing behind."""
        job = self._running.get((root, name))
        if job is None:
            raise JobNotFound(f"There is no job {name!r}.")
        job.is_cancelled.set()

    def stop(self) -> None:
        """Ask everything to stop, and begin nothing more; what is being written is finished first."""
        with self._lock:
            self._stopped = True
            for job in self._all:
                job.is_cancelled.set()


class Together(Generic[Answer]):
    """Answers a question once for all who ask it within a moment; the work begins after the last of them asked."""

    def __init__(self, seconds: float) -> None:
        """Let askers gather for *seconds*."""
        self._seconds = seconds
        self._gathering: dict[Any, asyncio.Task[Answer]] = {}

    async def ask(self, question: Any, answer: Callable[[], Any]) -> Answer:
        """Return what the awaitable of *answer* yields; an asker who gives up takes nobody along."""
        task = self._gathering.get(question)
        if task is None:
            task = asyncio.create_task(self._answer(question, answer))
            task.add_done_callback(_seen)
            self._gathering[question] = task
        return await asyncio.shield(task)

    async def _answer(self, question: Any, answer: Callable[[], Any]) -> Answer:
        try:
            await asyncio.sleep(self._seconds)
        finally:
            del self._gathering[question]
        result: Answer = await answer()
        return result


def _seen(task: asyncio.Task[Any]) -> None:
    """Take note of how it ended, so that an error nobody waits for any more is no bug."""
    if not task.cancelled():
        task.exception()
