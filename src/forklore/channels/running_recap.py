"""The running recap: numbered versions, each covering the story up to a scene break."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from forklore.channels.cut import Channel, Earlier
from forklore.formats.json_text import encode
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut, ForkPoint
from forklore.model.plan import Put

KEY = "auto_recap_running_scene_recaps"
_KNOWN = {"chat_id", "current_version", "versions"}


class RunningRecap(NamedTuple):
    """The running recap of a timeline; version numbers are names, not places in the list."""

    versions: tuple[Mapping[str, Any], ...] = ()
    current_version: int | None = None
    chat_id: str | None = None

    @property
    def current(self) -> Mapping[str, Any] | None:
        """The current version, found by its number."""
        for version in self.versions:
            if version.get("version") == self.current_version and self.current_version is not None:
                return version
        return None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all versions."""
        return tuple(v["version"] for v in self.versions if isinstance(v.get("version"), int))


def read_running_recap(metadata: Mapping[str, Any]) -> RunningRecap:
    """Return the running recap in *metadata*; empty when there is none or it is of an unknown shape."""
    stored = metadata.get(KEY)
    if not isinstance(stored, dict):
        return RunningRecap()
    versions = stored.get("versions")
    current, chat_id = stored.get("current_version"), stored.get("chat_id")
    return RunningRecap(
        tuple(v for v in versions if isinstance(v, dict)) if isinstance(versions, list) else (),
        current if isinstance(current, int) else None,
        chat_id if isinstance(chat_id, str) else None,
    )


def is_inside(version: object, upto: int) -> bool:
    """Whether everything a version was made from lies within the messages 0…*upto*; unknown counts as outside."""
    index = version.get("new_scene_index") if isinstance(version, dict) else None
    return isinstance(index, int) and index <= upto


def _cut(parent: TimelineState, point: ForkPoint, earlier: Earlier) -> Cut:
    del earlier
    return cut_versions(parent, point, lambda version: is_inside(version, point.derived_upto))


def cut_versions(parent: TimelineState, point: ForkPoint, belongs: Callable[[object], bool]) -> Cut:
    """Give the running recap the fork's name and, in the past, only the versions that belong there."""
    stored = parent.metadata.get(KEY)
    recap = read_running_recap(parent.metadata)
    edits = []
    if isinstance(stored, dict):
        edits.append(Put((KEY, "chat_id"), encode(point.chat_name)))
        if not point.is_head and isinstance(stored.get("versions"), list):
            recap, kept = _kept_versions(parent, stored["versions"], belongs, recap.current_version)
            edits += kept
    carried = (KEY,) if not point.is_head and not _is_understood(stored) else ()
    return Cut(value=recap, edits=tuple(edits), carried=carried, record=_record(recap))


def own_versions(parent: TimelineState, name: str, last: int) -> tuple[Put, ...]:
    """Return the edits that let the chat *name* own its running recap, without what lies beyond its *last* message."""
    recap = read_running_recap(parent.metadata)
    versions = parent.metadata[KEY]["versions"]
    kept = _kept_versions(parent, versions, lambda version: not is_beyond(version, last), recap.current_version)[1]
    return (Put((KEY, "chat_id"), encode(name)), *kept)


def is_beyond(version: object, last: int) -> bool:
    """Whether a version tells of messages after the *last* one; unknown counts as not."""
    index = version.get("new_scene_index") if isinstance(version, dict) else None
    return isinstance(index, int) and index > last


def _kept_versions(
    parent: TimelineState, versions: list[Any], belongs: Callable[[object], bool], current: int | None
) -> tuple[RunningRecap, list[Put]]:
    """Return the running recap with only the versions that belong there, and the edits that make it so."""
    texts = parent.item_texts((KEY, "versions"))
    inside = [belongs(version) for version in versions]
    recap = _select(tuple(v for v, keep in zip(versions, inside, strict=True) if keep), current)
    edits = [Put((KEY, "current_version"), encode(recap.current_version or 0))]
    if not all(inside):
        kept_texts = (text for text, keep in zip(texts, inside, strict=True) if keep)
        edits.append(Put((KEY, "versions"), f"[{','.join(kept_texts)}]"))
    return recap, edits


def _is_understood(stored: object) -> bool:
    if not isinstance(stored, dict):
        return stored is None
    return set(stored) <= _KNOWN and isinstance(stored.get("versions", []), list)


def upto(recap: RunningRecap, message: int) -> RunningRecap:
    """Return the running recap as it was at a message."""
    return _select(tuple(v for v in recap.versions if is_inside(v, message)), recap.current_version)


def _select(versions: tuple[Mapping[str, Any], ...], current: int | None) -> RunningRecap:
    """Return the kept versions with the current one if it is among them, else the highest; numbers never change."""
    kept = RunningRecap(versions, current)
    if kept.current is None:
        kept = RunningRecap(versions, max(kept.numbers, default=None))
    return kept


def _record(recap: RunningRecap) -> dict[str, Any]:
    current = recap.current
    return {
        "has_running_recap": current is not None,
        "running_recap_version": recap.current_version if current is not None else None,
        "running_recap_content": current.get("content") if current is not None else None,
        "running_recap_scene_count": (current.get("scene_count") or 0) if current is not None else 0,
        "running_recap_versions": list(recap.versions),
    }


CHANNEL = Channel("running_recap", frozenset({KEY}), _cut)
