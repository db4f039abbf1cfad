"""Letting an operation die at each of its steps in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forklore.disk.disk import Disk
from tests.crash.disks import STRIDE, Fault, FaultyDisk, ForgetfulDisk, PowerLoss, faulty, steps
from tests.crash.scenarios import Model

BEFORE = Fault("before-the-step")
AFTER = Fault("after-the-step", done="all")
HALF_WAY = Fault("half-way-through-the-step", done="half")
FEWEST_STEPS = 15


def deaths_of(model: Model, root: Path, system: type[Disk], death: Fault) -> Iterator[tuple[str, FaultyDisk]]:
    """Let the operation die at step 0, 1, 2 … and yield after each death, until it lives through."""
    outcomes = 0
    for step in steps(str(model.scenario), death.name, system.__name__):
        disk = faulty(system, death, step)
        model.trial(root)
        if isinstance(disk, ForgetfulDisk):
            disk.remember(root)
        try:
            model.act(root, disk)
        except PowerLoss:
            outcomes += 1
            yield f"died {death} {step} ({disk.steps[step]})", disk
        else:
            assert outcomes >= FEWEST_STEPS or STRIDE > 1
            return
