"""Everything wired: routes behind doors, the page, the stream of events."""

from __future__ import annotations

from pathlib import Path

from litestar import Litestar, MediaType, Response, Router, get, post
from litestar.datastructures import Cookie
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.params import FromQuery, JSONBody
from litestar.response import File, Redirect
from litestar.static_files import create_static_files_router
from litestar.types import ASGIApp
from msgspec import Struct

from forklore.version import VERSION
from forklore.web.access import Access
from forklore.web.doors import LARGEST_BODY, Doors, House
from forklore.web.problems import HANDLERS
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
        [api, index, login_page, login, create_static_files_router("/page", [PAGE], include_in_schema=False)],
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
async def index(request: Asked) -> File | Redirect:
    """Return the page to those who are logged in."""
    if request.scope["state"]["root"] is None:  # set by the doors
        return Redirect("/login", status_code=303)
    return _html("index.html")


@get("/login", include_in_schema=False)
async def login_page(
    request: Asked, access: TheAccess, cookie: TheCookie, code: FromQuery[str | None] = None
) -> File | Redirect:
    """Spend the code of a login link, or tell how to come in."""
    session = access.log_in(code) if code else None
    if session is not None:
        return Redirect("/", status_code=303, cookies=[_cookie(cookie, session)])
    if request.scope["state"]["root"] is not None:  # set by the doors
        return Redirect("/", status_code=303)  # an old link in a browser that is in already
    return _html("login.html")


class Password(Struct, forbid_unknown_fields=True):
    """The password that the service was started with."""

    password: Text


@post("/login", status_code=204, include_in_schema=False)
async def login(request: Asked, access: TheAccess, cookie: TheCookie, data: JSONBody[Password]) -> Response[None]:
    """Let in whoever knows the password."""
    session = access.log_in_with_password(data.password, client_of(request))
    return Response(None, status_code=204, cookies=[_cookie(cookie, session)])


def _cookie(name: str, session: str) -> Cookie:
    return Cookie(name, value=session, httponly=True, samesite="strict", path="/")


def _html(name: str) -> File:
    return File(
        PAGE / name, media_type=MediaType.HTML, content_disposition_type="inline", headers={"cache-control": "no-cache"}
    )
