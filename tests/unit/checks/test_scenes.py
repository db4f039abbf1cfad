import pytest

from forklore.channels.running_recap import RunningRecap, read_running_recap
from forklore.channels.scenes import Scene
from forklore.checks.scenes import missing_at_scene
from forklore.testing.cuts import parent
from forklore.testing.stories import Json, recap_version, running_recap, scene

UPTO_SCENE = read_running_recap(running_recap("Tale", [recap_version(0, 7)], 0))
BEFORE_SCENE = read_running_recap(running_recap("Tale", [recap_version(0, 3)], 0))


@pytest.mark.parametrize(
    "extra, running, codes",
    [
        (scene(), UPTO_SCENE, ()),
        (scene(recap=""), UPTO_SCENE, ("NO_SCENE_RECAP",)),
        (scene(activated=0), UPTO_SCENE, ("NO_LOREBOOK_ENTRY",)),
        (scene(), RunningRecap(), ("NO_RUNNING_RECAP",)),
        (scene(), BEFORE_SCENE, ("SCENE_NOT_IN_RUNNING_RECAP",)),
        (scene(recap=""), RunningRecap(), ("NO_SCENE_RECAP", "NO_RUNNING_RECAP")),
    ],
)
def test_a_scene_break_tells_what_a_fork_there_would_miss(
    extra: Json, running: RunningRecap, codes: tuple[str, ...]
) -> None:
    assert missing_at_scene(parent({}, []), Scene(7, extra["auto_recap_memory"]), running) == codes
