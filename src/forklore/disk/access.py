"""Who may speak to the service: tokens that outlive it, kept as digests; and the code that earns one.

A token stands nowhere but in the browser that got it. Its SHA-256 is kept in ``.forklore/access.json``, with the origin
it was given to.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from forklore.disk.disk import Disk, write_whole
from forklore.disk.failures import refusal_of
from forklore.disk.lock import workspace_lock
from forklore.disk.operation_folder import FOLDER

_TOKENS = Path(FOLDER) / "access.json"
EXTENSION = "extensions/forklore"
"""Where SillyTavern looks for the extension of one user."""
PAIRING = "pairing.json"
"""The code that opens the service to the page once; the service deletes the file when it is spent."""
_CODE = Path(EXTENSION) / PAIRING
_WAIT_SECONDS = 5.0
_MOST = 50  # browsers that are paired at a time; the oldest gives way


@dataclass(frozen=True, slots=True)
class Token:
    """A browser that was let in."""

    hash: str
    origin: str
    made: str
    purpose: str = "extension"


def read_tokens(root: Path) -> tuple[Token, ...]:
    """Return every token of a workspace; what cannot be read opens nothing."""
    try:
        stored = json.loads((root / _TOKENS).read_bytes())["tokens"]
        return tuple(Token(each["hash"], each["origin"], each["made"]) for each in stored)
    except (OSError, ValueError, TypeError, KeyError):
        return ()


def add_token(root: Path, token: Token, disk: Disk | None = None) -> None:
    """Keep a token."""
    with workspace_lock(root, what="pairing", wait=_WAIT_SECONDS):
        _write(root, (*read_tokens(root), token)[-_MOST:], disk or Disk())


def remove_tokens(root: Path, disk: Disk | None = None) -> None:
    """Forget every token: no browser that was paired is let in any more."""
    if (root / _TOKENS).exists():
        with workspace_lock(root, what="pairing", wait=_WAIT_SECONDS):
            (disk or Disk()).remove(root / _TOKENS)


def read_code(root: Path) -> str | None:
    """Return the code that the extension was installed with, None when it is spent."""
    try:
        stored: Any = json.loads((root / _CODE).read_bytes())
    except (OSError, ValueError):
        return None
    code = stored.get("code") if isinstance(stored, dict) else None
    return code if isinstance(code, str) and code else None


def redeem_code(root: Path, code: str, token: Token, disk: Disk | None = None) -> bool:
    """Keep a token for the code, which works once; return whether it is the right one."""
    if not _is_code(root, code):
        return False
    with workspace_lock(root, what="pairing", wait=_WAIT_SECONDS):
        if not _is_code(root, code):
            return False  # somebody else was quicker
        _write(root, (*read_tokens(root), token)[-_MOST:], disk or Disk())
        (root / _CODE).unlink(missing_ok=True)
    return True


def _is_code(root: Path, code: str) -> bool:
    known = read_code(root)
    return known is not None and hmac.compare_digest(known.encode(), code.encode(errors="surrogatepass"))


def read_sessions(path: Path) -> dict[str, str]:
    """Return the pages that are logged in, by the digest of their cookie; what cannot be read is logged out."""
    try:
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return {key: each for key, each in stored.items() if isinstance(each, str)} if isinstance(stored, dict) else {}


def keep_sessions(path: Path, sessions: dict[str, str]) -> None:
    """Keep them for the next start of the service; where that cannot be, people log in again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(sessions).encode(), private=True)


def _write(root: Path, tokens: Sequence[Token], disk: Disk) -> None:
    text = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=2)
    try:
        write_whole(root / _TOKENS, text.encode() + b"\n", disk)
    except OSError as error:
        raise refusal_of(error.errno)(f"The pairing cannot be kept ({error.strerror or error}).") from error
