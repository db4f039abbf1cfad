"""Long work spread over several processes, where that pays and can be had."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Self, TypeVar

_EACH = 250  # fewer items are done before another process has begun
_PARTS = 128  # at most 256, so that a byte can number them

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def spread(
    work: Callable[[Sequence[_Item]], _Result],
    items: Sequence[_Item],
    advance: Callable[[int, int], None],
    *,
    processes: int | None = None,
) -> list[_Result]:
    """Return what *work* makes of the *items*, part by part and in their order.

    *work* looks and changes nothing: where there are many items, copies of this process do some of the parts and hand
    their results over. What a copy fails to do is done here, so that every error shows as if there were none.
    """
    size = 1 + len(items) // _PARTS
    parts = [items[at : at + size] for at in range(0, len(items), size)]
    done: dict[int, _Result] = {}

    def do(numbers: Iterable[int]) -> None:
        for number in numbers:
            done[number] = work(parts[number])
            advance(min(len(items), (number + 1) * size), len(items))  # what is before it is done, or nearly

    copies = (_useful_processes(len(items)) if processes is None else processes) - 1
    if copies > 0:
        done.update(_share(copies, lambda number: work(parts[number]), len(parts), do))
    do(number for number in range(len(parts)) if number not in done)
    return [done[number] for number in range(len(parts))]


def _useful_processes(items: int) -> int:
    if items < 2 * _EACH or sys.platform != "linux" or len(os.listdir("/proc/self/task")) > 1:
        return 1  # a copy of a process with several threads may wait for ever for one that was not copied
    return min(items // _EACH, len(os.sched_getaffinity(0)))


def _share(copies: int, work: Callable[[int], Any], parts: int, do: Callable[[Iterable[int]], None]) -> dict[int, Any]:
    """*Do* some of the *parts* here while *copies* of this process do the others; return what those did."""
    waiting, queue = os.pipe()
    with ExitStack() as stack:
        stack.callback(os.close, waiting)
        with open(queue, "wb") as file:
            file.write(bytes(range(parts)))  # whoever has time takes the next number
        helpers: list[_Helper] = []
        with suppress(OSError):  # what the system refuses is not needed
            helpers.extend(stack.enter_context(_Helper(work, waiting)) for _ in range(copies))
        do(_taken(waiting))
        return {number: result for helper in helpers for number, result in helper.results().items()}


def _taken(waiting: int) -> Iterator[int]:
    while number := os.read(waiting, 1):
        yield number[0]


class _Helper:
    """A copy of this process that works until nothing waits any more, and ends with the one it is a copy of."""

    def __init__(self, work: Callable[[int], Any], waiting: int) -> None:
        self._answer, answer = os.pipe()
        origin = os.getpid()
        try:
            self._process = os.fork()
        except OSError:
            os.close(self._answer)
            os.close(answer)
            raise
        if not self._process:
            try:
                import pickle  # noqa: PLC0415

                numbers = (number for number in _taken(waiting) if os.getppid() == origin)
                results = {number: work(number) for number in numbers}
                with open(answer, "wb") as file:
                    pickle.dump(results, file)
            finally:
                os._exit(0)  # at once: nothing that the origin has begun may be ended here as well
        os.close(answer)

    def results(self) -> dict[int, Any]:
        """Wait for what it did; nothing when it failed."""
        import pickle  # noqa: PLC0415

        with open(self._answer, "rb", closefd=False) as file, suppress(EOFError, pickle.UnpicklingError):
            results: dict[int, Any] = pickle.load(file)  # noqa: S301  # written above
            return results
        return {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._answer)
        with suppress(ProcessLookupError, ChildProcessError):  # where ended processes are forgotten at once
            os.kill(self._process, 9)  # it holds nothing that would have to be put away
            os.waitpid(self._process, 0)


__all__ = ["spread"]
