"""Settings of the workspace and of the browser."""

import json
import re
from typing import Any

from tests.e2e.browsing import MAREN, PHONE, Tab, Visit, expect


def stored(tab: Tab) -> dict[str, object]:
    path = tab.root / ".forklore" / "settings.json"
    settings: dict[str, object] = json.loads(path.read_bytes()) if path.exists() else {}
    return settings


def test_a_strict_policy_blocks_what_was_a_warning(clean: Visit) -> None:
    tab = clean().go("settings")
    tab.page.get_by_role("radio", name="Strict").check()
    tab.see(".notice", "Saved")
    expect(tab.page.get_by_label("The scene has no recap").locator("option").first).to_have_text("as above: blocks")
    tab.go("timeline", MAREN)

    expect(tab.see(".message[data-index='68'] .fork-blocked")).to_have_attribute("title", re.compile("NO_SCENE_RECAP"))


def test_one_requirement_can_be_set_and_set_back(clean: Visit) -> None:
    tab = clean().go("settings")
    row = tab.page.get_by_label("Not a scene break")
    row.select_option("block")
    tab.see(".notice", "Saved")
    assert stored(tab)["requirements"] == {"NO_SCENE_BREAK": "block"}
    row.select_option("")

    expect(tab.page.locator(".notice", has_text="Saved")).to_have_count(2)
    assert not stored(tab).get("requirements")


def test_a_change_of_the_settings_can_be_undone(clean: Visit) -> None:
    tab = clean().go("settings")
    tab.page.get_by_role("radio", name="Strict").check()
    tab.see(".notice", "Saved").get_by_role("button", name="Undo").click()
    tab.see(".notice", "Undone")

    assert stored(tab).get("policy", "standard") == "standard"


def test_names_of_new_forks_follow_the_template(clean: Visit) -> None:
    tab = clean().go("settings")
    tab.page.get_by_label("Checkpoint", exact=True).fill("Saved {n} of {parent}")
    tab.press("Save")
    tab.see(".notice", "Saved")
    tab.go("story", MAREN)
    tab.press("Make a checkpoint")

    tab.see(".preview", "Saved 1 of Maren Tolliver")


def test_an_empty_template_is_the_usual_one_again(clean: Visit) -> None:
    tab = clean().go("settings")
    field = tab.page.get_by_label("Checkpoint", exact=True)
    usual = field.input_value()
    field.fill("Saved {n}")
    tab.press("Save")
    tab.see(".notice", "Saved")
    field.fill("")
    tab.press("Save")

    expect(field).to_have_value(usual)
    names: Any = stored(tab).get("names", {})
    assert "checkpoint" not in names


def test_a_lorebook_that_is_not_there_cannot_be_shared_and_the_refusal_says_what_to_do(clean: Visit) -> None:
    tab = clean().go("settings")
    tab.page.get_by_label("Name of a lorebook").fill("Nowhere")
    tab.press("Add")

    notice = tab.see(".notice-bad", "There is no lorebook “Nowhere”.")
    expect(notice).to_contain_text("Give the exact name of a lorebook.")


def test_at_most_two_notices_are_shown_and_the_newest_stays(maren: Visit) -> None:
    tab = maren(viewport=PHONE).go("settings")
    tab.press("Save")
    tab.see(".notice", "Saved")
    tab.page.get_by_label("Name of a lorebook").fill("Nowhere")
    tab.press("Add")
    tab.see(".notice-bad")
    for policy in ("Strict", "Standard"):
        tab.page.get_by_role("radio", name=policy).check()
    expect(tab.page.locator(".notice-good")).to_have_count(2)

    expect(tab.page.locator(".notice")).to_have_count(2)


def test_a_book_can_be_shared_on_purpose_and_no_longer(maren: Visit) -> None:
    tab = maren().go("settings")
    book = "z-AutoLB-Maren Tolliver-Maren Tolliver - 2025-11-02@19h14m08s"
    tab.page.get_by_label("Name of a lorebook").fill(book)
    tab.press("Add")
    tab.press(f"Remove {book}")

    expect(tab.page.locator(".notice", has_text="Saved")).to_have_count(2)
    assert not stored(tab).get("shared_books")


def test_the_language_is_the_browsers_and_can_be_chosen(clean: Visit) -> None:
    tab = clean(locale="zh-CN")
    tab.see("h1", "故事")
    tab.go("settings")
    tab.page.get_by_label("语言").select_option("en")

    tab.see("h1", "Settings")
    tab.page.reload()
    tab.see("h1", "Settings")
    expect(tab.page.locator("html")).to_have_attribute("lang", "en")


def test_the_page_can_be_dark_or_light_whatever_the_system_is(clean: Visit) -> None:
    tab = clean(color_scheme="light").go("settings")
    before = tab.page.evaluate("getComputedStyle(document.body).color")
    tab.page.get_by_label("Appearance").select_option("dark")
    after = tab.page.evaluate("getComputedStyle(document.body).color")
    tab.page.reload()

    assert before != after
    expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")


def test_findings_and_progress_are_told_in_the_language_of_the_page(maren: Visit) -> None:
    tab = maren(locale="zh-CN")
    branch = "Maren Tolliver/Branch #42 - 2025-11-02@21h05m23s"
    tab.go("timeline", branch, "health")
    shared = tab.see(".finding[data-code='SHARED_LOREBOOK']")
    expect(shared.locator(".finding-title")).to_contain_text("与其他时间线共用")
    expect(shared.locator(".finding-details")).to_contain_text("同时使用它的有：Maren Tolliver/")
    expect(tab.see(".finding[data-code='RUNNING_RECAP_FOREIGN']")).to_contain_text(
        "版本 4、5 涉及不在此时间线中的消息。"
    )
    tab.go("contamination", branch)
    expect(tab.see(".entry", "character-Pim")).to_contain_text("结束于消息 42 的场景创建或合并了它")
    tab.go("timeline", MAREN, 42)
    tab.press("创建检查点", ".timeline-head")
    tab.see(".preview")
    tab.press("创建检查点", "dialog .dialog-foot")

    tab.see(".note-good", "操作队列为空")
    notes = tab.page.locator(".step-notes").all_inner_texts()
    assert not [note for note in notes if "Running recap" in note or "created" in note]
