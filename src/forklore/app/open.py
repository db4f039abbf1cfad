"""Opening a workspace: everything that reads the clock, the environment or a random number is wired here."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from forklore.app.context import Outside
from forklore.app.forklore import Forklore
from forklore.app.progress import Progress
from forklore.checks.requirements import Policy
from forklore.disk.disk import Disk
from forklore.disk.places import Places
from forklore.disk.settings import read_settings
from forklore.disk.state import State
from forklore.disk.workspace import WorkspaceNotFound, find_workspaces, only_one
from forklore.errors import BadRequest
from forklore.model.stored import is_operation_id, operation_id
from forklore.version import VERSION

_USUAL_PLACES = (
    ".",
    "~/SillyTavern",
    "~/Documents/SillyTavern",
    "~/SillyTavern-Launcher/SillyTavern",
    "~/Desktop/SillyTavern",
    "~/Downloads/SillyTavern",
    "C:/SillyTavern",
    "/home/node/app",
)


def open_workspace(
    path: str | os.PathLike[str] | None = None,
    *,
    user: str | None = None,
    policy: str | None = None,
    progress: Progress | None = None,
    disk: Disk | None = None,
    exact_addresses: bool = False,
    request: str | None = None,
) -> Forklore:
    """Open a SillyTavern folder (user, ``data`` or whole); nothing in it is changed.

    With *exact_addresses* a text that looks like a chat's address means that chat alone, never a longer one.
    *request* is what you call what you are about to ask for: ``log`` tells what became of it.
    Without *path* the environment's ``FORKLORE_DATA`` and then the usual places are tried.
    """
    if request is not None and not is_operation_id(request):
        raise BadRequest("request_name")
    root = only_one(find_roots(path, user=user))
    settings = read_settings(Places(root))
    chosen = None
    if policy is not None:
        if policy not in ("standard", "strict"):
            raise BadRequest("no_policy", policy=policy)
        chosen = Policy(policy == "strict", settings.policy.overrides)
    return Forklore(
        root,
        settings,
        _outside(),
        policy=chosen,
        progress=progress,
        disk=disk,
        exact_addresses=exact_addresses,
        request=request,
    )


def find_roots(path: str | os.PathLike[str] | None = None, *, user: str | None = None) -> list[Path]:
    """Return every user folder that *path* means, or that is found where ``open_workspace`` searches."""
    if path is None:
        path = os.environ.get("FORKLORE_DATA") or None
    if path is not None:
        return find_workspaces(_at_home(Path(path)), user)
    for place in _USUAL_PLACES:
        try:
            return find_workspaces(_at_home(Path(place)), user)
        except WorkspaceNotFound:
            continue
    raise WorkspaceNotFound("usual_places")


def _at_home(path: Path) -> Path:
    """Return a path that begins with ``~`` as it leads from the user's home; as it is where nobody knows that."""
    with suppress(RuntimeError):
        return path.expanduser()
    return path


def _outside() -> Outside:
    return Outside(
        now_ms=lambda: time.time_ns() // 1_000_000,
        timestamp=_timestamp,
        new_id=_new_id,
        new_operation_id=_new_operation_id,
        cache=_cache_folder,
        state=user_state,
        version=VERSION,
    )


def _timestamp() -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _new_id() -> str:
    import uuid  # noqa: PLC0415

    return str(uuid.uuid4())


def _new_operation_id(number: int) -> str:
    return operation_id(number, os.urandom(4).hex())


def state_folder() -> Path:
    """Return where what belongs to this user and no workspace is kept."""
    if given := os.environ.get("FORKLORE_STATE"):
        return Path(given)
    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_state_dir("forklore", appauthor=False))


def user_state() -> State:
    """Return what this user keeps outside of every workspace."""
    return State(state_folder())


def _cache_folder() -> Path | None:
    if given := os.environ.get("FORKLORE_CACHE"):
        return Path(given)
    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_cache_dir("forklore", appauthor=False))
