"""What the user decides for a workspace: showing the settings, and changing them as an operation like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forklore.app.applying import apply_alone
from forklore.app.means import Means
from forklore.app.settings import FORMAT, SettingsInvalid, read_stored, settings_of
from forklore.checks.requirements import REQUIREMENTS
from forklore.disk.files import OpenFile
from forklore.errors import BadRequest
from forklore.formats.json_text import encode, to_bytes
from forklore.model.names import fault_of_template
from forklore.model.plan import Append, Bytes, Change, CreateFile, Drop, Edit, EditFile, LineEdit, Plan, Put, Take
from forklore.model.stored import SETTINGS

_OBJECTS = ("names", "requirements")


@dataclass(frozen=True, slots=True)
class SettingsShown:
    """The settings of a workspace, with what they can be."""

    policy: str
    names: Mapping[str, str]
    requirements: Mapping[str, str]
    """The effects that differ from the policy's, by their codes."""
    shared_books: tuple[str, ...]
    books: tuple[str, ...]
    """Every lorebook there is."""
    operation: str | None = None
    """The operation that changed them, None when nothing was changed."""

    def to_json(self) -> dict[str, Any]:
        """Return the settings as ``settings`` shows them."""
        return {
            "policy": self.policy,
            "names": dict(self.names),
            "requirements": dict(self.requirements),
            "shared_books": list(self.shared_books),
            "rows": [
                {
                    "code": row.code,
                    "standard": row.standard.value,
                    "strict": row.strict.value,
                    "fixed": row.indispensable,
                }
                for row in REQUIREMENTS
            ],
            "books": list(self.books),
            "operation": self.operation,
        }


def show_settings(means: Means, operation: str | None = None) -> SettingsShown:
    """Return the settings as the file has them now."""
    settings = settings_of(_stored(means))
    return SettingsShown(
        policy="strict" if settings.policy.strict else "standard",
        names={"checkpoint": settings.names.checkpoint, "branch": settings.names.branch},
        requirements={code: effect.value for code, effect in settings.policy.overrides.items()},
        shared_books=tuple(sorted(settings.shared_books)),
        books=tuple(means.workspace.books()),
        operation=operation,
    )


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What should be otherwise; None leaves all as it is, and None for a name or an effect makes it the usual one."""

    policy: str | None = None
    names: Mapping[str, str | None] | None = None
    requirements: Mapping[str, str | None] | None = None
    shared_books: Sequence[str] | None = None
    """All lorebooks that are shared on purpose from now on."""


def change_settings(change: SettingsChange, means: Means) -> SettingsShown:
    """Write what should be otherwise into the settings; what else stands there is not touched."""
    if not _edits(_stored(means), _wanted(change, means)):
        return show_settings(means)  # nothing is locked, and nothing is written

    def make_plan() -> tuple[Plan, dict[str, OpenFile]]:
        return _plan(change, means), {}

    return show_settings(means, apply_alone(make_plan, means).operation.id)


def _plan(change: SettingsChange, means: Means) -> Plan:
    stored, wanted = _stored(means), _wanted(change, means)
    step: Change = EditFile(SETTINGS, tuple(LineEdit(None, edit) for edit in _edits(stored, wanted)), role="settings")
    if not means.workspace.exists(SETTINGS):
        said = {"format": FORMAT, **{key: value for key, value in wanted.items() if value}}
        step = CreateFile(SETTINGS, (Bytes(to_bytes(encode(said, indent=2)) + b"\n"),))
    return Plan("settings", "", (step,), commit=0)


def _stored(means: Means) -> dict[str, Any]:
    return read_stored(means.workspace.places)


def _wanted(change: SettingsChange, means: Means) -> dict[str, Any]:
    """Return the settings as they should be; raises ``BadRequest`` for what they cannot be."""
    stored = _stored(means)
    settings_of(stored)  # what is wrong already is not the fault of the change
    wanted = dict(stored)
    if change.policy is not None:
        wanted["policy"] = change.policy
    for key in _OBJECTS:
        given = getattr(change, key)
        if given is not None:
            wanted[key] = _merged(key, stored.get(key, {}), given)
    if change.shared_books is not None:
        wanted["shared_books"] = _shared(stored.get("shared_books", []), change.shared_books, means)
    try:
        settings_of(wanted)
    except SettingsInvalid as error:
        raise BadRequest(error.message) from error
    for template in (change.names or {}).values():  # of those that are new: what was stored is made to fit
        if template is not None and (fault := fault_of_template(template)):
            raise BadRequest(fault, action="Use {parent} and {n}, and text that can be the name of a file.")
    return wanted


def _merged(key: str, stored: Mapping[str, Any], given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise BadRequest(f"{key} is no object.")
    merged = {**stored, **given}
    return {name: value for name, value in merged.items() if value is not None}


def _shared(stored: list[str], given: object, means: Means) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(book, str) for book in given):
        raise BadRequest("shared_books is no list of names.")
    for book in sorted(set(given) - set(stored)):
        if not means.workspace.exists(means.workspace.book_path(book)):
            raise BadRequest(f"There is no lorebook {book!r}.", action="Give the name of a lorebook as it is.")
    return [*(book for book in stored if book in given), *dict.fromkeys(book for book in given if book not in stored)]


def _edits(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Edit]:
    return list(_differences(stored, wanted))


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[Edit]:
    if wanted.get("policy") != stored.get("policy"):
        yield Put(("policy",), encode(wanted["policy"]))
    for key in _OBJECTS:
        before, after = stored.get(key, {}), wanted.get(key, {})
        yield from (Put((key, name), encode(value)) for name, value in after.items() if before.get(name) != value)
        yield from (Drop((key, name)) for name in before if name not in after)
    before, after = stored.get("shared_books", []), wanted.get("shared_books", [])
    yield from (Append(("shared_books",), encode(book)) for book in after if book not in before)
    yield from (Take(("shared_books",), encode(book)) for book in before if book not in after)


__all__ = ["SettingsChange", "SettingsShown", "change_settings", "show_settings"]
