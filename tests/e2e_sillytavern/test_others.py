"""Forks that others make: isolated before they open, once, whoever was loaded first."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e_sillytavern.page import Page
from tests.e2e_sillytavern.tavern import Tavern
from tests.e2e_sillytavern.telling import begin, folder_of, lore_in, name_of, operations_about


class TestBareCalls:
    @pytest.mark.shares_page
    def test_create_branch_is_isolated_before_it_returns(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)

        name = page.run_with_modules("B.createBranch(1)")

        branch = f"{folder_of(main)}/{name}"
        assert tavern.read_chat(branch)[0]["world_info"] != page.book
        assert tavern.forklore().verify(branch).to_json()["findings"] == []
        assert operations_about(tavern, branch) == ["isolate"]
        page.learn("main", "LORE-MAIN")
        page.open_chat(branch)
        page.learn("branch", "LORE-BRANCH")
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON", "LORE-BRANCH"}
        page.open_chat(main)
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON", "LORE-MAIN"}
        assert operations_about(tavern, branch) == ["isolate"]

    @pytest.mark.shares_page
    def test_a_name_that_is_used_again_is_isolated_again(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        name = page.run_with_modules("B.createBranch(1)")
        branch = f"{folder_of(main)}/{name}"
        tavern.chat_path(branch).unlink()

        assert page.run_with_modules("B.createBranch(1)") == name

        assert tavern.read_chat(branch)[0]["world_info"] != page.book
        assert operations_about(tavern, branch) == ["isolate", "isolate"]

    @pytest.mark.shares_page
    def test_native_branch_and_checkpoint(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        book = page.book

        checkpoint = page.run_with_modules("B.createNewBookmark(1, { forceName: 'By another' })")
        branch = page.run_with_modules("B.branchChat(2)")

        page.wait_for_chat(f"{folder_of(main)}/{branch}")
        own = {tavern.read_chat(f"{folder_of(main)}/{name}")[0]["world_info"] for name in (checkpoint, branch)}
        assert len(own | {book}) == 3
        for name in (checkpoint, branch):
            assert tavern.forklore().verify(f"{folder_of(main)}/{name}").to_json()["findings"] == []
            assert operations_about(tavern, f"{folder_of(main)}/{name}") == ["isolate"]

    def test_a_compressed_save_is_caught_by_the_event(self, page: Page, tavern: Tavern, character: str) -> None:
        main = begin(page, character)
        page.run(
            """(() => {
                const inner = window.fetch;
                window.fetch = (url, init) => inner(url, String(url).startsWith('/api/chats/save')
                    ? { ...init, body: new Blob([init.body]) } : init);
            })()"""
        )

        branch = page.run_with_modules("B.branchChat(2)")

        page.wait_for_chat(f"{folder_of(main)}/{branch}")
        assert operations_about(tavern, f"{folder_of(main)}/{branch}") == ["isolate"]
        assert page.book != f"Lore of {folder_of(main)}"

    @pytest.mark.shares_page
    def test_in_a_group(self, page: Page, tavern: Tavern, character: str) -> None:
        group = tavern.make_group(f"Others of {character}", [character])
        main = page.open_group(group)
        page.attach_book(f"Lore of {group}", {"harbour": "LORE-COMMON"})
        page.send("Hello.")

        name = page.run_with_modules("B.createBranch(1)")

        branch = f"group:{group}/{name}"
        assert operations_about(tavern, branch) == ["isolate"]
        assert tavern.read_chat(branch)[0]["world_info"] != page.book
        assert tavern.forklore().verify(main).to_json()["findings"] == []


STAND_IN = """
import { createBranch, createNewBookmark } from '../../../bookmarks.js';
import { createNewWorldInfo } from '../../../world-info.js';
window.standIn = [];
jQuery(() => {
    for (const place of [document.querySelector('#chat'), document]) {
        place.addEventListener('click', async (event) => {
            const target = event.target.closest('.mes_create_bookmark, .mes_create_branch');
            if (!target) return;
            event.stopImmediatePropagation();
            event.preventDefault();
            window.standIn.push('click');
            const at = Number(target.closest('.mes').getAttribute('mesid'));
            const name = target.matches('.mes_create_branch') ? await createBranch(at) : await createNewBookmark(at);
            await SillyTavern.getContext().openCharacterChat(name);
            await createNewWorldInfo(`Rebuilt for ${name}`);
            SillyTavern.getContext().chatMetadata.world_info = `Rebuilt for ${name}`;
            await SillyTavern.getContext().saveMetadata();
        }, { capture: true });
    }
});
"""
"""It hooks the same buttons in the same way as ST-Auto-Recap, forks and makes a lorebook."""


class TestBesideAutoRecap:
    @pytest.fixture(params=[0, 1000], ids=["loaded-first", "loaded-last"])
    def stand_in(self, tavern: Tavern, request: pytest.FixtureRequest) -> Iterator[Path]:
        folder = tavern.user / "extensions/stand-in"
        folder.mkdir(parents=True)
        manifest = {"display_name": "Stand-in", "js": "index.js", "loading_order": request.param, "author": "-"}
        (folder / "manifest.json").write_text(json.dumps(manifest | {"version": "1"}))
        (folder / "index.js").write_text(STAND_IN)
        yield folder
        shutil.rmtree(folder)

    @pytest.mark.req(92)
    def test_one_click_makes_one_fork_and_one_book_of_ours(
        self, stand_in: Path, page: Page, tavern: Tavern, character: str
    ) -> None:
        assert page.run("Array.isArray(window.standIn)")
        main = begin(page, character)
        books, chats = tavern.books(), tavern.chats_of(folder_of(main))

        checkpoint = page.checkpoint(1)
        branch = page.branch(2)

        assert page.run("window.standIn") == []
        assert set(tavern.chats_of(folder_of(main))) - set(chats) == {checkpoint, branch}
        new = tavern.books() - books
        assert new == {tavern.read_chat(fork)[0]["world_info"] for fork in (checkpoint, branch)}
        assert len(new) == 2


@pytest.mark.shares_page
class TestWhatFollows:
    @pytest.mark.req(86)
    def test_settings_by_chat_and_itemised_prompts_follow(self, page: Page, character: str) -> None:
        main = begin(page, character)
        page.run(
            """(() => { c.extensionSettings.auto_recap_memory = {
                chats_enabled: { [a]: false }, chat_profiles: { [a]: 'Mine', other: 'Theirs' },
                chat_sticky_presets: {}, chat_strip_patterns: { [a]: ['x'] } }; })()""",
            name_of(main),
        )

        branch = name_of(page.branch(2))

        known = page.run("c.extensionSettings.auto_recap_memory")
        assert known["chats_enabled"][branch] is False
        assert known["chat_profiles"] == {name_of(main): "Mine", "other": "Theirs", branch: "Mine"}
        assert known["chat_strip_patterns"][branch] == ["x"]
        assert branch not in known["chat_sticky_presets"]
        prompts = page.tab.evaluate("async () => (await import('/scripts/itemized-prompts.js')).itemizedPrompts.length")
        assert prompts == 1


IMPORT = """(async () => {
    const form = new FormData();
    form.append('file_type', 'jsonl');
    form.append('avatar_url', c.groupId ? '' : c.characters[c.characterId].avatar);
    form.append('character_name', c.name2);
    form.append('user_name', c.name1);
    form.append('avatar', new File([a], 'copy.jsonl'));
    return (c.groupId ? G.importGroupChat : S.importCharacterChat)(form, { refresh: false });
})()"""


def import_again(page: Page, tavern: Tavern, chat: str) -> str:
    """Import the file of a chat once more, and return the address of the copy."""
    (name,) = page.run_with_modules(IMPORT, tavern.chat_path(chat).read_text("utf-8"))
    return f"{folder_of(chat)}/{name.removesuffix('.jsonl')}"


@pytest.mark.shares_page
class TestCopies:
    def test_an_imported_copy_of_a_fork_gets_a_book_of_its_own(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        checkpoint = page.checkpoint(2)

        copy = import_again(page, tavern, checkpoint)

        books = {tavern.read_chat(address)[0]["world_info"] for address in (main, checkpoint, copy)}
        assert len(books) == 3

    def test_an_imported_copy_of_a_main_chat_gets_a_book_of_its_own(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        before = tavern.chat_path(main).read_bytes()

        copy = import_again(page, tavern, main)

        page.wait_for_toast("now has its own lorebook")
        assert operations_about(tavern, copy) == ["isolate"]
        assert tavern.chat_path(main).read_bytes() == before
        page.learn("main", "LORE-MAIN")
        page.open_chat(copy)
        page.learn("copy", "LORE-COPY")
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON", "LORE-COPY"}
        page.open_chat(main)
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON", "LORE-MAIN"}
        for chat in (main, copy):
            assert tavern.forklore().verify(chat).to_json()["findings"] == []
        assert operations_about(tavern, copy) == ["isolate"]

    def test_an_imported_copy_of_a_group_chat_gets_a_book_of_its_own(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        group = tavern.make_group(f"Copies of {character}", [character])
        main = page.open_group(group)
        page.attach_book(f"Lore of {group}", {"harbour": "LORE-COMMON"})
        page.send("Hello.")

        copy = import_again(page, tavern, main)

        assert tavern.read_chat(copy)[0]["world_info"] != page.book
        page.open_chat(copy)
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON"}
        for chat in (main, copy):
            assert tavern.forklore().verify(chat).to_json()["findings"] == []

    def test_a_chat_that_becomes_a_group_chat_gets_a_book_of_its_own(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        book, before = page.book, tavern.chat_path(main).read_bytes()
        page.run_with_modules("void B.convertSoloToGroupChat()")
        page.choose("convert", "Yes")

        page.tab.wait_for_function("() => Boolean(SillyTavern.getContext().groupId)")
        page.wait_until(lambda: len(page.messages) == 3 and page.run("c.chatMetadata.world_info") not in (None, book))
        page.idle()
        copy = page.run("`group:${c.groupId}/${c.getCurrentChatId()}`")
        assert operations_about(tavern, copy) == ["isolate"]
        assert tavern.chat_path(main).read_bytes() == before
        page.learn("copy", "LORE-COPY")
        assert lore_in(page.send("Go on.")) == {"LORE-COMMON", "LORE-COPY"}
        assert tavern.forklore().verify(copy).to_json()["findings"] == []
        assert "LORE-COPY" not in (tavern.user / f"worlds/{book}.json").read_text("utf-8")

    def test_a_copy_that_was_not_caught_is_offered_for_isolation_when_it_opens(
        self, page: Page, tavern: Tavern, character: str
    ) -> None:
        main = begin(page, character)
        copy = f"{main} imported"
        shutil.copyfile(tavern.chat_path(main), tavern.chat_path(copy))

        page.open_chat(copy)
        page.choose("SHARED_LOREBOOK", "Give the timeline its own lorebook")

        page.wait_for_toast("give the timeline its own lorebook")
        assert operations_about(tavern, copy) == ["isolate"]
        assert page.book != tavern.read_chat(main)[0]["world_info"]
