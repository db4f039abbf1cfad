"""What the user decides for a workspace: showing the settings, and changing them as an operation like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forklore.app.applying import apply_alone
from forklore.app.context import Context
from forklore.checks.requirements import REQUIREMENTS
from forklore.checks.settings import SettingsInvalid, refuse_lowered, settings_of
from forklore.disk.settings import read_settings, read_stored
from forklore.errors import BadRequest
from forklore.model.names import fault_of_template
from forklore.model.plan import Plan
from forklore.model.stored import SETTINGS
from forklore.planning.settings import OBJECTS, differences, plan_settings


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


def show_settings(context: Context, operation: str | None = None) -> SettingsShown:
    """Return the settings as the file has them now."""
    settings = settings_of(_stored(context))
    return SettingsShown(
        policy="strict" if settings.policy.strict else "standard",
        names={"checkpoint": settings.names.checkpoint, "branch": settings.names.branch},
        requirements={code: effect.value for code, effect in settings.policy.overrides.items()},
        shared_books=tuple(sorted(settings.shared_books)),
        books=tuple(context.workspace.books()),
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


def change_settings(change: SettingsChange, context: Context) -> SettingsShown:
    """Write what should be otherwise into the settings; what else stands there is not touched."""
    if not any(differences(_stored(context), _wanted(change, context))):
        return show_settings(context)  # nothing is locked, and nothing is written

    def make_plan() -> Plan:
        return plan_settings(_stored(context), _wanted(change, context), is_new=_is_new(context))

    return show_settings(context, apply_alone(make_plan, context, what="settings").operation.id)


def _wanted(change: SettingsChange, context: Context) -> dict[str, Any]:
    """Return the settings as they should be; raises ``BadRequest`` for what they cannot be."""
    stored = _stored(context)
    settings_of(stored)  # what is wrong already is not the fault of the change
    wanted = dict(stored)
    if change.policy is not None:
        wanted["policy"] = change.policy
    for key in OBJECTS:
        given = getattr(change, key)
        if given is not None:
            wanted[key] = _merged(key, stored.get(key, {}), given)
    if change.shared_books is not None:
        wanted["shared_books"] = _shared(stored.get("shared_books", []), change.shared_books, context)
    try:
        settings_of(wanted)
        refuse_lowered(change.requirements or {})
    except SettingsInvalid as error:
        raise BadRequest("settings", reason=error.fact) from error
    for template in (change.names or {}).values():  # of those that are new: what was stored is made to fit
        if template is not None and (fault := fault_of_template(template)):
            raise BadRequest("name_template", reason=fault)
    return wanted


def _merged(key: str, stored: Mapping[str, Any], given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise BadRequest("not_an_object", key=key)
    merged = {**stored, **given}
    return {name: value for name, value in merged.items() if value is not None}


def _shared(stored: list[str], given: object, context: Context) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(book, str) for book in given):
        raise BadRequest("not_a_list", key="shared_books")
    for book in sorted(set(given) - set(stored)):
        if not context.workspace.exists(context.workspace.book_path(book)):
            raise BadRequest("no_such_lorebook", lorebook=book)
    return [*(book for book in stored if book in given), *dict.fromkeys(book for book in given if book not in stored)]


# --- sharing on purpose -------------------------------------------------------------------------------------------


def share_on_purpose(book: str, chat: str, context: Context) -> str:
    """Note that a lorebook is shared on purpose; return the operation, which can be undone like any other."""
    return apply_alone(lambda: share_plan(book, chat, context), context, what="settings").operation.id


def share_plan(book: str, chat: str, context: Context) -> Plan:
    """Return the plan that notes a lorebook as shared on purpose."""
    read_settings(context.workspace.places).needs_known()
    stored = _stored(context)
    wanted = {**stored, "shared_books": [*stored.get("shared_books", []), book]}
    return plan_settings(stored, wanted, is_new=_is_new(context), kind="share", chat=chat)


# --- the file -----------------------------------------------------------------------------------------------------


def _stored(context: Context) -> dict[str, Any]:
    return read_stored(context.workspace.places)


def _is_new(context: Context) -> bool:
    return not context.workspace.exists(SETTINGS)
