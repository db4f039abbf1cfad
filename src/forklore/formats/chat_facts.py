"""What a chat says about its place in a story, read as fast as its bytes can be read."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple

from forklore.formats.chat_jsonl import Chat, ChatDamaged, places_in
from forklore.formats.json_text import REFUSALS, NotJson, encode, faster_reader, parse_object
from forklore.formats.record import RECORD_KEY, is_from_present, own_record
from forklore.model.plan import HEADER
from forklore.model.timeline import Link

_LONG = 4096  # from this length of a header on the faster reader pays for its own import
_FEW = 4  # names that are looked for one by one
_GREETINGS = 30  # a group has one of each member before the user says anything
MAP_KEY = "checkpoint_lorebook_map"
_LINK_NEEDLES = (b'"bookmark_link"', b'"branches"')


class HeaderFacts(NamedTuple):
    """What the header says."""

    main_chat: str | None = None
    lorebook: str | None = None
    kind: str | None = None
    at: int | None = None
    timeline: str | None = None
    damaged: bool = False
    other_books: tuple[str, ...] = ()
    """Lorebooks the chat refers to besides its own: in a list of several, or by timed effects."""
    mapped: tuple[tuple[str, str], ...] = ()
    """The map of forks to their lorebooks."""
    running_version: int | None = None
    """The number of the current running recap."""
    integrity: str | None = None
    old_name: str | None = None
    """The name in a record that is its own, but was written when it was called otherwise."""
    old_timeline: Any = None
    """The timeline in that record."""
    parent_timeline: str | None = None
    parent_mark: str | None = None
    former_mark: str | None = None
    recorded_book: str | None = None
    """The lorebook that was made for it, in a record that is its own."""
    original_book: str | None = None
    """The one that was cloned for that."""
    is_from_present: bool = False
    """Whether that record says that its lorebook came from the present, and nobody accepted that since."""
    more_books: tuple[str, ...] = ()
    """The lorebooks besides its own that extensions keep for it alone."""


class MoreBooks(NamedTuple):
    """How extensions name lorebooks in the metadata."""

    keys: tuple[str, ...]
    """The keys under which they do."""
    named: Callable[[Mapping[str, Any]], Iterable[str]]
    """Returns the names in what stands under those keys."""


_NO_MORE = MoreBooks((), lambda _: ())


def read_header(line: bytes, chat_name: str, *, quickly: bool = False, more_books: MoreBooks = _NO_MORE) -> HeaderFacts:
    """Return what the header *line* of the chat *chat_name* says; a line that is no header is damage.

    *quickly* is for who reads many: a short line alone is not worth the import of the faster reader.
    """
    found = (
        _metadata_quickly(line, more_books.keys) if faster_reader(is_worth_it=quickly or len(line) >= _LONG) else None
    )
    if found is None:
        try:
            metadata = parse_object(line).get("chat_metadata")
        except NotJson:
            metadata = None
        if not isinstance(metadata, dict):
            return HeaderFacts(damaged=True)
        named = {key: metadata.get(key) for key in more_books.keys}
        found = _Found._make((*(metadata.get(key) for key in _KEYS), named))
    book, own = _book_name(found.world_info), found.forklore
    others = _other_books(found, book) if found.timedWorldInfo or not isinstance(found.world_info, str) else ()
    mapped = tuple(_mapped(found.auto_recap)) if found.auto_recap else ()
    running = _running_version(found.running)
    integrity = found.integrity if isinstance(found.integrity, str) else None
    named = {key: value for key, value in found.more.items() if value is not None}
    more: set[str | None] = set(more_books.named(named)) if named else set()
    if not isinstance(own, dict) or own.get("chat") != chat_name:
        old_name = renamed_from(chat_name, own, found.main_chat)
        return HeaderFacts(
            _text(found.main_chat),
            book,
            other_books=others,
            mapped=mapped,
            running_version=running,
            integrity=integrity,
            old_name=old_name,
            old_timeline=own.get("timeline") if isinstance(own, dict) and old_name is not None else None,
            **_parentage(own, chat_name, found.main_chat),
            **_recorded(found.record, more - {book}, chat_name, old_name),
        )
    at = own.get("message")
    return HeaderFacts(
        _text(found.main_chat),
        book,
        _text(own.get("kind")),
        at if isinstance(at, int) else None,
        _text(own.get("timeline")),
        other_books=others,
        mapped=mapped,
        running_version=running,
        integrity=integrity,
        **_parentage(own, chat_name, found.main_chat),
        **_recorded(found.record, more - {book}, chat_name),
    )


def _recorded(stored: object, more: set[str | None], *names: str | None) -> dict[str, Any]:
    """Return what a record of the chat's own tells of its lorebooks; *more* are those that extensions name."""
    record = own_record({RECORD_KEY: stored}, *names)
    if record is None:
        return {"more_books": tuple(sorted(filter(None, more)))}
    listed = record.get("lorebooks")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("role") != "chat":
            more.add(_text(each.get("name")))
    return {
        "more_books": tuple(sorted(filter(None, more))),
        "recorded_book": _text(record.get("cloned_lorebook_name")),
        "original_book": _text(record.get("original_lorebook_name")),
        "is_from_present": is_from_present(record),
    }


def _parentage(own: object, name: str, main_chat: object) -> dict[str, Any]:
    """Return what a record tells of the chat's parent, and what its own forks know it by."""
    if not isinstance(own, dict):
        return {}
    if own.get("chat") == name or renamed_from(name, own, main_chat) is not None:
        return {key: _text(own.get(key)) for key in ("parent_timeline", "parent_mark", "former_mark")}
    # Copied from the parent by SillyTavern, so it is the parent's.
    return {"parent_timeline": _text(own.get("timeline"))} if own.get("chat") == main_chat else {}


def renamed_from(name: str, identity: object, main_chat: object) -> str | None:
    """Return the name in a chat's identity, if it is another one and the chat was not forked from it."""
    old = identity.get("chat") if isinstance(identity, dict) else None
    if not isinstance(old, str) or old == name or not isinstance(identity, dict):
        return None
    return old if identity.get("parent") == main_chat else None


class _Found(NamedTuple):
    """The values of the metadata that tell something."""

    main_chat: Any
    world_info: Any
    forklore: Any
    timedWorldInfo: Any  # noqa: N815  # as SillyTavern calls it
    auto_recap: Any
    integrity: Any
    running: Any
    record: Any
    more: Mapping[str, Any]


_RUNNING = "auto_recap_running_scene_recaps"
_PLAIN = _Found._fields[:-3]
_OF_RECORD = (
    "chat_id",
    "cloned_lorebook_name",
    "original_lorebook_name",
    "lorebook_source",
    "lorebook_accepted",
    "isolated_at_message",
    "entries_in_doubt",
    "lorebooks",
)
_KEYS = (*_PLAIN, _RUNNING, RECORD_KEY)


def _running_version(stored: Any) -> int | None:
    """Return the current version, if it is among the versions."""
    versions = stored.get("versions") if isinstance(stored, dict) else None
    current = stored.get("current_version") if isinstance(stored, dict) else None
    if not isinstance(current, int) or not isinstance(versions, list):
        return None
    return current if any(isinstance(each, dict) and each.get("version") == current for each in versions) else None


def _other_books(found: _Found, own: str | None) -> tuple[str, ...]:
    named = found.world_info if isinstance(found.world_info, list) else []
    books = {name for name in named if isinstance(name, str)}
    if isinstance(found.timedWorldInfo, dict):
        effects = (keys for keys in found.timedWorldInfo.values() if isinstance(keys, dict))
        books |= {key.rpartition(".")[0] for keys in effects for key in keys}  # ``<book>.<uid>``
    return tuple(sorted(books - {own, ""}))


def _mapped(space: Any) -> Iterator[tuple[str, str]]:
    forks = space.get(MAP_KEY) if isinstance(space, dict) else None
    for fork, book in forks.items() if isinstance(forks, dict) else ():
        if isinstance(book, str):
            yield fork, book


def lorebook_name(metadata: Mapping[str, Any]) -> str | None:
    """Return the name of the chat's lorebook; SillyTavern takes a list of one for that one."""
    return _book_name(metadata.get("world_info"))


def _book_name(name: object) -> str | None:
    if isinstance(name, list) and len(name) == 1:
        name = name[0]
    return _text(name)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _metadata_quickly(line: bytes, keys: tuple[str, ...]) -> _Found | None:
    """Return what tells something with the faster reader; None where it refuses."""
    try:
        found = _quick_decoder(keys)(line).chat_metadata
    except REFUSALS:
        return None
    running = found.auto_recap_running_scene_recaps
    if running is not None:
        numbers = [{"version": version.version} for version in running.versions]
        running = {"current_version": running.current_version, "versions": numbers}
    known = (found.main_chat, found.world_info, found.forklore, found.timedWorldInfo, found.auto_recap)
    record = found.auto_recap_checkpoint_state
    if record is not None:
        record = {key: value for key in _OF_RECORD if (value := getattr(record, key)) is not ...}
    return _Found(*known, found.integrity, running, record, {key: getattr(found, key) for key in keys})


@cache
def _quick_decoder(keys: tuple[str, ...]) -> Callable[[bytes], Any]:
    import msgspec  # noqa: PLC0415

    version = msgspec.defstruct("Version", [("version", Any, None)])  # its text, which is long, is passed over
    versions: Any = list[version]  # type: ignore[valid-type]  # the type is made at run time
    running: Any = msgspec.defstruct("Running", [("current_version", Any, None), ("versions", versions, [])])
    record: Any = msgspec.defstruct("Record", [(key, Any, ...) for key in _OF_RECORD])  # so is all else that it holds
    plain = [(key, Any, None) for key in (*_PLAIN, *keys)]
    special = [(_RUNNING, running | None, None), (RECORD_KEY, record | None, None)]
    metadata = msgspec.defstruct("Metadata", [*plain, *special])
    return msgspec.json.Decoder(msgspec.defstruct("Header", [("chat_metadata", metadata)])).decode


def count_messages(data: bytes) -> int:
    """Return how many messages a whole chat file has."""
    lines = BytesIO(data).readlines()
    if lines and min(lines) >= b"{" and max(lines) < b"|":  # the character after "{"
        return len(lines) - 1  # nearly always: every line begins like an object, so none is blank
    return Chat.from_bytes(data).message_count


def beginning_of(chat: Chat) -> str | None:
    """Return a digest of what was said, and when, up to the user's first words; None where that does not tell.

    A greeting is the same in every chat of a character. The user's words with their time are not, and neither hiding
    a message nor linking it to a fork changes them.
    """
    said = hashlib.sha256()
    for number in range(min(chat.message_count, _GREETINGS)):
        try:
            message = chat.message(number)
        except ChatDamaged:
            return None
        parts = [message.get(key) for key in ("name", "mes", "send_date")]
        said.update(encode(parts).encode("utf-8", "surrogatepass"))
        if message.get("is_user") is True:
            return said.hexdigest() if all(parts) else None
    return None


def links_of(chat: Chat, *, since: int = 0) -> Iterator[Link]:
    """Yield the links on the messages from *since* on: in the ``extra`` of each and of its swipes, which hide them."""
    numbers = list(chat.messages_with(*_LINK_NEEDLES, since=since, upto=chat.message_count - 1))
    return _links_at(chat, numbers) if numbers else iter(())


def find_links(data: bytes, forks: Collection[str]) -> Iterator[Link]:
    """Yield the links in a whole chat file, as ``links_of`` does, at least all that name one of *forks*."""
    # A long name is found several times as fast as the short keys; but it may be written with escapes.
    by_name = len(forks) <= _FEW and all(name.isascii() for name in forks)
    needles = [encode(name).encode() for name in forks] if by_name else _LINK_NEEDLES
    places = [place for needle in needles for place in places_in(data, needle)]
    if places:
        chat = Chat.from_bytes(data)
        lines = {bisect_right(chat.lines.starts, place) - 1 for place in places}
        yield from _links_at(chat, sorted(line - 1 for line in lines if line > 0))  # line 0 is the header


def _links_at(chat: Chat, numbers: Iterable[int]) -> Iterator[Link]:
    for number in numbers:
        try:
            message = chat.message(number)
        except ValueError:
            continue
        yield from links_in_message(message, number)


def links_in_message(message: Mapping[str, Any], number: int) -> Iterator[Link]:
    """Yield the links in a message's ``extra`` and in that of its swipes, each once."""
    seen: set[Link] = set()
    swipes = message.get("swipe_info")
    swipes = swipes if isinstance(swipes, list) else []
    for holder in (message, *swipes):
        extra = holder.get("extra") if isinstance(holder, dict) else None
        for link in _links_in(extra, number) if isinstance(extra, dict) else ():
            if link not in seen:
                seen.add(link)
                yield link


def checkpoint_of(message: Mapping[str, Any]) -> str | None:
    """Return the checkpoint that a message points to with its flag: that of the swipe which is shown."""
    extra = message.get("extra")
    return _text(extra.get("bookmark_link")) if isinstance(extra, dict) else None


def _links_in(extra: Mapping[str, Any], number: int) -> Iterator[Link]:
    if name := _text(extra.get("bookmark_link")):
        yield Link(number, "checkpoint", name)
    branches = extra.get("branches")
    for branch in branches if isinstance(branches, list) else ():
        if name := _text(branch):
            yield Link(number, "branch", name)


def when_sent(chat: Chat, lines: Iterable[int | None]) -> dict[str, Any]:
    """Return when the messages at *lines* were sent, by their numbers."""
    numbers = sorted({line for line in lines if line is not None and line != HEADER})
    return {str(number): chat.message(number).get("send_date") for number in numbers}
