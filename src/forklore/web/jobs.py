"""Work that can be followed and cancelled, and questions that are asked by many and answered once."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from forklore import texts
from forklore.app.progress import Cancelled
from forklore.disk.lock import CreationInProgress
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.model.fact import Fact
from forklore.web.access import Holder, TooManyRequests
from forklore.web.events import Events
from forklore.web.problems import of_any

_NAME = re.compile(r"[A-Za-z0-9-]{8,64}").fullmatch
_TOLD_EVERY_SECONDS = 0.1
MOST_JOBS = 16  # works that wait or run at a time; each has a thread
_MOST_OF_ONE, _MOST_LONG_OF_ONE = 6, 2  # of one client
_MOST_ENDED = 8  # works of one workspace whose end nobody has seen; of more, the oldest are in the log alone

Answer = TypeVar("Answer")


class JobNotFound(ForkloreError):
    """There is no such work."""

    code = "JOB_NOT_FOUND"
    kind = Kind.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Wish:
    """What work that goes on without its asker is for: by this it is found again."""

    command: str
    chat: str | None


class Job:
    """One piece of work: what it tells goes to the events, and it stops when it is cancelled."""

    def __init__(
        self, name: str | None, holder: Holder, events: Events, *, is_long: bool = False, wish: Wish | None = None
    ) -> None:
        """Begin; nobody is told of work without a *name*."""
        self.client = holder.key
        self.is_long = is_long
        self.wish = wish
        self.answer: dict[str, Any] | None = None
        self.problem: dict[str, Any] | None = None
        """What went wrong, as its asker was answered; with neither answer nor problem it has not ended."""
        self._done, self._total = 0, 0
        self._name = name
        self._root = holder.root
        self._events = events
        self._told_at = 0.0
        self.is_cancelled = threading.Event()

    def step(self, number: int, fact: Fact) -> None:
        """Tell of one of the four steps."""
        self._tell(step={"number": number, **_told(fact)})

    def note(self, fact: Fact, *, good: bool | None = None) -> None:
        """Tell what was found or done."""
        self._tell(note={**_told(fact), "good": good})

    def advance(self, done: int, total: int) -> None:
        """Tell how far it has come, now and then."""
        self._done, self._total = done, total
        now = time.monotonic()
        if now - self._told_at >= _TOLD_EVERY_SECONDS or done >= total:
            self._told_at = now
            self._tell(done=done, total=total)

    def go_on(self) -> None:
        """Stop here if nobody wants it any more."""
        if self.is_cancelled.is_set():
            raise Cancelled

    def _tell(self, **what: Any) -> None:
        if self._name is not None:
            self._events.publish(self._root, "progress", {"job": self._name, **what})

    @property
    def has_ended(self) -> bool:
        """Whether there is an answer or a problem."""
        return self.answer is not None or self.problem is not None

    def to_json(self) -> dict[str, Any]:
        """Return what it is for and how far it has come."""
        return {
            "job": self._name,
            "command": self.wish and self.wish.command,
            "chat": self.wish and self.wish.chat,
            "done": self._done,
            "total": self._total,
            "ended": self.has_ended,
        }

    def whole_json(self) -> dict[str, Any]:
        """Return also what came of it."""
        return {**self.to_json(), "answer": self.answer, "problem": self.problem}


def _told(fact: Fact) -> dict[str, Any]:
    return {**fact, "text": texts.words(fact)}


class Jobs:
    """All work that goes on, and what has ended without its asker."""

    def __init__(self, events: Events) -> None:
        """Begin with none."""
        self._events = events
        self._running: dict[tuple[Path, str], Job] = {}
        self._ended: dict[tuple[Path, str], Job] = {}
        """Oldest first."""
        self._all: set[Job] = set()
        self._lock = threading.Lock()
        self._stopped = False

    @contextmanager
    def begin(
        self, holder: Holder, name: str | None, *, is_long: bool = False, wish: Wish | None = None
    ) -> Iterator[Job]:
        """Follow a piece of work under the *name* its caller gave it; nobody has too many, or too many long ones.

        With a *wish* it is found by everybody of the workspace, and so is what came of it, until somebody has seen it.
        """
        root = holder.root
        if name is not None and not _NAME(name):
            raise BadRequest("job_name")
        job = Job(name, holder, self._events, is_long=is_long, wish=wish)
        with self._lock:
            if name is not None and ((root, name) in self._running or (root, name) in self._ended):
                raise BadRequest("job_taken", job=name)
            self._refuse_too_many(job)
            if self._stopped:
                raise Cancelled("stopping")
            self._all.add(job)
            if name is not None:
                self._running[root, name] = job
        self._tell_state(root, name, job, "begun")
        try:
            yield job
        except Exception as error:
            job.problem = of_any(error)
            raise
        finally:
            with self._lock:
                self._all.discard(job)
                if name is not None:
                    del self._running[root, name]
                    self._keep(root, name, job)
            self._tell_state(root, name, job, "ended")

    def _keep(self, root: Path, name: str, job: Job) -> None:
        if job.wish is None or not job.has_ended:
            return
        self._ended[root, name] = job
        of_root = [key for key in self._ended if key[0] == root]
        for key in of_root[:-_MOST_ENDED]:
            del self._ended[key]

    def _tell_state(self, root: Path, name: str | None, job: Job, state: str) -> None:
        if job.wish is not None:
            self._events.publish(root, "job", {"job": name, "state": state})

    @property
    def any_running(self) -> bool:
        """Whether something goes on."""
        return bool(self._all)

    def wished(self, root: Path) -> list[Job]:
        """Return the work of a workspace that goes on without its asker, and what of it has ended unseen."""
        with self._lock:
            both = (*self._ended.items(), *self._running.items())
        return [job for (where, _), job in both if where == root and job.wish is not None]

    def find(self, root: Path, name: str) -> Job:
        """Return such work by its name."""
        with self._lock:
            job = self._running.get((root, name)) or self._ended.get((root, name))
        if job is None or job.wish is None:
            raise JobNotFound(job=name)
        return job

    def _refuse_too_many(self, job: Job) -> None:
        own = [each for each in self._all if each.client == job.client]
        if job.is_long and sum(each.is_long for each in own) >= _MOST_LONG_OF_ONE:
            raise TooManyRequests("long_tasks", count=_MOST_LONG_OF_ONE)
        if len(own) >= _MOST_OF_ONE:
            raise TooManyRequests("tasks", count=_MOST_OF_ONE)
        if len(self._all) >= MOST_JOBS:
            raise CreationInProgress("crowded", count=MOST_JOBS)

    def cancel(self, root: Path, name: str) -> bool:
        """Ask a piece of work to stop where that leaves nothing behind; or forget it: it has ended, somebody saw how.

        Return whether it was asked to stop.
        """
        with self._lock:
            running, ended = self._running.get((root, name)), self._ended.pop((root, name), None)
        if running is not None:
            running.is_cancelled.set()
            return True
        if ended is None:
            raise JobNotFound(job=name)
        self._tell_state(root, name, ended, "forgotten")
        return False

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
