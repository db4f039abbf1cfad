"""The keys to the service: digests of tokens, of the pairing code and of the page's sessions, in the state folder.

A key itself lies nowhere but in the browser that got it. Nothing in a workspace opens a door: the code that lies beside
the extension is good only while its digest is in the state folder, once, and for a quarter of an hour.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forklore.disk.disk import write_whole
from forklore.disk.failures import refusal_of
from forklore.disk.places import Places
from forklore.disk.state import State
from forklore.errors import FormatNewer, LinkOutside
from forklore.model.stored import FOLDER

EXTENSION = "extensions/forklore"
"""Where SillyTavern looks for the extension of one user."""
PAIRING = "pairing.json"
"""The code for the page, which may read the extension's folder; the service deletes the file when it is spent."""
CODE_SECONDS = 15 * 60
_ACCESS = "access.json"
_FORMER = f"{FOLDER}/access.json"
_MOST = 50  # browsers that are paired at a time; the oldest gives way


@dataclass(frozen=True, slots=True)
class Token:
    """A browser that was paired."""

    hash: str
    origin: str
    made: str


@dataclass(frozen=True, slots=True)
class Session:
    """A page that is logged in."""

    root: str
    made: float
    """In seconds since 1970."""


def digest(*secrets_: str) -> str:
    """Return what is kept of a secret, or of several that only open together."""
    return hashlib.sha256("\0".join(secrets_).encode(errors="surrogatepass")).hexdigest()


# --- tokens -------------------------------------------------------------------------------------------------------


def read_tokens(state: State, root: Path) -> tuple[Token, ...]:
    """Return every token of a workspace; what cannot be read opens nothing."""
    try:
        return _tokens(state.read(state.of_workspace(root, _ACCESS)))
    except FormatNewer:
        return ()


def add_token(state: State, root: Path, token: Token) -> None:
    """Keep a token."""
    path = state.of_workspace(root, _ACCESS)
    with state.alone(path):
        stored = state.read(path)
        _write(state, path, {**stored, "tokens": _with(stored, token)})


def forget_access(state: State, root: Path) -> None:
    """Forget every token and the code: no browser is let in any more."""
    path = state.of_workspace(root, _ACCESS)
    if path.exists():
        with state.alone(path):
            path.unlink(missing_ok=True)


def _tokens(stored: Mapping[str, Any]) -> tuple[Token, ...]:
    try:
        return tuple(Token(str(each["hash"]), str(each["origin"]), str(each["made"])) for each in stored["tokens"])
    except (TypeError, KeyError):
        return ()


def _with(stored: Mapping[str, Any], token: Token) -> list[dict[str, Any]]:
    return [asdict(each) for each in (*_tokens(stored), token)[-_MOST:]]


def _write(state: State, path: Path, value: dict[str, Any]) -> None:
    try:
        state.write(path, value)
    except OSError as error:
        raise refusal_of(error)("pairing", reason=error.strerror or str(error)) from error


# --- the code -----------------------------------------------------------------------------------------------------


def offer_code(state: State, root: Path, *, now: float) -> None:
    """Leave a new code beside the extension; only the newest one is good."""
    path, code = state.of_workspace(root, _ACCESS), secrets.token_hex(16)
    with state.alone(path):
        _write(state, path, {**state.read(path), "code": {"hash": digest(code), "made": now}})
        text = json.dumps({"code": code}, indent=4) + "\n"
        write_whole(Path(Places(root).folder(EXTENSION)) / PAIRING, text.encode(), private=True)


def redeem_code(state: State, root: Path, code: str, token: Token, *, now: float) -> bool:
    """Keep a token for the code, which works once; return whether it is the right one, and not too old."""
    path = state.of_workspace(root, _ACCESS)
    if not _is_code(state.read(path), code, now):
        return False
    with state.alone(path):
        stored = state.read(path)
        if not _is_code(stored, code, now):
            return False  # somebody else was quicker
        _write(state, path, {"tokens": _with(stored, token)})
        with suppress(OSError, LinkOutside):
            (Path(Places(root).folder(EXTENSION)) / PAIRING).unlink(missing_ok=True)
    return True


def is_code_waiting(state: State, root: Path, *, now: float) -> bool:
    """Whether there is a code that would be good now."""
    try:
        stored = state.read(state.of_workspace(root, _ACCESS))
    except FormatNewer:
        return False
    return _hash_of_code(stored, now) is not None and (root / EXTENSION / PAIRING).is_file()


def _is_code(stored: Mapping[str, Any], code: str, now: float) -> bool:
    known = _hash_of_code(stored, now)
    return known is not None and hmac.compare_digest(known, digest(code))


def _hash_of_code(stored: Mapping[str, Any], now: float) -> str | None:
    kept = stored.get("code")
    try:
        known, made = str(kept["hash"]), float(kept["made"])  # type: ignore[index]  # what is no object is caught
    except (TypeError, KeyError, ValueError):
        return None
    return known if known.isascii() and 0 <= now - made <= CODE_SECONDS else None


# --- workspaces of others -----------------------------------------------------------------------------------------


def is_ours(root: Path) -> bool:
    """Whether the workspace belongs to this user: where SillyTavern runs as another one, it cannot read our code."""
    return os.name != "posix" or root.stat().st_uid == os.geteuid()


def remove_former_access(root: Path) -> None:
    """Remove the list of tokens that lay in the workspace once; nothing in it was ever read again."""
    with suppress(OSError, LinkOutside):
        Places(root).folder(FOLDER)
        (root / _FORMER).unlink(missing_ok=True)


# --- sessions -----------------------------------------------------------------------------------------------------


def sessions_of(port: int) -> str:
    """Return the name of the file with the logins to the service on *port*; a browser's cookies are of one port."""
    return f"sessions-{port}.json"


def read_sessions(state: State, name: str) -> dict[str, Session]:
    """Return the pages that are logged in, by the digest of their keys; what cannot be read is logged out."""
    try:
        stored = state.read(state.folder / name).get("sessions")
    except FormatNewer:
        return {}
    sessions = {}
    for key, each in stored.items() if isinstance(stored, dict) else ():
        with suppress(TypeError, KeyError, ValueError):
            sessions[key] = Session(str(each["root"]), float(each["made"]))
    return sessions


def keep_sessions(state: State, name: str, sessions: Mapping[str, Session]) -> None:
    """Keep them for the next start of the service; where that cannot be, people log in again."""
    with suppress(OSError):
        state.write(state.folder / name, {"sessions": {key: asdict(each) for key, each in sessions.items()}})
