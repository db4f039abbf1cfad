"""Following new names: who renames a chat or a lorebook in SillyTavern renames it in one place; others name it too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forklore.app.context import Context
from forklore.app.doctor import Fixed, Fixing, examine_timeline
from forklore.model.address import ChatAddress
from forklore.model.finding import Located

_CHAT_IS_NAMED = ("CHAT_RENAMED", "PARENT_MISSING")
_CHAT_NAMES_ITSELF = "RUNNING_RECAP_FOREIGN"


@dataclass(frozen=True, slots=True)
class Followed:
    """Where a new name was followed."""

    followed: tuple[Fixed, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the places, each with what was done there."""
        return {"followed": [each.to_json() for each in self.followed]}


def follow_chats(renamed: ChatAddress | None, context: Context) -> Followed:
    """Let whatever names a chat follow its new name; what *renamed* says of itself follows, too."""

    def is_meant(located: Located) -> bool:
        own = renamed is not None and renamed.means(located.chat or "")
        return located.finding.code in _CHAT_IS_NAMED or (own and located.finding.code == _CHAT_NAMES_ITSELF)

    index = context.index()
    chats = [ChatAddress(chat.folder, chat.name) for chat in sorted(index.chats)]
    found = [located for chat in chats for located in examine_timeline(chat, context, index).findings]
    fixing = Fixing(context, index)
    for _ in fixing.fix([located for located in found if is_meant(located)]):
        context.progress.go_on()
    return Followed(tuple(fixing.fixed))


def follow_book(old: str, new: str, context: Context) -> Followed:
    """Let every timeline follow a lorebook that was called *old* and is called *new* now.

    Nothing on the disk tells that the two are one, so whoever saw the renaming says it.
    """
    fixing = Fixing(context, context.index(told_book=new))
    for located, repair in tuple(_behind(old, new, fixing, context)):
        for _ in fixing.repair(repair, located):
            context.progress.go_on()
    return Followed(tuple(fixing.fixed))


def _behind(old: str, new: str, fixing: Fixing, context: Context) -> Iterator[tuple[Located, str]]:
    """Yield what tells that a timeline has not followed, and the repair that lets it."""
    for chat in sorted(fixing.index.chats):
        if chat.lorebook not in (old, new):
            continue
        for located in examine_timeline(ChatAddress(chat.folder, chat.name), context, fixing.index).findings:
            code, params = located.finding.code, located.finding.params
            if code == "LOREBOOK_MISSING" and params["lorebook"] == old:
                yield located, "follow-rename"
            elif code == "LOREBOOK_MISMATCH" and (params["expected"], params["current"]) == (old, new):
                yield located, "accept"  # SillyTavern has followed in the open chat; its record has not
