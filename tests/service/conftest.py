"""A service for each test that asks for one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.service.serving import Rest


@pytest.fixture
def rest(sample: Callable[[str], Path]) -> Iterator[Callable[[str], Rest]]:
    """Return a function that copies a sample story and serves it inside this process."""
    running: list[Rest] = []

    def serve(name: str) -> Rest:
        running.append(Rest(sample(name)))
        return running[-1]

    yield serve
    for each in running:
        each.close()
