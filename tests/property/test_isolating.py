"""Whatever two timelines wrote into one lorebook, isolating the fork parts it by whose messages wrote what."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forklore
from forklore.testing import stories
from forklore.testing.sillytavern import HastyDisk, OpenChat, recap_story
from forklore.testing.stories import read_workspace, write_workspace

NAME, BOOK = "Mira - 2026-11-15@18h36m13s", "Lore"
MAIN, FORK_NAME = f"Mira/{NAME}", f"{NAME} - Branch #1"
FORK = f"Mira/{FORK_NAME}"


class Writer:
    """Somebody who goes on in either timeline, scene by scene."""

    def __init__(self, root: Path, *, keeps_snapshots: bool) -> None:
        self.root, self.keeps_snapshots = root, keeps_snapshots
        self.scenes = 0

    def write_scene(self, chat: str) -> str:
        """Write a scene in which somebody new is met; return who."""
        self.scenes += 1
        name = f"character-Guest{self.scenes}x"
        story = OpenChat(self.root, chat)
        story.say("Who is there?", f"Guest{self.scenes}x enters.")
        made = [story.learn(name, f"Guest number {self.scenes}.")]
        moment = stories.FIRST_MOMENT + self.scenes
        story.end_scene(name, taken=moment, made=made, keeps_snapshot=self.keeps_snapshots)
        story.write()
        return name


@pytest.mark.req(131, 132, 133)
@given(
    before=st.integers(1, 3),
    later=st.integers(0, 2),
    turns=st.lists(st.sampled_from([MAIN, FORK]), max_size=5),
    keeps_snapshots=st.booleans(),
)
@settings(max_examples=40)
def test_each_timeline_keeps_what_it_wrote(before: int, later: int, turns: list[str], keeps_snapshots: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write_workspace(Path(folder), recap_story(NAME, BOOK))
        writer = Writer(root, keeps_snapshots=keeps_snapshots)
        common = {writer.write_scene(MAIN) for _ in range(before)}
        at = len(OpenChat(root, MAIN).messages) - 1
        mains = {writer.write_scene(MAIN) for _ in range(later)}
        OpenChat(root, MAIN).fork(FORK_NAME, at=at)
        own: set[str] = set()
        for chat in turns:
            (mains if chat == MAIN else own).add(writer.write_scene(chat))
        files = read_workspace(root)
        workspace = forklore.open(root, disk=HastyDisk())

        done = workspace.isolate(FORK)

        fork = OpenChat(root, FORK)
        guests = {entry["comment"] for entry in fork.entries.values() if "Guest" in entry["comment"]}
        assert guests == common | own
        assert guests == {name for name in common | own | mains if name in fork.entries["0"]["content"]}
        assert len(done.kept_versions) == before + turns.count(FORK)
        changed = {path for path, content in read_workspace(root).items() if files.get(path) != content}
        assert changed == {f"chats/{FORK}.jsonl", f"worlds/{done.lorebook}.json"}
        assert json.loads(files[f"worlds/{BOOK}.json"])["entries"].keys() >= fork.entries.keys()
        workspace.undo()
        assert read_workspace(root) == files
