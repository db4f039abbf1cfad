"""When something is wrong with the service, or with a name: it is said once, kindly, and as text."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from forklore.access.keys import forget_access
from forklore.app.open import state_folder
from forklore.disk.state import State
from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.page import POPUP, Page
from tests.e2e_sillytavern.tavern import Service, Tavern
from tests.e2e_sillytavern.telling import SAMPLES, begin, folder_of


class TestService:
    def test_a_browser_that_is_let_in_no_more_is_told_once(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.clear_toasts()

        forget_access(State(state_folder()), tavern.user)
        with page.tab.expect_event("requestfailed", lambda each: each.url.endswith("/api/events")):
            page.click(2, "branch")  # whoever is let in no more does not listen any longer either
        page.wait_for_toast("does not know this browser")
        page.wait_for_state("unpaired")
        page.shot("unpaired-branch")
        page.asked.clear()
        page.wait_until(lambda: page.asked.count("GET health") >= 2)  # it was tried again, once to its end
        page.wait_for_state("unpaired")
        told = page.noticed
        assert len(told) <= 2, told  # that it is so, and that the branch was not made
        assert len({each.partition("The Forklore service")[0] for each in told}) == len(told), told
        assert tavern.chats_of(folder_of(main)) == [main]

        tavern.forklore().extension("install")
        page.wait_for_state("connected")
        page.wait_for_toast("The Forklore service is back")
        page.branch(2)

    def test_a_silent_service_is_waited_for_visibly_and_not_for_ever(
        self, page: Page, tavern: Tavern, service: Service, character: str
    ) -> None:
        main = begin(page, character)
        page.clear_toasts()
        page.run("(() => { const wait = AbortSignal.timeout; AbortSignal.timeout = (ms) => wait(ms / 6); })()")

        service.send(signal.SIGSTOP)
        try:
            page.click(2, "branch")
            page.tab.locator("dialog.forklore-curtain").wait_for()
            page.shot("silent")
            page.wait_for_toast("did not answer in time")
            page.tab.locator("dialog.forklore-curtain").wait_for(state="detached")
        finally:
            service.send(signal.SIGCONT)

        assert tavern.chats_of(folder_of(main)) == [main]
        page.branch(2)

    def test_a_name_that_the_service_does_not_know_is_told(
        self, browser: Browser, tavern: Tavern, service: Service, model: Model, shots: Path
    ) -> None:
        service.stop()
        service.start()
        tavern.install_extension()
        stranger = browser.new_context()
        other = Page(stranger, tavern, model, shots)  # alone: another page would use up the code
        other.url = f"http://story.localhost:{tavern.port}"
        other.load(connected=False)
        field = other.open_panel().locator("input").first
        field.fill(f":{tavern.service_port}")
        field.press("Tab")
        other.wait_for_toast("“story.localhost”")
        other.shot("foreign-name")
        assert "--name" in other.open_panel().locator(".forklore-state").inner_text()

        service.stop()
        service.start("--name", "story.localhost")
        other.wait_for_state("connected")
        stranger.close()
        service.stop()


EVIL = "<img src=x onerror=window.hacked=true>"


@pytest.mark.shares_page
class TestFailures:
    @pytest.mark.req(106)
    def test_what_fails_is_told_once_with_what_to_do(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.checkpoint(2, "Taken")
        page.clear_toasts()

        page.slash("/checkpoint-create mesId=2 Taken")

        told = page.wait_for_toast("Failed to create checkpoint: “Taken”")
        page.shot("failed")
        assert told.count("Failed to create") == 1
        assert "→ Choose another name." in told
        assert "NAME_TAKEN" in told
        assert len(tavern.chats_of(folder_of(main))) == 2

    def test_what_a_notice_offers_goes_with_the_chat_and_is_not_in_dialogs(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        branch = page.branch(2)
        header, _, messages = tavern.chat_path(branch).read_text("utf-8").partition("\n")
        edited = json.loads(header)
        edited["chat_metadata"]["auto_recap_running_scene_recaps"] = {"chat_id": "Another", "versions": []}
        page.open_chat(main)
        tavern.chat_path(branch).write_text(f"{json.dumps(edited)}\n{messages}", "utf-8")
        page.load()
        page.open_character(character)
        page.open_chat(branch)
        offer = page.tab.locator(".toast.forklore-offer", has_text="belongs to another chat")
        offer.wait_for(state="visible")

        page.run("void c.executeSlashCommandsWithOptions('/forklore-undo')")
        page.popup("Undo this operation?")
        assert not offer.is_visible()
        page.choose("Undo this operation?", "Cancel")
        page.open_chat(main)

        assert offer.count() == 0


@pytest.mark.shares_page
class TestNames:
    def test_names_are_shown_as_they_are(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Evil")
        page.open_character("Maren Evil.png")
        page.open_chat(main)
        branch = page.branch(21)
        page.open_chat(main)
        lines = tavern.chat_path(branch).read_text("utf-8").split("\n")
        header = json.loads(lines[0])
        header["chat_metadata"] |= {"world_info": EVIL, "main_chat": EVIL}
        header["chat_metadata"]["auto_recap_checkpoint_state"]["scene_break_name"] = EVIL
        header["chat_metadata"]["auto_recap_running_scene_recaps"]["chat_id"] = EVIL
        tavern.chat_path(branch).write_text("\n".join([json.dumps(header), *lines[1:]]), "utf-8")
        page.load()
        page.open_character("Maren Evil.png")

        page.open_chat(branch)
        assert EVIL in page.wait_for_toast("Branch Loaded")
        assert EVIL in page.popup("LOREBOOK_MISSING").inner_text()
        page.shot("evil-names")
        assert page.tab.locator(f".toast img, {POPUP} img[src=x]").count() == 0
        labels = page.popup("LOREBOOK_MISSING").locator(".popup-controls > *").all_inner_texts()
        assert {"Follow the new name (LOREBOOK_MISSING)", "Follow the new name (PARENT_MISSING)"} <= set(labels)
        page.choose("LOREBOOK_MISSING", "Cancel")
        page.tab.locator("#option_back_to_main").dispatch_event("click")
        assert EVIL in page.wait_for_toast("no longer exists")

        page.open_chat(main)
        checkpoint = page.checkpoint(1, "Soon gone")
        page.run_with_modules("S.deleteCharacterChatByName(c.characterId, a)", checkpoint.partition("/")[2])
        page.shot("evil-leftovers")
        page.choose("No chat uses these", "Move to the trash")
        assert page.run("window.hacked") is None


class TestChinese:
    @pytest.fixture
    def context(self, browser: Browser, tavern: Tavern, service: Service):  # type: ignore[no-untyped-def]
        tavern.install_extension()
        made = browser.new_context(viewport={"width": 1400, "height": 1000}, locale="zh-CN")
        yield made
        made.close()

    def test_the_extension_speaks_chinese(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "salvage_rights_queue_busy", "Ilse Chinese")
        page.open_character("Ilse Chinese.png")
        page.open_chat(main)
        page.click(59, "checkpoint")
        page.popup("无法创建检查点")
        page.shot("zh-blocked")
        page.choose("无法创建检查点", "关闭")

        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Chinese")
        page.run("c.getCharacters()")
        page.open_character("Maren Chinese.png")
        page.open_chat(main)
        page.click(21, "checkpoint")
        page.popup("检查点名称")
        page.shot("zh-name")
        page.answer_name()
        page.wait_for_toast("检查点已创建")
        page.shot("zh-made")
        page.clear_toasts()
        page.branch(21)
        page.wait_for_toast("分支已载入")
        page.shot("zh-loaded")
        page.run("void c.executeSlashCommandsWithOptions('/forklore-undo')")
        page.popup("撤销这项操作吗")
        page.shot("zh-undo")
        page.choose("撤销这项操作吗", "取消")
        page.open_panel()
        page.shot("zh-panel")
