"""Server-sent events: what happens in a workspace, told to everybody who listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from forklore.formats.json_text import encode

_BACKLOG = 500  # events a listener may be behind; one that is slower hears that it must look anew
_HEARTBEAT_SECONDS = 20.0

Event = tuple[str, dict[str, Any]]


class Events:
    """Hands every event of a workspace to its listeners; threads may publish."""

    def __init__(self) -> None:
        """Begin with nobody listening."""
        self._listeners: dict[Path, set[asyncio.Queue[Event | None]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopped = False
        self.on_first: Callable[[Path], None] = lambda _root: None
        """Called when somebody begins to listen to a workspace to which nobody did."""
        self.on_last: Callable[[Path], None] = lambda _root: None
        """Called when the last one has gone."""

    def publish(self, root: Path, name: str, data: dict[str, Any]) -> None:
        """Tell everybody who listens to the workspace."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hand_out, root, (name, data))

    def _hand_out(self, root: Path, event: Event) -> None:
        for queue in self._listeners.get(root, ()):
            if queue.qsize() < _BACKLOG:
                queue.put_nowait(event)
            elif queue.qsize() == _BACKLOG:
                queue.put_nowait(("changed", {"chats": [], "books": [], "everything": True}))

    async def listen(self, root: Path, *first: Event) -> AsyncIterator[str]:
        """Yield the events of a workspace as they are written on the wire, until the service stops."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        listeners = self._listeners.setdefault(root, set())
        listeners.add(queue)
        if len(listeners) == 1:
            self.on_first(root)
        try:
            for name, data in first:
                yield on_the_wire(name, data)
            while not self.stopped:
                try:
                    event = await asyncio.wait_for(queue.get(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"  # so that a listener who has gone is noticed
                    continue
                if event is None:
                    break
                yield on_the_wire(*event)
            yield on_the_wire("bye", {})
        finally:
            listeners.discard(queue)
            if not listeners:
                self.on_last(root)

    def listened_to(self, root: Path) -> bool:
        """Whether anybody listens to the workspace."""
        return bool(self._listeners.get(root))

    @property
    def anybody(self) -> bool:
        """Whether anybody listens to anything."""
        return any(self._listeners.values())

    def stop(self) -> None:
        """Let every stream end."""
        self.stopped = True
        for listeners in self._listeners.values():
            for queue in listeners:
                queue.put_nowait(None)


def on_the_wire(name: str, data: dict[str, Any]) -> str:
    """Return one event; JSON has no line breaks, so that one line of data is enough.

    What only JavaScript takes for a line break, and JSON leaves as it is, is escaped.
    """
    text = encode(data).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"event: {name}\ndata: {text}\n\n"
