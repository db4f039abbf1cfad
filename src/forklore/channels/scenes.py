"""Messages, recaps and scene breaks: they live in the message lines, which are copied byte for byte."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from forklore.channels.cut import Channel, Cut, Earlier, ForkPoint, Parent
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.json_text import NotJson, parse

_MESSAGE_KEYS = ("auto_recap_memory", "auto_summarize_memory", "auto_recap")
_KEY_NEEDLE = b'"auto_'  # all of them begin so: one search for all
_LOOKED_THROUGH = 8 << 20
_LOOKED_BACK = 1 << 20
_SCENE_BREAK = b'"scene_break"'
MID_FLIGHT = b'"stage1_lorebook_metadata"'
"""What stands in a message while its recap is being made."""


def recap_data(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what ST-Auto-Recap keeps on a message, under its newest key; empty when there is nothing."""
    extra = message.get("extra")
    if isinstance(extra, dict):
        for key in _MESSAGE_KEYS:
            data = extra.get(key)
            if isinstance(data, dict):
                return data
    return {}


@dataclass(frozen=True, slots=True)
class Scene:
    """The end of a scene: what one message says about the scene it closes."""

    message: int
    data: Mapping[str, Any]

    @property
    def is_break(self) -> bool:
        """Whether this is a scene break that counts: set, and not explicitly hidden."""
        return self.data.get("scene_break") is True and self.data.get("scene_break_visible") is not False

    @property
    def name(self) -> str:
        """The scene's title, empty when it has none."""
        return _text(self.data.get("scene_break_name"))

    @property
    def recap(self) -> str:
        """The selected recap, empty when there is none or only blanks."""
        recap = _text(self.data.get("scene_recap_memory")) or _text(self.data.get("scene_break_recap"))
        return recap if recap.strip() else ""

    @property
    def recap_is_unfinished(self) -> bool:
        """Whether the recap stopped after an early stage of the pipeline."""
        if self.data.get("stage1_lorebook_metadata"):
            return True
        try:
            recap = parse(self.recap)
        except NotJson:
            return False  # plain text: the old, finished form
        return isinstance(recap, dict) and "stage1" in recap and not {"stage2", "stage3"} & set(recap)

    @property
    def version(self) -> Mapping[str, Any]:
        """What is known of the selected recap version."""
        versions = self.data.get("scene_recap_metadata")
        if not isinstance(versions, dict):
            return {}
        version = versions.get(str(self.data.get("scene_recap_current_index", 0)))
        return version if isinstance(version, dict) else {}

    @property
    def lorebook_is_done(self) -> bool:
        """Whether the lorebook work of this scene was finished."""
        return bool(self.version.get("totalActivatedEntries"))

    @property
    def snapshot(self) -> tuple[Mapping[str, Any], ...]:
        """The lorebook's entries as they were after this scene; empty when none were kept."""
        entries = self.version.get("allEntries")
        return tuple(entry for entry in entries if isinstance(entry, dict)) if isinstance(entries, list) else ()

    @property
    def snapshot_taken(self) -> float | None:
        """When the snapshot was taken, in milliseconds."""
        for key in ("combined_at", "timestamp"):
            taken = self.version.get(key)
            if isinstance(taken, int | float) and not isinstance(taken, bool):
                return taken
        return None


def scene_at(chat: Chat, message: int) -> Scene:
    """Return what the message says about the scene it may close."""
    return Scene(message, recap_data(chat.message(message)))


def scene_breaks(chat: Chat, *, upto: int) -> Iterator[Scene]:
    """Yield the visible scene breaks among the messages 0…*upto*."""
    for number in chat.messages_with(_SCENE_BREAK, upto=upto):
        scene = scene_at(chat, number)
        if scene.is_break:
            yield scene


def last_scene_break(chat: Chat, *, upto: int) -> Scene | None:
    """Return the last visible scene break among the messages 0…*upto*; a line that cannot be read is none."""
    while upto >= 0:
        since = chat.first_of_last(_LOOKED_BACK, upto=upto)
        for number in reversed(list(chat.messages_with(_SCENE_BREAK, since=since, upto=upto))):
            with suppress(ChatDamaged):
                if (scene := scene_at(chat, number)).is_break:
                    return scene
        upto = since - 1
    return None


class _Looked(NamedTuple):
    """What was found up to a message; where one cannot be read, nobody looked beyond it."""

    upto: int = -1
    found: tuple[int, ...] = ()
    damage: tuple[int, str] | None = None


def mid_flight(chat: Chat, *, upto: int) -> list[int]:
    """Return the messages whose recap pipeline has begun and not ended; each message is looked at once."""
    looked: _Looked = chat.answers.get("mid flight", _Looked())
    if upto > looked.upto and looked.damage is None:
        looked = chat.answers["mid flight"] = _look_on(chat, looked, upto)
    if looked.damage is not None and looked.damage[0] <= upto:
        raise ChatDamaged(looked.damage[1])
    return [number for number in looked.found if number <= upto]


def _look_on(chat: Chat, looked: _Looked, upto: int) -> _Looked:
    found = list(looked.found)
    for number in chat.messages_with(MID_FLIGHT, since=looked.upto + 1, upto=upto):
        try:
            if recap_data(chat.message(number)).get("stage1_lorebook_metadata"):
                found.append(number)
        except ChatDamaged as error:
            return _Looked(number, tuple(found), (number, str(error)))
    return _Looked(upto, tuple(found))


def has_recap_messages(chat: Chat) -> bool:
    """Whether messages carry data of ST-Auto-Recap.

    It marks every message it has worked through, so in a very long chat the later part tells.
    """
    if "has recap messages" not in chat.answers:
        since, last = chat.first_of_last(_LOOKED_THROUGH), chat.message_count - 1
        candidates = chat.messages_with(_KEY_NEEDLE, upto=last, since=since)
        chat.answers["has recap messages"] = any(recap_data(chat.message(number)) for number in candidates)
    answer: bool = chat.answers["has recap messages"]
    return answer


def snapshot_before(chat: Chat, upto: int) -> Scene | None:
    """Return the last visible scene break at or before *upto* whose lorebook snapshot can be trusted.

    A snapshot taken later than that of a later scene may hold the future (its scene was worked over again) and is
    passed over.
    """
    if "trusted snapshots" not in chat.answers:
        chat.answers["trusted snapshots"] = _trusted_snapshots(chat)
    numbers: list[int] = chat.answers["trusted snapshots"]
    place = bisect_right(numbers, upto)
    return scene_at(chat, numbers[place - 1]) if place else None


def _trusted_snapshots(chat: Chat) -> list[int]:
    trusted: list[int] = []
    earliest_later: float | None = None
    for scene in reversed([s for s in scene_breaks(chat, upto=chat.message_count - 1) if s.snapshot]):
        taken = scene.snapshot_taken
        if taken is None or earliest_later is None or taken <= earliest_later:
            trusted.append(scene.message)
        if taken is not None and (earliest_later is None or taken < earliest_later):
            earliest_later = taken
    return trusted[::-1]


def scene_start(chat: Chat, at: int) -> int:
    """Return the first message of the scene that *at* belongs to."""
    before = [scene.message for scene in scene_breaks(chat, upto=at - 1)]
    return before[-1] + 1 if before else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cut(parent: Parent, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    scene = scene_at(parent.chat, point.at) if point.derived_upto == point.at else Scene(point.at, {})
    return Cut(
        value=scene,
        record={
            "has_scene_break": scene.is_break,
            "has_scene_recap": bool(scene.recap),
            "scene_break_name": scene.name or None,
            "scene_recap": scene.recap or None,
        },
    )


CHANNEL = Channel("scenes", frozenset(), _cut)
