"""SillyTavern saves while Forklore is at work: on no system is it in the way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import forklore
from forklore.errors import ForkloreError
from forklore.testing.sillytavern import HastyDisk
from tests.crash.scenarios import CHAT, NAME, write_story

pytestmark = [pytest.mark.crash, pytest.mark.slow]

SAVING = Path(__file__).with_name("saving.py")
TIMES = 1000


@pytest.mark.timeout(300)
def test_a_thousand_saves_of_another_program_are_hardly_ever_refused(tmp_path: Path) -> None:
    write_story(tmp_path)
    chat = tmp_path / f"chats/Mira/{NAME}.jsonl"
    done: Counter[str] = Counter()

    with subprocess.Popen(
        [sys.executable, str(SAVING), str(chat), str(TIMES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        while writer.poll() is None:
            ours = forklore.open(tmp_path, disk=HastyDisk())
            for act in (
                lambda ours=ours: ours.checkpoint(CHAT),
                lambda ours=ours: ours.verify(CHAT),
                ours.stories,
                ours.undo,
                ours.doctor,
            ):
                try:
                    act()
                    done["done"] += 1
                except ForkloreError as error:
                    done[error.code] += 1
        told = json.loads(writer.communicate()[0])

    print(told, dict(done))  # noqa: T201  # worth seeing
    assert told["saved"] == TIMES
    assert told["refused"] <= 10
    assert told["refused_again"] == 0
    assert done["done"] > 20
    assert set(done) <= {"done", "CONTEXT_CHANGED", "OPERATION_NOT_FOUND", "UNDO_REFUSED"}
