"""The rules that rows are made of. What none of them can say is a function in the extension's own file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeGuard

from forklore.adapters.fork import Fork
from forklore.adapters.row import GONE


class FreshId(NamedTuple):
    """An id of the parent's own becomes one of the fork's own."""

    template: str

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return a new id, whatever stood there."""
        del value
        return fork.fresh(self.template)


class CloneBook(NamedTuple):
    """The name of a lorebook that the timeline has for itself: it is cloned, and the clone is named."""

    role: str

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return the clone's name."""
        return fork.clone_of(value) or value


class RePoint(NamedTuple):
    """The name of a lorebook that is cloned anyway, or of the parent's chat."""

    what: str = "lorebook"
    """``lorebook`` or ``chat``."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return what is called so in the fork."""
        if self.what == "chat":
            return fork.point.chat_name if value == fork.point.parent_name else value
        return fork.clone_of(value) or value


class Write(NamedTuple):
    """A value that a fork has whatever the parent has; ``{chat}`` in a text is the fork's name."""

    value: Any
    makes_in: str = ""
    """The kind of fork in which it is written even where the parent has none."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return the value, filled in."""
        del value
        return filled(self.value, {"chat": fork.point.chat_name})


class Keep(NamedTuple):
    """What is right in every fork as it is."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return it."""
        del fork
        return value


class Clamp(NamedTuple):
    """The number of a message, at most the fork's last one; or the largest one in a field of the entries that stay."""

    to: str = ""
    """The field of the entries, as ``kept:STMB_end``; empty: the fork's last message."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return the smaller number."""
        if not is_number(value):
            return value
        if not self.to:
            return min(value, fork.last)
        kept = [number for number in fork.kept.get(self.to.removeprefix("kept:"), ()) if is_number(number)]
        return min(value, max(kept)) if kept else GONE


class NullBeyond(NamedTuple):
    """The number of a message that may not be there."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return nothing in place of a later message."""
        return None if is_number(value) and value > fork.last else value


class LeaveOut(NamedTuple):
    """What nothing shows to be of the past."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return that it is gone."""
        del value, fork
        return GONE


class Show(NamedTuple):
    """The mark on a message that an extension has hidden: without the summary that covered it, it is shown again."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return that the mark is gone."""
        del fork
        return GONE if value else value


class Unhide(NamedTuple):
    """The fields of an entry that tell which messages it covers: they are shown again when it goes."""

    first: str
    last: str


class DropBeyond(NamedTuple):
    """The number of the last message that an entry, or an item of a list, was made from: beyond the fork it goes."""

    then: Unhide | None = None

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return that it is gone when it knows of later messages."""
        return GONE if is_number(value) and value > fork.last else value


class WhenGone(NamedTuple):
    """The UID of another entry: when that one goes, these fields of this one change and the mark goes too."""

    put: Mapping[str, Any]

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return it as it is; the other entries decide."""
        del fork
        return value


class CopyTo(NamedTuple):
    """What SillyTavern's settings have under the name of a lorebook or a chat, once more under the fork's name."""

    put: Mapping[str, Any] = {}  # a tuple's default is never changed
    """Fields of the copy that name it."""
    prune: str = ""
    """The lists in it, wherever they are, that hold UIDs of entries."""

    def __call__(self, value: Any, fork: Fork) -> Any:
        """Return it as it is: it is done where the settings are, in SillyTavern's page."""
        del fork
        return value


def is_number(value: object) -> TypeGuard[float]:
    """Whether this can be the number of a message."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def filled(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value with the names in its texts filled in."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, Mapping):
        return {key: filled(held, names) for key, held in value.items()}
    return [filled(item, names) for item in value] if isinstance(value, list) else value
