"""Isolating every timeline that shares a lorebook: one after the other by the one rule, each as its own operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from forklore.app.context import Context
from forklore.app.isolate import Gathered, Isolated, foresee, isolate
from forklore.app.progress import Cancelled, Progress, Silent
from forklore.errors import ForkloreError
from forklore.gathered.workspace import WorkspaceIndex
from forklore.model.address import ChatAddress
from forklore.model.plan import Plan
from forklore.model.timeline import Story


@dataclass(frozen=True, slots=True)
class Refused:
    """A timeline that shares a lorebook and could not be isolated, and why."""

    chat: str
    error: ForkloreError

    def to_json(self) -> dict[str, Any]:
        """Return the chat with the error in its one shape."""
        return {"chat": self.chat, **self.error.to_json()}


@dataclass(frozen=True, slots=True)
class IsolatedAll:
    """What isolating all that share a lorebook came to, or would come to."""

    forks: tuple[Isolated, ...]
    refused: tuple[Refused, ...]
    plans: tuple[Plan, ...] | None = None
    """What would be done for each of the forks; None when it was done."""

    @property
    def ok(self) -> bool:
        """Whether nothing was refused."""
        return not self.refused

    def to_json(self) -> dict[str, Any]:
        """Return each timeline as ``isolate`` shows it, in a dry run with its plan."""
        forks = [fork.to_json() for fork in self.forks]
        if self.plans is not None:
            forks = [{**fork, **plan.to_json()} for fork, plan in zip(forks, self.plans, strict=True)]
        return {"forks": forks, "refused": [refused.to_json() for refused in self.refused]}


def isolate_all(story: Story | None, context: Context) -> IsolatedAll:
    """Give everybody who shares a lorebook one of their own, in one *story* or in all; what is refused stops nobody."""
    done: list[Isolated] = []
    refused: list[Refused] = []
    try:
        _try_each(isolate, story, context, done, refused)
    except Cancelled as error:
        if not done:
            raise
        raise Cancelled("isolated") from error
    return IsolatedAll(tuple(each for each in done if each.operation is not None), tuple(refused))


def foresee_all(story: Story | None, context: Context) -> IsolatedAll:
    """Return what ``isolate_all`` would do for each, and change nothing."""
    done: list[tuple[Isolated, Plan | None]] = []
    refused: list[Refused] = []
    _try_each(foresee, story, context, done, refused)
    foreseen = [(fork, plan) for fork, plan in done if plan is not None]
    return IsolatedAll(tuple(fork for fork, _ in foreseen), tuple(refused), tuple(plan for _, plan in foreseen))


T = TypeVar("T")


def _try_each(
    act: Callable[[ChatAddress, Context, Gathered], T],
    story: Story | None,
    context: Context,
    done: list[T],
    refused: list[Refused],
) -> None:
    """Act on everybody who uses a lorebook that is another timeline's; each chat is read once."""
    alone = replace(context, progress=_Within(context.progress))  # nothing is told of one among several
    with Gathered(alone, alone.index(with_log=False)) as gathered:
        addresses = list(_leaking(story, gathered.index))
        for number, address in enumerate(addresses):
            context.advance(number, len(addresses))
            try:
                done.append(act(address, alone, gathered))
            except Cancelled:
                raise
            except ForkloreError as error:
                refused.append(Refused(str(address), error))
        if addresses:
            context.progress.advance(len(addresses), len(addresses))  # without a last chance to stop: it is done


def _leaking(story: Story | None, index: WorkspaceIndex) -> Iterator[ChatAddress]:
    """Yield those that use a lorebook which is another timeline's."""
    for each in index.stories if story is None else (story,):
        for timeline in each.timelines:
            address = ChatAddress.parse(timeline.chat)
            if address is not None and index.sharers(address) and not index.is_owner(address):
                yield address


class _Within(Silent):
    """Says nothing of one among several, but lets it be stopped."""

    def __init__(self, around: Progress) -> None:
        self._around = around

    def go_on(self) -> None:
        """Ask whether all of it should go on."""
        self._around.go_on()
