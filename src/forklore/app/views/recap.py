"""The recap: what the story says of itself at a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.app.views.looking import looking
from forklore.channels.combined_recap import is_inside, read_combined_recap
from forklore.channels.running_recap import read_running_recap, upto
from forklore.channels.scenes import last_scene_break
from forklore.errors import BadRequest
from forklore.formats.chat_jsonl import Chat
from forklore.model.address import ChatAddress


@dataclass(frozen=True, slots=True)
class RecapShown:
    """The recaps at a message, as a fork there would have them."""

    chat: str
    at: int
    running: dict[str, Any] | None
    combined: str | None
    scene: dict[str, Any] | None
    """The last scene that has ended by then."""

    def to_json(self) -> dict[str, Any]:
        """Return the recaps as the page gets them."""
        return {name: getattr(self, name) for name in self.__slots__}


def show_recap(address: ChatAddress, context: Context, *, at: int) -> RecapShown:
    """Return what the running recap, the combined recap and the last scene say at a message."""
    with looking(address, context) as timeline:
        timeline.needs_header()
        chat = timeline.chat
        if not chat.has(at):
            raise BadRequest("no_message", at=at, count=chat.message_count)
        return RecapShown(str(address), at, _running(chat, at), _combined(chat, at), _scene(chat, at))


def _running(chat: Chat, at: int) -> dict[str, Any] | None:
    running = read_running_recap(chat.metadata)
    current = (running if at == chat.last else upto(running, at)).current
    if current is None:
        return None
    return {
        "version": current.get("version"),
        "scenes": current.get("scene_count") or 0,
        "text": _text(current.get("content")),
    }


def _combined(chat: Chat, at: int) -> str | None:
    recap = read_combined_recap(chat.metadata)
    if not isinstance(recap, dict) or not (at == chat.last or is_inside(recap, at)):
        return None
    return _text(recap.get("content")) or None


def _scene(chat: Chat, at: int) -> dict[str, Any] | None:
    scene = last_scene_break(chat, upto=at)
    return None if scene is None else {"message": scene.message, "name": scene.name, "text": scene.recap}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
