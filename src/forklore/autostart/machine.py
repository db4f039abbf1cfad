"""This computer: which system starts programs here, and for whom."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from forklore.errors import ForkloreError, Kind

_TERMUX = "/data/data/com.termux/files/usr"


class Unsupported(ForkloreError):
    """Nothing here starts programs for a user."""

    code = "SERVICE_UNSUPPORTED"
    kind = Kind.CONFLICT


class AsRoot(ForkloreError):
    """As root it would make files that SillyTavern cannot change any more."""

    code = "SERVICE_AS_ROOT"
    kind = Kind.INVALID


@dataclass(frozen=True, slots=True)
class Machine:
    """What has to be known of this computer and of who uses it."""

    system: str | None
    """What starts programs here: systemd, launchd, windows, termux; None when it is nothing we know."""
    home: Path
    config: Path
    """Where programs keep their settings."""
    state: Path
    """Our own state folder."""
    user: str
    account: str = ""
    """The user's name with that of the machine or domain, where there are such names."""
    uid: int | None = None
    by_sudo: bool = False
    prefix: str = ""
    """Where Termux is."""
    is_container: bool = False
    is_without_screen: bool = False
    """Whether the user came in by ssh, or sits before a text console."""
    cleaned: tuple[Path, ...] = ()
    """Where others clean up, so that nothing there is for good."""

    def is_fleeting(self, program: str) -> bool:
        """Whether a program lies where others clean up: it was brought for one call alone."""
        return any(Path(program).is_relative_to(place) for place in self.cleaned)

    def refuse_nothing_known(self) -> str:
        """Return what starts programs here; raises ``Unsupported``."""
        if self.system is not None:
            return self.system
        if self.is_container:
            raise Unsupported("container")
        raise Unsupported

    def refuse_root(self, owners: set[int]) -> None:
        """Raise ``AsRoot`` for root, unless everything is root's own; *owners* are those of the folders."""
        if self.uid == 0 and (self.by_sudo or owners - {0}):
            raise AsRoot


def this_machine(state: Path) -> Machine:
    """Return what is known of this computer."""
    environment = os.environ
    home = Path.home()
    user = environment.get("USERNAME" if sys.platform == "win32" else "USER") or _name()
    return Machine(
        system=_system(),
        home=home,
        config=Path(environment.get("XDG_CONFIG_HOME") or home / ".config"),
        state=state.absolute(),
        user=user,
        account=f"{environment.get('USERDOMAIN', '.')}\\{user}" if sys.platform == "win32" else user,
        uid=os.getuid() if hasattr(os, "getuid") else None,
        by_sudo="SUDO_UID" in environment,
        prefix=environment.get("PREFIX") or _TERMUX,
        is_container=_is_container(),
        is_without_screen="SSH_CONNECTION" in environment or environment.get("XDG_SESSION_TYPE") == "tty",
        cleaned=_cleaned(),
    )


def _system() -> str | None:
    if sys.platform == "win32":
        return "windows"
    if sys.platform == "darwin":
        return "launchd"
    if "TERMUX_VERSION" in os.environ or Path(_TERMUX).is_dir():
        return "termux"
    return "systemd" if Path("/run/systemd/system").is_dir() else None  # as systemd itself tells it


def _cleaned() -> tuple[Path, ...]:
    import tempfile  # noqa: PLC0415

    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_cache_dir()), Path(tempfile.gettempdir())


def _is_container() -> bool:
    return Path("/.dockerenv").exists() or Path("/run/.containerenv").exists() or "container" in os.environ


def _name() -> str:
    import getpass  # noqa: PLC0415

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a number without a name, or a system without such a list
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
