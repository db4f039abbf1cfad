"""Messages: a window of a chat, and whether a fork may be made at each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.app.show import SceneShown
from forklore.app.views.looking import ReadinessOfTimeline, looking, readiness
from forklore.channels.running_recap import read_running_recap
from forklore.channels.scenes import Scene, recap_data
from forklore.checks.scenes import missing_at_scene
from forklore.disk.gather import OpenTimeline
from forklore.errors import BadRequest
from forklore.formats.chat_facts import links_in_message
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.model.address import ChatAddress
from forklore.model.names import comparable
from forklore.model.timeline import Link

MOST = 200
"""How many messages are shown at once at most."""


@dataclass(frozen=True, slots=True)
class MessageShown:
    """One message, and whether a fork may be made there."""

    number: int
    codes: tuple[str, ...]
    """What blocks a fork here."""
    name: str = ""
    is_user: bool = False
    hidden: bool = True
    """The model does not see it; SillyTavern drops a line that cannot be read."""
    text: str = ""
    sent: str | float | None = None
    swipes: int = 1
    swipe: int = 0
    scene: SceneShown | None = None
    links: tuple[tuple[str, str], ...] = ()
    """The kind and the address of each fork that left here."""
    damaged: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the message as the page gets it."""
        scene = self.scene
        return {
            "number": self.number,
            "name": self.name,
            "is_user": self.is_user,
            "hidden": self.hidden,
            "text": self.text,
            "sent": self.sent,
            "swipes": self.swipes,
            "swipe": self.swipe,
            "scene": scene and {"name": scene.name, "ready": not scene.codes, "codes": list(scene.codes)},
            "fork": {"ready": not self.codes, "codes": list(self.codes)},
            "links": [{"kind": kind, "chat": chat} for kind, chat in self.links],
            "damaged": self.damaged,
        }


@dataclass(frozen=True, slots=True)
class MessagesShown:
    """A window of a chat."""

    chat: str
    total: int
    start: int
    messages: tuple[MessageShown, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the window as the page gets it."""
        return {
            "chat": self.chat,
            "total": self.total,
            "start": self.start,
            "messages": [message.to_json() for message in self.messages],
        }


def show_messages(address: ChatAddress, context: Context, *, start: int, count: int) -> MessagesShown:
    """Return *count* messages from *start* on; only their lines are parsed."""
    if not 1 <= count <= MOST:
        raise BadRequest("messages_at_once", count=count, most=MOST)
    with looking(address, context) as timeline:
        total = timeline.chat.message_count
        if not 0 <= start <= total:
            raise BadRequest("no_message", at=start, count=total)
        window = _Window(timeline, context)
        # Backwards: what one message asks of all before it answers for the earlier ones too.
        shown = [window.message(number) for number in reversed(range(start, min(total, start + count)))]
        return MessagesShown(str(address), total, start, tuple(reversed(shown)))


class _Window:
    """What the messages of one window have in common."""

    def __init__(self, timeline: OpenTimeline, context: Context) -> None:
        self._timeline = timeline
        self._context = context
        self._timeliney: ReadinessOfTimeline = readiness(timeline, context)
        self._running = read_running_recap(timeline.metadata)
        self._beside: frozenset[str] | None = None

    def message(self, number: int) -> MessageShown:
        try:
            message = self._timeline.chat.message(number)
        except ChatDamaged:
            return MessageShown(number, self._timeliney.codes_at(number), damaged=True)
        swipes, swipe, sent = message.get("swipes"), message.get("swipe_id"), message.get("send_date")
        many = max(1, len(swipes)) if isinstance(swipes, list) else 1
        scene = Scene(number, recap_data(message))
        return MessageShown(
            number,
            self._timeliney.codes_at(number, message),
            name=_text(message.get("name")),
            is_user=message.get("is_user") is True,
            hidden=message.get("is_system") is True,
            text=_text(message.get("mes")),
            sent=sent if isinstance(sent, str | int | float) and not isinstance(sent, bool) else None,
            swipes=many,
            swipe=swipe if isinstance(swipe, int) and 0 <= swipe < many else 0,
            scene=SceneShown(number, scene.name, missing_at_scene(self._timeline, scene, self._running))
            if scene.is_break
            else None,
            links=tuple(self._links(links_in_message(message, number))),
        )

    def _scene(self, scene: Scene) -> SceneShown:
        return SceneShown(scene.message, scene.name, missing_at_scene(self._timeline, scene, self._running))

    def _links(self, links: Iterator[Link]) -> Iterator[tuple[str, str]]:
        """Yield the links that lead somewhere; ``verify`` tells of the others."""
        for link in links:
            if self._beside is None:
                self._beside = self._context.workspace.names_beside(self._timeline.address)
            if comparable(link.chat) in self._beside:
                yield link.kind, str(self._timeline.address.sibling(link.chat))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
