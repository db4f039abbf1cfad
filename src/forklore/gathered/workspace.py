"""The workspace around a timeline: every chat and story, who names which lorebook, and what was done so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from forklore.formats.chat_facts import links_of, renamed_from
from forklore.formats.chat_jsonl import Chat
from forklore.formats.record import IDENTITY_KEY, RECORD_KEY
from forklore.gathered.timeline import MISSING, TimelineState
from forklore.log.operations import Operation, Unread, undone_ids
from forklore.model import names
from forklore.model.address import ChatAddress, place_of
from forklore.model.copies import originals_first, signs_of_a_copy
from forklore.model.timeline import ChatFacts, Link, Place, Story, Timeline, mark_of

_CLOCKS_DIFFER = 5.0  # seconds: a disk may keep its own time, and FAT keeps every second one only


class BookFile(NamedTuple):
    """A lorebook as its folder shows it."""

    name: str
    path: str
    size: int
    written: float
    """When it was last written, in seconds since 1970."""


class MapEntry(NamedTuple):
    """An entry of a chat's map whose fork is not there any more."""

    chat: str
    fork: str
    book: str


@dataclass(frozen=True)
class WorkspaceIndex:
    """What is known of a workspace: gathered once for a use case, as far as that needs it, then only asked."""

    chats: tuple[ChatFacts, ...]
    stories: tuple[Story, ...]
    present: frozenset[Place]
    """Where every chat is that is there, readable or not."""
    books: Mapping[str, BookFile] = field(default_factory=dict)
    """The lorebooks that are there, by their keys."""
    shared_on_purpose: frozenset[str] = frozenset()
    """The keys of the lorebooks that several timelines are meant to use."""
    folds_names: bool = False
    """Whether the disk takes names for the same that differ in case, or in how a letter is composed."""
    operations: tuple[Operation, ...] = ()
    """Every operation, newest first."""
    unread: tuple[Unread, ...] = ()
    """The files of the log that are no operations we can use."""
    trash: frozenset[str] = frozenset()
    """What is in the trash: the items of those operations that are still there."""
    beginnings: Mapping[str, str] = field(default_factory=dict)
    """How those chats begin that share a lorebook with another story, by their address."""
    strangers: Mapping[str, tuple[BookFile, ...]] = field(default_factory=dict)
    """By their digest, lorebooks that no chat names and we did not make: a missing one may have been renamed."""
    told_book: str | None = None
    """What somebody says that a missing lorebook is called now."""

    # --- chats and stories ----------------------------------------------------------------------------------------

    @cached_property
    def _by_address(self) -> dict[str, ChatFacts]:
        return {chat.address: chat for chat in self.chats}

    @cached_property
    def _places(self) -> dict[str, tuple[Timeline, Story]]:
        return {timeline.chat: (timeline, story) for story in self.stories for timeline in story.timelines}

    def known_as(self, address: ChatAddress | str) -> str:
        """Return the one address by which a chat is known here: several groups may list a chat."""
        text = str(address)
        if text.startswith("group:") and text not in self._by_address:
            name = text.partition("/")[2]
            for chat in self._by_place.get("group:", ()):
                if chat.name == name:
                    return chat.address
        return text

    def facts(self, address: ChatAddress | str) -> ChatFacts | None:
        """Return what a chat says about itself."""
        return self._by_address.get(self.known_as(address))

    def timeline(self, address: ChatAddress | str) -> Timeline | None:
        """Return a chat's place in its story's tree."""
        place = self._places.get(self.known_as(address))
        return place[0] if place else None

    def story(self, address: ChatAddress | str) -> Story | None:
        """Return the story that a chat belongs to."""
        place = self._places.get(self.known_as(address))
        return place[1] if place else None

    def chat_names(self, address: ChatAddress | str) -> frozenset[str]:
        """Return what the chats of a story are called."""
        story = self.story(address)
        return frozenset(each.chat.partition("/")[2] for each in story.timelines) if story else frozenset()

    def family_names(self, address: ChatAddress | str) -> frozenset[str]:
        """Return what the chats of a story and their lorebooks are called."""
        story = self.story(address)
        chats = [self._by_address[each.chat] for each in story.timelines] if story else []
        return frozenset((*(chat.name for chat in chats), *(book for chat in chats for book in chat.books)))

    def is_there(self, address: ChatAddress, name: str) -> bool:
        """Whether there is a chat of that *name* beside the one at *address*."""
        place = place_of(address.folder)
        return (place, name) in self.present or (place, names.sanitise(name)) in self.present

    def beside(self, address: ChatAddress) -> Iterator[ChatFacts]:
        """Yield the chats beside one."""
        return (chat for chat in self._by_place.get(place_of(address.folder), ()) if chat.name != address.name)

    @cached_property
    def _by_place(self) -> dict[str, list[ChatFacts]]:
        by_place: dict[str, list[ChatFacts]] = {}
        for chat in self.chats:
            by_place.setdefault(place_of(chat.folder), []).append(chat)
        return by_place

    # --- lorebooks ------------------------------------------------------------------------------------------------

    def key(self, book: str) -> str:
        """Return what tells a lorebook from others: two names that are one file here have one key."""
        return names.book_key(book, folds=self.folds_names)

    def has_book(self, book: str) -> bool:
        """Whether there is a lorebook of that name."""
        return self.key(book) in self.books

    def is_shared_on_purpose(self, book: str | None) -> bool:
        """Whether the user wants several timelines to use this lorebook."""
        return book is not None and self.key(book) in self.shared_on_purpose

    @cached_property
    def _users(self) -> dict[str, list[ChatFacts]]:
        users: dict[str, list[ChatFacts]] = {}
        for story in self.stories:  # so a parent stands before its forks
            for timeline in story.timelines:
                chat = self._by_address[timeline.chat]
                for book in chat.books:
                    users.setdefault(self.key(book), []).append(chat)
        return users

    def users(self, book: str | None) -> list[ChatFacts]:
        """Return every chat that names a lorebook, in whichever story and spelling."""
        return self._users.get(self.key(book), []) if book is not None else []

    @cached_property
    def _user_addresses(self) -> dict[str, list[str]]:
        return {key: [chat.address for chat in users] for key, users in self._users.items()}

    def other_users(self, book: str | None, address: ChatAddress | str) -> tuple[str, ...]:
        """Return the addresses of those that name a lorebook besides one chat."""
        own = self.known_as(address)
        users = self._user_addresses.get(self.key(book), ()) if book is not None else ()
        return tuple([user for user in users if user != own])

    def sharers(self, address: ChatAddress | str) -> tuple[str, ...]:
        """Return the other timelines, of any story, that use one of a timeline's lorebooks, unless on purpose."""
        books = self.shared_books(address)
        if len(books) == 1:
            return self.other_users(books[0], address)
        return tuple(dict.fromkeys(user for book in books for user in self.other_users(book, address)))

    def shared_books(self, address: ChatAddress | str) -> tuple[str, ...]:
        """Return those of a timeline's lorebooks that others use as well, unless that is on purpose."""
        own = self.facts(address)
        books = own.books if own is not None else ()
        return tuple(
            [book for book in books if not self.is_shared_on_purpose(book) and self.other_users(book, address)]
        )

    def owner(self, book: str) -> ChatFacts | None:
        """Return the chat whose lorebook it is: for which it was made, else the first of those that name it.

        A main chat stands before its forks, and the original before its copies.
        """
        return self._owners.get(self.key(book))

    @cached_property
    def _owners(self) -> dict[str, ChatFacts]:
        return {key: self._owner(key, users) for key, users in self._users.items()}

    def _owner(self, key: str, users: list[ChatFacts]) -> ChatFacts:
        if len(users) == 1:
            return users[0]
        made_for = [chat for chat in users if chat.recorded_book is not None and self.key(chat.recorded_book) == key]
        return min(made_for or users, key=self._first_to_have_it)

    def _first_to_have_it(self, chat: ChatFacts) -> tuple[bool, object]:
        timeline = self.timeline(chat.address)
        return timeline is not None and timeline.kind != "main", originals_first(chat)

    def is_owner(self, address: ChatAddress | str) -> bool:
        """Whether the lorebooks that a chat names are its own, whoever else names them."""
        own = self.facts(address)
        books = self.shared_books(address) or (own.books[:1] if own is not None else ())
        owners = [self.owner(book) for book in books]
        return bool(owners) and all(each is not None and each.address == self.known_as(address) for each in owners)

    @cached_property
    def unused_books(self) -> dict[str, BookFile]:
        """The lorebooks that no chat names, by their keys."""
        return {key: book for key, book in self.books.items() if key not in self._users}

    def is_free(self, book: object) -> bool:
        """Whether there is a lorebook of that name which no chat names."""
        return isinstance(book, str) and self.key(book) in self.unused_books

    def own_book(self, timeline: TimelineState) -> str | None:
        """Return the lorebook that is a timeline's own when it names that of one of its forks.

        So it is after a crash in the middle of a swap, or when somebody attached the wrong one: the fork's record says
        from which book its own was cloned.
        """
        story, own = self.story(timeline.address), self.known_as(timeline.address)
        above = {each.chat: each.parent for each in story.timelines} if story else {}
        for user in self.users(timeline.book_name):
            is_child = above.get(user.address) == own
            if is_child and user.original_book != timeline.book_name and self.is_free(user.original_book):
                return user.original_book
        return None

    def book_now(self, timeline: TimelineState) -> str | None:
        """Return what a lorebook that is gone is called now: as we were told, or by what was recorded of it.

        A book that another timeline uses is none of this one's. By its content alone it is known when it is the only
        one and no older than the fork, and when nothing else is known of either: neither that the lost one is in the
        trash, nor that we have made the other one for another fork.
        """
        book, record = timeline.lorebook, timeline.metadata.get(RECORD_KEY)
        if book is None or book.fault != MISSING:
            return None
        if self.told_book is not None:
            return self.told_book if self.is_free(self.told_book) else None
        record = record if isinstance(record, dict) else {}
        given, since = record.get("cloned_lorebook_name"), record.get("timestamp")
        for other in (given, self._in_other_case(book.name)):
            if isinstance(other, str) and self.is_free(other):
                return other
        digest = timeline.digests.get("lorebook")
        if not isinstance(digest, str) or book.path in self.trashed:
            return None
        made = since / 1000 - _CLOCKS_DIFFER if isinstance(since, int | float) else 0.0
        found = [each.name for each in self.strangers.get(digest, ()) if each.written >= made]
        return found[0] if len(found) == 1 else None

    def _in_other_case(self, book: str) -> str | None:
        """Return the one lorebook whose name differs from that of a missing one in case alone."""
        found = self._in_any_case.get(names.book_key(book, folds=True), [])
        return found[0] if len(found) == 1 else None

    @cached_property
    def _in_any_case(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for each in self.books.values():
            found.setdefault(names.book_key(each.name, folds=True), []).append(each.name)
        return found

    # --- copies ---------------------------------------------------------------------------------------------------

    def original_of(self, address: ChatAddress | str, *, is_asked_for: bool = False) -> str | None:
        """Return the chat of which a main chat is a copy and whose lorebook it still names, None when it is no such.

        Where nothing tells the copy from the original for certain, the one that *is_asked_for* is the copy.
        """
        own, place = self.facts(address), self._places.get(self.known_as(address))
        if own is None or place is None or place[0].kind != "main" or own.kind is not None:
            return None
        family = {timeline.chat for timeline in place[1].timelines}
        others = (chat for chat in self.users(own.lorebook) if chat.address not in family)
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
        beginning = self.beginnings.get(one.address)
        return beginning is not None and beginning == self.beginnings.get(other.address)

    # --- links and maps -------------------------------------------------------------------------------------------

    def dangling(self, address: ChatAddress, chat: Chat) -> tuple[Link, ...]:
        """Return the links of a chat that lead nowhere; a fork inherits those of its parent, which count there."""
        timeline = self.timeline(address)
        inherited = timeline.at if timeline and timeline.parent and timeline.at is not None else -1
        return tuple(
            link for link in links_of(chat, since=max(0, inherited + 1)) if not self.is_there(address, link.chat)
        )

    @cached_property
    def stale_map_entries(self) -> tuple[MapEntry, ...]:
        """The entries of chats' maps whose forks are not there any more."""
        return tuple(
            MapEntry(chat.address, fork, book)
            for chat in self.chats
            for fork, book in chat.mapped
            if not self.is_there(ChatAddress(chat.folder, chat.name), fork)
        )

    def stale_map(self, address: ChatAddress) -> tuple[str, ...]:
        """Return the chats in a chat's map of lorebooks that are not there."""
        return self._stale_maps.get(self.known_as(address), ())

    @cached_property
    def _stale_maps(self) -> dict[str, tuple[str, ...]]:
        stale: dict[str, tuple[str, ...]] = {}
        for entry in self.stale_map_entries:
            stale[entry.chat] = (*stale.get(entry.chat, ()), entry.fork)
        return stale

    def is_unlinked(self, timeline: TimelineState) -> bool:
        """Whether a fork's link could not be written when it was made, and still is not there.

        A message has one checkpoint: where another one took its place meanwhile, nothing is missing.
        """
        place, links = timeline.place, timeline.parent_links
        if self.known_as(timeline.address) not in self.unlinked or place is None or links is None:
            return False
        others = (link for link in links if link.message == place.at and link.kind == place.kind == "checkpoint")
        taken = any(self.is_there(timeline.address, link.chat) for link in others)
        return not taken and not any(link.chat == timeline.name for link in links)

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
        others = self.beside(address)
        return None if any(each.old_name == name and each.old_timeline == timeline for each in others) else name

    def parent_now(self, timeline: TimelineState) -> str | None:
        """Return what a missing parent is called now: the one chat with its timeline id, or with its mark."""
        address, metadata = timeline.address, timeline.metadata
        identity, missing = metadata.get(IDENTITY_KEY), metadata.get("main_chat")
        if not isinstance(identity, dict):
            return None
        known, mark = None, None
        if identity.get("chat") == address.name:
            known, mark = identity.get("parent_timeline"), identity.get("parent_mark")
        elif identity.get("chat") == missing:
            known = identity.get("timeline")  # copied from the parent by SillyTavern
        found = [
            each.name
            for each in self.beside(address)
            if (known and each.old_name == missing and each.old_timeline == known)
            or (not known and mark and mark_of(each.integrity) == mark)
        ]
        return found[0] if len(found) == 1 else None

    # --- what was done --------------------------------------------------------------------------------------------

    @cached_property
    def undone(self) -> frozenset[str]:
        """The operations that are undone now."""
        return undone_ids(self.operations)

    @cached_property
    def unlinked(self) -> frozenset[str]:
        """The forks whose link could not be written when they were made, by their address."""
        return frozenset(
            operation.chat
            for operation in self.operations
            if "fork" in operation.notes
            and operation.id not in self.undone
            and any(reason["params"]["what"] == "link" for reason in operation.pending)
        )

    @cached_property
    def trashed(self) -> dict[str, Mapping[str, Any]]:
        """What is in the trash, by the path it came from: the newest of each, as the log describes its going."""
        found: dict[str, Mapping[str, Any]] = {}
        for operation in self.operations:
            for change in operation.changes:
                if change["do"] == "trash" and change["path"] not in found and change["item"] in self.trash:
                    found[change["path"]] = change
        return found

    @cached_property
    def made_books(self) -> dict[str, Operation]:
        """The operation that first made each lorebook of the log, by the book's path."""
        return {
            change["path"]: operation
            for operation in self.operations  # newest first: the oldest one stays
            for change in operation.changes
            if change["do"] == "create" and change["path"].startswith("worlds/")
        }
