"""Answers and problems: the JSON of the command line, and RFC 9457 for what went wrong."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.openapi.datastructures import ResponseSpec
from msgspec import Struct, field

from forklore import texts
from forklore.disk.failures import unusable
from forklore.errors import BadRequest, ForkloreError, Kind
from forklore.formats.json_text import encode, to_bytes
from forklore.web.access import AddressNotFound, MethodNotAllowed, TooLarge

PROBLEM_JSON = "application/problem+json"

STATUS = {
    Kind.INVALID: HTTPStatus.UNPROCESSABLE_ENTITY,
    Kind.BLOCKED: HTTPStatus.CONFLICT,
    Kind.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Kind.CONFLICT: HTTPStatus.CONFLICT,
    Kind.BUSY: HTTPStatus.LOCKED,
    Kind.DAMAGED: HTTPStatus.UNPROCESSABLE_ENTITY,  # the service is well, the story's file is not
}

_OWN_STATUS = {
    "TOO_MANY_REQUESTS": HTTPStatus.TOO_MANY_REQUESTS,
    "LOGIN_NEEDED": HTTPStatus.UNAUTHORIZED,
    "OWN_PAGE_NEEDED": HTTPStatus.FORBIDDEN,
    "REQUEST_TIMEOUT": HTTPStatus.REQUEST_TIMEOUT,
}

_OWN_ERRORS: dict[HTTPStatus, type[ForkloreError]] = {
    HTTPStatus.NOT_FOUND: AddressNotFound,
    HTTPStatus.METHOD_NOT_ALLOWED: MethodNotAllowed,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: TooLarge,
}
"""What we say ourselves when Litestar refuses."""

_log = logging.getLogger("forklore.web")


class Json(Response[Any]):
    """JSON written by the standard library: half an emoji and integers of any size survive."""

    def render(self, content: Any, media_type: str, enc_hook: Any = None) -> bytes:
        """Return the document."""
        del media_type, enc_hook
        return to_bytes(encode(content))


class Problem(Struct):
    """What went wrong, and what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    params: dict[str, Any]
    kind: str
    action: str
    findings: list[dict[str, Any]] = field(default_factory=list)


def of_error(error: ForkloreError, status: int | None = None) -> dict[str, Any]:
    """Return the problem that an error of ours is."""
    return _problem(status or _OWN_STATUS.get(error.code, STATUS[error.kind]), **error.to_json()["error"])


def _of_no_error(status: int, code: str, kind: str, **params: Any) -> dict[str, Any]:
    """Return the problem that is none of our errors, with the words for its code."""
    message, action = (texts.part_of(f"error.{code}", part, params) for part in ("message", "action"))
    return _problem(status, code=code, params=params, kind=kind, message=message, action=action, findings=[])


def _problem(status: int, *, message: str, **told: Any) -> dict[str, Any]:
    """Return the one shape of everything that goes wrong."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": message,
        **told,
    }


def of_any(error: Exception) -> dict[str, Any]:
    """Return the problem that any exception is; a bug tells nothing of the story."""
    if isinstance(error, OSError):
        error = unusable(error)
    if isinstance(error, ForkloreError):
        return of_error(error)
    return _of_no_error(500, "BUG", "bug", error=type(error).__name__, reason=None)


def _answer(told: dict[str, Any], headers: dict[str, str] | None = None) -> Response[Any]:
    return Json(told, status_code=told["status"], media_type=PROBLEM_JSON, headers=headers or {})


def on_forklore_error(_request: Request[Any, Any, Any], error: ForkloreError) -> Response[Any]:
    """Answer what cannot be fulfilled."""
    told = of_error(error)
    # The rest of a body that came too late would be taken for the next request.
    return _answer(told, {"connection": "close"} if told["status"] == HTTPStatus.REQUEST_TIMEOUT else None)


def on_os_error(_request: Request[Any, Any, Any], error: OSError) -> Response[Any]:
    """Answer when the system refuses a file."""
    return _answer(of_any(error))


def on_unreadable_body(_request: Request[Any, Any, Any], _error: Exception) -> Response[Any]:
    """Answer a body that is not UTF-8, or that is nested deeper than anybody would."""
    return _answer(of_error(BadRequest("unreadable")))


def on_http_error(_request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """Answer what Litestar refuses: unknown routes and methods, bodies that do not fit."""
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return _answer(of_error(_misfit(error)))
    status = HTTPStatus(error.status_code)
    own = _OWN_ERRORS.get(status)
    told = of_error(own(), status) if own else _of_no_error(status, "HTTP_ERROR", "invalid", reason=status.phrase)
    return _answer(told, dict(error.headers or {}))


def on_bug(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Answer a bug without telling anything of the story; the traceback is written where the service was started."""
    _log.error("a bug in %s", request.url.path, exc_info=error)
    return _answer(of_any(error))


def _misfit(error: HTTPException) -> BadRequest:
    """Return what does not fit into the request, field by field where Litestar tells it."""
    extra = error.extra if isinstance(error.extra, list) else []
    told = [each for each in extra if isinstance(each, dict)]
    fields = [{"field": str(each.get("key", "")), "reason": str(each.get("message", ""))} for each in told]
    if fields:
        return BadRequest("misfit", fields=fields)
    return BadRequest("refused", reason=error.detail.partition(" for path ")[0])  # whoever asks knows where


HANDLERS: dict[Any, Any] = {
    ForkloreError: on_forklore_error,
    HTTPException: on_http_error,
    OSError: on_os_error,
    UnicodeDecodeError: on_unreadable_body,
    RecursionError: on_unreadable_body,
    Exception: on_bug,
}

_CAN_GO_WRONG = {
    401: "Not logged in, or not paired.",
    403: "It came from another site, was sent to a name that is not this computer's, or needs Forklore's own page.",
    404: "There is no such chat, operation or item.",
    408: "The rest of the request did not arrive in time.",
    409: "The story is not ready for it, or something changed meanwhile.",
    413: "The request is too large.",
    422: "The request makes no sense, or a file of the story is damaged.",
    423: "Somebody else is changing the workspace.",
    429: "Too many requests, or too much work at a time.",
}

RESPONSES: dict[int, ResponseSpec] = {
    status: ResponseSpec(Problem, generate_examples=False, description=words, media_type=PROBLEM_JSON)
    for status, words in _CAN_GO_WRONG.items()
}
"""What every route below ``/api`` may answer besides its own answer."""
