"""What the settings of a workspace mean: policy, requirements, names, lorebooks that are shared on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from forklore.checks.requirements import REQUIREMENTS, Effect, Policy
from forklore.errors import ForkloreError, FormatNewer, Kind
from forklore.model.finding import Finding, Located, Severity
from forklore.model.names import NameTemplates
from forklore.model.stored import SETTINGS

_ROWS = {requirement.code: requirement for requirement in REQUIREMENTS}
_EFFECTS = {effect.value: effect for effect in Effect}


class SettingsInvalid(ForkloreError):
    """The settings file says something that makes no sense."""

    code = "SETTINGS_INVALID"
    kind = Kind.INVALID


class Settings(NamedTuple):
    """What the user decided for a workspace."""

    policy: Policy = Policy()
    names: NameTemplates = NameTemplates()
    shared_books: frozenset[str] = frozenset()
    """Lorebooks that several timelines are meant to share."""
    fault: FormatNewer | None = None
    """Why the user's settings are not known; then everything is as usual, but nothing is decided by it."""
    ignored: Mapping[str, Effect] = MappingProxyType({})
    """What the file says of requirements that always block: it does not count."""

    def needs_known(self) -> None:
        """Raise ``FormatNewer`` when a newer Forklore wrote the settings: what they decide is not known here."""
        if self.fault is not None:
            raise self.fault


def settings_of(stored: Mapping[str, Any]) -> Settings:
    """Return what *stored* settings mean; raises ``SettingsInvalid`` when they make no sense."""
    effects = _effects(stored.get("requirements", {}))
    ignored = {code: effect for code, effect in effects.items() if _is_lowered(code, effect)}
    overrides = {code: effect for code, effect in effects.items() if code not in ignored}
    return Settings(
        Policy(_is_strict(stored.get("policy", "standard")), overrides),
        _templates(stored.get("names", {})),
        _shared_books(stored.get("shared_books", [])),
        ignored=ignored,
    )


def refuse_lowered(requirements: Mapping[str, str | None]) -> None:
    """Raise ``SettingsInvalid`` when one of the *requirements* always blocks, and should do less."""
    for code, value in requirements.items():
        if value is not None and _is_lowered(code, _EFFECTS.get(value)):
            raise SettingsInvalid("fixed", requirement=code)


def _is_lowered(code: str, effect: Effect | None) -> bool:
    return code in _ROWS and _ROWS[code].indispensable and effect is not Effect.BLOCK


def ignored_settings(settings: Settings) -> Iterator[Located]:
    """Yield what stands in the settings and does not count."""
    for code, effect in settings.ignored.items():
        params = {"requirement": code, "effect": effect.value}
        yield Located(Finding("SETTING_IGNORED", Severity.WARNING, params), path=SETTINGS)


def _is_strict(policy: object) -> bool:
    if policy not in ("standard", "strict"):
        raise SettingsInvalid("policy", value=_shown(policy))
    return policy == "strict"


def _effects(stored: object) -> dict[str, Effect]:
    if not isinstance(stored, dict):
        raise SettingsInvalid("requirements")
    effects = {}
    for code, value in stored.items():
        if code not in _ROWS:
            raise SettingsInvalid("requirement", requirement=code)
        if not isinstance(value, str) or value not in _EFFECTS:
            raise SettingsInvalid("effect", requirement=code, value=_shown(value))
        effects[code] = _EFFECTS[value]
    return effects


def _templates(stored: Any) -> NameTemplates:
    known = ("checkpoint", "branch")
    if not isinstance(stored, dict) or not all(isinstance(stored[key], str) for key in stored):
        raise SettingsInvalid("names")
    if unknown := set(stored) - set(known):
        raise SettingsInvalid("kinds", kinds=sorted(unknown))
    return NameTemplates(**stored)


def _shared_books(stored: object) -> frozenset[str]:
    if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
        raise SettingsInvalid("shared_books")
    return frozenset(stored)


def _shown(value: object) -> str:
    """Return a value of the file as it stands there; a text without its quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
