"""The doors: every request is judged before anything is read. A page of somebody else gets nowhere.

A browser carries out what any web page tells it to, also against a service on this machine. So the name we are asked
by (``Host``) must be one of ours, or a foreign name could be pointed here; the page that asks (``Origin``) must be our
own or a paired SillyTavern; and whoever asks must show a token, or a cookie together with the page's own key.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forklore.errors import ForkloreError
from forklore.formats.json_text import encode, to_bytes
from forklore.web.access import (
    Access,
    AddressNotFound,
    Bucket,
    ForeignHost,
    ForeignOrigin,
    Holder,
    LoginNeeded,
    NotPaired,
    RequestTimeout,
    TooLarge,
    TooManyRequests,
)
from forklore.web.addresses import client_at, is_address, is_loopback
from forklore.web.problems import PROBLEM_JSON, of_error

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Receive, Send

LARGEST_BODY = 1 << 20
_LONGEST_PATH = 255  # in bytes: ours are shorter, and a file's name cannot be longer on any system
_HOST = re.compile(r"(?P<name>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?")
"""A name or an address, and perhaps a port: nothing that two readers could take for two names."""
KEY_HEADER = "x-forklore-page"
"""What the page adds to its cookie: a cookie alone reaches every port of a host, and opens nothing."""
_AT_ONCE, _PER_SECOND = 600.0, 200.0

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _CSP,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_FOR_STRANGERS = {"/api/health", "/api/pair"}
"""What may be asked without a token, also by pages that want to be paired: neither tells anything of a story."""
_PAGES = {"/", "/login"}
"""What our own page may ask before it is logged in, besides its files and words; for the rest a key is needed."""
_FILES = ("/page/", "/texts/")
_BODY_SECONDS = 15.0  # for all of it
_CORS = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "authorization, content-type, x-forklore-job",
    "access-control-allow-private-network": "true",
    "access-control-max-age": "600",
}


@dataclass(frozen=True, slots=True)
class House:
    """The names and pages that belong to the service."""

    port: int
    names: frozenset[str]
    """Host names by which it may be asked."""
    open_to_network: bool = False
    """Then every plain address will do: nobody can point an address elsewhere, as he could a name."""
    origins: frozenset[str] = frozenset()
    """Pages of SillyTavern that may be paired although they come from another machine."""

    def knows_host(self, host: str) -> bool:
        """Whether the ``Host`` of a request is one of ours."""
        name, port = split_host(host)
        if port != self.port:
            return False
        return name in self.names or (self.open_to_network and is_address(name))

    def may_pair(self, origin: str, host: str) -> bool:
        """Whether a page of *origin* may try to be paired: it comes from the machine that we are asked on."""
        page = foreign_name(origin)
        if page is None:
            return False
        name = split_host(host)[0]
        return origin in self.origins or page == name or (is_loopback(page) and is_loopback(name))

    @property
    def cookie(self) -> str:
        """The cookie's name: browsers keep those of all ports of a host together."""
        return f"forklore-{self.port}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not let in."""

    status: int
    error: ForkloreError
    cors_origin: str | None = None


@dataclass(frozen=True, slots=True)
class Visitor:
    """A request that may come in, and whose it is; None for what tells nothing of a story."""

    holder: Holder | None = None
    cors_origin: str | None = None
    """The foreign page that may read the answer."""
    by_token: bool = False
    """Whether the key is one of SillyTavern's page, where scripts of others may run, and not of our own."""


class Doors:
    """Judges requests, and gives every answer the headers that keep a page in its place."""

    def __init__(self, app: ASGIApp, house: House, access: Access) -> None:
        """Stand before *app*."""
        self._app = app
        self._house = house
        self._access = access
        self._rate = Bucket(_AT_ONCE, _PER_SECOND)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Judge a request, and pass on what may come in."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        client = client_at(scope["client"][0] if scope.get("client") else "")
        method, path = scope["method"], scope["path"]
        verdict = self.judge(method, path, headers, client)
        extra = dict(_HEADERS)
        if path.startswith("/api"):
            extra["cache-control"] = "no-store"
        if verdict.cors_origin:
            extra |= {"access-control-allow-origin": verdict.cors_origin, "vary": "Origin"}

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [(k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in present]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        if isinstance(verdict, Refusal):
            await _refuse(verdict, send_with_headers)
        elif method == "OPTIONS":
            extra |= _CORS if verdict.cors_origin else {}
            await send_with_headers({"type": "http.response.start", "status": 204, "headers": []})
            await send_with_headers({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            scope.setdefault("state", {}).update(holder=verdict.holder, client=client, by_token=verdict.by_token)
            # Only a POST has a body that is read.
            await self._app(scope, _hurried(receive) if method == "POST" else receive, send_with_headers)

    def judge(self, method: str, path: str, headers: Mapping[str, str], client: str) -> Visitor | Refusal:
        """Return whether a request may come in; nothing of a story is read for it."""
        host, origin = headers.get("host", ""), headers.get("origin")
        foreign = None if origin is None or origin == f"http://{host}" else origin
        refusal = self._shut(host, foreign, headers)
        if refusal is not None:
            return refusal
        refusal = self._too_much(path, headers, client)
        if refusal is None:
            if method == "OPTIONS" and "access-control-request-method" in headers:
                return Visitor(cors_origin=foreign)  # a question whether it may ask; it carries no token
            if path in _FOR_STRANGERS or (foreign is None and (path in _PAGES or path.startswith(_FILES))):
                return Visitor(None, foreign)
            verdict = self._with_a_key(method, headers, origin, foreign)
            if isinstance(verdict, Visitor):
                return verdict
            refusal = verdict
        return replace(refusal, cors_origin=foreign)  # so that the page learns why

    def _shut(self, host: str, foreign: str | None, headers: Mapping[str, str]) -> Refusal | None:
        """Return why the request goes nowhere, whatever it asks: it was sent to another name, or by another page."""
        if not self._house.knows_host(host):
            name = split_host(host)[0]
            # A page of the same name may read it: were this port its own, it could anyway.
            is_same = foreign is not None and foreign_name(foreign) == name
            return Refusal(403, ForeignHost(host=name), foreign if is_same else None)
        embedded = headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate"
        known = foreign is None or self._access.is_paired(foreign) or self._house.may_pair(foreign, host)
        if not known or (foreign is None and embedded):
            return Refusal(403, ForeignOrigin())
        return None

    def _too_much(self, path: str, headers: Mapping[str, str], client: str) -> Refusal | None:
        if not self._rate.take(client):
            return Refusal(429, TooManyRequests())
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return Refusal(413, TooLarge(bytes=LARGEST_BODY))
        if (
            len(path.encode("utf-8", "replace")) > _LONGEST_PATH
            or any(odd in path for odd in ("\0", "\\", "//"))
            or {".", ".."} & set(path.split("/"))
        ):
            return Refusal(404, AddressNotFound())
        return None

    def _with_a_key(
        self, method: str, headers: Mapping[str, str], origin: str | None, foreign: str | None
    ) -> Visitor | Refusal:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            holder = self._access.of_token(token.strip(), foreign)
            if holder is None:
                return Refusal(401, NotPaired("browser"))
            return Visitor(holder, foreign, by_token=True)
        holder = self._access.of_session(*keys_of(headers, self._house.cookie))
        if holder is None or foreign is not None:
            return Refusal(401, LoginNeeded())
        site = headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or (method not in ("GET", "HEAD") and origin is None):
            return Refusal(403, ForeignOrigin())
        return Visitor(holder)


def _hurried(receive: Receive) -> Receive:
    """Return *receive* with a deadline for the whole body; it raises ``RequestTimeout``."""
    loop = asyncio.get_running_loop()
    deadline, is_whole = loop.time() + _BODY_SECONDS, False

    async def hurried() -> Any:
        nonlocal is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message: Any = await receive()
        except TimeoutError as error:
            raise RequestTimeout from error
        is_whole = not message.get("more_body", False)
        return message

    return hurried


def keys_of(headers: Mapping[str, str], cookie: str) -> tuple[str, str]:
    """Return the page's cookie and the key from its own storage; a session is good only with both."""
    return read_cookie(headers.get("cookie", ""), cookie) or "", headers.get(KEY_HEADER, "")


def read_cookie(header: str, name: str) -> str | None:
    """Return one cookie of a request; odd ones of other programs on this machine are passed over."""
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return None


def split_host(host: str) -> tuple[str, int]:
    """Return name and port of a ``Host``; a name nobody has when it is not one."""
    found = _HOST.fullmatch(host)
    if found is None:
        return "", 0
    return found["name"].strip("[]").lower(), int(found["port"] or 80)


def foreign_name(origin: str) -> str | None:
    """Return the host name of a page's origin, None when it is not one."""
    scheme, separator, host = origin.partition("://")
    if not separator or scheme not in ("http", "https"):
        return None
    return split_host(host)[0] or None


async def _refuse(refusal: Refusal, send: Any) -> None:
    told = of_error(refusal.error, refusal.status)
    headers = [(b"content-type", PROBLEM_JSON.encode())]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": to_bytes(encode(told)), "more_body": False})
