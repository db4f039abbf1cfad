"""Who may come in: one-time login links, cookies of the page, tokens of the extension, a password where one is set."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from forklore.disk.access import Token, add_token, keep_sessions, read_sessions, read_tokens, redeem_code
from forklore.errors import ForkloreError, Kind

_CODES = 50  # login links that were not used yet
_SESSIONS = 200  # browsers that are logged in at a time; the oldest gives way
_TRIES, _TRIES_PER_SECOND = 10.0, 10 / 60


class LoginNeeded(ForkloreError):
    """Nobody sees a story without a key."""

    code = "LOGIN_NEEDED"
    kind = Kind.INVALID
    action = "Open the link that `forklore serve` printed, or start it again for a new one."


class NotPaired(ForkloreError):
    """The code or password opens nothing."""

    code = "NOT_PAIRED"
    kind = Kind.INVALID
    action = "Run `forklore extension install` for a new code, or give the password that the service was started with."


class TooManyRequests(ForkloreError):
    """Somebody asks more often than a person could."""

    code = "TOO_MANY_REQUESTS"
    kind = Kind.BUSY
    action = "Wait a moment, then try again."


class Bucket:
    """So many requests at once and so many a second for each client."""

    def __init__(self, most: float, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Give every client *most* to begin with."""
        self._most = most
        self._per_second = per_second
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, client: str) -> bool:
        """Whether the client may have one more; then it has one less."""
        now = self._clock()
        with self._lock:
            left = self._left_now(client, now)
            allowed = left >= 1
            self._left.pop(client, None)
            self._left[client] = (left - allowed, now)
            if len(self._left) > 1000:
                del self._left[next(iter(self._left))]
        return allowed

    def has(self, client: str) -> bool:
        """Whether the client may have one more."""
        with self._lock:
            return self._left_now(client, self._clock()) >= 1

    def _left_now(self, client: str, now: float) -> float:
        left, since = self._left.get(client, (self._most, now))
        return min(self._most, left + (now - since) * self._per_second)


class Access:
    """The keys of one service; each opens one workspace."""

    def __init__(self, roots: Sequence[Path], password: str | None = None, kept: Path | None = None) -> None:
        """Guard the workspaces *roots*; a *password* opens the only one, and logins outlive us in the file *kept*."""
        self.roots = tuple(roots)
        self._password = password
        self._kept = kept
        self._codes: dict[str, Path] = {}
        self._sessions: dict[str, str] = read_sessions(kept) if kept else {}
        self._wrong_codes = Bucket(_TRIES, _TRIES_PER_SECOND)
        self._wrong_passwords = Bucket(_TRIES, _TRIES_PER_SECOND)
        self.on_login: Callable[[Path], None] = lambda _root: None
        """Called when a login link was used."""

    @property
    def has_password(self) -> bool:
        """Whether a password opens the page."""
        return self._password is not None

    # --- the page -------------------------------------------------------------------------------------------------

    def new_login(self, root: Path) -> str:
        """Return a code that opens the page once."""
        code = secrets.token_urlsafe(24)
        self._codes[_digest(code)] = root
        while len(self._codes) > _CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def log_in(self, code: str) -> str | None:
        """Spend a login code; return the new session, None when the code opens nothing."""
        # Not counted: a code cannot be guessed, and a foreign page could use up the tries of this machine.
        root = self._codes.pop(_digest(code), None)
        if root is None:
            return None
        self.on_login(root)
        return self._new_session(root)

    def log_in_with_password(self, password: str, client: str) -> str:
        """Return a new session; raises ``NotPaired`` when the password is wrong."""
        return self._new_session(self._root_of_password(password, client))

    def _new_session(self, root: Path) -> str:
        session = secrets.token_urlsafe(32)
        self._sessions[self._key(session)] = str(root)
        while len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._keep()
        return session

    def log_out(self, session: str) -> None:
        """Forget a session."""
        self._sessions.pop(self._key(session), None)
        self._keep()

    def of_session(self, session: str) -> Path | None:
        """Return the workspace that a session opens, if it is one of those that are served."""
        opened = self._sessions.get(self._key(session))
        return next((root for root in self.roots if str(root) == opened), None)

    def _key(self, session: str) -> str:
        """Return what is kept of a session: another password makes every one worthless."""
        return _digest(f"{session}\0{self._password or ''}")

    def _keep(self) -> None:
        if self._kept is not None:
            keep_sessions(self._kept, self._sessions)

    # --- the extension --------------------------------------------------------------------------------------------

    def pair(self, *, code: str | None, password: str | None, origin: str, client: str) -> tuple[str, Path]:
        """Return a new token for *origin* and the workspace it opens, for a code or the password."""
        token = secrets.token_urlsafe(32)
        made = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        kept = Token(_digest(token), origin, made)
        if password is not None:
            root = self._root_of_password(password, client)
            add_token(root, kept)
            return token, root
        _allow(self._wrong_codes, client)
        for root in self.roots:
            if code and redeem_code(root, code, kept):
                return token, root
        self._wrong_codes.take(client)
        raise NotPaired("The code opens nothing: it was used already, or is not the one in the extension's folder.")

    def of_token(self, token: str, origin: str | None) -> Path | None:
        """Return the workspace that a token opens for a page of *origin*, or for a program, which has none."""
        wanted = _digest(token)
        for root in self.roots:
            for known in read_tokens(root):
                if known.hash == wanted and origin in (None, known.origin):
                    return root
        return None

    def is_paired(self, origin: str) -> bool:
        """Whether pages of *origin* were let in."""
        return any(token.origin == origin for root in self.roots for token in read_tokens(root))

    # --- both -----------------------------------------------------------------------------------------------------

    def _root_of_password(self, password: str, client: str) -> Path:
        _allow(self._wrong_passwords, client)
        given, known = _digest(password), _digest(self._password or "")
        if self._password is None or not hmac.compare_digest(given, known):
            self._wrong_passwords.take(client)
            raise NotPaired("The password is wrong." if self._password else "The service has no password.")
        return self.roots[0]


def _allow(wrong: Bucket, client: str) -> None:
    if not wrong.has(client):
        raise TooManyRequests("Too many tries.")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
