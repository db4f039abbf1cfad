"""Who may come in: one-time login links, sessions of the page, tokens of the extension, a password where one is set."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from forklore.access.keys import (
    Session,
    Token,
    add_token,
    digest,
    keep_sessions,
    read_sessions,
    read_tokens,
    redeem_code,
)
from forklore.access.logins import redeem_login
from forklore.disk.state import State
from forklore.errors import ForkloreError, Kind

_CODES = 50  # login links that were not used yet
_CODE_SECONDS = 60.0  # for a link that is opened at once
_SESSIONS = 200  # browsers that are logged in at a time; the oldest gives way
_SESSION_SECONDS = 30 * 24 * 3600
_TRIES, _TRIES_PER_SECOND = 10.0, 10 / 60


class LoginNeeded(ForkloreError):
    """Nobody sees a story without logging in."""

    code = "LOGIN_NEEDED"
    kind = Kind.INVALID


class NotPaired(ForkloreError):
    """The code or password is not the right one."""

    code = "NOT_PAIRED"
    kind = Kind.INVALID


class TooManyRequests(ForkloreError):
    """Somebody asks more often than a person would, or wants too much at a time."""

    code = "TOO_MANY_REQUESTS"
    kind = Kind.BUSY


class RequestTimeout(ForkloreError):
    """The rest of a request did not arrive in time."""

    code = "REQUEST_TIMEOUT"
    kind = Kind.INVALID


class ForeignHost(ForkloreError):
    """The request was sent to a name that is not this computer's."""

    code = "FOREIGN_HOST"
    kind = Kind.INVALID


class ForeignOrigin(ForkloreError):
    """A page of another site asks."""

    code = "FOREIGN_ORIGIN"
    kind = Kind.INVALID


class TooLarge(ForkloreError):
    """The request is larger than any that makes sense."""

    code = "TOO_LARGE"
    kind = Kind.INVALID


class AddressNotFound(ForkloreError):
    """The service has nothing at this address."""

    code = "NOT_FOUND"
    kind = Kind.NOT_FOUND


class MethodNotAllowed(ForkloreError):
    """This address is not asked in this way."""

    code = "METHOD_NOT_ALLOWED"
    kind = Kind.INVALID


class OwnPageNeeded(ForkloreError):
    """It widens what Forklore may touch, so a script in SillyTavern's page must not be able to do it."""

    code = "OWN_PAGE_NEEDED"
    kind = Kind.INVALID


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

    def put_back(self, client: str) -> None:
        """Give back what was taken: it was none that counts."""
        now = self._clock()
        with self._lock:
            self._left[client] = (min(self._most, self._left_now(client, now) + 1), now)

    def _left_now(self, client: str, now: float) -> float:
        left, since = self._left.get(client, (self._most, now))
        return min(self._most, left + (now - since) * self._per_second)


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody with a key, and the workspace that it opens."""

    root: Path
    key: str
    """What is kept of the key: it tells one client from another."""


@dataclass(frozen=True, slots=True)
class Login:
    """A page that has just logged in."""

    root: Path
    cookie: str
    key: str
    """What the page keeps in its own storage: a cookie is sent to every port of a host, so it opens nothing alone."""


class Access:
    """The keys of one service; each opens one workspace."""

    def __init__(
        self,
        roots: Sequence[Path],
        state: State,
        *,
        password: str | None = None,
        sessions: str | None = None,
        logins: str | None = None,
        open_to_network: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Guard the workspaces *roots*; a *password* opens the only one, logins outlive us in the file *sessions*.

        The command line leaves login links of its own in the file *logins*.
        """
        self.roots = tuple(roots)
        self._state = state
        self._password = password
        self._kept = sessions
        self._left = logins
        self._open_to_network = open_to_network
        self._now = now
        self._codes: dict[str, tuple[Path, float]] = {}
        self._sessions = read_sessions(state, sessions) if sessions else {}
        self._tries_of_codes = Bucket(_TRIES, _TRIES_PER_SECOND)
        self._tries_of_passwords = Bucket(_TRIES, _TRIES_PER_SECOND)
        self.on_login: Callable[[Path], None] = lambda _root: None
        """Called when a login link was used."""

    @property
    def has_password(self) -> bool:
        """Whether a password opens the page."""
        return self._password is not None

    # --- the page -------------------------------------------------------------------------------------------------

    def new_login(self, root: Path, *, brief: bool = False) -> str:
        """Return a code that opens the page once; a *brief* one only at once."""
        now, code = self._now(), secrets.token_urlsafe(24)
        self._codes = {key: each for key, each in self._codes.items() if each[1] >= now}
        self._codes[digest(code)] = (root, now + (_CODE_SECONDS if brief else _SESSION_SECONDS))
        while len(self._codes) > _CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def log_in(self, user: str, code: str) -> Login:
        """Spend the code of a user's login link; raises ``LoginNeeded`` when it opens nothing."""
        # Not counted: a code cannot be guessed, and a foreign page could use up the tries of this machine.
        root, until = self._codes.get(digest(code), (None, 0.0))
        if root is not None and root.name == user and until >= self._now():
            del self._codes[digest(code)]
            self.on_login(root)
            return self._new_session(root)
        if self._left is not None:
            theirs = [each for each in self.roots if each.name == user]
            if found := redeem_login(self._state, self._left, code, theirs, now=self._now()):
                return self._new_session(found)
        raise LoginNeeded("link")

    def log_in_with_password(self, password: str, client: str) -> Login:
        """Return a new session; raises ``NotPaired`` when the password is wrong."""
        return self._new_session(self._root_of_password(password, client))

    def _new_session(self, root: Path) -> Login:
        login = Login(root, secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        self._sessions[self._digest(login.cookie, login.key)] = Session(str(root), self._now())
        while len(self._sessions) > _SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._keep()
        return login

    def log_out(self, cookie: str, key: str) -> None:
        """Forget a session."""
        if self._sessions.pop(self._digest(cookie, key), None) is not None:
            self._keep()

    def of_session(self, cookie: str, key: str) -> Holder | None:
        """Return who holds both a cookie and its key, if the workspace is one of those that are served."""
        held = self._digest(cookie, key)
        session = self._sessions.get(held)
        if session is None or self._is_over(session):
            return None
        return next((Holder(root, held) for root in self.roots if str(root) == session.root), None)

    def _is_over(self, session: Session) -> bool:
        return self._now() - session.made >= _SESSION_SECONDS

    def _digest(self, *keys: str) -> str:
        """Return what is kept of a key: another password makes every one worthless."""
        return digest(*keys, self._password or "")

    def _keep(self) -> None:
        if self._kept is not None:
            self._sessions = {key: each for key, each in self._sessions.items() if not self._is_over(each)}
            keep_sessions(self._state, self._kept, self._sessions)

    # --- the extension --------------------------------------------------------------------------------------------

    def pair(self, *, code: str | None, password: str | None, origin: str, client: str) -> tuple[str, Path]:
        """Return a new token for *origin* and the workspace it opens, for a code or the password."""
        token = secrets.token_urlsafe(32)
        made = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        if password is not None:
            root = self._root_of_password(password, client)
            add_token(self._state, root, Token(self._digest(token), origin, made))
            return token, root
        if self._open_to_network:
            raise NotPaired("network")
        _take(self._tries_of_codes, client)
        for root in self.roots:
            if code and redeem_code(self._state, root, code, Token(digest(token), origin, made), now=self._now()):
                self._tries_of_codes.put_back(client)
                return token, root
        raise NotPaired("code")

    def of_token(self, token: str, origin: str | None) -> Holder | None:
        """Return who holds a token: a page of *origin*, or a program, which has none."""
        wanted = {digest(token), self._digest(token)}  # got with a code, or with the password that is still the same
        for root in self.roots:
            for known in read_tokens(self._state, root):
                if known.hash in wanted and origin in (None, known.origin):
                    return Holder(root, known.hash)
        return None

    def is_paired(self, origin: str) -> bool:
        """Whether pages of *origin* were let in."""
        return any(token.origin == origin for root in self.roots for token in read_tokens(self._state, root))

    # --- both -----------------------------------------------------------------------------------------------------

    def _root_of_password(self, password: str, client: str) -> Path:
        if self._password is None:
            raise NotPaired("no_password")
        _take(self._tries_of_passwords, client)  # before it is looked at: many may try at the same time
        if not hmac.compare_digest(digest(password), digest(self._password)):
            raise NotPaired("password")
        self._tries_of_passwords.put_back(client)
        return self.roots[0]


def _take(tries: Bucket, client: str) -> None:
    if not tries.take(client):
        raise TooManyRequests("attempts")
