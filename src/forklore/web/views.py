"""Routes of what only the page and the extension need."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from litestar import Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Stream
from msgspec import Struct

from forklore.version import VERSION
from forklore.web.access import Access
from forklore.web.addresses import login_path
from forklore.web.doors import keys_of
from forklore.web.problems import RESPONSES, Json
from forklore.web.routes import Asked, At, Chat, Text, TheService
from forklore.web.service import root_of

TheAccess = NamedDependency[Access]
TheCookie = NamedDependency[str]

ForkRequestId = Annotated[
    str, QueryParameter(name="request", description="The job's name that was sent along when the fork was asked for.")
]


@get("/overview", responses=RESPONSES, summary="The list of stories")
async def overview(request: Asked, service: TheService) -> Json:
    """Return every story with its size, its last activity and whether something is wrong."""
    open_chat = service.open_chats.get(root_of(request))
    return await service.look(request, lambda forklore: forklore.view.overview(open_chat=open_chat))


@get("/groups", responses=RESPONSES, summary="What groups are called")
async def groups(request: Asked, service: TheService) -> Json:
    """Return the name of each group by its id."""
    return await service.look(request, lambda forklore: forklore.view.groups())


@get("/layout", responses=RESPONSES, summary="A story's tree, laid out")
async def layout(request: Asked, service: TheService, chat: Chat) -> Json:
    """Return the lanes of a story's timelines and where each leaves its parent."""
    return await service.look(request, lambda forklore: forklore.view.layout(chat))


@get("/messages", responses=RESPONSES, summary="Some messages of a timeline")
async def messages(
    request: Asked,
    service: TheService,
    chat: Chat,
    start: Annotated[int, QueryParameter(description="The first message.")] = 0,
    count: Annotated[int, QueryParameter(description="How many, at most 200.")] = 50,
) -> Json:
    """Return messages of a timeline, and for each whether a fork can be made there."""
    return await service.look(request, lambda forklore: forklore.view.messages(chat, start=start, count=count))


@get("/recap", responses=RESPONSES, summary="What the recaps say at a message")
async def recap(request: Asked, service: TheService, chat: Chat, at: FromQuery[int]) -> Json:
    """Return what running recap, combined recap and scene recap say at a message."""
    return await service.look(request, lambda forklore: forklore.view.recap(chat, at))


@get("/preview", responses=RESPONSES, summary="What a fork would be")
async def preview(
    request: Asked,
    service: TheService,
    *,
    kind: FromQuery[str],
    chat: Chat,
    at: At = None,
    name: FromQuery[str | None] = None,
    swipe: FromQuery[int | None] = None,
    show_last_scene: FromQuery[bool] = False,
) -> Json:
    """Return what a checkpoint or branch would hold and which files it would make."""
    return await service.look(
        request,
        lambda forklore: forklore.view.preview(
            kind, chat, at=at, name=name, swipe=swipe, show_last_scene=show_last_scene
        ),
    )


@get("/where", responses=RESPONSES, summary="Where forks can be made")
async def where(request: Asked, service: TheService, chat: Chat, at: FromQuery[list[int]]) -> Json:
    """Return for each of some messages whether a fork can be made there."""
    return await service.look(request, lambda forklore: forklore.view.where(chat, at))


@get("/made", responses=RESPONSES, summary="What became of a request for a fork")
async def made(request: Asked, service: TheService, asked_by: ForkRequestId) -> Json:
    """Return the fork that a request has made, or that there is none; for whoever has lost the answer."""
    return await service.look(request, lambda forklore: forklore.view.made(asked_by))


# --- what goes on -------------------------------------------------------------------------------------------------


class OpenChat(Struct, forbid_unknown_fields=True):
    """The chat that is open in SillyTavern."""

    chat: Text | None


@post("/open", status_code=200, responses=RESPONSES, summary="Tell which chat is open")
async def tell_open(request: Asked, service: TheService, data: JSONBody[OpenChat]) -> Json:
    """Remember which chat is open in SillyTavern, and tell the page."""
    root = root_of(request)
    service.open_chats[root] = data.chat
    service.events.publish(root, "open_chat", {"chat": data.chat})
    return Json({"chat": data.chat})


@get("/events", responses=RESPONSES, summary="What goes on", media_type="text/event-stream")
async def events(request: Asked, service: TheService) -> Stream:
    """Return a stream of server-sent events: progress, operations, changes on the disk, findings."""
    stream = service.events.listen(root_of(request), ("hello", {"version": VERSION}))
    return Stream(stream, media_type="text/event-stream", headers={"cache-control": "no-store"})


@get("/jobs", responses=RESPONSES, summary="Jobs that go on without their asker")
async def jobs(request: Asked, service: TheService) -> Json:
    """Return the work that goes on when its asker goes away, and what of it has ended and was not forgotten yet."""
    return Json({"jobs": [job.to_json() for job in service.jobs.wished(root_of(request))]})


@get("/jobs/{job:str}", responses=RESPONSES, summary="One such job")
async def job(request: Asked, service: TheService, job: FromPath[str]) -> Json:
    """Return how far it has come, and when it has ended also what its asker was answered."""
    return Json(service.jobs.find(root_of(request), job).whole_json())


@delete("/jobs/{job:str}", status_code=200, responses=RESPONSES, summary="Cancel or forget a job")
async def cancel_job(request: Asked, service: TheService, job: FromPath[str]) -> Json:
    """Ask a piece of work to stop where that leaves nothing behind; one that has ended is forgotten."""
    return Json({"job": job, "cancelled": service.jobs.cancel(root_of(request), job)})


# --- coming in ----------------------------------------------------------------------------------------------------


class Pairing(Struct, forbid_unknown_fields=True):
    """What the extension shows to be paired: the code in its folder, or the password."""

    code: Text | None = None
    password: Text | None = None


@get("/health", summary="Is it there?", responses={key: RESPONSES[key] for key in (403, 413, 429)})
async def health(access: TheAccess) -> Json:
    """Return that this is Forklore; nothing of a story."""
    return Json({"name": "forklore", "version": VERSION, "password": access.has_password})


@post("/pair", status_code=200, summary="Pair the extension", responses=RESPONSES)
async def pair(request: Asked, access: TheAccess, data: JSONBody[Pairing]) -> Json:
    """Return a token for a one-time code or the password."""
    origin = request.headers.get("origin") or f"http://{request.headers.get('host', '')}"
    pairing = partial(access.pair, code=data.code, password=data.password, origin=origin, client=client_of(request))
    token, root = await to_thread.run_sync(pairing)  # it waits for whoever writes to the workspace
    return Json({"token": token, "workspace": root.name})


@post("/login", status_code=200, summary="A link to the page", responses=RESPONSES)
async def login_link(request: Asked, access: TheAccess) -> Json:
    """Return a path that opens the page once, within a minute: for the extension, which has a token but no cookie."""
    root = root_of(request)
    return Json({"path": login_path(root.name, access.new_login(root, brief=True))})


@post("/logout", status_code=204, summary="Log out", responses=RESPONSES)
async def logout(request: Asked, access: TheAccess, cookie: TheCookie) -> Response[None]:
    """Forget the page's session."""
    access.log_out(*keys_of(request.headers, cookie))
    response: Response[None] = Response(None, status_code=204)
    response.delete_cookie(cookie)
    return response


def client_of(request: Asked) -> str:
    """Return which client asks, whatever its headers say."""
    return str(request.scope["state"]["client"])  # set by the doors


VIEWS: list[Any] = [
    overview, groups, layout, messages, recap, preview, where, made,
    tell_open, events, jobs, job, cancel_job,
    health, pair, login_link, logout,
]  # fmt: skip
