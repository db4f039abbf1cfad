"""Coming in, being cut off, and names that would do harm."""

import re
from pathlib import Path

import pytest

from forklore import texts
from tests.e2e.browsing import MAREN, PHONE, Visit, expect
from tests.e2e.workspaces import HOSTILE, strange_names
from tests.service.serving import served


def test_without_its_link_the_page_says_how_to_come_in(clean: Visit) -> None:
    tab = clean(log_in=False)
    tab.page.goto(tab.served.address)

    expect(tab.see("main")).to_contain_text("forklore serve")
    expect(tab.page.locator("input")).to_have_count(0)


def test_the_password_opens_the_page_and_a_wrong_one_does_not(clean: Visit) -> None:
    tab = clean(log_in=False, env={"FORKLORE_PASSWORD": "open the tower"})
    tab.page.goto(tab.served.address)
    tab.page.get_by_label("Password").fill("a guess")
    tab.press("Log in")
    tab.see("[role=alert]", "That password is wrong")
    tab.page.get_by_label("Password").fill("open the tower")
    tab.press("Log in")

    tab.see("a.story", "Maren Tolliver")


def test_who_is_logged_out_is_told_and_shown_the_way_back(clean: Visit) -> None:
    tab = clean()
    tab.see("a.story")
    tab.page.context.clear_cookies()
    tab.see("a.story").click()

    tab.see("h2", "You are logged out")
    tab.page.get_by_role("link", name="Log in").click()
    tab.see("main", "forklore serve")


def test_a_service_that_is_gone_is_told_and_the_page_recovers_by_itself(clean: Visit) -> None:
    tab = clean()
    tab.may_be_cut_off = True
    tab.see("a.story")
    tab.page.context.set_offline(True)  # Playwright's own signature
    tab.page.evaluate("window.dispatchEvent(new Event('offline'))")
    tab.page.get_by_role("link", name="History").click()
    tab.see(".trouble", "Forklore is not answering")
    tab.page.context.set_offline(False)  # Playwright's own signature
    tab.press("Try again")

    tab.see(".emptiness", "Nothing was changed yet")


def test_a_service_that_stops_shows_a_banner(clean: Visit) -> None:
    tab = clean()
    tab.may_be_cut_off = True
    tab.see("a.story")
    tab.served.process.kill()

    tab.see(".banner", "Forklore is not answering.")
    expect(tab.button("Try now")).to_be_visible()


def test_a_view_that_could_not_be_loaded_is_loaded_when_the_service_is_back(clean: Visit) -> None:
    tab = clean()
    tab.may_be_cut_off = True
    tab.see("a.story")
    tab.served.process.kill()
    tab.see(".banner", "Forklore is not answering.")
    tab.page.get_by_role("link", name="History").click()
    tab.see(".trouble", "Forklore is not answering")

    with served(tab.root, "--port", tab.served.address.rpartition(":")[2]):
        tab.see(".emptiness", "Nothing was changed yet")
        expect(tab.page.locator(".banner")).to_have_count(0)


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE], ids=["wide", "phone"])
def test_names_in_any_script_are_text_and_never_markup(visit: Visit, tmp_path: Path, viewport: dict[str, int]) -> None:
    tab = visit(strange_names(tmp_path / "w"), viewport=viewport)
    tab.see("a.story", HOSTILE)
    for view in ("story", "timeline"):
        for chat in (f"{HOSTILE}/{HOSTILE}", "白夜/白夜", "ליילה/סיפור הלילה", "🦊 Foxfire/🦊👨‍👩‍👧‍👦"):
            tab.go(view, chat)
            tab.see(".lane-row" if view == "story" else ".message-text")
            assert tab.page.locator("img:not([src^='/page/'])").count() == 0
            assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.go("doctor")
    tab.press("Examine everything")

    tab.see(".finding", "javascript:alert(3)")


def test_a_very_long_name_does_not_break_the_page(visit: Visit, tmp_path: Path) -> None:
    tab = visit(strange_names(tmp_path / "w"), viewport={"width": 360, "height": 640})
    chat = f"Long/{'verylongword' * 15}"
    for view, shown in (("stories", "a.story"), ("story", ".lane-row"), ("timeline", ".message-text")):
        tab.go(view, *([] if view == "stories" else [chat])).see(shown)

        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("place", ["nowhere", "constructor", "__proto__", "toString"])
def test_a_place_that_does_not_exist_shows_the_stories(clean: Visit, place: str) -> None:
    tab = clean().go("log")
    tab.see(".emptiness")
    tab.go(place).see("a.story")

    expect(tab.page.locator("[aria-current=page]")).to_have_text("Stories")


def test_every_word_of_the_page_is_known(maren: Visit) -> None:
    tab = maren()
    shown = ""
    for place in (["stories"], ["story", MAREN], ["timeline", MAREN], ["log"], ["trash"], ["settings"], ["doctor"]):
        tab.go(*place)
        tab.see("h1")
        shown += tab.page.locator("body").inner_text()

    sections = "|".join({key.split(".")[0] for key in texts.catalogue("en")})
    assert "undefined" not in shown
    assert re.findall(rf"\b(?:{sections})\.[a-z_]+\b", shown) == []
