"""The page without a mouse, with a screen reader, in the dark, on a phone."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browsing import MAREN, PHONE, Tab, Visit, expect
from tests.edges.running import ILSE

BRANCH = "Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"
LOOKS: list[dict[str, Any]] = [
    {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    {"viewport": PHONE, "color_scheme": "dark", "has_touch": True},
]
FINISHED = """Promise.all(document.getAnimations()
    .filter((each) => each.effect?.getTiming().iterations !== Infinity)
    .map((each) => each.finished.catch(() => undefined)))"""  # of what is gone, it is aborted
NAMES = ["wide-light", "phone-dark"]  # each size and each set of colours once: neither depends on the other


def assert_accessible(tab: Tab, axe: str) -> None:
    # Half-way through a movement colours are not what they will be.
    tab.page.evaluate(FINISHED)
    tab.page.evaluate(axe)
    result = tab.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    found = [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for each in result["violations"]
        for node in each["nodes"]
    ]
    assert found == []


@pytest.mark.parametrize("look", LOOKS, ids=NAMES)
def test_axe_finds_nothing_in_any_view(maren: Visit, axe: str, look: dict[str, Any]) -> None:
    tab = maren(welcomed=False, **look)
    tab.see("a.story")
    assert_accessible(tab, axe)
    for place, shown in (
        (["story", MAREN], ".lane-row"),
        (["timeline", MAREN], ".message-text"),
        (["timeline", BRANCH, "health"], ".finding"),
        (["timeline", MAREN, "recap"], ".recap-text"),
        (["timeline", MAREN, "scenes"], ".scene-jump"),
        (["timeline", MAREN, "details"], ".facts"),
        (["contamination", BRANCH], ".entry"),
        (["log"], ".log"),
        (["trash"], ".trash"),
        (["settings"], ".rows"),
    ):
        tab.go(*place).see(shown)
        assert_accessible(tab, axe)


@pytest.mark.parametrize("look", LOOKS, ids=NAMES)
def test_axe_finds_nothing_in_forking_and_mending(maren: Visit, axe: str, look: dict[str, Any]) -> None:
    tab = maren(**look).go("timeline", MAREN, 42)
    tab.press("Make a checkpoint here")
    tab.see(".preview")
    assert_accessible(tab, axe)
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")
    assert_accessible(tab, axe)
    tab.press("Open it", "dialog")
    tab.see(".notice")
    assert_accessible(tab, axe)
    tab.go("log").see(".log-item")
    assert_accessible(tab, axe)
    tab.go("doctor")
    tab.press("Examine everything")
    tab.see(".finding")
    assert_accessible(tab, axe)
    tab.press("Repair…")
    tab.see(".choice")
    assert_accessible(tab, axe)
    tab.page.keyboard.press("Escape")
    tab.press("Isolate all…")
    tab.see(".forks")
    assert_accessible(tab, axe)
    tab.press("Isolate 2 timelines", "dialog")
    tab.see(".dialog-title", "2 timelines isolated")
    assert_accessible(tab, axe)
    tab.api("POST", "delete", {"chat": BRANCH})
    tab.go("trash").see(".trash .row")
    assert_accessible(tab, axe)
    item = tab.go("log").see(".log-item", re.compile("Isolated Branch #42"))
    item.get_by_role("button", name=re.compile("Undo")).click()
    tab.see(".log-refused")
    assert_accessible(tab, axe)


@pytest.mark.parametrize("look", LOOKS, ids=NAMES)
def test_axe_finds_nothing_in_a_refusal_and_while_waiting(busy: Visit, axe: str, look: dict[str, Any]) -> None:
    tab = busy(**look).go("timeline", ILSE, "queue")
    tab.see(".queue")
    assert_accessible(tab, axe)
    if look["viewport"] == PHONE:
        tab.page.keyboard.press("Escape")
    tab.press("Make a checkpoint here")
    tab.see(".refusal")
    assert_accessible(tab, axe)
    tab.press("Create when ready", "dialog")
    tab.see(".queue-place .queue")
    assert_accessible(tab, axe)
    tab.press("Stop waiting", "dialog")
    tab.see(".fork-form")


def test_axe_finds_nothing_before_one_has_come_in(clean: Visit, axe: str) -> None:
    tab = clean(log_in=False, env={"FORKLORE_PASSWORD": "open the tower"})
    tab.page.goto(tab.served.address)
    tab.see("form")

    assert_accessible(tab, axe)


def test_a_checkpoint_can_be_made_and_undone_with_the_keyboard_alone(clean: Visit, tmp_path: Path) -> None:
    tab = clean()
    page = tab.page
    tab.see("a.story").focus()
    page.keyboard.press("Enter")
    tab.see(".lane-row")
    _tab_to(tab, "Make a checkpoint")
    page.keyboard.press("Enter")
    tab.see(".preview")
    expect(tab.button("Create checkpoint", "dialog")).to_be_enabled()
    _tab_to(tab, "Create checkpoint")
    page.keyboard.press("Enter")
    tab.see(".dialog-title", "Checkpoint created")
    expect(tab.button("Open it", "dialog")).to_be_focused()
    page.keyboard.press("Enter")
    tab.see(".timeline-top .health-isolated")
    _tab_to(tab, "Undo")
    page.keyboard.press("Enter")

    tab.see(".notice", "Undone")


def _tab_to(tab: Tab, name: str) -> None:
    for _ in range(80):
        tab.page.keyboard.press("Tab")
        told = tab.page.evaluate(
            "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"
        )
        if told == name:
            return
    raise AssertionError(f"Tab does not come to {name!r}")


def test_escape_closes_a_dialog_and_gives_the_focus_back(clean: Visit) -> None:
    tab = clean().go("timeline", MAREN)
    tab.see(".timeline-top .badge")
    opener = tab.button("Make a checkpoint here")
    opener.click()
    tab.see("dialog[open]")
    tab.page.keyboard.press("Escape")

    expect(tab.page.locator("dialog[open]")).to_have_count(0)
    expect(opener).to_be_focused()


def test_the_skip_link_leads_past_the_navigation(clean: Visit) -> None:
    tab = clean()
    tab.see("a.story")
    tab.page.locator(".skip").focus()
    expect(tab.page.locator(".skip")).to_be_in_viewport()
    tab.page.keyboard.press("Enter")

    expect(tab.page.locator("main")).to_be_focused()


def test_the_focus_is_visible(clean: Visit) -> None:
    tab = clean()
    tab.see("a.story")
    tab.page.keyboard.press("Tab")

    width = tab.page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
    assert width >= 2


def test_progress_and_notices_are_told_to_screen_readers(clean: Visit) -> None:
    tab = clean().go("story", MAREN)
    tab.press("Make a checkpoint")
    tab.see(".preview")
    tab.press("Create checkpoint", "dialog")
    tab.see(".dialog-title", "Checkpoint created")

    expect(tab.page.locator(".steps-place [role=status]")).to_have_text("Checkpoint created")
    expect(tab.page.locator(".notices-calm")).to_have_attribute("aria-live", "polite")


def test_nothing_moves_for_those_who_asked_for_that(clean: Visit) -> None:
    tab = clean(reduced_motion="reduce").go("story", MAREN)
    tab.press("Make a checkpoint")
    tab.see("dialog[open]")

    seconds = tab.page.evaluate(
        "parseFloat(getComputedStyle(document.querySelector('dialog[open]')).animationDuration)"
    )
    assert seconds < 0.01
