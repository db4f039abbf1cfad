"""Opening: every chat is verified once, a fork says what it is, and what is wrong can be repaired."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.e2e_sillytavern.page import POPUP, Page
from tests.e2e_sillytavern.tavern import Tavern
from tests.e2e_sillytavern.telling import SAMPLES, begin, folder_of, lore_in, name_of

QUIET_MS = 300
"""So long the extension waits for another chat to be opened before it verifies the one that is open."""


@pytest.mark.shares_page
class TestNotice:
    @pytest.mark.req(121, 147)
    def test_a_plain_fork_says_its_name_and_when_it_was_made(self, page: Page, character: str) -> None:
        begin(page, character)
        checkpoint = page.checkpoint(2)
        page.clear_toasts()
        page.logged.clear()

        page.open_chat(checkpoint)

        toast = page.wait_for_toast("Checkpoint Loaded")
        assert f"Chat: {name_of(checkpoint)}" in toast
        assert "Created:" in toast
        page.shot("loaded-plain")
        page.wait_until_verified()
        assert all(any(f"CHECKPOINT [{step}/3]" in text for text in page.logged) for step in (1, 2, 3))

    @pytest.mark.req(127)
    def test_what_fails_while_a_chat_is_looked_at_is_shown(self, page: Page, tavern: Tavern, character: str) -> None:
        begin(page, character)
        checkpoint = page.checkpoint(2)
        file = tavern.user / "chats" / f"{checkpoint}.jsonl"
        page.tab.route(
            "**/api/verify*",
            lambda route: route.fulfill(
                status=500,
                headers={"Access-Control-Allow-Origin": "*"},
                content_type="application/problem+json",
                body='{"status": 500, "code": "BUG", "kind": "bug", "detail": "It broke.", "action": "Report it."}',
            ),
        )

        page.open_chat(checkpoint)

        assert "Failed to load chat: It broke." in page.wait_for_toast("Failed to load chat")
        assert file.exists()
        page.shot("load-failed")
        page.tab.unroute("**/api/verify*")

    @pytest.mark.req(121, 147)
    def test_a_fork_at_a_scene_says_scene_version_and_count(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Notice")
        page.open_character("Maren Notice.png")
        page.open_chat(main)
        page.clear_toasts()

        page.branch(21)

        text = page.wait_for_toast("Branch Loaded")
        assert "Scene: The Ledger at the Lamplighters' Guild 11-21" in text
        assert "Running Recap: version 1 (2 scenes)" in text
        page.shot("loaded-scene")

    @pytest.mark.req(121)
    def test_a_scene_without_a_name_is_told_as_such(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Unnamed")
        page.open_character("Maren Unnamed.png")
        page.open_chat(main)
        page.clear_toasts()

        page.branch(15)

        text = page.wait_for_toast("Branch Loaded")
        assert "Scene: Unnamed Scene" in text
        assert "Running Recap: version 0 (1 scene)" in text

    @pytest.mark.req(104)
    def test_five_switches_in_two_seconds_verify_each_chat_at_most_once(self, page: Page, character: str) -> None:
        begin(page, character)
        one, other = page.checkpoint(1), page.checkpoint(2)  # neither has been open, so nobody asked about them
        page.asked.clear()

        seconds = page.run(
            """(async () => {
                const start = performance.now();
                for (const name of a) await c.openCharacterChat(name);
                return (performance.now() - start) / 1000;
            })()""",
            [name_of(each) for each in (one, other, one, other, one)],
        )
        page.wait_until(lambda: [each for each in page.asked if each.startswith("GET verify")])
        page.outlast(QUIET_MS)

        verified = Counter(each for each in page.asked if each.startswith("GET verify"))
        assert 1 <= len(verified) <= 2
        assert max(verified.values()) <= 1 + seconds // 2  # a slow machine needs more than two seconds
        assert page.address == one


@pytest.mark.shares_page
class TestRepairs:
    @pytest.mark.parametrize(
        "label, lore",
        [("Copy the parent's lorebook", {"LORE-COMMON"}), ("Make an empty lorebook", set()), ("Go on without", set())],
    )
    def test_a_missing_book_is_told_and_repaired(
        self, label: str, lore: set[str], page: Page, tavern: Tavern, character: str
    ) -> None:
        begin(page, character)
        checkpoint = page.checkpoint(2)
        book = tavern.read_chat(checkpoint)[0]["world_info"]
        (tavern.user / "worlds" / f"{book}.json").unlink()

        page.open_chat(checkpoint)
        popup = page.popup("LOREBOOK_MISSING")
        buttons = popup.locator(".popup-controls").inner_text()
        assert "Cancel" in buttons
        page.shot("lorebook-missing")
        page.choose("LOREBOOK_MISSING", label)
        page.wait_for_toast("Done")
        page.wait_for_chat(checkpoint)

        assert lore_in(page.send("Go on.")) == lore
        assert "LOREBOOK_MISSING" not in {
            finding["code"] for finding in tavern.forklore().verify(checkpoint).to_json()["findings"]
        }

    def test_a_book_comes_back_from_the_trash(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        checkpoint = page.checkpoint(2)
        page.open_chat(checkpoint)
        page.learn("cellar", "LORE-WRITTEN-LATER")
        page.open_chat(main)
        book, chat = tavern.read_chat(checkpoint)[0]["world_info"], tavern.chat_path(checkpoint).read_bytes()
        tavern.forklore().delete(checkpoint)
        tavern.chat_path(checkpoint).write_bytes(chat)  # as from a backup, which has no lorebooks
        page.wait_for_toast("so it was reloaded")
        before = page.kept_files()

        page.open_chat(checkpoint)
        buttons = page.popup("LOREBOOK_MISSING").locator(".popup-controls > *").all_inner_texts()
        assert "trash" in buttons[0]
        page.shot("lorebook-missing-in-trash")
        page.asked.clear()
        page.choose("LOREBOOK_MISSING", "Cancel")
        page.open_chat(main)
        page.wait_until(lambda: "POST open" in page.asked)  # that of this chat, so what was left is dealt with
        assert [each for each in page.asked if each.startswith("POST") and each != "POST open"] == []
        assert page.kept_files() == before

        page.load()
        page.open_character(character)
        page.open_chat(checkpoint)
        page.choose("LOREBOOK_MISSING", "trash")
        page.wait_for_toast("Done")
        page.wait_for_chat(checkpoint)

        assert page.book == book
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON", "LORE-WRITTEN-LATER"}
        assert tavern.forklore().verify(checkpoint).to_json()["findings"] == []

    def test_every_way_to_get_a_book_back_is_offered(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_clean", "Maren Missing")
        page.open_character("Maren Missing.png")
        page.open_chat(main)
        checkpoint = page.checkpoint(21)
        book = tavern.read_chat(checkpoint)[0]["world_info"]
        (tavern.user / "worlds" / f"{book}.json").unlink()
        page.clear_toasts()

        page.open_chat(checkpoint)

        buttons = page.popup("LOREBOOK_MISSING").locator(".popup-controls").inner_text()
        for label in ("last scene snapshot", "parent's lorebook", "empty lorebook", "without a lorebook", "Cancel"):
            assert label in buttons
        page.shot("lorebook-missing-all")
        page.choose("LOREBOOK_MISSING", "Cancel")
        assert tavern.read_chat(checkpoint)[0]["world_info"] == book

    def test_an_old_fork_warns_once_and_is_isolated(self, page: Page, tavern: Tavern) -> None:
        main = tavern.add_sample(SAMPLES / "hollow_quay_legacy_shared", "Maren Legacy")
        avatar = folder_of(main)
        branch = f"{avatar}/Branch #42 - 2025-11-02@21h05m23s"
        page.open_character(f"{avatar}.png")
        page.open_chat(branch)
        shared = page.book
        page.popup("LEGACY_FORK")
        page.shot("legacy-fork")
        page.choose("LEGACY_FORK", "Cancel")

        page.open_chat(main)
        page.wait_for_toast("is shared with another timeline")
        assert page.tab.locator(POPUP).count() == 0  # it keeps its lorebook
        page.clear_toasts()
        page.run("(() => { const now = Date.now; Date.now = () => now() + 3_000; })()")  # so that it is verified again
        page.asked.clear()
        page.logged.clear()
        page.open_chat(branch)
        page.wait_until_verified()
        assert [each for each in page.asked if "code=LEGACY_FORK" in each or "code=SHARED" in each] == []  # no popup
        assert page.tab.locator(POPUP).count() == 0
        page.load()
        page.open_character(f"{avatar}.png")
        page.open_chat(branch)
        page.wait_for_toast("is shared with another timeline")
        assert page.tab.locator(POPUP).count() == 0
        page.click_toast("is shared with another timeline")
        page.choose("SHARED_LOREBOOK", "own lorebook")
        page.wait_for_toast("Done")
        page.wait_for_chat(branch)

        assert page.book != shared
        assert "SHARED_LOREBOOK" not in {
            finding["code"] for finding in tavern.forklore().verify(branch).to_json()["findings"]
        }


@pytest.mark.shares_page
class TestTheParent:
    @pytest.mark.req(129)
    def test_back_to_the_parent(self, page: Page, character: str) -> None:
        main = begin(page, character)
        page.branch(2)

        page.tab.locator("#option_back_to_main").dispatch_event("click")

        page.wait_for_chat(main)

    @pytest.mark.req(129)
    def test_a_parent_that_is_gone_is_told(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        branch = page.branch(2)
        tavern.chat_path(main).unlink()
        page.clear_toasts()

        page.tab.locator("#option_back_to_main").dispatch_event("click")

        assert name_of(main) in page.wait_for_toast("no longer exists")
        assert page.address == branch
        assert folder_of(branch) == folder_of(main)
