"""Creating: every way SillyTavern offers makes a fork of ours, and the model never hears of another timeline."""

from __future__ import annotations

import json

import pytest

from tests.e2e_sillytavern.page import STEPS, Page
from tests.e2e_sillytavern.tavern import Tavern, wait_for
from tests.e2e_sillytavern.telling import (
    SAMPLES,
    begin,
    empty_queue,
    findings_about,
    folder_of,
    lore_in,
    name_of,
    operations_about,
)

_RECAPS_ARE_TOLD = """c.eventSource.on(c.eventTypes.GENERATION_AFTER_COMMANDS, () => {
    const { chatMetadata, setExtensionPrompt } = SillyTavern.getContext();
    const { current_version, versions } = chatMetadata.auto_recap_running_scene_recaps;
    setExtensionPrompt('running recap', versions.find((each) => each.version === current_version).content, 0, 0);
})"""
"""What ST-Auto-Recap does before each answer: the selected version of the open chat goes into the prompt."""


@pytest.mark.shares_page
class TestThreeTimelines:
    @pytest.mark.req(60, 83, 84, 85)
    def test_each_prompt_holds_the_lore_of_its_own_timeline_alone(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        checkpoint = page.checkpoint(2)
        branch = page.branch(2)
        books = {}
        own = {branch: "LORE-BRANCH", main: "LORE-MAIN", checkpoint: "LORE-CHECKPOINT"}
        for address, lore in own.items():
            page.open_chat(address)
            books[address] = page.book
            page.learn(lore.lower(), lore)

        for address, lore in own.items():
            page.open_chat(address)
            assert lore_in(page.send("Go on.")) == {"LORE-COMMON", lore}

        assert len(set(books.values())) == 3
        workspace = tavern.forklore()
        for address in books:
            assert workspace.verify(address).to_json()["findings"] == []
        metadata, messages = tavern.read_chat(main)
        assert messages[2]["extra"]["bookmark_link"] == name_of(checkpoint)
        assert messages[2]["extra"]["branches"] == [name_of(branch)]
        assert metadata["auto_recap"]["checkpoint_lorebook_map"] == {
            name_of(checkpoint): books[checkpoint],
            name_of(branch): books[branch],
        }

    @pytest.mark.req(109)
    def test_switching_to_and_fro_changes_nothing(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        checkpoint, branch = page.checkpoint(2), page.branch(2)
        page.saved()
        paths = [tavern.chat_path(address) for address in (main, checkpoint, branch)]
        paths += (tavern.user / "worlds").glob(f"Lore of {folder_of(main)}*")
        before = {path: path.read_bytes() for path in paths}

        for number in range(10):
            page.open_chat((main, checkpoint, branch)[number % 3])

        assert {path: path.read_bytes() for path in paths} == before
        assert len(before) == 6


@pytest.mark.shares_page
class TestEveryWay:
    def test_the_name_can_be_typed(self, page: Page, tavern: Tavern, character: str) -> None:
        begin(page, character)

        checkpoint = page.checkpoint(1, "Before the storm / 暴风雨前")

        found = f"{page.address.partition('/')[0]}/Before the storm  暴风雨前"
        assert tavern.forklore().verify(found).ok
        assert page.run("c.chat[1].extra.bookmark_link") == name_of(found)
        assert checkpoint

    def test_the_menu_saves_a_checkpoint_at_the_last_message(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.tab.locator("#option_new_bookmark").dispatch_event("click")
        suggested = page.answer_name()
        page.wait_for_toast("Checkpoint created")

        assert tavern.read_chat(main)[1][2]["extra"]["bookmark_link"] == suggested
        assert page.book != tavern.read_chat(f"{folder_of(main)}/{suggested}")[0]["world_info"]

    def test_shift_click_on_a_flag_makes_another_one(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        first = page.checkpoint(2)
        page.clear_toasts()

        page.click(2, "flag", shiftKey=True)
        page.popup("already has a checkpoint")
        page.shot("name-replacing")
        second = page.answer_name()
        page.wait_for_toast("Checkpoint created")

        assert second != name_of(first)
        assert tavern.read_chat(main)[1][2]["extra"]["bookmark_link"] == second
        assert tavern.chat_path(first).is_file()

    def test_the_flag_opens_the_checkpoint(self, page: Page, character: str) -> None:
        begin(page, character)
        checkpoint = page.checkpoint(2)

        page.click(2, "flag")
        page.wait_for_chat(checkpoint)

        assert page.address == checkpoint

    @pytest.mark.req(91)
    def test_slash_commands(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        folder = folder_of(main)

        checkpoint = page.slash("/checkpoint-create mesId=1 From a command")
        branch = page.slash("/branch-create 1")
        page.wait_for_chat(f"{folder}/{branch}")

        assert checkpoint == "From a command"
        for name in (checkpoint, branch):
            assert findings_about(tavern, f"{folder}/{name}") == ["LOREBOOK_FROM_PRESENT"]  # there are no snapshots
            assert len(tavern.read_chat(f"{folder}/{name}")[1]) == 2
        assert page.slash("/checkpoint-parent") == name_of(main)

    def test_a_branch_from_another_swipe(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.run(
            """(async () => {
                const message = c.chat[2];
                message.swipes = [message.mes, 'ANOTHER-SWIPE'];
                message.swipe_id = 0;
                message.swipe_info = [{ extra: {} }, { extra: {} }];
                await c.saveChat(); await c.reloadCurrentChat();
            })()"""
        )
        page.idle()
        page.tab.locator('#chat .mes[mesid="2"] .mes_swipe_picker').dispatch_event("click")
        picker = page.tab.locator('.swipe_picker_block[data-swipe-id="1"] .swipe_picker_branch')
        picker.wait_for(state="visible")
        picker.click()
        branch = page.wait_for_branch(main)

        assert page.messages[-1] == "ANOTHER-SWIPE"
        assert findings_about(tavern, branch) == ["LOREBOOK_FROM_PRESENT"]  # it may know of the swipe that was shown
        assert "ANOTHER-SWIPE" in page.send("Go on.")
        assert operations_about(tavern, branch) == ["branch"]

    @pytest.mark.req(86)
    def test_a_group(self, page: Page, tavern: Tavern, character: str) -> None:
        other = tavern.make_character(f"Tobias of {character.removesuffix('.png')}")
        group = tavern.make_group(f"Group of {character}", [character, other])
        main = page.open_group(group)
        page.attach_book(f"Lore of {group}", {"harbour": "LORE-COMMON"})
        page.send("Hello.")
        last = len(page.messages) - 1
        checkpoint = page.checkpoint(last)
        branch = page.branch(last)
        own = {branch: "LORE-BRANCH", main: "LORE-MAIN", checkpoint: "LORE-CHECKPOINT"}
        for address, lore in own.items():
            page.open_chat(address)
            page.learn(lore.lower(), lore)

        for address, lore in own.items():
            page.open_chat(address)
            assert lore_in(page.send("Go on.")) == {"LORE-COMMON", lore}

        listed = json.loads((tavern.user / "groups" / f"{group}.json").read_bytes())["chats"]
        assert [name_of(address) for address in (main, checkpoint, branch)] == listed
        for address in own:
            assert tavern.forklore().verify(address).to_json()["findings"] == []


class TestThePast:
    @pytest.mark.shares_page
    @pytest.mark.req(146)
    def test_a_checkpoint_is_told_with_its_name_and_what_it_remembers(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Made")
        page.open_character("Maren Made.png")
        page.open_chat(main)
        checkpoint = page.checkpoint(21, "What is remembered")

        told = page.wait_for_toast("Checkpoint created: What is remembered")

        assert name_of(checkpoint) == "What is remembered"
        assert "Running Recap: version 1 (2 scenes)" in told
        recorded = tavern.read_chat(checkpoint)[0]["auto_recap_checkpoint_state"]["combined_recap_message_count"]
        assert (f"Combined Recap: {recorded} messages" in told) == bool(recorded)

    @pytest.mark.shares_page
    def test_a_fork_at_a_scene_break_knows_nothing_later(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Past")
        page.open_character("Maren Past.png")
        page.open_chat(main)
        present = page.book
        page.learn("tomorrow", "LORE-OF-TOMORROW")

        page.branch(21)

        assert page.book != present
        keys = [
            key
            for entry in tavern.read_book(present)["entries"].values()
            for key in (entry.get("key") or [])
            if not entry.get("disable")
        ]
        past = {entry["comment"]: entry["content"] for entry in tavern.read_book(page.book)["entries"].values()}
        later = {
            entry["comment"]: entry["content"]
            for entry in tavern.read_book(present)["entries"].values()
            if entry["comment"] not in past and not entry["comment"].startswith("_")
        }
        assert later
        prompt = page.send("Tell me of " + ", ".join(keys) + ".")
        assert "LORE-OF-TOMORROW" not in prompt
        assert not [comment for comment, content in later.items() if content and content in prompt]
        shown = [comment for comment, content in past.items() if content and content in prompt]
        assert len(shown) > 3
        recaps = page.run("c.chatMetadata.auto_recap_running_scene_recaps")
        assert [version["new_scene_index"] for version in recaps["versions"]] == [10, 21]
        assert recaps["current_version"] == 1

    @pytest.mark.req(120)
    def test_the_running_recap_that_the_model_gets_is_that_of_the_fork(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Recap")
        recaps = tavern.read_chat(main)[0]["auto_recap_running_scene_recaps"]
        told = {version["version"]: version["content"] for version in recaps["versions"]}
        page.open_character("Maren Recap.png")
        page.open_chat(main)
        page.run(_RECAPS_ARE_TOLD)

        def told_with(prompt: str) -> list[int]:
            return [number for number, content in told.items() if content in prompt]

        page.branch(21)

        assert told_with(page.send("And then?")) == [1]
        page.open_chat(main)
        assert told_with(page.send("And then?")) == [recaps["current_version"]]
        assert recaps["current_version"] > 1

    @pytest.mark.shares_page
    def test_the_offered_repair_brings_the_last_scene_back(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Hidden")
        page.open_character("Maren Hidden.png")
        page.open_chat(main)
        last = page.run("c.chat[21].mes")

        page.branch(21)
        before = page.send("And then?")
        page.open_chat(main)
        page.clear_toasts()
        branch = page.branch(21)
        page.wait_for_toast("Every message of this timeline is hidden")
        page.shot("hidden-history")
        page.click_toast("Every message of this timeline is hidden")
        page.popup("HISTORY_HIDDEN")
        page.shot("hidden-history-repair")
        page.choose("HISTORY_HIDDEN", "Show the messages of the last scene")
        page.wait_for_toast("Done")
        page.wait_for_chat(branch)

        assert last[:60] not in before
        assert last[:60] in page.send("And then?")


@pytest.mark.shares_page
class TestNotReady:
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    @pytest.mark.req(36)
    def test_a_busy_queue_refuses_with_the_list_and_the_fork_is_made_when_it_is_idle(
        self, kind: str, page: Page, tavern: Tavern
    ) -> None:
        main = tavern.add_sample(SAMPLES / "salvage_rights_queue_busy", f"Ilse {kind}")
        page.open_character(f"Ilse {kind}.png")
        page.open_chat(main)
        before = tavern.chats_of(folder_of(main))
        page.click(59, kind)

        popup = page.popup(f"Cannot Create {kind.capitalize()}")
        page.shot(f"cannot-create-{kind}")
        text = popup.inner_text()
        assert "The following requirements must be met:" in text
        (finding,) = popup.locator("ol.forklore-unmet > li.forklore-finding").all_inner_texts()
        assert "QUEUE_NOT_EMPTY" in finding
        assert "operations in queue. Please wait for queue to finish." in finding
        assert "→ Wait for all operations to complete" in finding
        assert text.lower().count("cannot create") == 1
        assert tavern.chats_of(folder_of(main)) == before
        page.choose("Cannot Create", "Close")
        page.wait_for_toast(f"Cannot create {kind}: ")
        page.clear_toasts()
        page.click(59, kind)
        page.choose("Cannot Create", "Create when ready")
        waiting = page.tab.locator(".forklore-waiting")
        waiting.wait_for(state="visible")
        page.tab.wait_for_function("() => /operation/.test(document.querySelector('.forklore-waiting')?.textContent)")
        page.shot(f"waiting-{kind}")
        empty_queue(tavern, page.book)

        fork = wait_for(lambda: sorted(set(tavern.chats_of(folder_of(main))) - set(before)))[0]
        waiting.wait_for(state="detached")
        page.tab.wait_for_selector(STEPS, state="detached")
        page.wait_for_chat(fork if kind == "branch" else main)
        assert tavern.forklore().verify(fork).ok

    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    @pytest.mark.req(31, 32)
    def test_every_reason_is_told_with_why_and_what_to_do_step_by_step(
        self, kind: str, page: Page, tavern: Tavern
    ) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", f"Maren Strict {kind}")
        page.open_character(f"Maren Strict {kind}.png")
        page.open_chat(main)
        tavern.forklore().change_settings(policy="strict")
        page.click(20, kind)

        popup = page.popup(f"Cannot Create {kind.capitalize()}")
        page.shot(f"cannot-create-strict-{kind}")
        findings = popup.locator("ol.forklore-unmet > li")
        codes = findings.evaluate_all("all => all.map((each) => each.dataset.code)")
        assert codes[:2] == ["NO_SCENE_BREAK", "NO_SCENE_RECAP"]
        first = findings.nth(0)
        assert first.locator("strong").inner_text() == "Message is not a scene break"
        assert first.locator(".forklore-details").count() == 2  # why it matters, and what it is about
        assert first.locator(".forklore-action").inner_text() == "→ Mark this message as a scene break"
        assert first.locator("ol.forklore-how > li").count() >= 2
        page.choose("Cannot Create", "Close")
        page.wait_for_toast(f"Cannot create {kind}: {len(codes)} requirements are not met.")
        tavern.forklore().change_settings(policy="standard")

    def test_waiting_can_be_cancelled(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "salvage_rights_queue_busy", "Ilse Cancelled")
        page.open_character("Ilse Cancelled.png")
        page.open_chat(main)
        before = tavern.chats_of(folder_of(main))
        page.click(59, "branch")
        page.choose("Cannot Create", "Create when ready")
        page.tab.locator(".forklore-waiting .menu_button").click()
        page.tab.locator(".forklore-waiting").wait_for(state="detached")

        empty_queue(tavern, page.book)

        assert tavern.chats_of(folder_of(main)) == before
