"""A lorebook is renamed in SillyTavern's editor, which follows in the open chat alone."""

from __future__ import annotations

from tests.e2e_sillytavern.page import POPUP, Page
from tests.e2e_sillytavern.tavern import Tavern
from tests.e2e_sillytavern.telling import begin, lore_in


def rename_book(page: Page, old: str, new: str) -> None:
    """Rename a lorebook as a person does."""
    if not page.tab.locator("#world_popup_name_button").is_visible():
        page.tab.locator("#WI-SP-button .drawer-toggle").first.click()
    page.run_with_modules("(W.openWorldInfoEditor(a), W.showWorldEditor(a))", old)
    page.tab.locator("#world_popup_name_button").click()
    field = page.tab.locator(f"{POPUP} .popup-input")
    field.wait_for(state="visible")
    assert field.input_value() == old
    field.fill(new)
    page.asked.clear()
    page.tab.locator(f"{POPUP} .popup-button-ok").click()
    page.tab.wait_for_function("async a => (await import('/scripts/world-info.js')).world_names.includes(a)", arg=new)
    page.wait_until(lambda: "POST follow" in page.asked)
    page.tab.locator("dialog.forklore-curtain").wait_for(state="detached")


def test_every_timeline_follows(page: Page, tavern: Tavern, character: str) -> None:
    main = begin(page, character)
    checkpoint, branch = page.checkpoint(2), page.branch(2)
    page.learn("cellar", "LORE-BRANCH")
    page.open_chat(main)
    names = {
        each: f"{title} of {character}" for each, title in ((main, "Atlas"), (checkpoint, "Flag"), (branch, "Twig"))
    }

    rename_book(page, page.book, names[main])
    page.saved()
    for fork in (checkpoint, branch):  # neither of them is open
        page.clear_toasts()
        rename_book(page, tavern.read_chat(fork)[0]["world_info"], names[fork])
        page.wait_for_toast("The new name was followed in 1 place")
    page.shot("book-renamed")
    page.tab.locator("#WI-SP-button .drawer-toggle").first.click()
    own = {main: {"LORE-COMMON"}, checkpoint: {"LORE-COMMON"}, branch: {"LORE-COMMON", "LORE-BRANCH"}}
    for address, lore in own.items():
        page.open_chat(address)
        assert lore_in(page.send("Go on.")) == lore
        assert page.book == names[address]
        assert tavern.forklore().verify(address).to_json()["findings"] == []
    mapped = tavern.read_chat(main)[0]["auto_recap"]["checkpoint_lorebook_map"]
    assert set(mapped.values()) == {names[checkpoint], names[branch]}

    page.clear_toasts()
    rename_book(page, names[branch], f"Bough of {character}")  # of the chat that is open
    page.wait_for_toast("The new name was followed in 1 place")
    page.wait_for_chat(branch)
    assert tavern.read_chat(branch)[0]["world_info"] == f"Bough of {character}"
    assert tavern.forklore().verify(branch).to_json()["findings"] == []


def test_a_copy_and_a_deletion_are_no_renaming(page: Page, tavern: Tavern, character: str) -> None:
    main = begin(page, character)
    branch = page.branch(2)
    page.learn("cellar", "LORE-BRANCH")
    book = page.book
    page.open_chat(main)

    page.run_with_modules(
        """(async () => {
            await W.saveWorldInfo(`Another of ${a}`, { entries: {} }, true);
            await W.deleteWorldInfo(a);
        })()""",
        book,
    )
    rename_book(page, page.book, f"Atlas of {character}")  # what is renamed is followed one after the other

    finding = tavern.forklore().verify(branch).to_json()["findings"][0]
    assert finding["code"] == "LOREBOOK_MISSING"
    assert "old name back" in finding["details"]
    assert tavern.read_chat(branch)[0]["world_info"] == book
