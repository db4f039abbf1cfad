"""Connections: who is slow to ask or to read, or holds too many of them, makes room for others.

A connection is *half-open* until a whole request has come, again between two requests, and while more of an answer is
waiting than the client reads. Its request must come within ten seconds, however slowly it trickles in, and what waits
must be read within thirty. When there are too many connections, of one client or in all, the oldest half-open one is
closed in favour of the new one; connections that are being answered stay.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from forklore.web.addresses import client_at

HEADER_SECONDS = 10.0
READING_SECONDS = 30.0
BACKLOG = 32
"""So many connections are accepted at a time, before any of them is looked at."""
_MOST, _FEWEST = 256, 16
_SHARE_OF_ONE = 2 / 3
_OTHER_FILES = 64 + 3 * BACKLOG
"""Files that are open besides: those of the stories, and connections that are not looked at yet or being closed."""


@cache
def most_connections() -> int:
    """Return how many connections fit into the files that this process may open."""
    if sys.platform == "win32":
        return _MOST
    import resource  # noqa: PLC0415  # Windows has none

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed == resource.RLIM_INFINITY:
        return _MOST
    return min(_MOST, max(_FEWEST, allowed - _OTHER_FILES))


class Connection(H11Protocol):
    """One connection of uvicorn's, with an end to its patience."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Begin; nobody has connected yet."""
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self.since = 0.0
        self.whose = ""
        """The client at the other end."""

    @property
    def is_half_open(self) -> bool:
        """Whether no whole request has come that is being answered, or the answer is not read."""
        return self._is_unread or self._is_waiting or self.cycle.more_body

    @property
    def _is_unread(self) -> bool:
        """Whether so much of an answer is waiting to be read that no more of it is written."""
        return self.flow.write_paused

    @property
    def _is_waiting(self) -> bool:
        """Whether the headers of a request are still to come."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever uvicorn's types say
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        """Begin to wait for a request, and make room if there are too many connections."""
        super().connection_made(transport)
        # asyncio does so only for sockets that it made itself; an answer's second piece would wait 40 ms for the first.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.whose = client_at(self.client[0] if self.client else "")
        self._watch()
        everybody = [each for each in self.connections if isinstance(each, Connection)]
        _make_room((each for each in everybody if each.whose == self.whose), _SHARE_OF_ONE)
        _make_room(everybody)

    def data_received(self, data: bytes) -> None:
        """Take what has come; bytes alone buy no more time."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Begin to wait until the client reads; the next request has time until then."""
        super().pause_writing()
        self._forget_deadline()
        self._watch()

    def resume_writing(self) -> None:
        """Go on, as the client has read."""
        super().resume_writing()
        self._forget_deadline()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._forget_deadline()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP; where an answer has begun already, there is nothing more to say."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def give_way(self) -> None:
        """Close at once; what is still being sent is lost."""
        self.connections.discard(self)
        self.transport.abort()

    def _watch(self) -> None:
        if not (self._is_unread or self._is_waiting):
            self._forget_deadline()
        elif self._deadline is None:
            self.since = self.loop.time()
            seconds = READING_SECONDS if self._is_unread else HEADER_SECONDS
            # It is not enough to close: that would first send what nobody reads.
            self._deadline = self.loop.call_later(seconds, self.give_way)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _make_room(among: Iterable[Connection], share: float = 1) -> None:
    """Let the oldest half-open connection give way if there are too many; there is one, the newest."""
    crowd = list(among)
    if len(crowd) > most_connections() * share:
        min((each for each in crowd if each.is_half_open), key=lambda each: each.since).give_way()
