"""One route a command: read the request, call one method, answer with its JSON."""

from __future__ import annotations

import math
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, JSONBody, QueryParameter
from msgspec import Meta, Struct
from msgspec import field as named

from forklore.app.folder import FOLDER_REPAIRS
from forklore.errors import BadRequest, ConfirmationNeeded
from forklore.web.jobs import Wish
from forklore.web.problems import RESPONSES, Json
from forklore.web.service import Service, only_on_own_page, root_of

Asked = Request[Any, Any, Any]
TheService = NamedDependency[Service]

Chat = Annotated[str, QueryParameter(description="An address, a chat's name, or a part that only one chat has.")]
At = Annotated[int | None, QueryParameter(description="Message number, from 0; without it the last message.")]
RequestId = Annotated[
    str | None,
    QueryParameter(name="request", description="The job's name that was sent along when the operation was asked for."),
]
EntryStart = Annotated[int, QueryParameter(description="The first entry.")]
EntryCount = Annotated[int, QueryParameter(description="How many, at most 200.")]
Wait = Annotated[
    float | bool | None,
    Meta(description="Seconds to wait for an idle queue and a free workspace; true for as long as it takes."),
]
Text = Annotated[str, Meta(max_length=10_000)]


# --- looking ------------------------------------------------------------------------------------------------------


@get("/stories", responses=RESPONSES, summary="All stories")
async def stories(request: Asked, service: TheService) -> Json:
    """Return every story of the workspace."""
    return await service.look(request, lambda forklore: forklore.stories())


@get("/tree", responses=RESPONSES, summary="One story")
async def tree(request: Asked, service: TheService, chat: FromQuery[str | None] = None) -> Json:
    """Return one story: the one the chat belongs to, or the only one."""
    return await service.look(request, lambda forklore: forklore.tree(chat))


@get("/show", responses=RESPONSES, summary="One timeline")
async def show(request: Asked, service: TheService, chat: Chat) -> Json:
    """Return kind, parent, lorebook, recap versions and scene breaks of a timeline."""
    return await service.look(request, lambda forklore: forklore.show(chat))


@get("/check", responses=RESPONSES, summary="May a fork be made?")
async def check(
    request: Asked, service: TheService, chat: Chat, at: At = None, kind: FromQuery[str] = "checkpoint"
) -> Json:
    """Return everything that stands in the way of a fork; that is an answer, not a problem."""
    return await service.look(request, lambda forklore: forklore.check(chat, at=at, kind=kind))


@get("/verify", responses=RESPONSES, summary="Verify a timeline")
async def verify(request: Asked, service: TheService, chat: Chat) -> Json:
    """Compare a timeline with its record; those who ask within 100 ms get one answer."""
    return Json(await service.verify(root_of(request), chat))


@get("/status", responses=RESPONSES, summary="The diagnostic object of a timeline")
async def status(request: Asked, service: TheService, chat: Chat) -> Json:
    """Return what was recorded, and whether it is still so."""
    return await service.look(request, lambda forklore: forklore.status(chat))


@get("/contamination", responses=RESPONSES, summary="Who wrote which entry")
async def contamination(
    request: Asked, service: TheService, chat: Chat, start: EntryStart = 0, count: EntryCount = 50
) -> Json:
    """Return whose messages can have produced some entries of the timeline's lorebook, and how many there are.

    Those that not every timeline would keep come first.
    """
    return await service.look(
        request, lambda forklore: forklore.contamination(chat, start=start, count=count), is_long=True
    )


# --- forking ------------------------------------------------------------------------------------------------------


class CheckpointWanted(Struct, forbid_unknown_fields=True):
    """A checkpoint to be made."""

    chat: Text
    at: int | None = None
    name: Text | None = None
    wait: Wait = None
    show_last_scene: bool = False
    dry_run: bool = False
    leave_parent: bool = False


class BranchWanted(Struct, forbid_unknown_fields=True):
    """A branch to be made."""

    chat: Text
    at: int | None = None
    swipe: int | None = None
    wait: Wait = None
    show_last_scene: bool = False
    dry_run: bool = False
    leave_parent: bool = False


@post("/checkpoint", status_code=200, responses=RESPONSES, summary="Make a checkpoint")
async def checkpoint(request: Asked, service: TheService, data: JSONBody[CheckpointWanted]) -> Json:
    """Make a complete, isolated point in time that stays beside its parent; or only plan it."""
    if data.dry_run:
        return await service.look(
            request,
            lambda forklore: forklore.plan(
                "checkpoint",
                data.chat,
                at=data.at,
                name=data.name,
                show_last_scene=data.show_last_scene,
                leave_parent=data.leave_parent,
            ),
        )
    return await service.change(
        request,
        lambda forklore: forklore.checkpoint(
            data.chat,
            at=data.at,
            name=data.name,
            wait=_seconds(data.wait),
            show_last_scene=data.show_last_scene,
            leave_parent=data.leave_parent,
        ),
    )


@post("/branch", status_code=200, responses=RESPONSES, summary="Make a branch")
async def branch(request: Asked, service: TheService, data: JSONBody[BranchWanted]) -> Json:
    """Make a complete, isolated timeline to go on in; or only plan it."""
    if data.dry_run:
        return await service.look(
            request,
            lambda forklore: forklore.plan(
                "branch",
                data.chat,
                at=data.at,
                swipe=data.swipe,
                show_last_scene=data.show_last_scene,
                leave_parent=data.leave_parent,
            ),
        )
    return await service.change(
        request,
        lambda forklore: forklore.branch(
            data.chat,
            at=data.at,
            swipe=data.swipe,
            wait=_seconds(data.wait),
            show_last_scene=data.show_last_scene,
            leave_parent=data.leave_parent,
        ),
    )


def _seconds(wait: Wait) -> float | None:
    if wait is None or wait is False:
        return None
    if wait is True:
        return math.inf
    if wait < 0:
        raise BadRequest("seconds", value=str(wait))
    return wait


# --- mending ------------------------------------------------------------------------------------------------------


_FOR_OWN_PAGE = frozenset(FOLDER_REPAIRS) - {"recover"}
"""Repairs that trust what a stranger may have put into the folder, or throw it away: the user decides that himself."""


class RepairWanted(Struct, forbid_unknown_fields=True):
    """A repair to be made."""

    chat: Text
    code: Text
    repair: Text = named(name="with")
    book: Text | None = None


class DoctorWanted(Struct, forbid_unknown_fields=True):
    """Mend what can be mended without losing anything."""

    fix: bool


class RenamedBook(Struct, forbid_unknown_fields=True):
    """What a lorebook was called, and what it is called now."""

    old: Text
    new: Text


class Renamed(Struct, forbid_unknown_fields=True):
    """Something was renamed in SillyTavern: a lorebook; else chats, and one of them is open."""

    chat: Text | None = None
    book: RenamedBook | None = None


class IsolationWanted(Struct, forbid_unknown_fields=True):
    """A fork that gets a lorebook of its own, or whose book is declared shared on purpose.

    With *all* it is every fork that shares a lorebook: in the story of *chat*, or in all stories.
    """

    chat: Text | None = None
    all: bool = False
    share: bool = False
    dry_run: bool = False


@get("/repair", responses=RESPONSES, summary="The repairs of a finding")
async def repairs(
    request: Asked, service: TheService, chat: Chat, code: FromQuery[str], book: FromQuery[str | None] = None
) -> Json:
    """Return what could be done about a finding, best first, each with its plan."""
    return await service.look(request, lambda forklore: forklore.repair(chat, code.upper(), book=book))


@post("/repair", status_code=200, responses=RESPONSES, summary="Make a repair")
async def repair(request: Asked, service: TheService, data: JSONBody[RepairWanted]) -> Json:
    """Make a repair as one operation."""
    if data.repair in _FOR_OWN_PAGE:
        only_on_own_page(request, repair=data.repair)
    return await service.change(
        request, lambda forklore: forklore.repair(data.chat, data.code.upper(), repair=data.repair, book=data.book)
    )


@post("/follow", status_code=200, responses=RESPONSES, summary="Follow a new name")
async def follow(request: Asked, service: TheService, data: JSONBody[Renamed]) -> Json:
    """Let whatever names a chat or a lorebook follow its new name; each place is an operation."""
    chat, book = data.chat, data.book
    if book is not None:
        return await service.change(request, lambda forklore: forklore.follow_book(book.old, book.new), is_long=True)
    return await service.change(request, lambda forklore: forklore.follow_chats(chat), is_long=True)


@get("/doctor", responses=RESPONSES, summary="Examine the whole workspace")
async def examine(request: Asked, service: TheService) -> Json:
    """Return every finding of the workspace."""
    return await service.look(request, lambda forklore: forklore.doctor(), is_long=True)


@post("/doctor", status_code=200, responses=RESPONSES, summary="Mend the whole workspace")
async def doctor(request: Asked, service: TheService, data: JSONBody[DoctorWanted]) -> Json:
    """Examine the workspace and mend what can be mended without losing anything."""
    return await service.change(request, lambda forklore: forklore.doctor(fix=data.fix), is_long=True)


@post("/isolate", status_code=200, responses=RESPONSES, summary="Isolate a fork, or all that share a lorebook")
async def isolate(request: Asked, service: TheService, data: JSONBody[IsolationWanted]) -> Json:
    """Give a fork that SillyTavern made a lorebook of its own, or each that shares one; or only plan it."""
    chat = data.chat
    if data.all and data.share:
        raise BadRequest("share_all")
    if data.all:
        if data.dry_run:
            return await service.look(request, lambda forklore: forklore.plan_isolations(chat), is_long=True)
        wish = Wish("isolate", chat)
        return await service.change(request, lambda forklore: forklore.isolate_all(chat), is_long=True, wish=wish)
    if chat is None:
        raise BadRequest("isolate_what")
    if data.dry_run:
        return await service.look(request, lambda forklore: forklore.plan_isolation(chat, share=data.share))
    return await service.change(request, lambda forklore: forklore.isolate(chat, share=data.share))


# --- deleting -----------------------------------------------------------------------------------------------------


class DeletionWanted(Struct, forbid_unknown_fields=True):
    """A timeline to be moved to the trash."""

    chat: Text
    yes: bool = False


class CleanupWanted(Struct, forbid_unknown_fields=True):
    """Move what nobody names to the trash, or of that only the named lorebooks."""

    apply: bool
    books: list[Text] | None = None


class EmptyingWanted(Struct, forbid_unknown_fields=True):
    """Delete for good what has been in the trash for so many days."""

    empty: bool
    older_than: float
    yes: bool = False


class RestoreWanted(Struct, forbid_unknown_fields=True):
    """An item of the trash to be put back."""

    item: Text


@post("/delete", status_code=200, responses=RESPONSES, summary="Delete a timeline")
async def delete(request: Asked, service: TheService, data: JSONBody[DeletionWanted]) -> Json:
    """Move a timeline, and its lorebook if nothing else names it, to the trash."""
    return await service.change(request, lambda forklore: forklore.delete(data.chat, yes=data.yes))


@get("/cleanup", responses=RESPONSES, summary="What is left over")
async def leftovers(request: Asked, service: TheService) -> Json:
    """Return clones that nobody names and map entries of vanished chats."""
    return await service.look(request, lambda forklore: forklore.cleanup(), is_long=True)


@post("/cleanup", status_code=200, responses=RESPONSES, summary="Clean up")
async def cleanup(request: Asked, service: TheService, data: JSONBody[CleanupWanted]) -> Json:
    """Move what is left over to the trash, as one operation."""
    return await service.change(request, lambda forklore: forklore.cleanup(apply=data.apply, books=data.books))


@get("/trash", responses=RESPONSES, summary="The trash")
async def trash(request: Asked, service: TheService) -> Json:
    """Return what is in the trash."""
    return await service.look(request, lambda forklore: forklore.trash())


@post("/trash", status_code=200, responses=RESPONSES, summary="Empty the trash")
async def empty_trash(request: Asked, service: TheService, data: JSONBody[EmptyingWanted]) -> Json:
    """Delete for good what has been in the trash for so many days."""
    if not data.empty:
        return await service.look(request, lambda forklore: forklore.trash())
    if not data.yes:
        raise ConfirmationNeeded("for_good")
    return await service.change(request, lambda forklore: forklore.empty_trash(data.older_than))


@post("/restore", status_code=200, responses=RESPONSES, summary="Put something back")
async def restore(request: Asked, service: TheService, data: JSONBody[RestoreWanted]) -> Json:
    """Put an item of the trash back."""
    return await service.change(request, lambda forklore: forklore.restore(data.item))


# --- the log and the queue ----------------------------------------------------------------------------------------


class UndoWanted(Struct, forbid_unknown_fields=True):
    """An operation to be undone; the latest one when none is named."""

    operation: Text | None = None
    leave_parent: bool = False


class CancellationWanted(Struct, forbid_unknown_fields=True):
    """Operations of the queue to be cancelled."""

    chat: Text
    cancel: list[Text]


@get("/log", responses=RESPONSES, summary="The log")
async def log(request: Asked, service: TheService, asked_by: RequestId = None) -> Json:
    """Return every operation, newest first; or what became of one request."""
    return await service.look(request, lambda forklore: forklore.log(request=asked_by))


@post("/undo", status_code=200, responses=RESPONSES, summary="Undo an operation")
async def undo(request: Asked, service: TheService, data: JSONBody[UndoWanted]) -> Json:
    """Undo an operation by an inverse edit of the files as they are now."""
    return await service.change(request, lambda forklore: forklore.undo(data.operation, leave_parent=data.leave_parent))


@get("/queue", responses=RESPONSES, summary="The queue of a timeline")
async def queue(request: Asked, service: TheService, chat: Chat) -> Json:
    """Return the operations that wait in a timeline's queue."""
    return await service.look(request, lambda forklore: forklore.queue(chat))


@post("/queue", status_code=200, responses=RESPONSES, summary="Cancel operations of a queue")
async def cancel(request: Asked, service: TheService, data: JSONBody[CancellationWanted]) -> Json:
    """Cancel operations of a timeline's queue."""
    return await service.change(request, lambda forklore: forklore.queue(data.chat, cancel=data.cancel))


# --- settings -----------------------------------------------------------------------------------------------------


class SettingsWanted(Struct, forbid_unknown_fields=True):
    """What is to be set; what is not named stays, and null makes a name or an effect the usual one."""

    policy: Text | None = None
    names: dict[str, Text | None] | None = None
    requirements: dict[str, Text | None] | None = None
    shared_books: list[Text] | None = None


@get("/settings", responses=RESPONSES, summary="The settings")
async def settings(request: Asked, service: TheService) -> Json:
    """Return policy, names, requirements and the lorebooks that are shared on purpose."""
    return await service.look(request, lambda forklore: forklore.settings())


@post("/settings", status_code=200, responses=RESPONSES, summary="Change the settings")
async def change_settings(request: Asked, service: TheService, data: JSONBody[SettingsWanted]) -> Json:
    """Change some settings, as an operation that can be undone."""
    return await service.change(
        request,
        lambda forklore: forklore.change_settings(
            policy=data.policy, names=data.names, requirements=data.requirements, shared_books=data.shared_books
        ),
    )


COMMANDS: list[Any] = [
    stories, tree, show, check, verify, status, contamination,
    checkpoint, branch,
    repairs, repair, examine, doctor, follow, isolate,
    delete, leftovers, cleanup, trash, empty_trash, restore,
    log, undo, queue, cancel,
    settings, change_settings,
]  # fmt: skip
