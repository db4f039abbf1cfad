"""What the settings of a workspace mean: policy, requirements, names, lorebooks that are shared on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forklore.checks.requirements import REQUIREMENTS, Effect, Policy
from forklore.errors import ForkloreError, FormatNewer, Kind
from forklore.model.names import NameTemplates


class SettingsInvalid(ForkloreError):
    """The settings file says something that makes no sense."""

    code = "SETTINGS_INVALID"
    kind = Kind.INVALID
    action = "Correct or delete .forklore/settings.json; docs/reference/settings.md lists what it may say."


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user decided for a workspace."""

    policy: Policy = field(default_factory=Policy)
    names: NameTemplates = field(default_factory=NameTemplates)
    shared_books: frozenset[str] = frozenset()
    """Lorebooks that several timelines are meant to share."""
    fault: FormatNewer | None = None
    """Why the user's settings are not known; then everything is as usual, but nothing is decided by it."""

    def needs_known(self) -> None:
        """Raise ``FormatNewer`` when a newer Forklore wrote the settings: what they decide is not known here."""
        if self.fault is not None:
            raise self.fault


def settings_of(stored: Mapping[str, Any]) -> Settings:
    """Return what *stored* settings mean; raises ``SettingsInvalid`` when they make no sense."""
    return Settings(
        Policy(_is_strict(stored.get("policy", "standard")), _overrides(stored.get("requirements", {}))),
        _templates(stored.get("names", {})),
        _shared_books(stored.get("shared_books", [])),
    )


def _is_strict(policy: object) -> bool:
    if policy not in ("standard", "strict"):
        raise SettingsInvalid(f"policy is {policy!r}; it may be standard or strict.")
    return policy == "strict"


def _overrides(stored: object) -> Mapping[str, Effect]:
    if not isinstance(stored, dict):
        raise SettingsInvalid("requirements is not an object of codes.")
    rows = {requirement.code: requirement for requirement in REQUIREMENTS}
    effects = {effect.value: effect for effect in Effect}
    overrides = {}
    for code, value in stored.items():
        if code not in rows:
            raise SettingsInvalid(f"There is no requirement {code!r}.")
        if not isinstance(value, str) or value not in effects:
            raise SettingsInvalid(f"{code} is {value!r}; it may be block, warn or ignore.")
        if rows[code].indispensable and effects[value] is not Effect.BLOCK:
            raise SettingsInvalid(f"{code} always blocks: without it no isolated fork can be made.")
        overrides[code] = effects[value]
    return overrides


def _templates(stored: Any) -> NameTemplates:
    known = ("checkpoint", "branch")
    if not isinstance(stored, dict) or not all(isinstance(stored[key], str) for key in stored):
        raise SettingsInvalid("names is not an object of texts.")
    if unknown := set(stored) - set(known):
        raise SettingsInvalid(f"There are no names for {', '.join(sorted(unknown))}.")
    return NameTemplates(**stored)


def _shared_books(stored: object) -> frozenset[str]:
    if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
        raise SettingsInvalid("shared_books is not a list of names.")
    return frozenset(stored)
