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
        yield Finding(
            "SERVICE_PROGRAM_GONE",
            Severity.ERROR,
            "The Python that the service is started with is gone",
            "Install it again: forklore service install",
            kept.command[0],
        )
    elif seen.is_fleeting:
        yield Finding(
            "SERVICE_PROGRAM_FLEETING",
            Severity.WARNING,
            "The Python that the service is started with may be cleaned away at any time",
            "Install Forklore to stay, as with pipx install or uv tool install, then: forklore service install",
            kept.command[0],
        )
    elif seen.program != kept.command[0]:
        yield Finding(
            "SERVICE_PROGRAM_OTHER",
            Severity.WARNING,
            "The service is started with another Forklore than this one",
            "If this one is right: forklore service install",
            kept.command[0],
        )


def _of_files(kept: Kept, seen: Seen) -> Iterator[Finding]:
    if not seen.has_stories:
        yield Finding(
            "SERVICE_FOLDER_GONE",
            Severity.ERROR,
            "The SillyTavern folder that the service serves is not there",
            "Bring it back, or tell where it is now: forklore service install --data DIR",
            kept.data,
        )
    if seen.digest is None:
        yield Finding(
            "SERVICE_FILE_GONE",
            Severity.ERROR,
            "What starts the service is gone",
            "Install it again: forklore service install",
            kept.file,
        )
    elif seen.digest != kept.digest:
        yield Finding(
            "SERVICE_FILE_CHANGED",
            Severity.WARNING,
            "What starts the service was changed by somebody else",
            "If it was not you, write it anew: forklore service install",
            kept.file,
        )


def _of_process(kept: Kept, seen: Seen) -> Iterator[Finding]:
    if seen.running is None:
        yield Finding(
            "SERVICE_STOPPED",
            Severity.ERROR,
            "The service does not run",
            "See what its log says, then start it anew: forklore service install",
            listed=seen.told,
        )
    elif not is_running(kept, seen.running):
        yield Finding(
            "SERVICE_PORT_TAKEN",
            Severity.ERROR,
            "The service does not run: a forklore serve that you started has its port",
            "Stop that one with Ctrl-C; the service follows within a minute",
        )
    elif seen.running.version != seen.version:
        yield Finding(
            "SERVICE_OUTDATED",
            Severity.WARNING,
            f"The service that runs is version {seen.running.version}, this is {seen.version}",
            "Start it anew: forklore service install",
        )


def _of_surroundings(seen: Seen) -> Iterator[Finding]:
    if seen.left_out:
        yield Finding(
            "SERVICE_ENVIRONMENT",
            Severity.WARNING,
            f"The service does not get {' and '.join(seen.left_out)} from this window",
            "Set it for your whole account in the system's settings, unless you have done so",
        )
    if seen.ends_at_logout:
        yield Finding(
            "SERVICE_ENDS_AT_LOGOUT",
            Severity.WARNING,
            "The service stops when you log out, and starts when you log in again",
            "To have it run all the time: loginctl enable-linger",
        )
