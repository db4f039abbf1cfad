"""What all routes have in common: a workspace for each request, work in threads, news for those who listen."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter, to_thread

from forklore.app.open import open_workspace
from forklore.app.progress import Progress, Silent
from forklore.web.access import Holder, LoginNeeded, OwnPageNeeded
from forklore.web.events import Events
from forklore.web.jobs import MOST_JOBS, Job, Jobs, Together, Wish
from forklore.web.problems import Json

if TYPE_CHECKING:
    from litestar import Request

    from forklore.app.forklore import Forklore, Result

JOB_HEADER = "x-forklore-job"
_ASKED_TOGETHER_SECONDS = 0.1
_READERS = 12
_MOST_VERIFIED = 1000  # answers that are kept to tell whether the next one is another

T = TypeVar("T")


class Service:
    """The application of every workspace, as requests reach it."""

    def __init__(self) -> None:
        """Begin with nothing going on."""
        self.events = Events()
        self.jobs = Jobs(self.events)
        self.open_chats: dict[Path, str | None] = {}
        """The chat that is open in SillyTavern, as the extension tells."""
        self._verifications: Together[dict[str, Any]] = Together(_ASKED_TOGETHER_SECONDS)
        self._verified: dict[tuple[Path, str], dict[str, Any]] = {}
        self._asked = time.monotonic()
        self._known: dict[Path, frozenset[str]] = {}
        self._known_lock = threading.Lock()
        self._readers: CapacityLimiter | None = None
        self._writers: CapacityLimiter | None = None

    def idle_seconds(self) -> float:
        """Return for how long nobody has asked or listened, and nothing went on."""
        return 0.0 if self.events.anybody or self.jobs.any_running else time.monotonic() - self._asked

    # --- requests -------------------------------------------------------------------------------------------------

    async def look(
        self, request: Request[Any, Any, Any], act: Callable[[Forklore], Result], *, is_long: bool = False
    ) -> Json:
        """Answer with what *act* returns; it changes nothing."""
        holder, name = self._holder(request), request.headers.get(JOB_HEADER)
        if is_long or name is not None:
            return Json(await self._as_job(request, holder, name, act, is_long=is_long))
        return Json(await self._in_reader(lambda: act(_opened(holder.root)).to_json()))

    async def change(
        self,
        request: Request[Any, Any, Any],
        act: Callable[[Forklore], Result],
        *,
        is_long: bool = False,
        wish: Wish | None = None,
    ) -> Json:
        """Answer with what *act* returns, and tell everybody what it did; with a *wish* it goes on without its asker.

        Not so if the request has no name: nobody could find it again, or stop it.
        """
        holder, name = self._holder(request), request.headers.get(JOB_HEADER)
        wish = None if name is None else wish
        return Json(await self._as_job(request, holder, name, act, is_long=is_long, wish=wish, tell=True))

    def _holder(self, request: Request[Any, Any, Any]) -> Holder:
        self._asked = time.monotonic()
        return holder_of(request)

    async def _as_job(
        self,
        request: Request[Any, Any, Any],
        holder: Holder,
        name: str | None,
        act: Callable[[Forklore], Result],
        *,
        is_long: bool,
        wish: Wish | None = None,
        tell: bool = False,
    ) -> dict[str, Any]:
        """Do it in a thread, where it can be followed and cancelled.

        Whoever goes away does not want it any more, but for a *wish*, which is found again.
        """
        root = holder.root

        def work() -> dict[str, Any]:
            forklore = _opened(root, job, name)
            if tell:
                self.tell_operations(root, forklore, first=True)
            try:
                return act(forklore).to_json()
            finally:
                if tell:
                    self.tell_operations(root, forklore)

        with self.jobs.begin(holder, name, is_long=is_long, wish=wish) as job:
            leaving = None if wish else asyncio.create_task(_cancel_when_gone(request, job))
            try:
                job.answer = await self._in_writer(work)
            finally:
                if leaving is not None:
                    leaving.cancel()
        return job.answer

    async def verify(self, root: Path, chat: str) -> dict[str, Any]:
        """Verify a chat, once for all who ask within a moment."""
        told = await self._verifications.ask((root, chat), lambda: self._in_reader(lambda: _verify(root, chat)))
        self._verified[root, told["chat"]] = told
        while len(self._verified) > _MOST_VERIFIED:
            del self._verified[next(iter(self._verified))]
        return told

    async def verify_again(self, root: Path, chat: str) -> None:
        """Verify a chat that changed on the disk, and tell if the answer is another one."""
        before = self._verified.get((root, chat), {"findings": []})
        told = await self.verify(root, chat)
        if told["findings"] != before["findings"]:
            self.events.publish(root, "findings", {key: told[key] for key in ("chat", "ok", "findings")})

    # --- news -----------------------------------------------------------------------------------------------------

    def tell_operations(self, root: Path, forklore: Forklore, *, first: bool = False) -> None:
        """Tell of the operations that nobody was told of yet; what was there at *first* is no news."""
        with self._known_lock:
            known = self._known.get(root)
            if first and known is not None:
                return
            self._known[root], new = forklore.new_operations(known)
        for news in new:
            self.events.publish(root, "operation", news.to_json())

    def tell_new_operations(self, root: Path) -> None:
        """Tell of what somebody else did in the workspace."""
        self.tell_operations(root, _opened(root), first=root not in self._known)

    def stop(self) -> None:
        """End what waits, finish what is being written, and let every stream end."""
        self.jobs.stop()
        self.events.stop()

    # --- threads --------------------------------------------------------------------------------------------------

    async def _in_reader(self, work: Callable[[], T]) -> T:
        self._readers = self._readers or CapacityLimiter(_READERS)
        return await to_thread.run_sync(work, limiter=self._readers)

    async def _in_writer(self, work: Callable[[], T]) -> T:
        self._writers = self._writers or CapacityLimiter(MOST_JOBS)
        return await to_thread.run_sync(work, limiter=self._writers)


def holder_of(request: Request[Any, Any, Any]) -> Holder:
    """Return who asks."""
    holder: Holder | None = request.scope["state"]["holder"]  # set by the doors
    if holder is None:
        raise LoginNeeded
    return holder


def only_on_own_page(request: Request[Any, Any, Any], *, repair: str) -> None:
    """Raise ``OwnPageNeeded`` when SillyTavern's page asks."""
    if request.scope["state"]["by_token"]:  # set by the doors
        raise OwnPageNeeded(repair=repair)


def root_of(request: Request[Any, Any, Any]) -> Path:
    """Return the workspace that the request's key opens."""
    return holder_of(request).root


async def _cancel_when_gone(request: Request[Any, Any, Any], job: Job) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    job.is_cancelled.set()


def _opened(root: Path, progress: Progress | None = None, request: str | None = None) -> Forklore:
    """Open a workspace; who asks by an address means that chat and no other, also when it is gone."""
    return open_workspace(root, progress=progress or Silent(), exact_addresses=True, request=request)


def _verify(root: Path, chat: str) -> dict[str, Any]:
    return _opened(root).verify(chat).to_json()
