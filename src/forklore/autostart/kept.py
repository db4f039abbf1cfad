"""What ``service install`` writes, noted in the state folder before it is written: nothing else is ever removed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from forklore.disk.state import State

_NAME = "service.json"


@dataclass(frozen=True, slots=True)
class Kept:
    """An installed service."""

    system: str
    file: str
    digest: str
    """Of what was written into the file."""
    command: tuple[str, ...]
    data: str
    """The folder whose stories are served, as it was meant."""
    user: str | None
    roots: tuple[str, ...]
    """The folders of users that this meant when it was installed."""
    host: str
    port: int
    names: tuple[str, ...]
    origins: tuple[str, ...]
    poll: bool
    address: str
    log: str
    has_password: bool = False


def read_kept(state: State) -> Kept | None:
    """Return what is installed, None when it is nothing; raises ``FormatNewer``."""
    stored = state.read(state.folder / _NAME)
    try:
        user = stored["user"]
        kept = Kept(
            system=str(stored["system"]),
            file=str(stored["file"]),
            digest=str(stored["digest"]),
            command=tuple(map(str, stored["command"])),
            data=str(stored["data"]),
            user=None if user is None else str(user),
            roots=tuple(map(str, stored["roots"])),
            host=str(stored["host"]),
            port=int(stored["port"]),
            names=tuple(map(str, stored["names"])),
            origins=tuple(map(str, stored["origins"])),
            poll=bool(stored["poll"]),
            address=str(stored["address"]),
            log=str(stored["log"]),
            has_password=bool(stored["has_password"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return kept if kept.command else None


def keep(state: State, kept: Kept) -> None:
    """Note what is about to be written."""
    state.write(state.folder / _NAME, asdict(kept))


def forget_kept(state: State) -> None:
    """Note that nothing is installed any more."""
    (state.folder / _NAME).unlink(missing_ok=True)


def log_of(state: State) -> Path:
    """Return where the service writes what it has to say."""
    return state.folder.absolute() / "service.log"


def password_of(state: State) -> Path:
    """Return where the service reads its password."""
    return state.folder.absolute() / "service-password"


def read_password(state: State) -> str | None:
    """Return the password that the service was given."""
    with suppress(OSError):
        return password_of(state).read_text(encoding="utf-8", errors="surrogateescape").rstrip("\r\n") or None
    return None
