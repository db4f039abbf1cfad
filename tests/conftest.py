"""What every test may use: samples, copies of them, and a cache of its own."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import forklore
from forklore.app.forklore import Forklore
from forklore.testing.sillytavern import HastyDisk
from forklore.testing.stories import write_workspace
from forklore.texts import template

SAMPLES = Path(__file__).parent / "samples"

# The same examples every time: a test that passed yesterday fails today only if the code changed.
# HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("usual", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", settings.get_profile("usual"), derandomize=False, max_examples=1000)
settings.register_profile("windows", settings.get_profile("usual"), max_examples=25)  # under Wine all takes longer
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test touches the cache or the stories of the person who runs it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FORKLORE_CACHE", str(tmp_path_factory.mktemp("cache")))
        environment.setenv("FORKLORE_STATE", str(tmp_path_factory.mktemp("state")))
        environment.delenv("FORKLORE_DATA", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_sentence_has_a_hole() -> Iterator[None]:
    """A fact that lacks what its sentence asks for fails the test that tells it."""

    def refuse(name: str) -> None:
        raise AssertionError(f"nobody gave {name!r}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "absent", refuse)
        yield


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a sample story and returns the copy's folder, a workspace."""

    def copied(name: str) -> Path:
        root = tmp_path / name
        if name == "sillytavern-1.19.0":
            return write_workspace(root, real_sillytavern_files())
        shutil.copytree(SAMPLES / name, root)
        return root

    return copied


@pytest.fixture
def opened(sample: Callable[[str], Path]) -> Callable[[str], Forklore]:
    """Return a function that copies a sample story and opens it."""
    return lambda name: forklore.open(sample(name), disk=HastyDisk())


@pytest.fixture(scope="session")
def manifest() -> dict[str, Any]:
    """What is known about each sample story, by its name."""
    stories: dict[str, Any] = json.loads((SAMPLES / "manifest.json").read_bytes())["fixtures"]
    return stories


def real_sillytavern_files() -> dict[str, bytes]:
    """Return the files that a real SillyTavern wrote, laid out as a workspace."""
    folder = SAMPLES / "sillytavern-1.19.0"
    names = json.loads((folder / "names.json").read_bytes())
    places = {
        f"chats/Mira/{names['main']}.jsonl": "chat_main.jsonl",
        f"chats/Mira/{names['checkpoint']}.jsonl": "chat_checkpoint.jsonl",
        f"chats/Mira/{names['branch']}.jsonl": "chat_branch.jsonl",
        "chats/Mira/Greeting.jsonl": "chat_fresh_greeting_only.jsonl",
        "chats/Mira/With branches.jsonl": "chat_main_with_extra_branches.jsonl",
        f"group chats/{names['group_main']}.jsonl": "group_chat_main.jsonl",
        f"group chats/{names['group_checkpoint']}.jsonl": "group_chat_checkpoint.jsonl",
        f"group chats/{names['group_branch']}.jsonl": "group_chat_fresh_no_integrity.jsonl",
        f"groups/{names['group_id']}.json": "group.json",
        "worlds/Mira Lore.json": "lorebook_api_created_default_fields.json",
        "worlds/Edited Lore.json": "lorebook_saved_by_editor.json",
        "worlds/Imported Lore.json": "lorebook_from_character_book_originalData.json",
        "worlds/Empty.json": "lorebook_empty.json",
        "settings.json": "settings_excerpt_lorebook_referrers.json",
    }
    return {place: (folder / name).read_bytes() for place, name in places.items()}
