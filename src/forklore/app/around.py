"""What the rest of the workspace says about a timeline: its story, who shares its lorebook, what was renamed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from forklore.app.means import Means
from forklore.app.sharing import shared_books
from forklore.channels.identity import KEY as IDENTITY_KEY
from forklore.disk.files import OpenFile
from forklore.disk.scan import scan_chats
from forklore.errors import ForkloreError
from forklore.formats.chat_facts import beginning_of, links_of, renamed_from
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.log.operations import Operation, undone_ids
from forklore.model import names
from forklore.model.address import ChatAddress, place_of
from forklore.model.copies import originals_first, signs_of_a_copy
from forklore.model.timeline import ChatFacts, Link, Story, Timeline, grow_stories, mark_of
from forklore.planning.deleting import stale_map_entries

_CLOCKS_DIFFER = 5.0  # seconds: a disk may keep its own time, and FAT keeps every second one only


class Around:
    """The workspace around a timeline, looked at once and only as far as it is asked for."""

    def __init__(self, means: Means, facts: list[ChatFacts] | None = None, *, book: str | None = None) -> None:
        """Look at the workspace; *facts* are those of every chat, when they are known.

        *book* is what somebody says the missing lorebook is called now.
        """
        self._means = means
        self._told_book = book
        self._facts = facts
        self._beginnings: dict[str, str | None] = {}

    @cached_property
    def facts(self) -> dict[tuple[str, str], ChatFacts]:
        """What each chat says about itself, by its folder and name."""
        facts = self._facts
        if facts is None:
            facts = scan_chats(self._means.workspace, self._means.cache(), self._means.advance)
        return {chat[:2]: chat for chat in facts}

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        """Every story."""
        return grow_stories(self.facts.values())

    @cached_property
    def _places(self) -> dict[str, tuple[Timeline, Story]]:
        return {timeline.chat: (timeline, story) for story in self.stories for timeline in story.timelines}

    def timeline(self, address: ChatAddress) -> Timeline | None:
        """Return the timeline's place in the tree."""
        place = self._places.get(str(address))
        return place[0] if place else None

    def sharers(self, address: ChatAddress) -> tuple[str, ...]:
        """Return the other timelines of the story that use the same lorebook, unless it is shared on purpose."""
        place = self._places.get(str(address))
        if place is None or place[0].isolated:
            return ()
        timeline, story = place
        if self.is_shared_on_purpose(timeline.lorebook):
            return ()
        return tuple(t.chat for t in story.timelines if t.lorebook == timeline.lorebook and t.chat != timeline.chat)

    def is_shared_on_purpose(self, book: str | None) -> bool:
        """Whether the user wants several timelines to use this lorebook."""
        return book in self._shared

    def is_book_of_others_too(self, address: ChatAddress, book: str | None) -> bool:
        """Whether a chat other than the one at *address* names the lorebook."""
        return any(chat.address != str(address) for chat in self._by_book.get(book, ()))

    @cached_property
    def _shared(self) -> frozenset[str]:
        return shared_books(self._means)

    # --- copies ---------------------------------------------------------------------------------------------------

    def original_of(self, address: ChatAddress, *, is_asked_for: bool = False) -> str | None:
        """Return the chat of which a main chat is a copy and whose lorebook it still names, None when it is no such.

        A main that shares its lorebook with a story which begins otherwise is left alone: somebody wanted that. Where
        nothing tells the copy from the original for certain, the one that *is_asked_for* is the copy.
        """
        place, own = self._places.get(str(address)), self.facts.get((address.folder, address.name))
        if place is None or own is None or place[0].kind != "main" or place[0].isolated or own.kind is not None:
            return None
        family = {timeline.chat for timeline in place[1].timelines}
        others = (chat for chat in self._by_book.get(own.lorebook, ()) if chat.address not in family)
        twins = [chat for chat in others if self._is_the_same_story(own, chat)]
        if not twins:
            return None
        first = min(twins, key=originals_first)
        if is_asked_for:
            return None if signs_of_a_copy(own) < signs_of_a_copy(first) else first.address
        return first.address if originals_first(first) < originals_first(own) else None

    def _is_the_same_story(self, one: ChatFacts, other: ChatFacts) -> bool:
        if one.integrity is not None and one.integrity == other.integrity:
            return True
        beginning = self._beginning(one)
        return beginning is not None and beginning == self._beginning(other)

    def _beginning(self, chat: ChatFacts) -> str | None:
        if chat.address not in self._beginnings:
            path = self._means.workspace.chat_path(ChatAddress(chat.folder, chat.name))
            try:
                with OpenFile(self._means.workspace.file(path)) as file:
                    self._beginnings[chat.address] = beginning_of(file.chat)
            except (OSError, ChatDamaged, ForkloreError):
                self._beginnings[chat.address] = None
        return self._beginnings[chat.address]

    @cached_property
    def _by_book(self) -> dict[str | None, list[ChatFacts]]:
        by_book: dict[str | None, list[ChatFacts]] = {}
        for chat in self.facts.values():
            if chat.lorebook is not None:
                by_book.setdefault(chat.lorebook, []).append(chat)
        return by_book

    @cached_property
    def used_books(self) -> frozenset[str]:
        """The lorebooks that chats name."""
        return frozenset(chat.lorebook for chat in self.facts.values() if chat.lorebook)

    # --- links and maps -------------------------------------------------------------------------------------------

    def is_there(self, address: ChatAddress, name: str) -> bool:
        """Whether there is a chat of that *name* beside the one at *address*."""
        place = place_of(address.folder)
        return (place, name) in self._names or (place, names.sanitise(name)) in self._names

    @cached_property
    def _names(self) -> frozenset[tuple[str, str]]:
        # Also those that cannot be read: they are there all the same.
        return frozenset((place_of(chat.folder), chat.name) for chat in self._means.workspace.chats())

    def dangling(self, address: ChatAddress, chat: Chat) -> tuple[Link, ...]:
        """Return the links of a chat that lead nowhere; a fork inherits those of its parent, which count there."""
        timeline = self.timeline(address)
        inherited = timeline.at if timeline and timeline.parent and timeline.at is not None else -1
        links = (link for link in links_of(chat) if link.message > inherited)
        return tuple(link for link in links if not self.is_there(address, link.chat))

    def stale_map(self, address: ChatAddress) -> tuple[str, ...]:
        """Return the chats in a chat's map of lorebooks that are not there."""
        return self._stale_maps.get(str(address), ())

    @cached_property
    def _stale_maps(self) -> dict[str, tuple[str, ...]]:
        stale: dict[str, tuple[str, ...]] = {}
        for entry in stale_map_entries(self.facts.values(), self._names):
            stale[entry.chat] = (*stale.get(entry.chat, ()), entry.fork)
        return stale

    def is_link_pending(self, address: ChatAddress) -> bool:
        """Whether a fork's link could not be written when it was made, and still is not there.

        A message has one checkpoint: where another one took its place meanwhile, nothing is missing.
        """
        timeline = self.timeline(address)
        if str(address) not in self._pending or timeline is None or timeline.parent is None:
            return False
        parent = ChatAddress.parse(timeline.parent) or address
        path = self._means.workspace.chat_path(parent)
        try:
            with OpenFile(self._means.workspace.file(path)) as file:
                links = list(links_of(file.chat))
        except (OSError, ChatDamaged, ForkloreError):
            return False
        others = (link for link in links if link.message == timeline.at and link.kind == timeline.kind == "checkpoint")
        taken = any(self.is_there(address, link.chat) for link in others)
        return not taken and not any(link.chat == address.name for link in links)

    @cached_property
    def _pending(self) -> frozenset[str]:
        return frozenset(
            operation.chat
            for operation in self.operations
            if "fork" in operation.notes
            and operation.id not in self.undone
            and any(reason.startswith("link") for reason in operation.pending)
        )

    # --- renames --------------------------------------------------------------------------------------------------

    def old_name(self, address: ChatAddress, metadata: Mapping[str, Any]) -> str | None:
        """Return the name a chat had when Forklore wrote its identity, if it was renamed since.

        A copy carries that identity too. One made by SillyTavern's branches and checkpoints names the original as its
        parent; of several others nobody can tell which one is the renamed chat.
        """
        name = renamed_from(address.name, metadata.get(IDENTITY_KEY), metadata.get("main_chat"))
        if name is None or self.is_there(address, name):
            return None
        timeline = metadata[IDENTITY_KEY].get("timeline")
        siblings = self._siblings(address)
        return None if any(each.old_name == name and each.old_timeline == timeline for each in siblings) else name

    def parent_now(self, address: ChatAddress, metadata: Mapping[str, Any]) -> str | None:
        """Return what a missing parent is called now: the one chat with its timeline id, or with its mark."""
        identity, missing = metadata.get(IDENTITY_KEY), metadata.get("main_chat")
        if not isinstance(identity, dict):
            return None
        timeline, mark = None, None
        if identity.get("chat") == address.name:
            timeline, mark = identity.get("parent_timeline"), identity.get("parent_mark")
        elif identity.get("chat") == missing:
            timeline = identity.get("timeline")  # copied from the parent by SillyTavern
        found = [
            each.name
            for each in self._siblings(address)
            if (timeline and each.old_name == missing and each.old_timeline == timeline)
            or (not timeline and mark and mark_of(each.integrity) == mark)
        ]
        return found[0] if len(found) == 1 else None

    def _siblings(self, address: ChatAddress) -> Iterator[ChatFacts]:
        """Yield the chats beside one."""
        beside = self._by_place.get(place_of(address.folder), ())
        return (chat for chat in beside if chat.name != address.name)

    @cached_property
    def _by_place(self) -> dict[str, list[ChatFacts]]:
        by_place: dict[str, list[ChatFacts]] = {}
        for chat in self.facts.values():
            by_place.setdefault(place_of(chat.folder), []).append(chat)
        return by_place

    @cached_property
    def books(self) -> frozenset[str]:
        """The names of all lorebooks."""
        return frozenset(self._means.workspace.books())

    @cached_property
    def unused_books(self) -> frozenset[str]:
        """The lorebooks that no chat names."""
        return self.books - self.used_books

    def book_now(self, book: str, record: Mapping[str, Any], digest: object) -> str | None:
        """Return what a lorebook that is gone is called now: as we were told, or by what was recorded of it.

        A book that another timeline uses is none of this one's. By its content alone it is known when it is the only
        one and no older than the fork, and when nothing else is known of either: neither that *book* is in the trash,
        nor that we have made the other one for another fork.
        """
        if self._told_book is not None:
            return self._told_book if self._told_book in self.unused_books else None
        given, since = record.get("cloned_lorebook_name"), record.get("timestamp")
        if isinstance(given, str) and given in self.unused_books:
            return given
        if not isinstance(digest, str) or self._means.workspace.book_path(book) in self.trashed:
            return None
        made = since / 1000 - _CLOCKS_DIFFER if isinstance(since, int | float) else 0.0
        found = [name for name, changed in self._strangers.get(digest, ()) if changed >= made]
        return found[0] if len(found) == 1 else None

    @cached_property
    def _strangers(self) -> dict[str, list[tuple[str, float]]]:
        """The lorebooks that neither a chat names nor we have made, by their digest, with the time of their change."""
        ours = {
            change["path"] for operation in self.operations for change in operation.changes if change["do"] == "create"
        }
        strangers: dict[str, list[tuple[str, float]]] = {}
        for name in self.unused_books:
            path = self._means.workspace.book_path(name)
            if path in ours:
                continue
            try:
                with OpenFile(self._means.workspace.file(path)) as file:
                    strangers.setdefault(file.digest(), []).append((name, file.stat.st_mtime_ns / 1e9))
            except (OSError, ForkloreError):
                continue
        return strangers

    # --- the log --------------------------------------------------------------------------------------------------

    @cached_property
    def operations(self) -> list[Operation]:
        """Every operation, newest first."""
        return list(self._means.transactions.log)

    @cached_property
    def undone(self) -> frozenset[str]:
        """The operations that are undone now."""
        return undone_ids(self.operations)

    @cached_property
    def trashed(self) -> dict[str, Mapping[str, Any]]:
        """What is in the trash, by the path it came from: the newest of each, as the log describes its going."""
        found: dict[str, Mapping[str, Any]] = {}
        for operation in self.operations:
            for change in operation.changes:
                is_new = change["do"] == "trash" and change["path"] not in found
                if is_new and self._means.transactions.is_in_trash(change["item"]):
                    found[change["path"]] = change
        return found
