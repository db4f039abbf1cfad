"""Races: whatever happens at the same time, no message is lost, and a fork is whole or not there."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Request

import forklore
from forklore.disk.lock import workspace_lock
from tests.e2e_sillytavern.model import Model
from tests.e2e_sillytavern.page import POPUP, STEPS, Page
from tests.e2e_sillytavern.tavern import Service, Tavern
from tests.e2e_sillytavern.telling import begin, folder_of, name_of, operations_about

ANSWERED = """
    (() => { const inner = window.fetch; window.fetch = async (url, init) => {
        const response = await inner(url, init);
        if (String(url).includes(a.route) && init?.method === 'POST') { window.fetch = inner; await (%s)(); }
        return response;
    }; })()
"""
"""Do something in the page between the service's answer and what the page makes of it."""

LOST = """
    (() => { const inner = window.fetch; window.fetch = async (url, init) => {
        const response = await inner(url, init);
        if (String(url).endsWith('/api/branch') && init?.method === 'POST') {
            window.fetch = inner;
            if (!a) throw new TypeError('Failed to fetch');
            return new Response((await response.text()).slice(0, 40), { status: 200 });
        }
        return response;
    }; })()
"""
"""Lose the answer to a branch, or with an argument the second half of it."""


@pytest.mark.shares_page
class TestOneAtATime:
    def test_rapid_clicks_make_one_fork(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)

        page.run(
            "a.forEach(() => document.querySelector('#chat .mes[mesid=\"2\"] .mes_create_branch').click())", [1] * 6
        )
        branch = page.wait_for_branch(main)

        assert tavern.chats_of(folder_of(main)) == sorted([main, branch])
        page.wait_for_toast("Branch creation already in progress. Please wait.")

    @pytest.mark.req(95, 96)
    def test_whoever_comes_second_hears_what_is_being_made(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.click(2, "checkpoint")
        page.tab.locator(f"{POPUP} textarea.popup-input").wait_for(state="visible")

        page.click(2, "branch")

        page.wait_for_toast("Checkpoint creation already in progress. Please wait.")
        page.choose("Name of the checkpoint", "Cancel")
        with workspace_lock(tavern.user, what="checkpoint"):
            page.click(2, "branch")
            page.tab.wait_for_selector(STEPS, state="detached")
            page.wait_for_toast("Checkpoint creation already in progress. Please wait. (CREATION_IN_PROGRESS)")
        assert [text for text in page.noticed if "Branch creation" in text or "Failed to" in text] == []
        assert tavern.chats_of(folder_of(main)) == [main]

    @pytest.mark.req(100)
    def test_nothing_can_be_sent_while_a_fork_is_made_and_the_steps_are_shown(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        page.run(
            """(() => { const inner = window.fetch; window.fetch = async (url, init) => {
                const response = await inner(url, init);
                if (String(url).endsWith('/api/branch')) {
                    await new Promise((resolve) => { window.goOn = resolve; });
                    window.fetch = inner;
                }
                return response;
            }; })()"""
        )
        page.tab.fill("#send_textarea", "Too early")
        page.click(2, "branch")
        page.tab.wait_for_function("() => window.goOn")
        page.tab.wait_for_selector(f"{STEPS} li:nth-child(4).forklore-now")
        page.shot("steps")
        page.run("toastr.info('Soon gone', '', { timeOut: 50 })")  # with that, SillyTavern moves all into the dialog
        page.tab.wait_for_selector(f"{STEPS} #toast-container", state="attached")

        page.tab.keyboard.press("Enter")
        assert page.tab.locator("dialog.forklore-steps:modal").count() == 1
        assert len(page.messages) == 3
        page.run("window.goOn()")
        branch = page.wait_for_branch(main)

        page.tab.locator(".toast", has_text="Branch created: ").wait_for(state="visible")  # it outlives the steps
        assert len(tavern.read_chat(branch)[1]) == 3
        assert len(tavern.read_chat(main)[1]) == 3


@pytest.mark.shares_page
class TestGenerating:
    def test_while_a_message_is_written_a_fork_is_refused_kindly_and_the_message_arrives(
        self, page: Page, tavern: Tavern, model: Model, character: str
    ) -> None:
        main = begin(page, character)
        model.hold()
        page.tab.fill("#send_textarea", "Are you there?")
        page.tab.click("#send_but")
        page.tab.wait_for_function("() => SillyTavern.getContext().chat.length === 4")

        page.click(2, "branch")
        page.wait_for_toast("A message is being written")
        page.shot("generating")
        page.click(2, "checkpoint")
        model.release()
        page.tab.wait_for_function("() => SillyTavern.getContext().chat.length === 5")
        page.idle()

        assert tavern.chats_of(folder_of(main)) == [main]
        page.branch(4)
        assert [message["mes"] for message in tavern.read_chat(main)[1]][3] == "Are you there?"
        assert len(tavern.read_chat(main)[1]) == 5


@pytest.mark.shares_page
class TestSwitching:
    @pytest.mark.parametrize("kind", ["checkpoint", "branch"])
    @pytest.mark.req(98)
    def test_a_chat_that_is_switched_meanwhile_takes_the_fork_back(
        self, kind: str, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        other = page.branch(1)
        page.open_chat(main)
        chats, books = tavern.chats_of(folder_of(main)), tavern.books()
        before = tavern.chat_path(main).read_bytes()
        page.run(
            ANSWERED % "() => SillyTavern.getContext().openCharacterChat(a.other)",
            {"route": f"/api/{kind}", "other": name_of(other)},
        )

        page.click(2, kind)
        if kind == "checkpoint":
            page.answer_name()
        told = page.wait_for_toast("CONTEXT_CHANGED")
        page.shot(f"context-changed-{kind}")
        aborted = f"{kind.capitalize()} aborted to prevent corruption."
        assert f"Chat context changed during {kind} creation. {aborted}" in told

        assert page.address == other
        assert tavern.chats_of(folder_of(main)) == chats
        assert tavern.books() == books
        assert tavern.chat_path(main).read_bytes() == before

    def test_a_switch_while_the_books_are_read_writes_nothing_into_the_other_chat(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        other = page.branch(1)
        page.open_chat(main)
        before = {address: tavern.chat_path(address).read_bytes() for address in (main, other)}
        page.run(
            """(() => { const inner = window.fetch; let made = false; window.fetch = async (url, init) => {
                if (made && !String(url).includes('/api/branch')) {
                    window.fetch = inner;
                    await SillyTavern.getContext().openCharacterChat(a);
                }
                const response = await inner(url, init);
                made ||= String(url).endsWith('/api/branch') && init?.method === 'POST';
                return response;
            }; })()""",
            name_of(other),
        )

        page.click(2, "branch")
        page.wait_for_toast("CONTEXT_CHANGED")
        page.saved()

        assert page.address == other
        assert "checkpoint_lorebook_map" not in (page.run("c.chatMetadata.auto_recap") or {})
        assert tavern.chat_path(main).read_bytes() == before[main]
        assert tavern.read_chat(other)[1] == [json.loads(line) for line in before[other].splitlines()[1:]]
        assert sorted(tavern.chats_of(folder_of(main))) == sorted(before)


class TestLost:
    @pytest.mark.parametrize("is_cut", [False, True], ids=["no-answer", "half-an-answer"])
    def test_a_fork_whose_answer_is_lost_is_found_and_never_made_twice(
        self, is_cut: bool, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        page.run("(() => { c.extensionSettings.forklore.whenAway = 'allow'; })()")
        page.run(LOST, is_cut)

        page.click(2, "branch")
        page.wait_for_toast("was lost while the branch")
        page.wait_for_toast("although the connection was lost")

        assert page.address == main
        (fork,) = [address for address in tavern.chats_of(folder_of(main)) if address != main]
        assert operations_about(tavern, fork) == ["branch"]
        metadata, messages = tavern.read_chat(main)
        assert messages[2]["extra"]["branches"] == [name_of(fork)]
        assert metadata["auto_recap"]["checkpoint_lorebook_map"].keys() == {name_of(fork)}
        page.wait_for_state("connected")

    def test_a_clock_that_is_wrong_hides_nothing(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.run("(() => { const now = Date.now; Date.now = () => now() + 7_200_000; })()")
        page.run(LOST)

        page.click(2, "branch")
        page.wait_for_toast("although the connection was lost")

        (fork,) = [address for address in tavern.chats_of(folder_of(main)) if address != main]
        assert tavern.read_chat(main)[1][2]["extra"]["branches"] == [name_of(fork)]

    def test_a_fork_of_somebody_else_is_not_taken_for_the_lost_one(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        page.run(
            """(() => { const inner = window.fetch; window.fetch = async (url, init) => {
                if (String(url).endsWith('/api/branch') && init?.method === 'POST') {
                    window.fetch = inner;
                    throw new TypeError('Failed to fetch');
                }
                return inner(url, init);
            }; })()"""
        )
        theirs = tavern.forklore().branch(main, at=2, leave_parent=True)

        page.click(2, "branch")
        page.wait_for_toast("had not been created")

        assert tavern.chats_of(folder_of(main)) == sorted([main, theirs.chat])
        assert "branches" not in tavern.read_chat(main)[1][2]["extra"]

    def test_a_lost_fork_that_was_undone_meanwhile_is_not_pointed_to(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        page.run(
            """(() => { const inner = window.fetch; window.fetch = async (url, init) => {
                if (String(url).includes('/api/jobs/')) {
                    window.fetch = inner;
                    await new Promise((resolve) => { window.goOn = resolve; });
                }
                return inner(url, init);
            }; })()"""
        )
        page.run(LOST)

        page.click(2, "branch")
        page.tab.wait_for_function("() => window.goOn")
        tavern.forklore().undo()
        page.run("window.goOn()")
        page.wait_for_toast("no longer exists")

        assert tavern.chats_of(folder_of(main)) == [main]
        assert "branches" not in tavern.read_chat(main)[1][2]["extra"]


class TestTwoTabs:
    def test_a_stale_tab_does_not_overwrite_what_the_other_has_written(
        self, page: Page, new_page: Callable[[], Page], tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        other = new_page()
        other.load()
        other.open_character(character)
        other.send("From the other tab.")
        written = tavern.chat_path(main).read_bytes()

        page.click(2, "branch")
        page.wait_for_toast("changed in another tab")
        page.shot("changed-elsewhere")

        assert tavern.chat_path(main).read_bytes() == written
        assert tavern.chats_of(folder_of(main)) == [main]
        page.click_toast("changed in another tab")
        page.tab.wait_for_function("() => SillyTavern.getContext().chat.length === 5")
        page.idle()
        page.clear_toasts()
        branch = page.branch(4)
        assert len(tavern.read_chat(branch)[1]) == 5
        assert [message["mes"] for message in tavern.read_chat(main)[1]] == other.messages
        assert other.integrity_dialogs == 0
        other.tab.close()


@pytest.mark.shares_page
class TestSaving:
    def test_saves_while_a_fork_is_made_lose_nothing(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.run_with_modules(
            """(() => { window.saving = setInterval(() => {
                c.chat[0].extra = { ...c.chat[0].extra, saves: (c.chat[0].extra?.saves ?? 0) + 1 };
                void S.saveChatConditional();
            }, 20); })()"""
        )
        tried = 0
        while (
            tried < 3 or len(tavern.chats_of(folder_of(main))) < 2
        ):  # on a busy machine a save is nearly always faster
            page.click(2, "checkpoint")
            page.answer_name(f"While saving {(tried := tried + 1)}")
            toast = page.tab.locator(".toast", has_text="While saving").or_(
                page.tab.locator(".toast", has_text="CONTEXT_CHANGED")
            )
            toast.first.wait_for(state="visible")
            page.tab.wait_for_selector(STEPS, state="detached")
            page.clear_toasts()
        page.run("clearInterval(window.saving)")
        page.idle()
        page.saved()

        workspace = tavern.forklore()
        forks = [address for address in tavern.chats_of(folder_of(main)) if address != main]
        assert forks
        for fork in forks:
            assert workspace.verify(fork).ok
            assert [message["mes"] for message in tavern.read_chat(fork)[1]] == page.messages
        assert [message["mes"] for message in tavern.read_chat(main)[1]] == page.messages
        assert tavern.read_chat(main)[0]["auto_recap"]["checkpoint_lorebook_map"].keys() == {
            name_of(fork) for fork in forks
        }

    def test_a_message_that_comes_during_a_save_is_no_change_of_another_tab(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        page.run_with_modules(
            """(async () => {
                const inner = window.fetch;
                window.fetch = (url, init) => {
                    const response = inner(url, init);
                    if (String(url) === '/api/chats/save') {
                        window.fetch = inner;
                        c.chat.push({ ...structuredClone(c.chat[1]), mes: 'Meanwhile', send_date: '2030-01-01' });
                    }
                    return response;
                };
                await S.saveChatConditional();
                await S.printMessages();
            })()"""
        )

        page.branch(2)

        assert [message["mes"] for message in tavern.read_chat(main)[1]][3] == "Meanwhile"


class TestKilled:
    @pytest.mark.parametrize("milliseconds", [0, 15, 60])
    def test_a_service_that_is_killed_leaves_a_whole_fork_or_none(
        self, milliseconds: int, page: Page, tavern: Tavern, service: Service, character: str
    ) -> None:
        main = begin(page, character)
        before = {path: path.read_bytes() for path in (tavern.user / "worlds").glob("*.json")}

        def kill_soon(request: Request) -> None:
            if request.url.endswith("/api/branch") and request.method == "POST":
                threading.Timer(milliseconds / 1000, service.kill).start()

        page.tab.on("request", kill_soon)

        page.click(2, "branch")
        page.wait_until(lambda: not service.answers())
        page.tab.wait_for_selector(STEPS, state="detached")
        page.tab.wait_for_function(
            "a => SillyTavern.getContext().getCurrentChatId() !== a || document.querySelector('.toast')",
            arg=name_of(main),
        )
        page.shot("service-killed")
        page.idle()

        service.start()
        page.wait_for_state("connected")
        if page.address == main:  # no answer came: the log of the new service tells
            told = ("although the connection was lost", "had not been created")
            page.wait_until(lambda: any(each in text for text in page.noticed for each in told))
        workspace = forklore.open(tavern.user)
        workspace.recover()
        forks = [address for address in tavern.chats_of(folder_of(main)) if address != main]
        linked = tavern.read_chat(main)[1][2]["extra"].get("branches", [])
        assert linked == [name_of(fork) for fork in forks]
        for fork in forks:
            assert workspace.verify(fork).ok
            assert operations_about(tavern, fork) == ["branch"]
        own = {path for path in (tavern.user / "worlds").glob("*.json") if path not in before}
        assert len(own) == len(forks)
        assert len(tavern.read_chat(main)[1]) == 3
        assert page.tab.locator(POPUP, has_text="integrity").count() == 0
