"""What a chat says about its place in a story, read as fast as its bytes can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from forklore.formats.chat_jsonl import Chat
from forklore.formats.json_text import NotJson, parse_object
from forklore.model.timeline import Link

_LONG = 4096  # from this length of a header on the faster reader pays for its own import
_LINK_NEEDLES = (b'"bookmark_link"', b'"branches"')


class HeaderFacts(NamedTuple):
    """What the header says."""

    main_chat: str | None = None
    lorebook: str | None = None
    kind: str | None = None
    at: int | None = None
    timeline: str | None = None
    damaged: bool = False


def read_header(line: bytes, chat_name: str) -> HeaderFacts:
    """Return what the header *line* of the chat *chat_name* says; a line that is no header is damage."""
    metadata = _metadata_quickly(line) if len(line) >= _LONG else None
    if metadata is None:
        try:
            metadata = parse_object(line).get("chat_metadata")
        except NotJson:
            metadata = None
    if not isinstance(metadata, dict):
        return HeaderFacts(damaged=True)
    own = metadata.get("forklore")
    own = own if isinstance(own, dict) and own.get("chat") == chat_name else {}
    return HeaderFacts(
        _text(metadata.get("main_chat")),
        lorebook_name(metadata),
        _text(own.get("kind")),
        own["message"] if isinstance(own.get("message"), int) else None,
        _text(own.get("timeline")),
    )


def lorebook_name(metadata: Mapping[str, Any]) -> str | None:
    """Return the name of the chat's lorebook; SillyTavern takes a list of one for that one."""
    name = metadata.get("world_info")
    if isinstance(name, list) and len(name) == 1:
        name = name[0]
    return _text(name)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _metadata_quickly(line: bytes) -> Any:
    """Return the few metadata keys of a long header with msgspec; None where it is absent or refuses."""
    try:
        return _quick_decoder()(line)
    except (ImportError, ValueError):  # msgspec's errors are ValueErrors
        return None


@cache
def _quick_decoder() -> Callable[[bytes], Any]:
    import msgspec  # noqa: PLC0415

    keys = ("main_chat", "world_info", "forklore")
    metadata = msgspec.defstruct("Metadata", [(key, Any, None) for key in keys])
    header = msgspec.defstruct("Header", [("chat_metadata", metadata)])
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(header).decode

    def metadata_of(line: bytes) -> dict[str, Any]:
        found = decode(line).chat_metadata
        return {key: getattr(found, key) for key in keys}

    return metadata_of


def count_messages(data: bytes) -> int:
    """Return how many messages a whole chat file has."""
    breaks = data.count(b"\n")
    if data[-1:] not in b"\n\r " and data.count(b"\n{") == breaks:
        return breaks  # nearly always: every line break is followed by a message
    return Chat.from_bytes(data).message_count


def links_of(chat: Chat) -> Iterator[Link]:
    """Yield the links on messages: in the message's ``extra`` and in that of every swipe, since a swipe hides them."""
    seen: set[Link] = set()
    last = chat.message_count - 1
    numbers = {number for needle in _LINK_NEEDLES for number in chat.messages_with(needle, upto=last)}
    for number in sorted(numbers):
        try:
            message = chat.message(number)
        except ValueError:
            continue
        swipes = message.get("swipe_info")
        swipes = swipes if isinstance(swipes, list) else []
        for holder in (message, *swipes):
            extra = holder.get("extra") if isinstance(holder, dict) else None
            for link in _links_in(extra, number) if isinstance(extra, dict) else ():
                if link not in seen:
                    seen.add(link)
                    yield link


def _links_in(extra: Mapping[str, Any], number: int) -> Iterator[Link]:
    if name := _text(extra.get("bookmark_link")):
        yield Link(number, "checkpoint", name)
    branches = extra.get("branches")
    for branch in branches if isinstance(branches, list) else ():
        if name := _text(branch):
            yield Link(number, "branch", name)
