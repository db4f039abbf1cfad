"""Isolating every timeline that shares a lorebook: one after the other by the one rule, each as its own operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from forklore.app.around import Around
from forklore.app.isolating import Isolated, foresee, isolate
from forklore.app.means import Means
from forklore.app.progress import Cancelled, Progress, Silent
from forklore.errors import ForkloreError
from forklore.model.address import ChatAddress
from forklore.model.plan import Plan
from forklore.model.timeline import Story

_SOME_ISOLATED = "What was isolated until then stays so; `forklore log` shows it, and each can be undone."


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


def isolate_all(story: Story | None, means: Means) -> IsolatedAll:
    """Give everybody who shares a lorebook one of their own, in one *story* or in all; what is refused stops nobody."""
    done: list[Isolated] = []
    refused: list[Refused] = []
    try:
        _try_each(isolate, story, means, done, refused)
    except Cancelled as error:
        if not done:
            raise
        raise Cancelled(error.message, action=_SOME_ISOLATED) from error
    return IsolatedAll(tuple(each for each in done if each.operation is not None), tuple(refused))


def foresee_all(story: Story | None, means: Means) -> IsolatedAll:
    """Return what ``isolate_all`` would do for each, and change nothing."""
    done: list[tuple[Isolated, Plan | None]] = []
    refused: list[Refused] = []
    _try_each(foresee, story, means, done, refused)
    foreseen = [(fork, plan) for fork, plan in done if plan is not None]
    return IsolatedAll(tuple(fork for fork, _ in foreseen), tuple(refused), tuple(plan for _, plan in foreseen))


T = TypeVar("T")


def _try_each(
    act: Callable[[ChatAddress, Means], T], story: Story | None, means: Means, done: list[T], refused: list[Refused]
) -> None:
    for address, alone in _one_by_one(story, means):
        try:
            done.append(act(address, alone))
        except Cancelled:
            raise
        except ForkloreError as error:
            refused.append(Refused(str(address), error))


def _one_by_one(story: Story | None, means: Means) -> Iterator[tuple[ChatAddress, Means]]:
    """Yield those to isolate, each with means that tell nothing of its own progress, and tell how many are done."""
    addresses = list(_leaking(story, Around(replace(means, progress=_Within(means.progress)))))
    for number, address in enumerate(addresses):
        means.advance(number, len(addresses))
        yield address, replace(means, progress=_Within(means.progress))
    if addresses:
        means.progress.advance(len(addresses), len(addresses))  # without a last chance to stop: it is done


def _leaking(story: Story | None, around: Around) -> Iterator[ChatAddress]:
    """Yield the forks that share a lorebook inside their story, and the copies that share that of their original."""
    for each in around.stories if story is None else (story,):
        for timeline in each.timelines:
            address = ChatAddress.parse(timeline.chat)
            if address is None:
                continue
            is_fork = timeline.kind != "main"
            if around.sharers(address) if is_fork else around.original_of(address):
                yield address


class _Within(Silent):
    """Says nothing of one among several, but lets it be stopped."""

    def __init__(self, around: Progress) -> None:
        self._around = around

    def go_on(self) -> None:
        """Ask whether all of it should go on."""
        self._around.go_on()
