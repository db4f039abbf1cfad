"""Witnesses: what a timeline's own messages tell about the entries of the lorebook it wrote into."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from forklore.channels.lorebook import comment_of, known_as
from forklore.channels.running_recap import read_running_recap
from forklore.channels.scenes import Scene, recap_data, scene_at
from forklore.formats.chat_jsonl import Chat, ChatDamaged

EntryKey = tuple[Any, str]
"""The UID and the comment of an entry: a UID alone may be used again for another one."""

CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"

_TYPED = re.compile(r"\A[a-z0-9_]+-(?=.)", re.DOTALL)
_SHORTEST_TERM = 3  # a shorter word of Latin letters stands in every message


@dataclass(frozen=True)
class Work:
    """What one scene, or the running recap made from it, did to the lorebook."""

    message: int
    touched: frozenset[str] = frozenset()
    """The UIDs of the entries it made or merged into."""
    events: frozenset[str] = frozenset()
    """The comments of the events it made."""
    snapshot: Mapping[EntryKey, Mapping[str, Any]] = field(default_factory=dict)
    """The entries as they were after it, empty when none were kept."""
    taken: float | None = None
    """When the snapshot was taken, in milliseconds."""

    def lists(self, key: EntryKey) -> bool:
        """Whether it says that it made this entry or merged into it."""
        uid, comment = key
        if comment.casefold() in self.events:
            return True
        if str(uid) not in self.touched:
            return False
        named = [other for number, other in self.snapshot if number == uid]
        return not named or comment in named


@dataclass(frozen=True, slots=True)
class Trace:
    """Where an entry is first met along a timeline."""

    message: int
    confidence: str
    because: str
    is_listed: bool = False


@dataclass(frozen=True)
class Witness:
    """A timeline that knows something about a lorebook."""

    chat: str
    """Its address."""
    text: Chat
    works: tuple[Work, ...]
    """What its scenes did to the book, in the order of the messages."""
    shared: int
    """The last message that the timeline in question has too; -1 for none."""

    @property
    def last(self) -> int:
        """Its last message, -1 when it has none."""
        return self.text.message_count - 1

    def first_trace(self, key: EntryKey) -> Trace | None:
        """Return where the entry is first met; None when no scene knows of it."""
        has_snapshot = False
        for work in self.works:
            where = f"message {work.message}"
            if work.lists(key):
                because = f"the scene that ends at {where} made it or merged into it"
                return Trace(work.message, CERTAIN, because, is_listed=True)
            if key in work.snapshot:
                if has_snapshot:
                    return Trace(work.message, LIKELY, f"the snapshot of {where} is the first that has it")
                return Trace(work.message, POSSIBLE, f"it was there by {where}")
            has_snapshot = has_snapshot or bool(work.snapshot)
        return None

    def lists(self, key: EntryKey, *, after: int) -> bool:
        """Whether a scene after a message says that it made this entry or merged into it."""
        return any(work.message > after and work.lists(key) for work in self.works)

    @cached_property
    def words(self) -> Words:
        """The texts of all messages."""
        return words_of(self.text, since=0)

    @cached_property
    def own_words(self) -> Words:
        """The texts of the messages that the timeline in question has not."""
        return words_of(self.text, since=self.shared + 1)


# --- what scenes did ----------------------------------------------------------------------------------------------


def works_of(chat: Chat, book: str | None = None) -> tuple[Work, ...]:
    """Return what the scenes of a chat did to its lorebook; a line that cannot be read tells nothing.

    For a chat that names another book by now, only the scenes that worked on *book* count.
    """
    works = list(_trusted([_work(scene, book) for scene in _scenes(chat)]))
    ends = {work.message for work in works}
    works += [
        Work(index, events=frozenset(events))
        for version in read_running_recap(chat.metadata).versions
        if isinstance(index := version.get("new_scene_index"), int) and index in ends
        if (events := list(_events(version)))
    ]
    return tuple(sorted(works, key=lambda work: work.message))


def _trusted(works: list[Work]) -> Iterator[Work]:
    """Yield the works without snapshots that were taken later than that of a later scene: they may hold the future."""
    earliest: float | None = None
    for work in reversed(works):
        if work.taken is not None and work.snapshot:
            if earliest is not None and work.taken > earliest:
                yield replace(work, snapshot={})
                continue
            earliest = work.taken
        yield work


def _scenes(chat: Chat) -> Iterator[Scene]:
    for number in chat.messages_with(b'"scene_break"', upto=chat.message_count - 1):
        try:
            scene = scene_at(chat, number)
        except ChatDamaged:
            continue
        if scene.is_break:
            yield scene


def _work(scene: Scene, book: str | None) -> Work:
    def counts(version: Mapping[str, Any]) -> bool:
        return book is None or version.get("chatLorebookName") in (None, book)

    versions = scene.data.get("scene_recap_metadata")
    known = [v for v in versions.values() if isinstance(v, dict)] if isinstance(versions, dict) else []
    uids = [v.get("created_entry_uids") for v in known if counts(v)]
    touched = frozenset(str(uid) for each in uids if isinstance(each, list) for uid in each)
    if not counts(scene.version):
        return Work(scene.message, touched)
    snapshot = {known_as(entry): entry for entry in scene.snapshot}
    return Work(scene.message, touched, snapshot=snapshot, taken=scene.snapshot_taken)


def _events(version: Mapping[str, Any]) -> Iterator[str]:
    """Yield the comments of the events of a version; a key is ``<version>:<name>:<hash>``."""
    keys = version.get("event_keys")
    for key in keys if isinstance(keys, list) else ():
        if isinstance(key, str) and key.count(":") >= 2:
            yield f"event-{key.partition(':')[2].rpartition(':')[0]}".casefold()


# --- what messages say --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """The texts of some messages, to look for names in."""

    text: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def first(self, terms: Iterable[str]) -> int | None:
        """Return the first message that mentions one of the *terms*."""
        places = [place for term in terms if (place := self._find(term)) >= 0]
        return self.numbers[bisect_right(self.starts, min(places)) - 1] if places else None

    def _find(self, term: str) -> int:
        at = self.text.find(term)
        while at >= 0 and _is_inside_a_word(self.text, at, at + len(term)):
            at = self.text.find(term, at + 1)
        return at


def _is_inside_a_word(text: str, start: int, end: int) -> bool:
    """Whether letters that are written without gaps go on before or after a place; other scripts have no gaps."""
    before = start > 0 and _is_latin(text[start - 1]) and _is_latin(text[start])
    after = end < len(text) and _is_latin(text[end]) and _is_latin(text[end - 1])
    return before or after


def _is_latin(character: str) -> bool:
    return character.isalnum() and ord(character) < 0x250


def words_of(chat: Chat, *, since: int) -> Words:
    """Return what the messages from *since* on say, who says it, and their recaps."""
    texts, starts, numbers = [], [], []
    length = 0
    for number in range(max(since, 0), chat.message_count):
        try:
            message = chat.message(number)
        except ChatDamaged:
            continue
        spoken = (message.get("name"), message.get("mes"), recap_data(message).get("scene_recap_memory"))
        texts.append("\n".join(text for text in spoken if isinstance(text, str)).casefold())
        starts.append(length)
        numbers.append(number)
        length += len(texts[-1]) + 1
    return Words("\n".join(texts), tuple(starts), tuple(numbers))


def name_of(comment: str) -> str:
    """Return the name in a comment: ``character-Maren`` speaks of Maren."""
    return _TYPED.sub("", comment)


def terms_of(entry: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the name of an entry and its keys, as they are looked for in messages."""
    keys = entry.get("key")
    named = _terms([name_of(comment_of(entry))])
    return named, _terms(keys if isinstance(keys, list) else [])


def _terms(words: Iterable[object]) -> tuple[str, ...]:
    terms = (word.strip().casefold() for word in words if isinstance(word, str) and not word.startswith("/"))
    return tuple(term for term in terms if len(term) >= _SHORTEST_TERM or (term and not term.isascii()))


def last_in_common(one: Chat, other: Chat) -> int:
    """Return the last message that two chats have in common, -1 for none.

    Up to it more messages agree than up to any other: neither an early message that was edited in one of them nor a
    later one that happens to be the same in both leads astray.
    """
    best, last, score = 0, -1, 0
    for number in range(min(one.message_count, other.message_count)):
        score += 1 if _is_same_message(one, other, number) else -1
        if score > best:
            best, last = score, number
    return last


def _is_same_message(one: Chat, other: Chat, number: int) -> bool:
    if one.line_bytes(number) == other.line_bytes(number):
        return True
    try:
        left, right = one.message(number), other.message(number)
    except ChatDamaged:
        return False
    return all(left.get(key) == right.get(key) for key in ("name", "mes", "send_date"))
