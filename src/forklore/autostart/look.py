"""Holding an installed service against what is there now: pure, so that every way it can go wrong is one test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forklore.access.running import Running
from forklore.autostart.kept import Kept
from forklore.model.finding import Finding, Severity


@dataclass(frozen=True, slots=True)
class Seen:
    """What is there now."""

    digest: str | None
    """Of the file that starts the service; None when there is none."""
    has_program: bool
    is_fleeting: bool
    """Whether the program lies where it will be cleaned away."""
    has_stories: bool
    running: Running | None
    """Who listens on the service's port, if it is one of this user's."""
    program: str
    """What would be started if it were installed now."""
    version: str
    """Ours; what runs may be older."""
    told: tuple[str, ...] = ()
    """The last lines of its log."""
    left_out: tuple[str, ...] = ()
    """Variables that are set here and that the system cannot hand over."""
    ends_at_logout: bool = False


def is_running(kept: Kept, running: Running | None) -> bool:
    """Whether who listens on the service's port is the service, and not a ``forklore serve`` in a window."""
    return running is not None and running.log == kept.log


def troubles(kept: Kept, seen: Seen) -> Iterator[Finding]:
    """Yield everything that keeps the service from running, now or when the computer starts."""
    yield from _of_program(kept, seen)
    yield from _of_files(kept, seen)
    yield from _of_process(kept, seen)
    yield from _of_surroundings(seen)


def _of_program(kept: Kept, seen: Seen) -> Iterator[Finding]:
    if not seen.has_program:
        yield Finding("SERVICE_PROGRAM_GONE", Severity.ERROR, {"program": kept.command[0]})
    elif seen.is_fleeting:
        yield Finding("SERVICE_PROGRAM_FLEETING", Severity.WARNING, {"program": kept.command[0]})
    elif seen.program != kept.command[0]:
        yield Finding("SERVICE_PROGRAM_OTHER", Severity.WARNING, {"program": kept.command[0]})


def _of_files(kept: Kept, seen: Seen) -> Iterator[Finding]:
    if not seen.has_stories:
        yield Finding("SERVICE_FOLDER_GONE", Severity.ERROR, {"folder": kept.data})
    if seen.digest is None:
        yield Finding("SERVICE_FILE_GONE", Severity.ERROR, {"file": kept.file})
    elif seen.digest != kept.digest:
        yield Finding("SERVICE_FILE_CHANGED", Severity.WARNING, {"file": kept.file})


def _of_process(kept: Kept, seen: Seen) -> Iterator[Finding]:
    if seen.running is None:
        yield Finding("SERVICE_STOPPED", Severity.ERROR, {"log": list(seen.told)})
    elif not is_running(kept, seen.running):
        yield Finding("SERVICE_PORT_TAKEN", Severity.ERROR)
    elif seen.running.version != seen.version:
        yield Finding("SERVICE_OUTDATED", Severity.WARNING, {"running": seen.running.version, "version": seen.version})


def _of_surroundings(seen: Seen) -> Iterator[Finding]:
    if seen.left_out:
        yield Finding("SERVICE_ENVIRONMENT", Severity.WARNING, {"variables": list(seen.left_out)})
    if seen.ends_at_logout:
        yield Finding("SERVICE_ENDS_AT_LOGOUT", Severity.WARNING)
