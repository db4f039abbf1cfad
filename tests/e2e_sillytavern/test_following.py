"""Showing and following: buttons tell where a fork can be made; what happens elsewhere is seen."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Browser

from forklore.access.keys import forget_access
from forklore.app.open import state_folder
from forklore.disk.state import State
from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.page import POPUP, Page, as_json
from tests.e2e_sillytavern.tavern import Service, Tavern
from tests.e2e_sillytavern.telling import SAMPLES, begin, empty_queue, folder_of, lore_in, name_of, operations_about


@pytest.mark.shares_page
class TestButtons:
    @pytest.mark.req(148)
    def test_green_where_a_fork_can_be_made_and_dimmed_with_the_code_where_not(
        self, page: Page, tavern: Tavern
    ) -> None:
        main = tavern.add_sample(SAMPLES / "salvage_rights_queue_busy", "Ilse Buttons")
        page.open_character("Ilse Buttons.png")
        page.open_chat(main)
        buttons = {kind: page.button(59, kind) for kind in ("checkpoint", "branch")}
        page.tab.wait_for_selector('#chat .mes[mesid="59"] .mes_create_branch.forklore-blocked', state="attached")
        for kind, button in buttons.items():
            assert button.get_attribute("title") == f"{kind.capitalize()} blocked: QUEUE_NOT_EMPTY"
        show_buttons(page)
        page.shot("buttons-blocked")

        empty_queue(tavern, page.book)

        page.tab.wait_for_selector('#chat .mes[mesid="59"] .mes_create_branch.forklore-ready', state="attached")
        for kind, button in buttons.items():
            assert button.get_attribute("title") == f"Create {kind} (ready ✓)"
        page.shot("buttons-ready")


def show_buttons(page: Page) -> None:
    """Show what lies behind the three dots of the last messages."""
    page.run(
        """document.querySelectorAll('#chat .mes').forEach((message) => {
            message.querySelector('.extraMesButtons').style.display = 'flex';
            message.querySelector('.extraMesButtonsHint').style.display = 'none';
        })"""
    )


@pytest.mark.shares_page
class TestCommands:
    def test_status_check_and_undo(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        assert as_json(page.slash("/forklore-check"))["valid"] is True
        page.wait_for_toast("A fork can be made at message 2")
        branch = page.branch(2)

        status = as_json(page.slash("/recap-checkpoint-status"))
        assert status["is_checkpoint"] is True
        assert status["lorebook_match"] is True
        page.wait_for_toast("Checkpoint state valid. All checks passed.")
        page.run("void c.executeSlashCommandsWithOptions('/forklore-undo')")
        page.popup("Undo this operation?")
        page.shot("undo")
        page.choose("Undo this operation?", "Undo")
        page.wait_for_toast("Undone")

        assert page.address == main
        assert not tavern.chat_path(branch).exists()
        metadata, messages = tavern.read_chat(main)
        assert "branches" not in messages[2]["extra"]
        assert "auto_recap" not in metadata
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON"}

    @pytest.mark.req(128)
    def test_a_fork_that_went_on_is_as_valid_as_before(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Status")
        page.open_character("Maren Status.png")
        page.open_chat(main)
        branch = page.branch(21)
        page.clear_toasts()
        page.send("And then?")
        page.run(
            """(async () => {
                const recaps = c.chatMetadata.auto_recap_running_scene_recaps;
                recaps.versions.push({ ...recaps.versions.at(-1), version: 7, new_scene_index: 22 });
                recaps.current_version = 7;
                await c.saveMetadata();
            })()"""
        )

        status = as_json(page.slash("/recap-checkpoint-status"))

        assert status["running_recap_version_match"] is False  # it was version 1 when the branch was made
        page.wait_for_toast("Checkpoint state valid. All checks passed.")
        page.clear_toasts()
        page.run("(async () => { delete c.chatMetadata.world_info; await c.saveMetadata(); })()")
        page.slash("/recap-checkpoint-status")
        page.wait_for_toast("LOREBOOK_MISMATCH")
        page.open_chat(main)
        page.clear_toasts()
        page.slash("/recap-checkpoint-status")
        page.wait_for_toast("This chat is not a checkpoint or branch.")
        assert branch

    def test_undo_changes_the_chat_that_points_to_the_fork_and_not_the_one_that_is_open(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        checkpoint = page.checkpoint(2)
        branch = page.branch(2)
        page.open_chat(checkpoint)
        page.saved()
        before = tavern.read_chat(checkpoint)
        page.clear_toasts()

        undo(page)
        page.wait_for_toast("Undone")
        page.wait_for_chat(checkpoint)
        page.saved()

        assert not tavern.chat_path(branch).exists()
        assert tavern.read_chat(checkpoint) == before
        metadata, messages = tavern.read_chat(main)
        assert messages[2]["extra"].get("branches", []) == []
        assert metadata["auto_recap"]["checkpoint_lorebook_map"].keys() == {name_of(checkpoint)}

    def test_undo_gives_the_flag_back_to_an_earlier_checkpoint(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        page.saved()
        before = tavern.read_chat(main)
        first = new_checkpoint(page, "First")
        second = new_checkpoint(page, "Second")
        assert tavern.read_chat(main)[1][2]["extra"]["bookmark_link"] == "Second"

        undo(page)
        page.wait_for_toast("Undone")
        page.wait_for_chat(main)

        metadata, messages = tavern.read_chat(main)
        assert messages[2]["extra"]["bookmark_link"] == "First"
        assert metadata["auto_recap"]["checkpoint_lorebook_map"].keys() == {"First"}
        assert not tavern.chat_path(second).exists()
        page.click(2, "flag")
        page.wait_for_chat(first)
        page.open_chat(main)
        page.clear_toasts()
        undo(page)
        page.wait_for_toast("Undone")
        page.wait_for_chat(main)
        assert tavern.read_chat(main) == before

    def test_undo_in_a_group_takes_out_what_the_command_line_would(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        group = tavern.make_group(f"Group of {character}", [character])
        main = page.open_group(group)
        page.attach_book(f"Lore of {group}", {"harbour": "LORE-COMMON"})
        page.send("Hello.")
        before = tavern.read_chat(main)
        page.checkpoint(1, "First of the group")
        page.clear_toasts()
        branch = page.branch(1)

        for _ in range(2):
            page.clear_toasts()
            undo(page)
            page.wait_for_toast("Undone")
            page.wait_for_chat(main)

        assert not tavern.chat_path(branch).exists()
        assert tavern.read_chat(main) == before
        listed = json.loads((tavern.user / "groups" / f"{group}.json").read_bytes())["chats"]
        assert listed == [name_of(main)]
        assert page.run("c.groups.find(x => x.id === a).chats", group) == listed

    def test_undo_waits_for_no_message_and_a_fork_without_its_parent_stays(
        self, page: Page, tavern: Tavern, model: Model, character: str
    ) -> None:
        main = begin(page, character)
        branch = page.branch(2)
        model.hold()
        page.tab.fill("#send_textarea", "Are you there?")
        page.tab.click("#send_but")
        page.tab.wait_for_function("() => SillyTavern.getContext().chat.length === 4")
        undo(page)
        page.wait_for_toast("A message is being written")
        model.release()
        page.tab.wait_for_function("() => SillyTavern.getContext().chat.length === 5")
        page.idle()
        assert tavern.chat_path(branch).exists()

        tavern.chat_path(main).rename(tavern.chat_path(main).with_suffix(".away"))
        undo(page)
        page.wait_for_toast("no longer exists")

        assert page.address == branch
        assert tavern.chat_path(branch).exists()
        tavern.chat_path(main).with_suffix(".away").rename(tavern.chat_path(main))


def undo(page: Page) -> None:
    """Take the latest operation back with the command."""
    page.run("void c.executeSlashCommandsWithOptions('/forklore-undo')")
    page.choose("Undo this operation?", "Undo")


def new_checkpoint(page: Page, name: str) -> str:
    """Make another checkpoint at the same message."""
    page.clear_toasts()
    return page.checkpoint(2, name)


@pytest.mark.shares_page
class TestFollowing:
    def test_a_deleted_chat_leaves_a_book_that_is_offered_for_the_trash(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        begin(page, character)
        checkpoint = page.checkpoint(2)
        book = tavern.read_chat(checkpoint)[0]["world_info"]

        page.run_with_modules("S.deleteCharacterChatByName(c.characterId, a)", name_of(checkpoint))
        assert book in page.popup("No chat uses these").inner_text()
        page.shot("orphan")
        page.choose("No chat uses these", "Move to the trash")
        page.wait_for_toast("moved to the trash")

        assert book not in tavern.books()
        assert book not in page.run_with_modules("W.world_names")

    def test_only_what_was_shown_goes_to_the_trash_and_what_was_kept_is_not_asked_for_again(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        first, second, third, fourth = (new_checkpoint(page, name) for name in ("One", "Two", "Three", "Four"))
        books = {each: tavern.read_chat(each)[0]["world_info"] for each in (first, second, third, fourth)}
        delete = "Promise.all(a.map(x => S.deleteCharacterChatByName(c.characterId, x)))"

        page.run_with_modules(delete, [name_of(first), name_of(second)])
        shown = page.popup("No chat uses these").inner_text()
        assert books[first] in shown
        assert books[second] in shown
        tavern.chat_path(third).unlink()  # while the question is on the screen
        parent = tavern.chat_path(main).read_bytes()
        page.choose("No chat uses these", "Move to the trash")
        page.wait_for_toast("moved to the trash")
        assert tavern.books().isdisjoint({books[first], books[second]})
        assert books[third] in tavern.books()
        assert tavern.chat_path(main).read_bytes() == parent
        assert page.tab.locator(POPUP).count() == 0

        page.clear_toasts()
        page.run_with_modules(delete, [name_of(fourth)])
        assert books[third] in page.popup("No chat uses these").inner_text()
        page.choose("No chat uses these", "Keep")
        fifth = new_checkpoint(page, "Five")
        books[fifth] = tavern.read_chat(fifth)[0]["world_info"]
        page.run_with_modules(delete, [name_of(fifth)])
        shown = page.popup("No chat uses these").inner_text()
        assert books[fifth] in shown
        assert books[third] not in shown
        page.choose("No chat uses these", "Move to the trash")
        page.wait_for_toast("moved to the trash")
        assert {books[third], books[fourth]} <= tavern.books()

    def test_a_renamed_chat_is_followed(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        checkpoint = page.checkpoint(2)
        branch = page.branch(2)
        grandchild = page.branch(2)
        page.open_chat(branch)

        page.run("c.renameChat(c.getCurrentChatId(), a)", "A better name")
        page.wait_for_toast("The new name was followed")
        page.wait_for_chat(f"{folder_of(main)}/A better name")

        assert tavern.read_chat(grandchild)[0]["main_chat"] == "A better name"
        metadata, messages = tavern.read_chat(main)
        assert messages[2]["extra"]["branches"] == ["A better name"]
        assert "A better name" in metadata["auto_recap"]["checkpoint_lorebook_map"]
        for address in (main, checkpoint, grandchild, f"{folder_of(main)}/A better name"):
            assert tavern.forklore().verify(address).to_json()["findings"] == []

    def test_an_edited_lorebook_is_seen(self, page: Page, tavern: Tavern, character: str) -> None:
        begin(page, character)
        page.tab.wait_for_selector("#chat .mes[mesid='2'] .mes_create_branch.forklore-ready", state="attached")
        book = tavern.read_book(page.book)
        queue = {"queue": [{"id": "op_1", "type": "create_lorebook_entry", "status": "pending", "params": {}}]}
        book["entries"]["99"] = {"uid": 99, "comment": "__operation_queue", "content": json.dumps(queue), "key": []}

        tavern.write_book(page.book, book)

        page.tab.wait_for_selector("#chat .mes[mesid='2'] .mes_create_branch.forklore-blocked", state="attached")


@pytest.mark.shares_page
class TestElsewhere:
    def test_what_forklore_changes_outside_is_not_written_back(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        page.clear_toasts()

        made = tavern.forklore().checkpoint(main, at=1)
        page.wait_for_toast("so it was reloaded")
        page.idle()
        page.saved()

        assert page.run("c.chat[1].extra.bookmark_link") == name_of(made.chat)
        metadata, messages = tavern.read_chat(main)
        assert messages[1]["extra"]["bookmark_link"] == name_of(made.chat)
        assert metadata["auto_recap"]["checkpoint_lorebook_map"] == {name_of(made.chat): made.lorebook}


@pytest.mark.shares_page
class TestPanel:
    def test_light_policy_and_story_button(self, page: Page, tavern: Tavern, character: str) -> None:
        begin(page, character)
        panel = page.open_panel()
        page.shot("panel")
        assert "connected" in panel.locator(".forklore-state").inner_text()

        policy = panel.locator("select").first
        with page.tab.expect_response(lambda response: response.url.endswith("/api/settings")):
            policy.select_option("strict")
        assert as_json((tavern.user / ".forklore/settings.json").read_text())["policy"] == "strict"
        with page.tab.expect_response(lambda response: response.url.endswith("/api/settings")):
            policy.select_option("standard")
        with page.tab.context.expect_page() as opened:
            panel.locator(".forklore-tree").click()
        opened.value.wait_for_url(f"http://127.0.0.1:{tavern.service_port}/**")
        opened.value.close()


class TestAway:
    @pytest.mark.parametrize(
        "make", ["B.branchChat(2)", "B.createBranch(2)", "B.createNewBookmark(2, {forceName: 'X'})"]
    )
    def test_who_wants_a_fork_that_is_refused_hears_of_it_and_nothing_is_done(
        self, make: str, page: Page, tavern: Tavern, service: Service, character: str
    ) -> None:
        main = begin(page, character)
        before = page.run("JSON.stringify(c.chat)")
        service.stop()
        page.wait_for_state("away")
        page.clear_toasts()

        outcome = page.run_with_modules(
            f"Promise.race([{make}.then(() => 'made', () => 'refused'),"
            " new Promise((resolve) => setTimeout(resolve, 20_000, 'never'))])"
        )

        assert outcome == "refused"
        page.wait_for_toast("The new chat was not created")
        assert [text for text in page.noticed if "could not be saved" in text] == []  # of SillyTavern
        assert page.address == main
        assert page.run("JSON.stringify(c.chat)") == before
        assert tavern.chats_of(folder_of(main)) == [main]
        page.saved()
        assert tavern.read_chat(main)[1] == as_json(before)
        page.run("toastr.error('Of somebody else')")
        page.wait_for_toast("Of somebody else")

    def test_refused_then_allowed_then_offered_for_isolation(
        self, page: Page, tavern: Tavern, service: Service, character: str
    ) -> None:
        main = begin(page, character)
        book = page.book
        page.clear_toasts()
        service.stop()
        page.wait_for_state("away")
        page.wait_for_toast("does not answer")
        page.shot("away")

        page.click(2, "branch")
        page.wait_for_toast("Cannot create branch: The Forklore service is not running")
        page.shot("away-refused")
        assert tavern.chats_of(folder_of(main)) == [main]
        assert len(page.tab.locator(".toast", has_text="does not answer").all()) <= 1

        page.clear_toasts()
        page.run_with_modules("void B.branchChat(2)")  # as another extension does
        page.wait_for_toast("The new chat was not created: The Forklore service is not running")
        assert tavern.chats_of(folder_of(main)) == [main]
        assert page.address == main

        page.run("(() => { c.extensionSettings.forklore.whenAway = 'allow'; })()")
        page.click(2, "branch")
        branch = page.wait_for_branch(main)
        page.wait_for_toast("shares its lorebook until")
        page.shot("away-allowed")
        assert page.book == book
        assert "LORE-COMMON" in page.send("Go on.")

        page.open_chat(main)
        service.start()
        assert branch in page.popup("While the service was away").inner_text()
        page.shot("meanwhile")
        page.choose("While the service was away", "Isolate all")
        page.wait_for_toast("now has its own lorebook")
        page.open_chat(branch)

        assert page.book != book
        assert operations_about(tavern, branch) == ["isolate"]
        assert tavern.forklore().verify(branch).to_json()["findings"] == []
        assert page.tab.locator(POPUP).count() == 0


class TestPairing:
    def test_the_code_works_once_and_the_token_stays_in_the_browser(
        self, page: Page, browser: Browser, tavern: Tavern, model: Model
    ) -> None:
        folder = tavern.user / "extensions/forklore"
        assert not (folder / "pairing.json").exists()
        assert tavern.forklore().extension().paired
        page.load()  # with the token, without a code

        stranger = browser.new_context()
        other = Page(stranger, tavern, model, page.shots)
        other.load(connected=False)
        other.wait_for_state("unpaired")
        other.wait_for_toast("does not know this browser")
        other.shot("unpaired")
        tavern.forklore().extension("install")
        other.load()

        assert not (folder / "pairing.json").exists()
        stranger.close()

    def test_after_another_installation_a_browser_with_an_old_token_is_let_in(self, page: Page, tavern: Tavern) -> None:
        tavern.forklore().extension("uninstall")
        tavern.forklore().extension("install")

        page.load()

        assert tavern.forklore().extension().paired
        assert len(page.run("Object.keys(localStorage).filter(x => x.startsWith('forklore.token default-user '))")) == 1

    def test_a_start_of_the_service_pairs_a_browser_whose_token_is_worth_nothing_any_more(
        self, page: Page, tavern: Tavern, service: Service
    ) -> None:
        service.stop()
        page.wait_for_state("away")
        forget_access(State(state_folder()), tavern.user)
        service.start()

        page.wait_for_state("connected")
        assert tavern.forklore().extension().paired
        assert not (tavern.user / "extensions/forklore/pairing.json").exists()
