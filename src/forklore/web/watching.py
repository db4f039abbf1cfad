"""What changes on the disk, while somebody listens: debounced, and told as chats and lorebooks.

Where the file system tells of changes we are woken; where it does not (network disks, some phones) we look every few
seconds. While nobody listens nothing is watched, so that an idle service does nothing at all.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.app.open import user_state
from forklore.disk.places import Places
from forklore.disk.system import is_link
from forklore.disk.workspace import Workspace
from forklore.model.stored import FOLDER

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

    from forklore.web.service import Service

_FOLDERS = ("chats", "group chats", "groups", "worlds", f"{FOLDER}/operations")
_QUIET_SECONDS = 0.3
_LONGEST_SECONDS = 2.0
_LOOK_SECONDS = 3.0
_MOST_NAMED, _MOST_VERIFIED = 50, 8
_CHANGES = {"created", "modified", "moved", "deleted"}
_SILENT_DISKS = {
    "9p",
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "drvfs",
    "fuse",
    "fuseblk",
    "sshfs",
    "vboxsf",
    "virtiofs",
}

_log = logging.getLogger("forklore.web")


class Watching:
    """Watches the workspaces that somebody listens to."""

    def __init__(self, service: Service, *, poll: bool = False) -> None:
        """Tell what is seen through *service*; with *poll*, look every few seconds everywhere."""
        self._service = service
        self._poll = poll
        self._observers: dict[Path, BaseObserver] = {}
        self._news: dict[Path, _News] = {}
        self._lock = threading.Lock()
        service.events.on_first = self.begin
        service.events.on_last = self.end

    def begin(self, root: Path) -> None:
        """Watch a workspace."""
        loop = asyncio.get_running_loop()
        self._news[root] = news = _News(loop, lambda paths: self._tell(root, paths))
        threading.Thread(target=self._observe, args=(root, news), daemon=True).start()  # a large folder takes a while

    def _observe(self, root: Path, news: _News) -> None:
        places = Places(root, user_state)
        folders = [root / name for name in _FOLDERS if _is_followed(places, name) and (root / name).is_dir()]
        for polling in (False, True):
            # The system tells nothing of what is behind a link.
            if not polling and (self._poll or tells_nothing(root) or any(map(is_link, folders))):
                continue
            observer = _observer(polling=polling)
            try:
                for folder in folders:
                    observer.schedule(news, str(folder), recursive=True)  # type: ignore[arg-type]  # it calls dispatch
                observer.start()
            except OSError as error:  # as many folders as the system watches are watched already
                observer.unschedule_all()
                _log.info("changes are looked for every %s seconds (%s)", _LOOK_SECONDS, error)
                continue
            with self._lock:
                wanted = self._news.get(root) is news
                if wanted:
                    self._observers[root] = observer
            if not wanted:
                observer.stop()  # the last listener has gone meanwhile
            return

    def end(self, root: Path) -> None:
        """Watch it no more."""
        with self._lock:
            self._news.pop(root, None)
            observer = self._observers.pop(root, None)
        if observer is not None:
            threading.Thread(target=observer.stop, daemon=True).start()

    async def _tell(self, root: Path, paths: set[str]) -> None:
        if not self._service.events.listened_to(root):
            return
        places = {Path(path).relative_to(root).as_posix() for path in paths}
        told = await asyncio.to_thread(_named, root, places)
        await asyncio.to_thread(self._service.tell_new_operations, root)  # their folder may be newer than we
        if told["chats"] or told["books"] or told["everything"]:
            self._service.events.publish(root, "changed", told)
        for chat in told["chats"][:_MOST_VERIFIED]:
            try:
                await self._service.verify_again(root, chat)
            except Exception as error:  # noqa: BLE001  # it may be gone again, or half written: whoever opens it is told
                _log.debug("%s could not be verified: %s", chat, error)


class _News:
    """Gathers what changed until it has been quiet for a moment."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: Callable[[set[str]], Any]) -> None:
        self._loop = loop
        self._tell = tell
        self._paths: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._telling: set[asyncio.Task[None]] = set()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Take note of a change; called by the observer's thread."""
        if event.event_type in _CHANGES and not event.is_directory:
            paths = {os.fsdecode(path) for path in (event.src_path, event.dest_path) if path}
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._gather, paths)

    def _gather(self, paths: set[str]) -> None:
        now = self._loop.time()
        if not self._paths:
            self._since = now
        self._paths |= paths
        if self._timer is not None:
            self._timer.cancel()
        due = min(now + _QUIET_SECONDS, self._since + _LONGEST_SECONDS)
        self._timer = self._loop.call_at(due, self._settle)

    def _settle(self) -> None:
        paths, self._paths, self._timer = self._paths, set(), None
        task = self._loop.create_task(self._tell(paths))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def _is_followed(places: Places, folder: str) -> bool:
    """Whether no part of the way to a folder is a link that nobody allowed."""
    parts = folder.split("/")
    return not any(places.leads_out("/".join(parts[: depth + 1])) for depth in range(len(parts)))


def _named(root: Path, places: set[str]) -> dict[str, Any]:
    """Return which chats and lorebooks the files at *places* are."""
    if len(places) > _MOST_NAMED:
        return {"chats": [], "books": [], "everything": True}
    chats = sorted(map(str, Workspace(root, state=user_state).chats_at(places)))
    rests = (rest for top, _, rest in (place.partition("/") for place in places) if top == "worlds")
    books = sorted(rest.removesuffix(".json") for rest in rests if rest.endswith(".json") and "/" not in rest)
    return {"chats": chats, "books": books, "everything": any(place.startswith("groups/") for place in places)}


def _observer(*, polling: bool) -> BaseObserver:
    if polling:
        from watchdog.observers.polling import PollingObserverVFS

        # By lstat, so that it walks into no link: one may lead anywhere, or round in a circle.
        return PollingObserverVFS(os.lstat, os.scandir, polling_interval=_LOOK_SECONDS)
    from watchdog.observers import Observer

    return Observer(timeout=3600)  # woken by the system; the time is only how long it may sleep


def tells_nothing(root: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether the file system is one that does not tell of changes made elsewhere."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    place = str(root.resolve())
    best, kind = "", ""
    for line in lines:
        parts = line.split(" ")
        point = parts[1].replace("\\040", " ") if len(parts) > 2 else ""
        if len(point) >= len(best) and (place == point or place.startswith(point.rstrip("/") + "/")):
            best, kind = point, parts[2]
    return kind in _SILENT_DISKS or kind.startswith("fuse.")
