"""Looking at stories and timelines: which there are, where each stands, what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forklore.app.context import ChatMeant, Context
from forklore.channels.running_recap import read_running_recap
from forklore.channels.scenes import scene_breaks
from forklore.checks.scenes import missing_at_scene
from forklore.disk.gather import OpenTimeline, open_timeline
from forklore.disk.workspace import ChatAmbiguous, ChatNotFound, ChatUnreadable
from forklore.formats.chat_jsonl import ChatDamaged
from forklore.formats.record import RECORD_KEY
from forklore.gathered.timeline import MISSING
from forklore.model.address import ChatAddress
from forklore.model.timeline import Story, Timeline


@dataclass(frozen=True, slots=True)
class Stories:
    """Every story of a workspace."""

    stories: tuple[Story, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the stories as the contract shows them."""
        return {"stories": [story.to_json() for story in self.stories]}


@dataclass(frozen=True, slots=True)
class SceneShown:
    """One scene break of a timeline, and whether everything is ready for a fork there."""

    message: int
    name: str
    codes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the scene break as ``show`` shows it."""
        return {"message": self.message, "name": self.name, "ready": not self.codes, "codes": list(self.codes)}


@dataclass(frozen=True, slots=True)
class TimelineShown:
    """One timeline in detail."""

    chat: str
    kind: str
    parent: str | None
    at: int | None
    messages: int
    lorebook: str | None
    entries: int | None
    isolated: bool
    record: str
    running_current: int | None
    running_versions: tuple[dict[str, Any], ...]
    scenes: tuple[SceneShown, ...]
    children: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the timeline as ``show`` shows it."""
        return {
            "chat": self.chat,
            "kind": self.kind,
            "parent": self.parent,
            "at": self.at,
            "messages": self.messages,
            "lorebook": self.lorebook,
            "entries": self.entries,
            "isolated": self.isolated,
            "record": self.record,
            "running_recap": {"current_version": self.running_current, "versions": list(self.running_versions)},
            "scene_breaks": [scene.to_json() for scene in self.scenes],
            "children": list(self.children),
        }


@dataclass(frozen=True, slots=True)
class Status:
    """The diagnostic object of a timeline."""

    is_checkpoint: bool
    main_chat: str | None
    current_chat: str
    checkpoint_state: dict[str, Any] | None
    current_lorebook: str | None
    lorebook_match: bool | None
    running_recap_current_version: int | None
    running_recap_version_match: bool | None
    lorebook_missing: bool = False
    """Whether the chat names a lorebook that is not there."""

    @property
    def valid(self) -> bool:
        """Whether the timeline has a record and is as it says."""
        return bool(self.checkpoint_state and self.lorebook_match and self.running_recap_version_match)

    def to_json(self) -> dict[str, Any]:
        """Return the object as the checkpoint status command shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


def stories(context: Context) -> Stories:
    """Return every story of the workspace."""
    return Stories(_stories(context))


def tree(chat: ChatMeant | None, context: Context) -> Story:
    """Return one story: the one *chat* belongs to, or the only one."""
    if chat is None:
        stories = _stories(context)
        if len(stories) == 1:
            return stories[0]
        if not stories:
            raise ChatNotFound("no_stories")
        raise ChatAmbiguous("stories", count=len(stories), choices=[story.main for story in stories])
    return _place_of(context.resolve(chat), context)[0]


def show(address: ChatAddress, context: Context) -> TimelineShown:
    """Return one timeline in detail: its place, its lorebook, its recap versions and its scene breaks."""
    with open_timeline(context.workspace, address) as timeline:
        timeline.needs_header()
        running = read_running_recap(timeline.metadata)
        text = timeline.chat
        try:
            scenes = tuple(
                SceneShown(scene.message, scene.name, missing_at_scene(timeline, scene, running))
                for scene in scene_breaks(text, upto=text.message_count - 1)
            )
        except ChatDamaged as error:
            raise ChatUnreadable(chat=str(address), reason=error.fact) from error
        book = timeline.book
    story, place = _place_of(address, context)
    return TimelineShown(
        **{name: getattr(place, name) for name in Timeline._fields},
        entries=len(book.outline) if book else None,
        running_current=running.current_version if running.current is not None else None,
        running_versions=tuple(
            {key: version.get(key) for key in ("version", "scene_count", "new_scene_index", "timestamp")}
            for version in running.versions
        ),
        scenes=scenes,
        children=tuple(each.chat for each in story.timelines if each.parent == place.chat),
    )


def status(address: ChatAddress, context: Context) -> Status:
    """Return the diagnostic object of a timeline: what was recorded, and whether it is still so."""
    with open_timeline(context.workspace, address, with_books=False) as timeline:
        timeline.needs_header()
        metadata = timeline.metadata
    stored = metadata.get(RECORD_KEY)
    record = stored if isinstance(stored, dict) else None
    main_chat = metadata.get("main_chat")
    running = read_running_recap(metadata)
    current = running.current_version if running.current is not None else None
    return Status(
        is_checkpoint=bool(main_chat) or record is not None,
        main_chat=main_chat if isinstance(main_chat, str) else None,
        current_chat=address.name,
        checkpoint_state=record,
        current_lorebook=timeline.book_name,
        lorebook_match=_has_recorded_book(record, timeline) if record else None,
        lorebook_missing=timeline.book_fault == MISSING,
        running_recap_current_version=current,
        running_recap_version_match=record.get("running_recap_version") == current if record else None,
    )


def _stories(context: Context) -> tuple[Story, ...]:
    context.workspace.needs_chats()
    return context.stories()


def _place_of(address: ChatAddress, context: Context) -> tuple[Story, Timeline]:
    for story in _stories(context):
        for timeline in story.timelines:
            if address.means(timeline.chat):
                return story, timeline
    raise ChatUnreadable("unplaced", chat=str(address))


def _has_recorded_book(record: Mapping[str, Any], timeline: OpenTimeline) -> bool:
    return record.get("cloned_lorebook_name") == timeline.book_name and timeline.book_fault != MISSING
