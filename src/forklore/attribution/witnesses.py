"""Witnesses: what a timeline's own messages tell about the entries of the lorebook it wrote into."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from forklore.channels.running_recap import read_running_recap
from forklore.channels.scenes import Scene, recap_data, trusted_among
from forklore.formats.chat_jsonl import Chat, ChatDamaged
from forklore.formats.lorebook_json import EntryKey, Outline, comment_of, known_as
from forklore.model.fact import Fact, fact

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
    times: tuple[float, ...] = ()
    """When each version of the scene's recap was made."""

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
    because: Fact
    is_listed: bool = False


def wrote(case: str, **params: Any) -> Fact:
    """Return the fact that tells who wrote an entry, or why nobody can tell."""
    return fact("wrote", case=case, **params)


class Account:
    """What one timeline knows about a lorebook; what it is asked is worked out once."""

    def __init__(
        self, chat: str, text: Chat, works: tuple[Work, ...], *, parent: str | None, parted: int | None
    ) -> None:
        """Speak for the timeline at the address *chat*.

        *works* is what its scenes did to the book, in the order of the messages; *parted* is the last message that it
        has in common with its *parent*, None when it has none or nobody knows.
        """
        self.chat, self.text, self.works = chat, text, works
        self.parent, self.parted = parent, parted
        self._traces: dict[EntryKey, Trace | None] = {}
        self._mentions: dict[tuple[str, ...], list[int]] = {}

    @cached_property
    def last(self) -> int:
        """Its last message, -1 when it has none."""
        return self.text.message_count - 1

    @property
    def since(self) -> int:
        """The first message that is its own, and not its parent's."""
        return 0 if self.parted is None else self.parted + 1

    def first_trace(self, key: EntryKey) -> Trace | None:
        """Return where the entry is first met; None when no scene knows of it."""
        if key not in self._traces:
            self._traces[key] = self._first_trace(key)
        return self._traces[key]

    def _first_trace(self, key: EntryKey) -> Trace | None:
        has_snapshot = False
        for work in self.works:
            if work.lists(key):
                return Trace(work.message, CERTAIN, wrote("scene", message=work.message), is_listed=True)
            if key in work.snapshot:
                if has_snapshot:
                    return Trace(work.message, LIKELY, wrote("snapshot", message=work.message))
                return Trace(work.message, POSSIBLE, wrote("by", message=work.message))
            has_snapshot = has_snapshot or bool(work.snapshot)
        return None

    def lists(self, key: EntryKey, *, after: int) -> bool:
        """Whether a scene after a message says that it made this entry or merged into it."""
        return any(work.message > after and work.lists(key) for work in self.works)

    def mentions(self, terms: tuple[str, ...]) -> list[int]:
        """Return those of its own messages that mention one of the *terms*."""
        if terms not in self._mentions:
            self._mentions[terms] = self.own_words.all(terms)
        return self._mentions[terms]

    @cached_property
    def own_words(self) -> Words:
        """The texts of the messages that are its own."""
        return words_of(self.text, since=self.since)


class Accounts:
    """What several timelines know about one lorebook.

    What a timeline has from its parent is asked of the parent: so an entry is traced to the one that made it.
    """

    def __init__(self, accounts: Iterable[Account]) -> None:
        """Ask these timelines."""
        self._by_chat = {account.chat: account for account in accounts}
        self._shared: dict[tuple[str, str], int] = {}
        self._knowing: dict[EntryKey, list[tuple[Account, Trace]]] = {}
        self._listing: dict[EntryKey, list[Account]] = {}
        self._mentioning: dict[tuple[str, ...], list[tuple[Account, list[int]]]] = {}

    def __iter__(self) -> Iterator[Account]:
        """Yield every account."""
        return iter(self._by_chat.values())

    def get(self, chat: str | None) -> Account | None:
        """Return the account of a timeline, None when it cannot be read."""
        return self._by_chat.get(chat) if chat else None

    def shared(self, one: Account, other: Account) -> int:
        """Return the last message that two timelines have in common, -1 for none."""
        key = (one.chat, other.chat)
        if key not in self._shared:
            upto = dict(self._line(other))
            common = ((chat, last) for chat, last in self._line(one) if chat in upto)
            chat, last = next(common, ("", -1))
            self._shared[key] = min(last, upto[chat]) if chat else last_in_common(one.text, other.text)
        return self._shared[key]

    def _line(self, account: Account) -> Iterator[tuple[str, int]]:
        """Yield a timeline and those above it, each with the last of its messages that the timeline has."""
        current: Account | None = account
        upto, seen = account.last, set[str]()
        while current is not None and current.chat not in seen:
            seen.add(current.chat)
            yield current.chat, upto
            above = self.get(current.parent) if current.parted is not None else None
            upto = min(upto, current.parted) if current.parted is not None else upto
            current = above

    def knowing(self, key: EntryKey) -> list[tuple[Account, Trace]]:
        """Return those in whose own messages an entry is first met, and where."""
        if key not in self._knowing:
            traces = ((account, account.first_trace(key)) for account in self)
            self._knowing[key] = [(each, trace) for each, trace in traces if trace and trace.message >= each.since]
        return self._knowing[key]

    def listing(self, key: EntryKey) -> list[Account]:
        """Return those of whose own scenes one says that it made an entry or merged into it."""
        if key not in self._listing:
            self._listing[key] = [account for account in self if account.lists(key, after=account.since - 1)]
        return self._listing[key]

    def mentioning(self, terms: tuple[str, ...]) -> list[tuple[Account, list[int]]]:
        """Return those whose own messages mention one of the *terms*, and in which messages."""
        if terms not in self._mentioning:
            found = ((account, account.mentions(terms)) for account in self)
            self._mentioning[terms] = [(account, numbers) for account, numbers in found if numbers]
        return self._mentioning[terms]

    def mentions(self, account: Account, terms: tuple[str, ...]) -> bool:
        """Whether any message that a timeline has mentions one of the *terms*."""
        upto = dict(self._line(account))
        return any(numbers[0] <= upto.get(each.chat, -1) for each, numbers in self.mentioning(terms))


# --- what scenes did ----------------------------------------------------------------------------------------------


class SceneReader:
    """Reads what scenes did to a lorebook; a message that several timelines have is read once."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._read: dict[bytes, _SceneSeen] = {}

    def works_of(self, chat: Chat, book: str | None = None) -> tuple[Work, ...]:
        """Return what the scenes of a chat did to its lorebook; a line that cannot be read tells nothing.

        For a chat that names another book by now, only the scenes that worked on *book* count.
        """
        scenes = list(self._scenes(chat))
        trusted = set(trusted_among(Scene(number, seen.data) for number, seen in scenes))
        works = [
            seen.work(number, book, is_trusted=number in trusted)
            for number, seen in scenes
            if Scene(number, seen.data).is_break
        ]
        ends = {work.message for work in works}
        works += [
            Work(index, events=frozenset(events))
            for version in read_running_recap(chat.metadata).versions
            if isinstance(index := version.get("new_scene_index"), int) and index in ends
            if (events := list(_events(version)))
        ]
        return tuple(sorted(works, key=lambda work: work.message))

    def _scenes(self, chat: Chat) -> Iterator[tuple[int, _SceneSeen]]:
        """Yield every scene that was ever worked on; a line that cannot be read is passed over."""
        for number in chat.messages_with(b'"scene_break"', b'"scene_recap_metadata"', upto=chat.message_count - 1):
            line = chat.line_bytes(number)
            with suppress(ChatDamaged):
                if line not in self._read:
                    self._read[line] = _SceneSeen(recap_data(chat.message(number)))
                yield number, self._read[line]


def works_of(chat: Chat, book: str | None = None) -> tuple[Work, ...]:
    """Return what the scenes of one chat did to its lorebook, as ``SceneReader`` does."""
    return SceneReader().works_of(chat, book)


class _SceneSeen:
    """What one message says about the scene it closes, whichever number it has."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self._scene = Scene(0, data)

    @cached_property
    def _snapshot(self) -> Mapping[EntryKey, Mapping[str, Any]]:
        return {known_as(entry): entry for entry in self._scene.snapshot}

    def work(self, message: int, book: str | None, *, is_trusted: bool) -> Work:
        """Return what the scene did to a lorebook; only one that *is_trusted* lends its snapshot."""

        def counts(version: Mapping[str, Any]) -> bool:
            return book is None or version.get("chatLorebookName") in (None, book)

        versions = self.data.get("scene_recap_metadata")
        known = [v for v in versions.values() if isinstance(v, dict)] if isinstance(versions, dict) else []
        uids = [v.get("created_entry_uids") for v in known if counts(v)]
        touched = frozenset(str(uid) for each in uids if isinstance(each, list) for uid in each)
        scene = self._scene
        if not is_trusted or not counts(scene.version):
            return Work(message, touched, times=scene.times)
        return Work(message, touched, snapshot=self._snapshot, taken=scene.snapshot_taken, times=scene.times)


def _events(version: Mapping[str, Any]) -> Iterator[str]:
    """Yield the comments of the events of a version; a key is ``<version>:<name>:<hash>``."""
    keys = version.get("event_keys")
    for key in keys if isinstance(keys, list) else ():
        if isinstance(key, str) and key.count(":") >= 2:
            yield f"event-{key.partition(':')[2].rpartition(':')[0]}".casefold()


def entries_of_unknown_time(chat: Chat, outline: Outline, *, upto: int) -> int:
    """Return how many entries of a lorebook no scene among the messages 0…*upto* of a chat accounts for."""
    works = tuple(work for work in works_of(chat) if work.message <= upto)
    account = Account("", chat, works, parent=None, parted=None)
    keys = zip(outline.uids, outline.comments, strict=True)
    return sum(account.first_trace(key) is None for key in keys if not key[1].startswith("_"))


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

    def all(self, terms: Iterable[str]) -> list[int]:
        """Return every message that mentions one of the *terms*."""
        found: set[int] = set()
        for term in terms:
            at = self._find(term)
            while at >= 0:
                place = bisect_right(self.starts, at)
                found.add(self.numbers[place - 1])
                at = self._find(term, self.starts[place]) if place < len(self.starts) else -1
        return sorted(found)

    def _find(self, term: str, since: int = 0) -> int:
        at = self.text.find(term, since)
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
    texts = tuple(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else ()
    return _terms_of(comment_of(entry), texts)


@lru_cache(maxsize=20_000)  # many timelines ask about the same entries
def _terms_of(comment: str, keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return _terms([name_of(comment)]), _terms(keys)


def _terms(words: Iterable[str]) -> tuple[str, ...]:
    terms = (word.strip().casefold() for word in words if not word.startswith("/"))
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
