"""The oldest version that is supported: creating and opening."""

from __future__ import annotations

import json

import pytest

from tests.e2e_sillytavern.page import POPUP, Page
from tests.e2e_sillytavern.tavern import Tavern
from tests.e2e_sillytavern.telling import SAMPLES, begin, findings_about, folder_of, lore_in, name_of, operations_about

pytestmark = pytest.mark.shares_page


@pytest.fixture
def version() -> str:
    return "1.13.5"


def test_each_prompt_holds_the_lore_of_its_own_timeline_alone(page: Page, tavern: Tavern, character: str) -> None:
    main = begin(page, character)
    checkpoint, branch = page.checkpoint(2), page.branch(2)
    own = {branch: "LORE-BRANCH", main: "LORE-MAIN", checkpoint: "LORE-CHECKPOINT"}
    for address, lore in own.items():
        page.open_chat(address)
        page.learn(lore.lower(), lore)

    for address, lore in own.items():
        page.open_chat(address)
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON", lore}

    for address in own:
        assert tavern.forklore().verify(address).to_json()["findings"] == []
    assert tavern.read_chat(main)[1][2]["extra"]["bookmark_link"] == name_of(checkpoint)
    page.shot("three-timelines")


def test_menu_slash_commands_and_a_bare_call(page: Page, tavern: Tavern, character: str) -> None:
    main = begin(page, character)
    page.tab.locator("#option_new_bookmark").dispatch_event("click")
    by_menu = page.answer_name()
    page.wait_for_toast("Checkpoint created")
    by_command = page.slash("/checkpoint-create mesId=1 From a command")
    bare = page.run_with_modules("B.createBranch(1)")
    branch = page.slash("/branch-create 1")
    page.wait_for_chat(f"{folder_of(main)}/{branch}")

    forks = {name: f"{folder_of(main)}/{name}" for name in (by_menu, by_command, bare, branch)}
    for fork in forks.values():
        assert findings_about(tavern, fork) in ([], ["LOREBOOK_FROM_PRESENT"])  # there are no snapshots
    assert operations_about(tavern, forks[bare]) == ["isolate"]
    assert len({tavern.read_chat(fork)[0]["world_info"] for fork in [main, *forks.values()]}) == 5


def test_opening_tells_and_repairs(page: Page, tavern: Tavern) -> None:
    main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Older")
    page.open_character("Maren Older.png")
    page.open_chat(main)
    checkpoint = page.checkpoint(21)
    book = tavern.read_chat(checkpoint)[0]["world_info"]
    (tavern.user / "worlds" / f"{book}.json").unlink()
    page.clear_toasts()

    page.open_chat(checkpoint)

    page.wait_for_toast("Checkpoint Loaded")
    page.popup("LOREBOOK_MISSING")
    page.shot("lorebook-missing")
    page.choose("LOREBOOK_MISSING", "last scene snapshot")
    page.wait_for_toast("Done")
    page.wait_for_chat(checkpoint)
    assert book in tavern.books()
    assert "LOREBOOK_MISSING" not in {
        finding["code"] for finding in tavern.forklore().verify(checkpoint).to_json()["findings"]
    }


def test_a_group_chat_cannot_be_forked_and_is_told_why(page: Page, tavern: Tavern, character: str) -> None:
    group = tavern.make_group(f"Group of {character}", [character, tavern.make_character(f"Second {character}")])
    main = page.open_group(group)
    page.wait_for_toast("format of an older SillyTavern")
    page.shot("group-opened")
    page.click_toast("format of an older SillyTavern")
    page.choose("Nothing is wrong with the chat", "Cancel")
    page.attach_book(f"Lore of {group}", {"harbour": "LORE-COMMON"})
    page.send("Hello.")
    before = {path.name for path in (tavern.user / "group chats").iterdir()}

    page.click(2, "branch")
    page.popup("GROUP_FORMAT_OLD")
    page.shot("group-blocked")
    page.choose("GROUP_FORMAT_OLD", "Close")
    page.clear_toasts()
    page.run_with_modules("void B.branchChat(2)")  # as another extension does
    page.wait_for_toast("This version of SillyTavern keeps")
    page.shot("group-refused")

    assert page.address == main
    assert {path.name for path in (tavern.user / "group chats").iterdir()} == before
    kept = json.loads((tavern.user / f"groups/{group}.json").read_bytes())
    assert kept["chats"] == [name_of(main)]
    assert "main_chat" not in json.dumps(kept)
    assert lore_in(page.send("Go on.")) == {"LORE-COMMON"}
    page.clear_toasts()
    page.load()
    page.logged.clear()
    page.open_group(group)
    page.wait_until_verified()
    assert page.tab.locator(f".toast, {POPUP}").count() == 0
