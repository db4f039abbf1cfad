"""Where a fork may be made, for all stories: the views say what ``check`` says."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import forklore
from forklore.checks.requirements import REQUIREMENTS, Effect
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import write_workspace
from forklore.testing.strategies import WildStory, wild_stories

CODES = [row.code for row in REQUIREMENTS if not row.indispensable]
EFFECTS = st.dictionaries(st.sampled_from(CODES), st.sampled_from([effect.value for effect in Effect]))


@settings(max_examples=60)
@given(wild_stories(), st.sampled_from(["standard", "strict"]), EFFECTS)
def test_at_every_message_the_same_blocks_as_in_check(story: WildStory, policy: str, effects: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_workspace(Path(folder), story.files)
        workspace = forklore.open(folder, policy=policy, disk=HastyDisk())
        workspace.change_settings(requirements=effects)

        shown = workspace.view.messages(f"Mira/{story.chat_name}", count=200)

        for each in shown.messages:
            report = workspace.check(f"Mira/{story.chat_name}", at=each.number)
            assert each.codes == tuple(finding.code for finding in report.errors)
