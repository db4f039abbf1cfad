"""Some cases of the fuzzer; ``python -m tests.hostile.fuzzing`` runs as many as there is time for."""

from __future__ import annotations

import pytest

from tests.hostile.fuzzing import run_cases
from tests.hostile.trees import HAS_LINKS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not HAS_LINKS, reason="this system has no links and pipes")]

CASES, AT_ONCE = 1000, 250


@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_no_altered_folder_leads_out_breaks_anything_or_makes_anybody_wait(first: int) -> None:
    failed = run_cases(first, AT_ONCE)

    assert not failed, "\n".join(map(str, failed[:5]))
