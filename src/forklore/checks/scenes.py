"""Which of a timeline's scene breaks are ready for a fork."""

from __future__ import annotations

from forklore.channels.running_recap import RunningRecap, upto
from forklore.channels.scenes import Scene
from forklore.checks.requirements import REQUIREMENTS, ForkAttempt
from forklore.gathered.timeline import TimelineState
from forklore.model.cut import Cut

_OF_A_SCENE = {"NO_SCENE_RECAP", "NO_LOREBOOK_ENTRY", "NO_RUNNING_RECAP", "SCENE_NOT_IN_RUNNING_RECAP"}


def missing_at_scene(timeline: TimelineState, scene: Scene, running: RunningRecap) -> tuple[str, ...]:
    """Return the codes of what a fork at this scene break would miss; empty when it is ready."""
    cuts = {"scenes": Cut(scene), "running_recap": Cut(upto(running, scene.message)), "lorebook": Cut()}
    attempt = ForkAttempt(timeline, "checkpoint", scene.message, cuts)
    missing = [
        requirement.code
        for requirement in REQUIREMENTS
        if requirement.code in _OF_A_SCENE and any(True for _ in requirement.violations(attempt))
    ]
    if scene.recap and scene.recap_is_unfinished:
        missing.append("RECAP_IN_PROGRESS")
    return tuple(missing)
