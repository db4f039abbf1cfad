"""Login links that the command line makes for a service that runs: nobody sees what that one prints.

The digest of the link's code is put into the state folder, where only this user can write, and the service looks for it
there. The code itself is in the link alone. It is good once, and for a quarter of an hour.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from forklore.access.keys import CODE_SECONDS, digest
from forklore.disk.state import State
from forklore.errors import FormatNewer

_MOST = 50  # links that were not used yet; the oldest gives way


def logins_of(port: int) -> str:
    """Return the name of the file with the links to the service on *port*."""
    return f"logins-{port}.json"


def offer_login(state: State, port: int, root: str, *, now: float) -> str:
    """Return a new code that opens the page of the workspace *root* once."""
    path, code = state.folder / logins_of(port), secrets.token_urlsafe(24)
    with state.alone(path):
        waiting = [*_waiting(state, path, now), {"hash": digest(code), "root": root, "made": now}]
        state.write(path, {"logins": waiting[-_MOST:]})
    return code


def redeem_login(state: State, name: str, code: str, roots: Collection[Path], *, now: float) -> Path | None:
    """Spend a code for one of *roots*; return the workspace it opens, None when it opens none of them."""
    path = state.folder / name
    if _opened(_waiting(state, path, now), code, roots) is None:
        return None
    with state.alone(path):
        waiting = _waiting(state, path, now)
        root = _opened(waiting, code, roots)
        if root is not None:  # else somebody else was quicker
            state.write(path, {"logins": [each for each in waiting if not _fits(each, code)]})
    return root


def forget_logins(state: State, port: int) -> None:
    """Let no link open anything any more."""
    path = state.folder / logins_of(port)
    for each in (path, path.with_name(f"{path.name}.lock")):
        with suppress(OSError):
            each.unlink(missing_ok=True)


def _opened(waiting: list[dict[str, Any]], code: str, roots: Collection[Path]) -> Path | None:
    wanted = next((each["root"] for each in waiting if _fits(each, code)), None)
    return next((root for root in roots if str(root) == wanted), None)


def _fits(login: dict[str, Any], code: str) -> bool:
    return hmac.compare_digest(str(login["hash"]).encode("utf-8", "replace"), digest(code).encode())


def _waiting(state: State, path: Path, now: float) -> list[dict[str, Any]]:
    try:
        stored = state.read(path).get("logins")
    except FormatNewer:
        return []
    waiting = []
    for each in stored if isinstance(stored, list) else ():
        with suppress(TypeError, KeyError, ValueError):
            if 0 <= now - float(each["made"]) <= CODE_SECONDS and isinstance(each["root"], str) and each["hash"]:
                waiting.append(each)
    return waiting
