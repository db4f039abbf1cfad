"""Messages, recaps and scene breaks: they live in the message lines, which are copied byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from forklore.channels.cut import Channel, Earlier
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.json_text import NotJson, parse
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.fact import Fact

_MESSAGE_KEYS = ("auto_recap_memory", "auto_summarize_memory", "auto_recap")
_KEY_NEEDLE = b'"auto_'  # all of them begin so: one search for all
_LOOKED_THROUGH = 8 << 20
_LOOKED_BACK = 1 << 20
_SCENE_BREAK = b'"scene_break"'
_VERSIONS = b'"scene_recap_metadata"'
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


class Scene(NamedTuple):
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
        return _time_of(self.version)

    @property
    def times(self) -> tuple[float, ...]:
        """When each version of the recap was made, as far as it says so."""
        versions = self.data.get("scene_recap_metadata")
        known = versions.values() if isinstance(versions, dict) else ()
        return tuple(time for each in known if isinstance(each, dict) and (time := _time_of(each)) is not None)


def _time_of(version: Mapping[str, Any]) -> float | None:
    for key in ("combined_at", "timestamp"):
        time = version.get(key)
        if isinstance(time, int | float) and not isinstance(time, bool):
            return time
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


def names_recaps(metadata: Mapping[str, Any]) -> bool:
    """Whether a chat's metadata has data of ST-Auto-Recap; keys that Forklore writes do not count."""
    space = metadata.get("auto_recap")
    others = set(space) - {"checkpoint_lorebook_map"} if isinstance(space, dict) else set()
    return bool(others) or any(metadata.get(key) for key in _RECAP_KEYS)


_RECAP_KEYS = ("auto_recap_running_scene_recaps", "auto_lorebooks", "autoLorebooks", "auto_lorebooks_processed_recaps")


def unfinished_recaps(chat: Chat) -> list[tuple[int, Fact | None]]:
    """Return the messages whose recap pipeline has begun and not ended, and those that cannot be read, with why."""
    found: list[tuple[int, Fact | None]] = []
    for number in chat.messages_with(MID_FLIGHT, upto=chat.message_count - 1):
        try:
            if recap_data(chat.message(number)).get("stage1_lorebook_metadata"):
                found.append((number, None))
        except ChatDamaged as error:
            found.append((number, error.fact))
    return found


def has_recap_messages(chat: Chat) -> bool:
    """Whether messages carry data of ST-Auto-Recap.

    It marks every message it has worked through, so in a very long chat the later part tells.
    """
    since, last = chat.first_of_last(_LOOKED_THROUGH), chat.message_count - 1
    return any(recap_data(chat.message(number)) for number in chat.messages_with(_KEY_NEEDLE, upto=last, since=since))


def trusted_snapshots(chat: Chat) -> list[int]:
    """Return the messages that close a visible scene whose snapshot of the lorebook cannot hold the future."""
    return trusted_among(_scenes_with_versions(chat))


def trusted_among(scenes: Iterable[Scene], *, earliest_later: float | None = None) -> list[int]:
    """Return the messages of those *scenes* whose snapshot was taken no later than any version of a later scene.

    So one whose scene was worked over again is passed over, and one without a time. Versions count that are not the
    current one, and so do scenes that are hidden or left no snapshot. *earliest_later* is when the first version was
    made of the scenes that follow elsewhere.
    """
    trusted: list[int] = []
    for scene in sorted(scenes, key=lambda each: each.message, reverse=True):
        taken = scene.snapshot_taken
        in_time = taken is not None and (earliest_later is None or taken <= earliest_later)
        if in_time and scene.is_break and scene.snapshot:
            trusted.append(scene.message)
        times = [*scene.times, *([earliest_later] if earliest_later is not None else [])]
        earliest_later = min(times, default=None)
    return trusted[::-1]


def _scenes_with_versions(chat: Chat) -> Iterator[Scene]:
    """Yield every scene that was ever worked on, be it hidden by now."""
    for number in chat.messages_with(_SCENE_BREAK, _VERSIONS, upto=chat.message_count - 1):
        yield scene_at(chat, number)


def scene_start(chat: Chat, at: int) -> int:
    """Return the first message of the scene that *at* belongs to."""
    before = [scene.message for scene in scene_breaks(chat, upto=at - 1)]
    return before[-1] + 1 if before else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
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
