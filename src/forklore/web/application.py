"""Everything wired: routes behind doors, the page, the stream of events."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from litestar import Litestar, MediaType, Response, Router, get, post
from litestar.datastructures import Cookie
from litestar.di import Provide
from litestar.exceptions import NotFoundException
from litestar.openapi import OpenAPIConfig
from litestar.params import FromPath, JSONBody
from litestar.response import File
from litestar.static_files import create_static_files_router
from litestar.types import ASGIApp
from msgspec import Struct

from forklore import texts
from forklore.formats.json_text import encode, to_bytes
from forklore.version import VERSION
from forklore.web.access import Access
from forklore.web.doors import LARGEST_BODY, Doors, House, keys_of
from forklore.web.problems import HANDLERS, Json
from forklore.web.routes import COMMANDS, Asked, Text
from forklore.web.schema import Document
from forklore.web.service import Service
from forklore.web.views import VIEWS, TheAccess, TheCookie, client_of
from forklore.web.watching import Watching

PAGE = Path(__file__).parent / "page"
_DESCRIPTION = "Checkpoints and branches of SillyTavern stories. Each route is the command of its name."


def application(house: House, access: Access, service: Service, *, poll: bool = False) -> ASGIApp:
    """Return the whole service."""
    Watching(service, poll=poll)
    return Doors(routes(access, service, house.cookie), house, access)


def routes(access: Access, service: Service, cookie: str) -> Litestar:
    """Return every route, without the doors before them."""
    api = Router("/api", route_handlers=[*COMMANDS, *VIEWS])
    return Litestar(
        [api, index, login_page, login, words, create_static_files_router("/page", [PAGE], include_in_schema=False)],
        dependencies={
            "service": Provide(lambda: service, sync_to_thread=False),
            "access": Provide(lambda: access, sync_to_thread=False),
            "cookie": Provide(lambda: cookie, sync_to_thread=False),
        },
        exception_handlers=HANDLERS,
        openapi_config=OpenAPIConfig(
            title="Forklore",
            version=VERSION,
            description=_DESCRIPTION,
            path="/api",
            render_plugins=[Document(path="/openapi.json", media_type=MediaType.JSON)],
            use_handler_docstrings=True,
        ),
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )


@get("/", include_in_schema=False)
async def index() -> File:
    """Return the page; there is nothing of a story in it before it asks for one."""
    return _html("index.html")


@get("/login", include_in_schema=False)
async def login_page() -> File:
    """Return the page that logs in; following a link spends nothing, so that a look ahead does no harm."""
    return _html("login.html")


@get("/texts/{name:str}", include_in_schema=False)
async def words(name: FromPath[str]) -> Response[Any]:
    """Return every sentence of a language, or a script that fills its gaps."""
    fresh = {"cache-control": "no-cache"}
    if name in _SCRIPTS:
        return File(texts.FOLDER / name, media_type="text/javascript", content_disposition_type="inline", headers=fresh)
    if name not in _CATALOGUES:
        raise NotFoundException
    return Response(_catalogue(_CATALOGUES[name]), media_type=MediaType.JSON, headers=fresh)


_SCRIPTS = ("printable.js", "template.js", "words.js")
_CATALOGUES = {f"{language}.json": language for language in texts.LANGUAGES}


@cache
def _catalogue(language: str) -> bytes:
    return to_bytes(encode(texts.catalogue(language)))


class LoginWanted(Struct, forbid_unknown_fields=True):
    """What a login link holds, or the password that the service was started with."""

    user: Text | None = None
    code: Text | None = None
    password: Text | None = None


@post("/login", status_code=200, include_in_schema=False)
async def login(request: Asked, access: TheAccess, cookie: TheCookie, data: JSONBody[LoginWanted]) -> Json:
    """Let in whoever has a login link or knows the password; what was logged in there before is logged out."""
    if data.password is not None:
        made = access.log_in_with_password(data.password, client_of(request))
    else:
        made = access.log_in(data.user or "", data.code or "")
    access.log_out(*keys_of(request.headers, cookie))
    return Json({"key": made.key, "user": made.root.name}, cookies=[_cookie(cookie, made.cookie)])


def _cookie(name: str, session: str) -> Cookie:
    return Cookie(name, value=session, httponly=True, samesite="strict", path="/")


def _html(name: str) -> File:
    return File(
        PAGE / name, media_type=MediaType.HTML, content_disposition_type="inline", headers={"cache-control": "no-cache"}
    )
