"""The lorebooks that SillyTavern's settings.json names."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class SettingsBooks(NamedTuple):
    """The lorebooks in use through the settings; `character_books` is keyed by the avatar file's stem."""

    global_books: frozenset[str]
    character_books: Mapping[str, frozenset[str]]
    persona_books: frozenset[str]
    extensions: Mapping[str, Any]
    """What extensions keep in the settings."""


NO_BOOKS = SettingsBooks(frozenset(), MappingProxyType({}), frozenset(), MappingProxyType({}))
"""What settings name that are not there."""


def parse_settings(data: bytes) -> SettingsBooks:
    """Return every lorebook that settings.json refers to; bytes that are not a JSON object are a ValueError.

    Parts of an unexpected type are passed over, since other versions and extensions write into the same file.
    """
    settings = _parse_object(data)
    selections = (
        _mapping(settings.get("world_info_settings")).get("world_info"),
        settings.get("world_info"),  # where versions before `world_info_settings` kept it
    )
    return SettingsBooks(
        global_books=frozenset(book for selection in selections for book in _global_books(selection)),
        character_books=MappingProxyType(_character_books(selections)),
        persona_books=frozenset(_persona_books(_mapping(settings.get("power_user")))),
        extensions=_mapping(settings.get("extension_settings")),
    )


def _parse_object(data: bytes) -> Mapping[str, Any]:
    try:
        settings = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"settings.json is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise ValueError("settings.json is not a JSON object")  # noqa: TRY004 - what is wrong is the file, not a type in the program
    return settings


def _global_books(selection: Any) -> Iterator[str]:
    if isinstance(selection, dict):
        yield from _names(selection.get("globalSelect"))
    elif isinstance(selection, str):
        yield from _names([selection])
    else:
        yield from _names(selection)


def _character_books(selections: tuple[Any, ...]) -> dict[str, frozenset[str]]:
    books: dict[str, frozenset[str]] = {}
    for selection in selections:
        for character in _elements(_mapping(selection).get("charLore")):
            stem = _mapping(character).get("name")
            extra = frozenset(_names(_mapping(character).get("extraBooks")))
            if isinstance(stem, str) and stem and extra:
                books[stem] = books.get(stem, frozenset()) | extra
    return books


def _persona_books(power_user: Mapping[str, Any]) -> Iterator[str]:
    yield from _names([power_user.get("persona_description_lorebook")])
    for persona in _mapping(power_user.get("persona_descriptions")).values():
        yield from _names([_mapping(persona).get("lorebook")])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _elements(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _names(value: Any) -> Iterator[str]:
    return (name for name in _elements(value) if isinstance(name, str) and name)
