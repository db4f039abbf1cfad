"""A message that shows another of its swipes, and messages that are shown again."""

from __future__ import annotations

from forklore.errors import BadRequest
from forklore.formats.json_edit import apply_edits, value_text
from forklore.formats.json_text import NotJson, encode, parse_object, to_bytes, to_text
from forklore.model.plan import Drop, Edit, Put

_OF_A_SWIPE = ("send_date", "gen_started", "gen_finished", "extra")


class NoSuchSwipe(BadRequest):
    """The message has no such swipe."""

    code = "SWIPE_NOT_FOUND"


def shown_swipe(line: bytes) -> int:
    """Return which swipe a message shows; a message without swipes shows its only one."""
    swipe = parse_object(line).get("swipe_id")
    return swipe if isinstance(swipe, int) else 0


def choose_swipe(line: bytes, swipe: int) -> bytes:
    """Return the message showing *swipe*, as SillyTavern itself swipes.

    What the message says now is first put back into the swipe it shows, so that nothing of it is lost; then text,
    dates and ``extra`` come from the chosen one. Everything else stays as it is written.
    """
    text = to_text(line)
    message = parse_object(line)
    swipes, infos, shown = message.get("swipes"), message.get("swipe_info"), message.get("swipe_id")
    if not isinstance(swipes, list) or not 0 <= swipe < len(swipes) or not isinstance(swipes[swipe], str):
        count = len(swipes) if isinstance(swipes, list) else 0
        raise NoSuchSwipe(swipe=swipe, count=count)
    edits: list[Edit] = []
    infos = infos if isinstance(infos, list) else None
    shown = shown if isinstance(shown, int) and 0 <= shown < len(swipes) else None
    if shown is not None and isinstance(message.get("mes"), str):
        edits.append(Put(("swipes", shown), value_text(text, ("mes",)) or '""'))
    if shown is not None and infos is not None and shown < len(infos) and isinstance(infos[shown], dict):
        kept = ((key, value_text(text, (key,))) for key in _OF_A_SWIPE)
        edits.extend(Put(("swipe_info", shown, key), now) for key, now in kept if now is not None)
    edits.append(Put(("mes",), value_text(text, ("swipes", swipe)) or '""'))
    edits.append(Put(("swipe_id",), encode(swipe)))
    for key in _OF_A_SWIPE:
        then = value_text(text, ("swipe_info", swipe, key)) if infos is not None else None
        if then is not None:
            edits.append(Put((key,), then))
        elif key == "extra":
            edits.append(Put((key,), "{}"))
        elif infos is not None:
            edits.append(Drop((key,)))
    return to_bytes(apply_edits(text, edits).text)


def shown_again(line: bytes) -> bytes:
    """Return the message visible to the model; the line itself when it was not hidden, or is no story message."""
    return to_bytes(apply_edits(to_text(line), [Put(("is_system",), "false")]).text) if is_hidden(line) else line


def is_hidden(line: bytes) -> bool:
    """Whether a message of the story is kept from the model."""
    try:
        message = parse_object(line)
    except NotJson:
        return False  # SillyTavern does not show it either
    extra = message.get("extra")
    is_notice = isinstance(extra, dict) and isinstance(extra.get("type"), str)  # SillyTavern's own notices
    return message.get("is_system") is True and not is_notice
